//! Which of a run's models replied how often.

use serde::Serialize;
use windlass_core::event::{Adjusted, TurnCompleted, TurnFailed, TurnStarted};
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

/// Follows which model each open call asks.
#[derive(Debug, Default)]
pub(super) struct Router {
    /// The models by their places in the run's list, as places in the list of counts.
    places: Vec<usize>,
    /// The open calls: purpose, tool call, and the model by its place in the run's list.
    open: Vec<(Purpose, Option<CallId>, u32)>,
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
            self.asks(turn);
        } else if let Fact::TurnCompleted(turn) = fact {
            self.replied(counts, turn);
        } else if let Fact::TurnHedged(hedged) = fact {
            self.open.push((hedged.purpose, hedged.about.clone(), hedged.model));
        } else if let Fact::TurnFailed(TurnFailed { purpose, about, beside: Some(goes_on), .. }) = fact {
            self.open.retain(|open| open.0 != *purpose || open.1 != *about || open.2 == *goes_on);
        } else if let Fact::Adjusted(Adjusted { models: Some(models), .. }) = fact {
            self.models(counts, models);
        }
    }

    /// A call begins.
    fn asks(&mut self, turn: &TurnStarted) {
        // With a hedge that was lost with its process.
        while self.close(turn.purpose, turn.about.as_ref()).is_some() {}
        self.open.push((turn.purpose, turn.about.clone(), turn.model));
    }

    /// A call has its reply.
    fn replied(&mut self, counts: &mut [ModelTurns], turn: &TurnCompleted) {
        let asked = self.close(turn.purpose, turn.about.as_ref()).unwrap_or(0);
        let count = self.places.get(asked as usize).and_then(|place| counts.get_mut(*place));
        if let Some(count) = count {
            count.turns += 1;
        }
    }

    fn close(&mut self, purpose: Purpose, about: Option<&CallId>) -> Option<u32> {
        let same = |open: &(Purpose, Option<CallId>, u32)| open.0 == purpose && open.1.as_ref() == about;
        self.open.iter().position(same).map(|at| self.open.remove(at).2)
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
