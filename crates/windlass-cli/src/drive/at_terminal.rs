//! A run in the foreground, and the person who sits at the terminal: with a face where it can show one.

use std::sync::Arc;

use windlass_runtime::host::{Host, LiveRun};
use windlass_runtime::{Agent, People, Run};

use super::listening::drive_and_listen;
use super::{Commands, Listening, Words, drive};
use crate::asking::{Place, Terminal};
use crate::face::{Delegates, FaceGuard};
use crate::failure::Failure;
use crate::interrupts::Interrupts;
use crate::view::{View, ViewArgs};

/// The terminal of a run.
pub(crate) struct AtTerminal {
    guard: FaceGuard,
    terminal: Option<Arc<Terminal>>,
    commands: &'static dyn Commands,
}

/// The agent of a run, its host, and the words for commands that are suggested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Driven<'d> {
    pub(crate) agent: &'d Agent,
    pub(crate) host: &'d Host,
    pub(crate) words: &'d Words,
}

impl AtTerminal {
    /// Takes the terminal. `alone`: one run is shown, and no more are told of beside it.
    pub(crate) fn open(view: ViewArgs, alone: bool, place: Place, commands: &'static dyn Commands) -> Self {
        let guard = FaceGuard::open(alone && !view.quiet && view.draws(), None, None);
        let terminal = if view.json { None } else { Terminal::within(place, guard.face().cloned()) };
        Self { guard, terminal, commands }
    }

    /// The people who answer questions there.
    pub(crate) fn people(&self) -> Option<Arc<dyn People>> {
        self.terminal.clone().map(|terminal| terminal as Arc<dyn People>)
    }

    /// Drives the run. In a face its person goes on typing; the terminal is given back at the end.
    pub(crate) async fn drive(
        self,
        live: LiveRun,
        view: View,
        interrupts: &mut Interrupts,
        driven: Driven<'_>,
    ) -> Result<(Run, View), Failure> {
        let listening = match (self.guard.face(), &self.terminal) {
            (Some(face), Some(terminal)) => {
                face.answers(driven.agent);
                Some(Listening { terminal, face: Some(face), queues: false, commands: self.commands })
            }
            _ => None,
        };
        Box::pin(drive_and_show(live, view, interrupts, driven, listening)).await
    }
}

/// Drives the run. Its person goes on typing where somebody listens, and sees it in the face that is there.
pub(crate) async fn drive_and_show(
    live: LiveRun,
    view: View,
    interrupts: &mut Interrupts,
    driven: Driven<'_>,
    listening: Option<Listening<'_>>,
) -> Result<(Run, View), Failure> {
    let Some(listening) = listening else {
        let mut view = view;
        let run = drive(live, &mut view, interrupts, driven.words).await?;
        return Ok((run, view));
    };
    let face = listening.face;
    let delegates = face.map(|face| Delegates::new(driven.host.clone(), face.clone()));
    let mut view = view.within(face, delegates);
    let run = Box::pin(drive_and_listen(live, &mut view, interrupts, driven.words, listening)).await;
    if let Some(face) = face {
        face.rest();
    }
    Ok((run?, view))
}
