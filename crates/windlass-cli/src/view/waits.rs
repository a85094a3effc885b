//! The waits of a run, from its timeline, with the part of a reply that its updates show.

use windlass_core::event::Millis;
use windlass_core::{Event, State};
use windlass_read::words::{name, waits::waiting};
use windlass_read::{WaitKind, Waits as Known};
use windlass_runtime::Update;

use crate::waiting::Wait;

/// Everything that a run waits for.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    known: Known,
    /// The number of the wait for a model, and what the model does, as far as its reply shows.
    doing: Option<(u64, String)>,
    /// When something happened last.
    last: Option<Millis>,
    /// For how long nothing but a person was waited for.
    by_people: Millis,
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

    /// For how long nothing but a person was waited for, since it was asked last.
    pub(super) fn take_by_people(&mut self) -> Millis {
        std::mem::take(&mut self.by_people)
    }

    pub(super) fn event(&mut self, event: &Event) {
        let open = self.known.open();
        let is_idle = !open.is_empty() && open.iter().all(|wait| wait.on.kind() == WaitKind::Person);
        if let Some(last) = self.last.replace(event.at).filter(|_| is_idle) {
            self.by_people += event.at.saturating_sub(last);
        }
        drop(self.known.learn(event));
    }
}

#[cfg(test)]
mod tests;
