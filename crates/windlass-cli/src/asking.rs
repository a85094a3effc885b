//! The person at the terminal.

pub(crate) mod answers;
mod changes;
mod editor;
mod framed;
mod keys;
mod page;
mod roots;
mod subject;
mod typed;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, Notify};
use windlass_core::event::{AnswerSource, AnsweredBy, QuestionKind};
use windlass_core::run::OpenQuestion;
use windlass_core::{Answer, State};
use windlass_runtime::People;
use windlass_store::Log;

use crate::face::{Act, Face};
use crate::out::{self, Stream, Style};
use crate::stdin::{self, Stdin};
use crate::view::asked::Standing;
use editor::Draft;
use page::Page;
pub(crate) use roots::Roots;
use subject::Subject;
use typed::{Typed, typed};

/// Ctrl-C came while a prompt stood.
static LEFT: Notify = Notify::const_new();

/// Leaves the prompt that stands, if one does: Ctrl-C there is no word to the run.
pub(crate) fn leave_prompt() -> bool {
    let stands = out::is_prompting();
    if stands {
        LEFT.notify_waiters();
    }
    stands
}

/// An interactive terminal, where the user is asked one question at a time.
#[derive(Debug)]
pub(crate) struct Terminal {
    stdin: Mutex<Stdin>,
    /// The face of the conversation, which has the keys.
    face: Option<Face>,
    /// The run whose questions these are, where those of several are put.
    of: Option<String>,
    /// A question is waiting: a listener must release the terminal.
    wanted: Notify,
    /// Messages that wait for the end of the turn.
    queued: std::sync::Mutex<VecDeque<String>>,
    left: AtomicBool,
    /// Whether the user wants to leave the conversation, too.
    quits: AtomicBool,
    /// The log that the runs of delegates are in.
    log: Arc<dyn Log>,
    roots: std::sync::Mutex<Roots>,
    /// Whether there is a conversation to leave.
    chat: bool,
}

/// Characters of a command line that are shown at once.
const COMMAND: usize = 300;

/// Surroundings of the questions.
#[derive(Debug)]
pub(crate) struct Place {
    /// The log that the runs of delegates are in.
    pub(crate) log: Arc<dyn Log>,
    /// Where relative paths among arguments begin, and the programs that are tools.
    pub(crate) roots: Roots,
    /// Whether there is a conversation to leave.
    pub(crate) chat: bool,
}

/// A question that is being put.
struct Put<'q> {
    question: &'q OpenQuestion,
    subject: Option<Subject>,
    /// Its place among the open questions, if there are several.
    place: Option<String>,
    choices: String,
    /// The arguments as they were edited last.
    draft: Option<Draft>,
}

impl Terminal {
    /// The terminal, if it is interactive.
    pub(crate) fn open(place: Place) -> Option<Arc<Self>> {
        Self::within(place, None)
    }

    /// The same, within the face of a conversation.
    pub(crate) fn within(place: Place, face: Option<Face>) -> Option<Arc<Self>> {
        Self::among(place, face, None)
    }

    /// The same, where runs are many: a line above each question names its own.
    pub(crate) fn among(place: Place, face: Option<Face>, of: Option<String>) -> Option<Arc<Self>> {
        stdin::somebody().then(|| {
            let (stdin, wanted) = (Mutex::new(Stdin::new()), Notify::new());
            let (left, quits) = (AtomicBool::new(false), AtomicBool::new(false));
            let queued = std::sync::Mutex::default();
            let Place { log, roots, chat } = place;
            let roots = roots.into();
            Arc::new(Self { stdin, face, of, wanted, queued, left, quits, log, roots, chat })
        })
    }

    /// Another agent asks from here on.
    pub(crate) fn asks_within(&self, roots: Roots) {
        *self.roots.lock().unwrap_or_else(PoisonError::into_inner) = roots;
    }

    /// A message waits for the end of the turn.
    pub(crate) fn queue(&self, text: &str) {
        self.queued.lock().unwrap_or_else(PoisonError::into_inner).push_back(text.to_owned());
    }

    /// Takes the next message that waited.
    pub(crate) fn take_queued(&self) -> Option<String> {
        self.queued.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// The person leaves the conversation.
    pub(crate) fn quit(&self) {
        self.quits.store(true, Ordering::Relaxed);
    }

    /// Resets the state after the user left a question open: the next run may ask again.
    pub(crate) fn come_back(&self) {
        self.left.store(false, Ordering::Relaxed);
    }

    /// Whether the user left a question with `/quit`.
    pub(crate) fn quits(&self) -> bool {
        self.quits.load(Ordering::Relaxed)
    }

    /// The next line typed while no question is asked; `None` at the end of input. Cancel-safe.
    pub(crate) async fn overheard(&self) -> Option<String> {
        if let Some(face) = &self.face {
            loop {
                match face.next().await {
                    Act::Sent(text) => return Some(text),
                    Act::End => return Some("/quit".to_owned()),
                    Act::Key(_) => {}
                }
            }
        }
        loop {
            let mut stdin = self.stdin.lock().await;
            tokio::select! {
                biased;
                () = self.wanted.notified() => {}
                line = stdin.line() => return line.unwrap_or(None),
            }
        }
    }

    async fn put(&self, state: &State, question: &OpenQuestion) -> Option<Answer> {
        // What happened before is shown first.
        tokio::task::yield_now().await;
        self.wanted.notify_one();
        let mut stdin = self.stdin.lock().await;
        if self.left.load(Ordering::Relaxed) {
            return None;
        }
        let subject = Subject::of(state, question, &*self.log).await;
        // A question that cannot be seen is not put.
        out::room(Stream::Out).await;
        out::room(Stream::Err).await;
        // The face drops what was typed before a question, and keeps what belongs to a paste.
        if self.face.is_none() {
            stdin.forget();
        }
        let mut put =
            Put { question, subject, place: place_of(state, question), choices: String::new(), draft: None };
        let frame = out::Prompting::begin();
        let standing = Standing::begin(&question.id);
        let answer = if let Some(face) = &self.face {
            self.put_in(face, &mut put).await
        } else {
            frame.show(|| self.show(&mut put, false));
            self.answer(&mut put, &mut stdin, &frame).await
        };
        standing.over();
        if answer.is_none() {
            self.left.store(true, Ordering::Relaxed);
        }
        answer
    }

    /// The person's answer. `None`: the question is left.
    async fn answer(&self, put: &mut Put<'_>, stdin: &mut Stdin, frame: &out::Prompting) -> Option<Answer> {
        loop {
            let line = tokio::select! {
                biased;
                () = LEFT.notified() => None,
                // A terminal that cannot be read counts as not interactive.
                line = line_after("> ", stdin, frame) => line.unwrap_or(None),
            };
            let Some(line) = line else { break };
            match typed(put, line.trim()) {
                Typed::Answer(answer) => return Some(answer),
                Typed::Unclear(expected) => frame.show(|| out::say(expected)),
                Typed::All => frame.show(|| self.show(put, true)),
                Typed::Edit => match put.edit(stdin, frame).await {
                    Ok(Some(answer)) => return Some(answer),
                    Ok(None) => break,
                    Err(why) => frame.show(|| {
                        out::say(why);
                        out::say(&put.choices);
                    }),
                },
                Typed::Later => break,
                Typed::Quit => {
                    self.quit();
                    break;
                }
            }
        }
        None
    }

    fn show(&self, put: &mut Put<'_>, whole: bool) {
        if out::within_line() {
            // As above: stdout has no reader.
            let _unseen = out::answer("\n");
        }
        let rendered = self.rendered(put, whole);
        let head: Vec<(Style, &str)> = rendered.head.iter().map(|(style, text)| (*style, &**text)).collect();
        out::say_styled(&head);
        rendered.body.iter().for_each(|(style, line)| out::say_styled(&[(*style, line)]));
        out::say_styled(&[(Style::Dim, &put.choices)]);
    }

    /// The question and what it is about.
    fn rendered(&self, put: &mut Put<'_>, whole: bool) -> Rendered {
        let question = put.question;
        let approved = put.subject.as_ref().filter(|_| question.kind == QuestionKind::Approval);
        let apart = approved.and_then(|subject| Some((subject, subject.lead(&question.text)?)));
        let (id, text) = (question.id.as_str(), apart.as_ref().map_or(&*question.text, |(_, lead)| lead));
        let drawn = put.subject.as_ref().filter(|_| self.face.is_some());
        let about_call = apart.is_some() || question.kind == QuestionKind::Outcome;
        let text = drawn.filter(|_| about_call).map_or_else(|| text.to_owned(), |call| call.without_id(text));
        let asks = put.subject.as_ref().and_then(|subject| subject.asks.as_deref());
        let from: Vec<String> =
            put.place.iter().cloned().chain(asks.map(|agent| format!("`{agent}` asks"))).collect();
        let from = if from.is_empty() { String::new() } else { format!(" ({})", from.join(", ")) };
        // The question says what is to run, wherever it comes from: its call may be one of an agent below.
        let head = vec![
            (Style::Bold, id.to_owned()),
            (Style::Dim, from),
            (Style::Plain, ": ".to_owned()),
            (Style::Plain, text.trim_end().to_owned()),
        ];
        let (mut cut, mut body) = (false, Vec::new());
        if let Some((subject, _)) = apart {
            let roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
            let write = changes::written(subject, roots.of_call(subject));
            let page = Page::of(&subject.args, write.as_ref(), whole);
            cut = page.is_cut();
            body = page.into_lines();
            if let Some(line) = roots.command_of(subject) {
                let line = if whole { line } else { windlass_read::words::cut(&line, COMMAND) };
                body.insert(0, (Style::Dim, format!("  runs: {line}")));
            }
        }
        for (place, suggestion) in (1..).zip(&question.suggestions) {
            body.push((Style::Plain, format!("  {place}. {suggestion}")));
        }
        put.choices = typed::choices(question.kind, cut, self.chat);
        Rendered { head, body }
    }
}

/// A question and what it is about.
struct Rendered {
    head: Vec<(Style, String)>,
    body: Vec<(Style, String)>,
}

impl Put<'_> {
    /// The answer with other arguments, from the user's editor or from a line. `None`: the user left.
    ///
    /// # Errors
    /// Why there is none; the question is still open.
    async fn edit(&mut self, stdin: &mut Stdin, frame: &out::Prompting) -> Result<Option<Answer>, String> {
        if let (Some(editor), Some(subject)) = (editor::command(), &self.subject) {
            let draft = self.draft.get_or_insert_with(|| Draft::new(&subject.args));
            let args = draft.edit(&editor, subject).await;
            // Keys of the editor are no answer.
            stdin.forget();
            return args.map(|args| Some(Answer::ApproveWith { args }));
        }
        frame.show(|| out::say("`EDITOR` is not set: type the arguments as JSON, on one line"));
        let line = tokio::select! {
            biased;
            () = LEFT.notified() => None,
            line = line_after("arguments (JSON): ", stdin, frame) => line.unwrap_or(None),
        };
        let Some(line) = line else { return Ok(None) };
        self.read_args(&line).map(Some)
    }

    /// The answer with the arguments that were typed.
    fn read_args(&self, line: &str) -> Result<Answer, String> {
        match &self.subject {
            Some(subject) => editor::checked(line, subject).map(|args| Answer::ApproveWith { args }),
            None => windlass_runtime::host::read_arguments(line),
        }
    }
}

impl People for Terminal {
    fn by(&self) -> Option<AnsweredBy> {
        Some(AnswerSource::Terminal.into())
    }

    fn answers(&self, _state: &State, _question: &OpenQuestion) -> bool {
        !self.left.load(Ordering::Relaxed)
    }

    fn ask<'p>(&'p self, state: &'p State, question: &'p OpenQuestion) -> BoxFuture<'p, Answer> {
        Box::pin(async {
            match self.put(state, question).await {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }

    fn ask_or_leave<'p>(
        &'p self,
        state: &'p State,
        question: &'p OpenQuestion,
    ) -> BoxFuture<'p, Option<Answer>> {
        Box::pin(self.put(state, question))
    }
}

/// The line of a prompt that has not been ended yet.
struct Unanswered<'f>(Option<&'f out::Prompting>);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(frame) = self.0 {
            frame.show(|| out::say(""));
        }
    }
}

/// The question's place among those that are open, where there are several: `1 of 3`.
fn place_of(state: &State, question: &OpenQuestion) -> Option<String> {
    let all = state.questions();
    let at = all.iter().position(|open| open.id == question.id)?;
    (all.len() > 1).then(|| format!("{} of {}", at + 1, all.len()))
}

/// Prompts for a line. Without one, as when the question is withdrawn or the process told to end, what is shown next begins on a
/// line of its own.
async fn line_after(prompt: &str, stdin: &mut Stdin, frame: &out::Prompting) -> io::Result<Option<String>> {
    frame.show(|| out::prompt(prompt));
    let mut unanswered = Unanswered(Some(frame));
    let line = stdin.line().await;
    if matches!(line, Ok(Some(_))) {
        unanswered.0 = None;
    }
    line
}
