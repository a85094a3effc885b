//! What a run waits for, from its timeline, with what its updates show of the reply that comes in.

use windlass_core::event::Millis;
use windlass_core::{Event, State};
use windlass_read::Waits as Known;
use windlass_read::words::{name, waits::waiting};
use windlass_runtime::Update;

use crate::waiting::Wait;

/// Everything that a run waits for.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    known: Known,
    /// The number of the wait for a model, and what the model does, as far as its reply shows.
    doing: Option<(u64, String)>,
}

impl Waits {
    /// A run that began earlier.
    pub(super) fn recall(&mut self, state: &State) {
        self.known = Known::of(state);
    }

    /// The wait that is going on.
    pub(crate) fn now(&self, now: Millis) -> Option<Wait> {
        let since = self.known.open().iter().map(|wait| wait.since).min()?;
        let speaking = self.known.speaking().map(|wait| wait.number);
        let doing = self.doing.as_ref().filter(|(number, _)| Some(*number) == speaking);
        let what = waiting(&self.known, now, doing.map_or("", |(_, doing)| doing))?;
        Some(Wait { what, since })
    }

    /// A piece of a reply.
    pub(super) fn update(&mut self, update: &Update) {
        let doing = match update {
            Update::Text { .. } => " (writing)".to_owned(),
            Update::Reasoning { .. } => " (reasoning)".to_owned(),
            Update::Call { name: Some(called), .. } => format!(" (writing a call of `{}`)", name(called)),
            Update::Void { .. } => String::new(),
            Update::Call { .. }
            | Update::Partial { .. }
            | Update::Events(_)
            | Update::Log(_)
            | Update::Refused { .. } => return,
        };
        // Only replies in the run's own voice come in pieces.
        self.doing = self.known.speaking().map(|wait| (wait.number, doing));
    }

    pub(super) fn event(&mut self, event: &Event) {
        drop(self.known.learn(event));
    }
}

#[cfg(test)]
mod tests;
