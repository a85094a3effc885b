//! A run in the foreground whose person goes on typing.

use std::future::pending;
use std::pin::pin;

use async_trait::async_trait;
use futures_util::future::{Either, select};
use windlass_runtime::host::LiveRun;
use windlass_runtime::{Run, RunHandle};

use super::{Words, drive};
use crate::asking::Terminal;
use crate::face::Face;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::out;
use crate::view::View;
use windlass_read::words::cut;

/// Characters of a word that is no command.
const SHORT: usize = 40;

/// The listener to lines that are typed while a run goes on.
#[derive(Clone, Copy)]
pub(crate) struct Listening<'l> {
    pub(crate) terminal: &'l Terminal,
    pub(crate) face: Option<&'l Face>,
    /// Whether messages wait for the end of the turn; otherwise they steer it.
    pub(crate) queues: bool,
    pub(crate) commands: &'l dyn Commands,
}

/// The commands of a conversation while the agent works.
pub(crate) trait Commands: Send + Sync {
    /// The name of a command, if a word is one.
    fn named(&self, word: &str) -> Option<&'static str>;
    /// The refusal of a word that is none.
    fn unknown(&self, word: &str) -> String;
    /// The text of a command that only tells something.
    fn text(&self, command: &str) -> Option<String>;
    /// Notes on a message that steers the run. Default: none.
    fn notes(&self, _message: &str) -> Vec<String> {
        Vec::new()
    }
}

/// As [`drive`]; what is typed meanwhile steers the run, or waits for its end.
pub(super) async fn drive_and_listen(
    live: LiveRun,
    view: &mut View,
    interrupts: &mut Interrupts,
    words: &Words,
    listening: Listening<'_>,
) -> Result<Run, Failure> {
    let handle = live.handle().clone();
    let listen = pin!(listening.listen(&handle));
    match select(pin!(drive(live, view, interrupts, words)), listen).await {
        Either::Left((run, _)) => run,
        // It never ends by itself.
        Either::Right(((), _)) => Err(Failure::new(Exit::Internal, "the terminal was closed")),
    }
}

/// Whether a word is meant as a command of the conversation: a path is none.
pub(crate) fn names_command(word: &str) -> bool {
    word.strip_prefix('/').is_some_and(|rest| !rest.contains('/'))
}

/// Whether a text begins as a command does.
fn begins_as_command(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    word.len() > 1 && names_command(word)
}

/// Whether a line leaves, as it does in a shell.
pub(crate) fn is_farewell(text: &str) -> bool {
    matches!(text, "exit" | "quit")
}

/// A text as it is meant: a further slash before what would be a command makes a message of it.
pub(crate) fn message(text: &str) -> &str {
    text.strip_prefix('/').filter(|rest| begins_as_command(rest)).unwrap_or(text)
}

/// The way to type such a message.
pub(crate) fn typed_as(text: &str) -> String {
    let slash = if begins_as_command(text) { "/" } else { "" };
    format!("{slash}{text}")
}

/// The verbs of a run that goes on.
#[async_trait]
pub(crate) trait Verbs: Send + Sync {
    async fn steer(&self, text: &str) -> Result<(), Failure>;
    async fn pause(&self, reason: Option<&str>) -> Result<(), Failure>;
    async fn stop(&self) -> Result<(), Failure>;
    /// The run is left as it is: `true` if somebody else drives it on.
    fn leave(&self) -> bool;
}

#[async_trait]
impl Verbs for RunHandle {
    async fn steer(&self, text: &str) -> Result<(), Failure> {
        Ok(Self::steer(self, text).await?)
    }

    async fn pause(&self, reason: Option<&str>) -> Result<(), Failure> {
        Ok(Self::pause(self, reason.map(Into::into)).await?)
    }

    async fn stop(&self) -> Result<(), Failure> {
        Ok(self.cancel("/stop").await?)
    }

    fn leave(&self) -> bool {
        self.detach();
        false
    }
}

impl Listening<'_> {
    /// Acts on what is typed, until the person leaves a run that somebody else drives.
    pub(crate) async fn listen(self, verbs: &dyn Verbs) {
        while let Some(line) = self.terminal.overheard().await {
            match self.heard(verbs, line.trim()).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(failure) => failure.show(),
            }
        }
        pending::<()>().await;
    }

    /// A line. `false`: the run is left.
    async fn heard(self, verbs: &dyn Verbs, text: &str) -> Result<bool, Failure> {
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        let word = if is_farewell(text) { "/quit" } else { word };
        match (self.commands.named(word), rest) {
            (_, _) if text.is_empty() => {}
            (Some("/steer" | "/queue"), "") => {}
            (Some("/steer"), rest) => self.steer(verbs, rest).await?,
            (Some("/queue"), rest) => self.queue(rest),
            (Some("/pause"), reason) => {
                verbs.pause(Some(reason).filter(|reason| !reason.is_empty())).await?;
                out::note(
                    "the agent pauses before its next step, if the answer that it writes is not the last",
                );
            }
            (Some("/stop"), _) => verbs.stop().await?,
            (Some("/quit"), _) => {
                self.terminal.quit();
                return Ok(!verbs.leave());
            }
            (Some("/context"), _) if self.face.is_some() => {
                out::note(self.face.map(Face::context).unwrap_or_default());
            }
            (Some(name), rest) => match self.commands.text(name).filter(|_| rest.is_empty()) {
                Some(text) => text.lines().for_each(out::note),
                None => {
                    out::note(format_args!(
                        "{word} does nothing while the agent works (/stop ends its turn)"
                    ));
                }
            },
            (None, _) if names_command(word) => {
                out::note(self.commands.unknown(&cut(word, SHORT)));
            }
            (None, _) if self.queues => self.queue(text),
            (None, _) => self.steer(verbs, message(text)).await?,
        }
        Ok(true)
    }

    async fn steer(self, verbs: &dyn Verbs, text: &str) -> Result<(), Failure> {
        self.commands.notes(text).iter().for_each(out::note);
        if let Some(face) = self.face {
            face.unheard(text);
        }
        verbs.steer(text).await.inspect_err(|_| {
            if let Some(face) = self.face {
                face.heard(text);
            }
        })
    }

    fn queue(self, text: &str) {
        self.terminal.queue(text);
        match self.face {
            Some(face) => face.status(|status| status.queued += 1),
            None => out::note("it waits for the end of the turn"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_further_slash_makes_a_message_of_a_command_and_takes_none_from_other_texts() {
        for text in [
            "/etc is full",
            "/help",
            "2 / 3",
            "// TODO add it",
            "/// Docs.",
            "/usr/bin is full",
            "/",
            "a //b",
        ] {
            assert_eq!(message(&typed_as(text)), text);
        }
        assert_eq!(typed_as("/help"), "//help");
        assert_eq!(message("// TODO add it"), "// TODO add it");
    }
}
