//! A question within the face of a conversation.

use windlass_core::Answer;

use super::editor::{self, Draft};
use super::keys;
use super::typed::{Typed, typed};
use super::{LEFT, Put, Terminal};
use crate::face::{Asked, Face};
use crate::out;

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
        let kind = put.question.kind;
        let choices = |put: &Put<'_>| keys::choices(kind, self.chat).unwrap_or_else(|| put.choices.clone());
        put.choices = choices(put);
        let asked = Asked {
            of: self.of.clone(),
            head: rendered.head.iter().map(|(_, text)| text.as_str()).collect(),
            body: rendered.body,
            choices: put.choices.clone(),
            keys: keys::keys(kind),
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
                    put.choices = choices(put);
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

/// The answer with other arguments, from the person's editor or from a line. `None`: the question is left.
async fn edited(face: &Face, put: &mut Put<'_>, asked: &Asked) -> Option<Result<Answer, String>> {
    if let (Some(editor), Some(subject)) = (editor::command(), &put.subject) {
        let draft = put.draft.get_or_insert_with(|| Draft::new(&subject.args));
        let _away = face.away().await;
        let args = draft.edit(&editor, subject).await;
        return Some(args.map(|args| Answer::ApproveWith { args }));
    }
    let choices = "`EDITOR` is not set: type the arguments as JSON; Esc goes back".to_owned();
    face.ask(Asked { choices, keys: &[], ..asked.clone() });
    face.draft(&put.subject.as_ref().map(|subject| subject.args.to_string()).unwrap_or_default());
    loop {
        let line = tokio::select! {
            biased;
            () = LEFT.notified() => None,
            line = face.typed() => line,
        }?;
        if line.trim().is_empty() {
            face.ask(asked.clone());
            return Some(Err(format!("the arguments are as they were: {}", asked.choices)));
        }
        match put.read_args(line.trim()) {
            Ok(answer) => return Some(Ok(answer)),
            Err(why) => face.unclear(&why),
        }
    }
}
