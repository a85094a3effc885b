//! The search for the items of the conversation that a provider refuses, by requests without some of them (E58): its knowledge,
//! the items that its next request leaves out, and its fold.
//!
//! It first asks whether all candidates together are to blame, then halves: it looks for the shortest run of them from the first one
//! whose absence makes the request accepted, and the last of that run is to blame. With that one left out it begins again with those
//! before it, until the items found are enough by themselves.

use std::borrow::Cow;

use crate::protocol::fact::refused::{CandidateItem, ProbeAnswered, RefusalCandidate, RefusedItems};
use crate::protocol::fact::turns::{TurnFailed, TurnStarted};
use crate::state::model_calls::ModelCall;
use crate::state::{Phase, State};
use crate::vocabulary::ids::ActionId;
use crate::vocabulary::reply::{FailureKind, ModelFailure};

/// Maximum number of requests of one round. With them, one of 256 items is found in 10, three of them in 28.
const MAX_PROBES: u32 = 32;

/// A search within one turn, with one model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Search {
    /// The failure of the request with all items.
    failure: ModelFailure,
    /// The items that may be to blame, the oldest first. Until the first request without them begins, none is known.
    candidates: Vec<RefusalCandidate>,
    /// [`History::edits`](crate::message::History::edits) when it began: the candidates' places hold as long.
    edits: u64,
    /// Sealed reasoning behind the first candidate, which is none itself.
    behind: Vec<RefusalCandidate>,
    /// Whether reasoning goes as well that stands behind an item that is left out: some providers take it only behind the very
    /// messages that it was made for.
    drops_behind: bool,
    round: Round,
}

/// Knowledge of the candidates, by their numbers.
#[derive(Clone, Debug, PartialEq)]
struct Round {
    /// Those that are to blame, as they were found.
    found: Vec<usize>,
    /// Without those found and so many of the first ones, the request is refused; `None`: nobody knows whether those found are enough.
    low: Option<usize>,
    /// Without those found and so many of the first ones, the request is accepted. Of the first request, it is only hoped.
    high: usize,
    probes: u32,
}

/// The next step of a search.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// A request without these items.
    Probe(Vec<RefusalCandidate>),
    /// These items are to blame. If the last request was accepted, it was the one without exactly these.
    Found(Vec<RefusalCandidate>),
    /// The request is refused whatever is left out.
    Blameless,
}

impl Step {
    fn asks_without(&self, items: &[RefusalCandidate]) -> bool {
        matches!(self, Self::Probe(without) if without == items)
    }
}

impl Round {
    fn over(count: usize) -> Self {
        Self { found: Vec::new(), low: Some(0), high: count, probes: 0 }
    }

    /// Whether the request was refused without any of the candidates.
    fn is_blameless(&self) -> bool {
        self.low == Some(self.high)
    }

    /// How many of the first ones the request that is going on leaves out, with those found; `None`: the round is over.
    fn tried(&self) -> Option<usize> {
        if self.is_blameless() || self.high == 0 || self.probes >= MAX_PROBES {
            return None;
        }
        let all = Some(self.high).filter(|_| self.probes == 0);
        all.or_else(|| Some(self.low.map_or(0, |low| usize::midpoint(low, self.high))))
    }

    /// The request that is going on was accepted, or refused.
    fn answered(&mut self, accepted: bool) {
        let Some(tried) = self.tried() else { return };
        self.probes += 1;
        if accepted {
            self.high = tried;
        } else {
            self.low = Some(tried);
        }
        if let Some(low) = self.low.filter(|low| low + 1 == self.high) {
            self.found.push(low);
            // Those before it have been left out with it so far.
            (self.low, self.high) = (None, low);
        }
    }
}

impl Search {
    /// A search after that failure. Its items are known once it begins.
    fn after_failure(failure: ModelFailure) -> Self {
        let (candidates, behind, round) = (Vec::new(), Vec::new(), Round::over(0));
        Self { failure, candidates, edits: 0, behind, drops_behind: false, round }
    }

    /// Its first request begins, which leaves all candidates out.
    fn begun(self, candidates: Vec<RefusalCandidate>, behind: Vec<RefusalCandidate>, edits: u64) -> Self {
        let round = Round::over(candidates.len());
        Self { candidates, edits, behind, round, ..self }
    }

    /// The failure of the request with all items.
    pub(crate) fn failure(&self) -> &ModelFailure {
        &self.failure
    }

    /// Whether the requests ran out before each item was told from the others: good ones may be among those found.
    pub(crate) fn ran_out(&self) -> bool {
        self.round.probes >= MAX_PROBES && self.round.high > 0
    }

    /// The search after the request that is going on was accepted, or refused.
    pub(crate) fn after(&self, accepted: bool) -> Self {
        let mut next = self.clone();
        next.round.answered(accepted);
        if next.round.is_blameless() && !next.drops_behind && !next.behind.is_empty() {
            (next.drops_behind, next.round) = (true, Round::over(next.candidates.len()));
        }
        next
    }

    pub(crate) fn step(&self) -> Step {
        match self.round.tried() {
            Some(first) => Step::Probe(self.pick(first)),
            None if self.round.is_blameless() => Step::Blameless,
            // If the requests ran out, the fewest that are known to be enough.
            None => Step::Found(self.pick(self.round.high)),
        }
    }

    /// The candidates found and so many of the first ones, with the reasoning that goes with them, in the order of the conversation.
    fn pick(&self, first: usize) -> Vec<RefusalCandidate> {
        let numbered = self.candidates.iter().enumerate();
        let picked = numbered.filter(|(number, _)| *number < first || self.round.found.contains(number));
        let mut picked: Vec<RefusalCandidate> = picked.map(|(_, item)| item.clone()).collect();
        if let Some(from) = picked.first().map(|first| first.at).filter(|_| self.drops_behind) {
            picked.extend(self.behind.iter().filter(|seal| seal.at > from).cloned());
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
        search.is_some_and(|search| !matches!(search.after(true).step(), Step::Found(_)))
    }

    /// The state as an open call's request is made from it: without the items that a search leaves out.
    pub(crate) fn as_asked(&self, model_call: &ModelCall) -> Cow<'_, Self> {
        self.search_of(model_call).map_or(Cow::Borrowed(self), |_| self.leaving_out(model_call.without()))
    }

    /// A call that the loop waits for begins: a request without some candidates, or a whole one, which ends a search. If it is without
    /// others than the last request, that one was refused; one that failed for another reason is asked again as it was.
    pub(crate) fn search_begun(&mut self, turn: &TurnStarted) {
        let search = self.turn.search_mut().take().filter(|_| !turn.without.is_empty());
        let Some(search) = search else { return };
        let begun = if search.candidates.is_empty() {
            let (edits, behind) = (self.conversation.history().edits(), self.sealed_behind(&turn.without));
            Box::new(search.begun(turn.without.clone(), behind, edits))
        } else if search.step().asks_without(&turn.without) {
            search
        } else {
            Box::new(search.after(false))
        };
        *self.turn.search_mut() = Some(begun);
    }

    /// A call that the loop waits for was refused. A request of a search counts as a model call.
    pub(crate) fn search_refused(&mut self, turn: &TurnFailed, failed: &ModelCall) {
        if turn.failure.kind != FailureKind::BadRequest {
            return;
        }
        if !failed.without().is_empty() {
            return self.ledger.model_called(failed.purpose());
        }
        let first = || Box::new(Search::after_failure(turn.failure.clone().with_reply_of(None)));
        *self.turn.search_mut() = turn.retry_at.map(|_| first());
    }

    pub(crate) fn probe_answered(&mut self, probe: &ProbeAnswered) {
        let model_call = self.model_calls.close(probe.purpose, None);
        self.asked_for(&probe.usage, model_call.as_ref(), None);
        self.phase = Phase::Between;
        self.ledger.model_called(probe.purpose);
        if let Some(search) = self.turn.search_mut() {
            **search = search.after(true);
        }
    }

    /// The ids that stand in for others are taken.
    pub(crate) fn items_refused(&mut self, refused: &RefusedItems) {
        for item in &refused.items {
            if let CandidateItem::CallId { replacement, .. } = &item.what {
                self.conversation.take_id(replacement);
            }
        }
    }
}

#[cfg(test)]
mod tests;
