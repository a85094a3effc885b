//! A search for the items of the conversation that a provider refuses.

use crate::protocol::fact::refused::RefusalCandidate;
use crate::state::State;
use crate::state::halving::{Halving, Step};
use crate::state::model_calls::ModelCall;
use crate::vocabulary::ids::ActionId;
use crate::vocabulary::reply::ModelFailure;

/// A search within one turn, with one model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Search {
    /// The items that may be to blame, the oldest first. Until the first request without them begins, none is known.
    candidates: Vec<RefusalCandidate>,
    /// The failure of the request with all of them.
    failure: ModelFailure,
    /// [`History::edits`](crate::message::History::edits) when it began: the suspects' places hold as long.
    edits: u64,
    /// Sealed reasoning behind the first suspect, which is none itself.
    behind: Vec<RefusalCandidate>,
    /// Whether reasoning goes as well that stands behind an item that is left out: some providers take it only behind the very
    /// messages that it was made for.
    drops_behind: bool,
    halving: Halving,
}

impl Search {
    /// The items that may be to blame, the oldest first. Until the first request without them begins, none is known.
    pub(crate) fn candidates(&self) -> &[RefusalCandidate] {
        &self.candidates
    }

    /// The failure of the request with all of them.
    pub(crate) fn failure(&self) -> &ModelFailure {
        &self.failure
    }

    pub(crate) fn halving(&self) -> &Halving {
        &self.halving
    }

    /// A search after that failure. Its items are known once it begins.
    pub(crate) fn after_failure(failure: ModelFailure) -> Self {
        let (candidates, behind, halving) = (Vec::new(), Vec::new(), Halving::over(0));
        Self { candidates, failure, edits: 0, behind, drops_behind: false, halving }
    }

    /// The search among these suspects.
    pub(crate) fn over(self, candidates: Vec<RefusalCandidate>) -> Self {
        let halving = Halving::over(candidates.len());
        Self { candidates, halving, ..self }
    }

    /// The search among these suspects, as its first request begins: with the reasoning behind them, and the conversation's edits.
    pub(crate) fn begun(
        self,
        candidates: Vec<RefusalCandidate>,
        behind: Vec<RefusalCandidate>,
        edits: u64,
    ) -> Self {
        Self { edits, behind, ..self.over(candidates) }
    }

    /// The search after its last request was accepted, or refused.
    pub(crate) fn after(&self, accepted: bool) -> Self {
        let halving = self.halving.after(accepted);
        if halving.step() == Step::Blameless && !self.drops_behind && !self.behind.is_empty() {
            let halving = Halving::over(self.candidates.len());
            return Self { halving, drops_behind: true, ..self.clone() };
        }
        Self { halving, ..self.clone() }
    }

    /// The suspects of these numbers, with the reasoning that goes with them, in the order of the conversation.
    pub(crate) fn pick(&self, items: &[usize]) -> Vec<RefusalCandidate> {
        let mut picked: Vec<RefusalCandidate> =
            items.iter().filter_map(|item| self.candidates.get(*item)).cloned().collect();
        if let (Some(first), true) = (picked.first().map(|first| first.at), self.drops_behind) {
            picked.extend(self.behind.iter().filter(|seal| seal.at > first).cloned());
            picked.sort_by_key(|item| item.at);
        }
        picked
    }
}

impl State {
    /// The search that an open call is a request of. `None`: it is none, or the conversation was edited since.
    pub(crate) fn search_of(&self, model_call: &ModelCall) -> Option<&Search> {
        let search = self.turn.search().filter(|_| !model_call.without().is_empty())?;
        (search.edits == self.conversation.history().edits()).then_some(search)
    }

    /// Whether the reply of a model call that is going on is only looked at for whether there is one.
    pub fn only_probes(&self, action: ActionId) -> bool {
        let search = self.model_call(action).and_then(|model_call| self.search_of(model_call));
        search.is_some_and(|search| !search.halving.is_last())
    }
}
