//! Which of a run's models replied how often.

use serde::Serialize;
use windlass_core::event::{Adjusted, TurnCompleted, TurnFailed, TurnHedged, TurnStarted};
use windlass_core::model::{ModelChoice, Purpose, Role};
use windlass_core::{CallId, Fact, Text};

/// A model of a run, with the replies that it gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelTurns {
    /// Its name, as the agent names it.
    pub model: String,
    /// What it is asked for.
    pub role: Role,
    /// Number of replies, whatever their purpose.
    pub turns: u64,
}

/// The open calls: purpose, tool call, and the model that is asked, by its place in the run's list.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls(Vec<(Purpose, Option<CallId>, u32)>);

impl OpenCalls {
    /// A call begins.
    pub(crate) fn asks(&mut self, turn: &TurnStarted) {
        // With a hedge that was lost with its process.
        while self.close(turn.purpose, turn.about.as_ref()).is_some() {}
        self.0.push((turn.purpose, turn.about.clone(), turn.model));
    }

    /// Another model is asked beside the first one.
    pub(crate) fn hedged(&mut self, hedged: &TurnHedged) {
        self.0.push((hedged.purpose, hedged.about.clone(), hedged.model));
    }

    /// One of two attempts has failed, and the other one goes on. Gives the model that failed.
    pub(crate) fn one_failed(
        &mut self,
        purpose: Purpose,
        about: Option<&CallId>,
        goes_on: u32,
    ) -> Option<u32> {
        self.take(|open| open.0 == purpose && open.1.as_ref() == about && open.2 != goes_on)
    }

    /// A call has ended. Gives the model that was asked.
    pub(crate) fn close(&mut self, purpose: Purpose, about: Option<&CallId>) -> Option<u32> {
        self.take(|open| open.0 == purpose && open.1.as_ref() == about)
    }

    fn take(&mut self, ended: impl Fn(&(Purpose, Option<CallId>, u32)) -> bool) -> Option<u32> {
        self.0.iter().position(ended).map(|at| self.0.remove(at).2)
    }
}

/// Follows which of the run's models replied.
#[derive(Debug, Default)]
pub(super) struct Router {
    /// The models by their places in the run's list, as places in the list of counts.
    places: Vec<usize>,
    open: OpenCalls,
}

impl Router {
    /// These are the run's models from here on.
    pub(super) fn models(&mut self, counts: &mut Vec<ModelTurns>, models: &[ModelChoice]) {
        let place = |choice: &ModelChoice| place(counts, &choice.name, choice.role);
        self.places = models.iter().map(place).collect();
    }

    /// Takes in what a fact says of models and calls.
    pub(super) fn learn(&mut self, counts: &mut Vec<ModelTurns>, fact: &Fact) {
        if let Fact::TurnStarted(turn) = fact {
            self.open.asks(turn);
        } else if let Fact::TurnCompleted(turn) = fact {
            self.replied(counts, turn);
        } else if let Fact::TurnHedged(hedged) = fact {
            self.open.hedged(hedged);
        } else if let Fact::TurnFailed(TurnFailed { purpose, about, beside: Some(goes_on), .. }) = fact {
            self.open.one_failed(*purpose, about.as_ref(), *goes_on);
        } else if let Fact::Adjusted(Adjusted { models: Some(models), .. }) = fact {
            self.models(counts, models);
        }
    }

    /// A call has its reply.
    fn replied(&mut self, counts: &mut [ModelTurns], turn: &TurnCompleted) {
        let asked = self.open.close(turn.purpose, turn.about.as_ref()).unwrap_or(0);
        let count = self.places.get(asked as usize).and_then(|place| counts.get_mut(*place));
        if let Some(count) = count {
            count.turns += 1;
        }
    }
}

/// The place of a model's count, which is made if there is none.
fn place(counts: &mut Vec<ModelTurns>, name: &Text, role: Role) -> usize {
    let same = |count: &ModelTurns| count.model == **name && count.role == role;
    counts.iter().position(same).unwrap_or_else(|| {
        counts.push(ModelTurns { model: name.to_string(), role, turns: 0 });
        counts.len() - 1
    })
}
