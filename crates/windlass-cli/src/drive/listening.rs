//! A run in the foreground whose person goes on typing.

use std::future::pending;
use std::pin::pin;

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

/// Who listens to what is typed.
#[derive(Clone, Copy)]
pub(crate) struct Listening<'l> {
    pub(crate) terminal: &'l Terminal,
    pub(crate) face: Option<&'l Face>,
    /// Whether messages wait for the end of the turn; otherwise they steer it.
    pub(crate) queues: bool,
    /// The name of a command of the conversation, if a word is one.
    pub(crate) command: fn(&str) -> Option<&'static str>,
    /// Lists the commands.
    pub(crate) help: fn(),
}

/// As [`drive`]; what is typed meanwhile steers the run, or waits for its end.
pub(crate) async fn drive_and_listen(
    live: LiveRun,
    view: &mut View,
    interrupts: &mut Interrupts,
    words: &Words,
    listening: Listening<'_>,
) -> Result<Run, Failure> {
    let handle = live.handle().clone();
    let listen = pin!(async {
        while let Some(line) = listening.terminal.overheard().await {
            if let Err(failure) = listening.heard(&handle, line.trim()).await {
                failure.show();
            }
        }
        pending::<()>().await;
    });
    match select(pin!(drive(live, view, interrupts, words)), listen).await {
        Either::Left((run, _)) => run,
        // It never ends by itself.
        Either::Right(((), _)) => Err(Failure::new(Exit::Internal, "the terminal was closed")),
    }
}

impl Listening<'_> {
    async fn heard(self, handle: &RunHandle, text: &str) -> Result<(), Failure> {
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match ((self.command)(word), rest) {
            (_, _) if text.is_empty() => {}
            (Some("/steer" | "/queue"), "") => {}
            (Some("/steer"), rest) => self.steer(handle, rest).await?,
            (Some("/queue"), rest) => self.queue(rest),
            (Some("/pause"), "") => handle.pause(None).await?,
            (Some("/pause"), reason) => handle.pause(Some(reason.into())).await?,
            (Some("/help"), _) => (self.help)(),
            (Some("/stop"), _) => handle.cancel("/stop").await?,
            (Some("/quit"), _) => {
                out::note("the run is left where it is");
                self.terminal.quit();
                handle.detach();
            }
            (Some(_), _) => {
                out::note(format_args!("{word} waits: the agent is working (/stop ends its turn)"));
            }
            (None, _) if self.queues => self.queue(text),
            (None, _) => self.steer(handle, text).await?,
        }
        Ok(())
    }

    async fn steer(self, handle: &RunHandle, text: &str) -> Result<(), Failure> {
        if let Some(face) = self.face {
            face.unheard(text);
        }
        handle.steer(text).await.map_err(|error| {
            if let Some(face) = self.face {
                face.heard(text);
            }
            error.into()
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
