//! The person at the terminal.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, Notify};
use windlass_core::event::QuestionKind;
use windlass_core::run::OpenQuestion;
use windlass_core::{Answer, State};
use windlass_runtime::People;

use crate::answers;
use crate::out::{self, Stream, Style};
use crate::stdin::{self, Stdin};

/// An interactive terminal, where the user is asked one question at a time.
#[derive(Debug)]
pub(crate) struct Terminal {
    stdin: Mutex<Stdin>,
    /// A question is waiting: a listener must release the terminal.
    wanted: Notify,
    left: AtomicBool,
}

/// Meaning of a typed line.
enum Typed {
    Answer(Answer),
    /// Not now: the run is suspended.
    Later,
    /// Invalid; holds what was expected.
    Unclear(String),
}

impl Terminal {
    /// The terminal, if it is interactive.
    pub(crate) fn open() -> Option<Arc<Self>> {
        stdin::somebody().then(|| {
            let (stdin, wanted, left) = (Mutex::new(Stdin::new()), Notify::new(), AtomicBool::new(false));
            Arc::new(Self { stdin, wanted, left })
        })
    }

    /// Resets the state after the user left a question open: the next run may ask again.
    pub(crate) fn come_back(&self) {
        self.left.store(false, Ordering::Relaxed);
    }

    /// The next line typed while no question is asked; `None` at the end of input. Cancel-safe.
    pub(crate) async fn overheard(&self) -> Option<String> {
        loop {
            let mut stdin = self.stdin.lock().await;
            tokio::select! {
                biased;
                () = self.wanted.notified() => {}
                line = stdin.line() => return line.unwrap_or(None),
            }
        }
    }

    async fn put(&self, question: &OpenQuestion) -> Option<Answer> {
        // What happened before is shown first.
        tokio::task::yield_now().await;
        self.wanted.notify_one();
        let mut stdin = self.stdin.lock().await;
        if self.left.load(Ordering::Relaxed) {
            return None;
        }
        // A question that cannot be seen is not put.
        out::room(Stream::Out).await;
        out::room(Stream::Err).await;
        stdin.forget();
        let _prompting = out::Prompting::begin();
        show(question);
        loop {
            // A terminal that cannot be read counts as not interactive.
            let Some(line) = line_after("> ", &mut stdin).await.unwrap_or(None) else { break };
            match typed(question, line.trim(), &mut stdin).await {
                Ok(Typed::Answer(answer)) => return Some(answer),
                Ok(Typed::Unclear(expected)) => out::say(expected),
                Ok(Typed::Later) | Err(_) => break,
            }
        }
        self.left.store(true, Ordering::Relaxed);
        None
    }
}

impl People for Terminal {
    fn answers(&self, _state: &State, _question: &OpenQuestion) -> bool {
        !self.left.load(Ordering::Relaxed)
    }

    fn ask<'p>(&'p self, _state: &'p State, question: &'p OpenQuestion) -> BoxFuture<'p, Answer> {
        Box::pin(async {
            match self.put(question).await {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }

    fn ask_or_leave<'p>(
        &'p self,
        _state: &'p State,
        question: &'p OpenQuestion,
    ) -> BoxFuture<'p, Option<Answer>> {
        Box::pin(self.put(question))
    }
}

fn show(question: &OpenQuestion) {
    if out::within_line() {
        // As above: stdout has no reader.
        let _unseen = out::answer("\n");
    }
    // The question says what is to run, wherever it comes from: its call may be one of an agent below.
    let (id, text) = (question.id.as_str(), &*question.text);
    out::say_styled(&[(Style::Bold, id), (Style::Plain, ": "), (Style::Plain, text)]);
    for (place, suggestion) in (1..).zip(&question.suggestions) {
        out::say(format_args!("  {place}. {suggestion}"));
    }
    out::say_styled(&[(Style::Dim, choices(question.kind))]);
}

/// The line of a prompt that has not been ended yet.
struct Unanswered(bool);

impl Drop for Unanswered {
    fn drop(&mut self) {
        if self.0 {
            out::say("");
        }
    }
}

/// Prompts for a line. Without one, as when the question is withdrawn or the process told to end, what is shown next begins on a
/// line of its own.
async fn line_after(prompt: &str, stdin: &mut Stdin) -> io::Result<Option<String>> {
    out::prompt(prompt);
    let mut unanswered = Unanswered(true);
    let line = stdin.line().await;
    unanswered.0 = !matches!(line, Ok(Some(_)));
    line
}

fn choices(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Approval => "[y]es, [n]o, [n]o REASON, [e]dit the arguments, [l]ater",
        QuestionKind::Clarify => "type the answer, or the number of a suggestion; Ctrl-D: later",
        QuestionKind::Outcome => "[r]esult TEXT, [a]gain, [u]nknown, [l]ater",
        QuestionKind::Limit(_) => "[c]onclude TEXT, [r]aise N, [l]ater",
    }
}

async fn typed(question: &OpenQuestion, line: &str, stdin: &mut Stdin) -> io::Result<Typed> {
    let (word, rest) =
        line.split_once(char::is_whitespace).map_or((line, ""), |(word, rest)| (word, rest.trim()));
    let words = match (question.kind, word) {
        (QuestionKind::Clarify, _) => return Ok(clarified(question, line)),
        (_, "l" | "later") => return Ok(Typed::Later),
        (QuestionKind::Approval, "y" | "yes" | "approve") => "approve".to_owned(),
        (QuestionKind::Approval, "n" | "no" | "deny") => format!("deny {rest}"),
        (QuestionKind::Approval, "e" | "edit" | "args") if rest.is_empty() => {
            let Some(args) = line_after("arguments (JSON): ", stdin).await? else { return Ok(Typed::Later) };
            format!("args {args}")
        }
        (QuestionKind::Approval, "e" | "edit" | "args") => format!("args {rest}"),
        (QuestionKind::Outcome, "r" | "result") => format!("result {rest}"),
        (QuestionKind::Outcome, "a" | "again" | "run_again") => "run_again".to_owned(),
        (QuestionKind::Outcome, "u" | "unknown") => "unknown".to_owned(),
        (QuestionKind::Limit(_), "c" | "conclude") => format!("conclude {rest}"),
        (QuestionKind::Limit(_), "r" | "raise") => format!("raise {rest}"),
        _ => return Ok(Typed::Unclear(choices(question.kind).to_owned())),
    };
    let words: Vec<String> = words.trim().split(' ').map(str::to_owned).collect();
    Ok(answers::read(question.kind, &words).map_or_else(Typed::Unclear, Typed::Answer))
}

fn clarified(question: &OpenQuestion, line: &str) -> Typed {
    let chosen = line.parse::<usize>().ok().and_then(|place| question.suggestions.get(place.checked_sub(1)?));
    match chosen {
        Some(suggestion) => Typed::Answer(Answer::Text(suggestion.clone())),
        None if line.is_empty() => Typed::Unclear(choices(question.kind).to_owned()),
        None => Typed::Answer(Answer::Text(line.into())),
    }
}
