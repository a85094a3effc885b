//! Going on with a run here, in the foreground.

use std::sync::Arc;

use windlass_core::State;
use windlass_core::event::ResumedBy;
use windlass_core::policy::LimitKind;
use windlass_models::cassette::Cassette;
use windlass_runtime::host::{LiveRun, Taking};
use windlass_runtime::{DriveOptions, Unpause};
use windlass_store::SqliteLog;

use crate::agents::{self, Again, Found, Wanted, changed};
use crate::asking::Place;
use crate::cassettes::played;
use crate::commands::chat::OfRun;
use crate::drive::{AtTerminal, Driven, Words, verdict};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::interrupts::Interrupts;
use crate::view::{View, ViewArgs};

/// A run that is about to be gone on with.
#[derive(Debug)]
pub(super) struct GoOn<'a> {
    pub(super) log_args: &'a LogArgs,
    pub(super) log: Arc<SqliteLog>,
    pub(super) view: ViewArgs,
    pub(super) interrupts: Interrupts,
    /// Set if the run's pause is over.
    pub(super) unpause: Option<Unpause>,
    pub(super) cassette: Option<Cassette>,
}

impl GoOn<'_> {
    /// The agent that can go on with the run.
    pub(super) async fn agent(&mut self, state: &State, wanted: &Wanted<'_>) -> Result<Found, Failure> {
        self.view.calm();
        let cassette = self.cassette.clone();
        let found = agents::of_run(state, wanted, &self.log, cassette, &mut self.interrupts).await?;
        self.preview(state, &found);
        Ok(found)
    }

    /// Takes the run over and drives it; with limits, begins one that continues it.
    pub(super) async fn drive(
        self,
        state: &State,
        found: Found,
        limits: &[(LimitKind, f64)],
        again: &Again,
    ) -> Result<Exit, Failure> {
        let terminal = self.terminal(&found);
        let people = terminal.people();
        let (resumed_by, unpause) = (ResumedBy::Person, self.unpause.clone());
        let hold_for_quota = people.is_some();
        let options = DriveOptions { people, hold_for_quota, resumed_by, unpause, ..DriveOptions::default() };
        let live = if limits.is_empty() {
            let taking = Taking::new(state.run()).state(state.clone()).options(options);
            let agent = found.agent.clone();
            let taking =
                if found.named { taking.with(agent, Some(state.version())) } else { taking.by(agent) };
            agents::client(&self.log).resume(taking).await
        } else {
            let prepared = found.agent.continue_run(state.run(), limits, options).await;
            prepared.map(|prepared| agents::host(&self.log).drive(&found.agent, prepared))
        };
        let live = live.map_err(|error| changed(error, &found.path, again))?;
        self.finish(live, state, &found, terminal).await
    }

    /// The terminal that the run is shown at, whose person answers its questions.
    pub(super) fn terminal(&self, found: &Found) -> AtTerminal {
        let place = Place { log: self.log.clone(), roots: found.roots.clone(), chat: false };
        AtTerminal::open(self.view, true, place, &OfRun)
    }

    /// Says what is different where a person gives the run another agent.
    fn preview(&self, state: &State, found: &Found) {
        if found.named && !self.view.json {
            agents::preview(state.run(), state.version(), &found.agent.switch_changes(state));
        }
    }

    /// Drives a run from the given state.
    pub(super) async fn finish(
        mut self,
        live: LiveRun,
        state: &State,
        found: &Found,
        terminal: AtTerminal,
    ) -> Result<Exit, Failure> {
        let mut view = View::new(self.view).logged(&self.log_args.words());
        view.recall(state);
        view.warnings(&found.warnings);
        view.unmatched(&found.unmatched);
        let words = Words {
            log: self.log_args.words(),
            file: Some(found.path.display().to_string()),
            ..Words::default()
        };
        let host = agents::host(&self.log);
        let driven = Driven { agent: &found.agent, host: &host, words: &words };
        let (run, mut view) = Box::pin(terminal.drive(live, view, &mut self.interrupts, driven)).await?;
        let verdict = played(self.cassette.as_ref(), verdict(&run, &words));
        view.left(&*self.log, &run, verdict.as_ref().err()).await?;
        view.close()?;
        verdict
    }
}
