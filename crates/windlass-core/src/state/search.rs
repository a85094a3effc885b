//! A search for the items of the conversation that a provider refuses.

use crate::asks::Ask;
use crate::event::Suspect;
use crate::halving::Halving;
use crate::ids::ActionId;
use crate::reply::ModelFailure;
use crate::state::State;

/// A search within one turn, with one model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Search {
    /// The items that may be to blame, the oldest first. Until the first request without them begins, none is known.
    pub(crate) suspects: Vec<Suspect>,
    /// The failure of the request with all of them.
    pub(crate) failure: ModelFailure,
    /// [`History::edits`](crate::message::History::edits) when it began: the suspects' places hold as long.
    pub(crate) edits: u64,
    pub(crate) halving: Halving,
}

impl State {
    /// The search that an open call is a request of. `None`: it is none, or the conversation was edited since.
    pub(crate) fn search_of(&self, ask: &Ask) -> Option<&Search> {
        let search = self.turn.search.as_deref().filter(|_| !ask.without.is_empty())?;
        (search.edits == self.conversation.history.edits()).then_some(search)
    }

    /// Whether the reply of a model call that is going on is only looked at for whether there is one.
    pub fn only_probes(&self, action: ActionId) -> bool {
        let search = self.asked(action).and_then(|ask| self.search_of(ask));
        search.is_some_and(|search| !search.halving.is_last())
    }
}
