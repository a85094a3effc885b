//! A question within the face of a conversation.

use windlass_core::Answer;
use windlass_core::event::QuestionKind;

use super::editor::{self, Draft};
use super::typed::{Typed, typed};
use super::{LEFT, Put, Terminal};
use crate::face::{Asked, Face};
use crate::out;

/// The letters that answer an approval.
const LETTERS: &str = "yaesl";
/// The meaning of each.
const HELP: &str = "\
y  the call runs, this once
a  it runs, and so do further calls of this tool in this session; Enter confirms it
n  it does not run; the model reads your reason and goes on
e  change the arguments in your editor, then it runs
s  show the arguments whole, above
l  leave the question: the run waits, and is asked again when you go on";

/// Takes the question away again, however it ends.
struct Standing<'f>(&'f Face);

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        self.0.asked();
    }
}

impl Terminal {
    /// Puts a question. `None`: it is left.
    pub(super) async fn put_in(&self, face: &Face, put: &mut Put<'_>) -> Option<Answer> {
        let rendered = self.rendered(put, false);
        let approval = put.question.kind == QuestionKind::Approval;
        if approval {
            put.choices = choices(self.place.chat);
        }
        let asked = Asked {
            head: rendered.head.iter().map(|(_, text)| text.as_str()).collect(),
            body: rendered.body,
            choices: put.choices.clone(),
            keys: if approval { LETTERS } else { "" },
            help: HELP,
        };
        face.ask(asked.clone());
        let _standing = Standing(face);
        loop {
            let line = tokio::select! {
                biased;
                () = LEFT.notified() => None,
                line = face.typed() => line,
            };
            match typed(put, line?.trim()) {
                Typed::Answer(answer) => return Some(answer),
                Typed::Unclear(expected) => face.unclear(&expected),
                Typed::All => {
                    let whole = self.rendered(put, true);
                    out::note(format_args!("{}, whole:", put.question.id));
                    whole.body.iter().for_each(|(style, line)| out::say_styled(&[(*style, line)]));
                    if approval {
                        put.choices = choices(self.place.chat);
                    }
                }
                Typed::Edit => match edited(face, put, &asked).await {
                    Some(Ok(answer)) => return Some(answer),
                    Some(Err(why)) => face.unclear(&why),
                    None => return None,
                },
                Typed::Later => return None,
                Typed::Quit => {
                    self.quit();
                    return None;
                }
            }
        }
    }
}

fn choices(chat: bool) -> String {
    let quit = if chat { "; Ctrl-C: later, too" } else { "" };
    format!("[y]es, [a]lways, [n]o, [e]dit, [s]how all, [l]ater, ? explains{quit}")
}

/// The answer with other arguments, from the person's editor or from a line. `None`: the question is left.
async fn edited(face: &Face, put: &mut Put<'_>, asked: &Asked) -> Option<Result<Answer, String>> {
    if let (Some(editor), Some(subject)) = (editor::command(), &put.subject) {
        let draft = put.draft.get_or_insert_with(|| Draft::new(&subject.args));
        let _away = face.away().await;
        let args = draft.edit(&editor, subject).await;
        return Some(args.map(|args| Answer::ApproveWith { args }));
    }
    let choices = "`EDITOR` is not set: type the arguments as JSON; Ctrl-D: later".to_owned();
    face.ask(Asked { choices, keys: "", ..asked.clone() });
    let line = tokio::select! {
        biased;
        () = LEFT.notified() => None,
        line = face.typed() => line,
    };
    let answer = put.read_args(line?.trim());
    if answer.is_err() {
        face.ask(asked.clone());
    }
    Some(answer)
}
