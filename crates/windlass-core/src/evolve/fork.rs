//! The fold of a fork's start: the base's state, without what only the base may do.

use std::sync::Arc;

use crate::forking::Fork;
use crate::ids::{Millis, RunId};
use crate::message::Message;
use crate::open_call::{InBase, OpenCall, Stage};
use crate::policy::{LimitKind, Policy};
use crate::state::{Closing, Phase, State};

impl State {
    /// Goes on with everything of the base but its questions, decisions and wish to stop.
    pub(super) fn forked(&mut self, base: &Self, fork: &Fork, at: Millis, seq: u64) {
        let carried = base.carried();
        self.counters = carried.counters;
        self.carried = carried.usage;
        self.carried_cost = carried.cost;
        self.carried_ms = carried.elapsed_ms;
        self.turn = base.turn;
        self.asked = base.asked;
        self.streaks = base.streaks;
        self.repeated.clone_from(&base.repeated);
        self.last_text.clone_from(&base.last_text);
        self.had_output = base.had_output;
        self.stop = base.stop;
        let holds = |kind| not_raised(kind, &base.policy, &self.policy);
        self.cut = base.cut.filter(|cut| holds(cut.limit));
        let closing = base.closing.clone().filter(|closing| holds(closing.reached.limit));
        self.closing = closing.map(|closing| Closing { seq, at, ..closing });
        self.steering.clone_from(&base.steering);
        self.steering.extend(fork.say.clone());
        self.phase = match &base.phase {
            Phase::Calling(next) | Phase::Waiting { next, .. } if !self.stopping() => {
                Phase::Waiting { seq, at, next: next.clone() }
            }
            Phase::Acting(calls) => {
                Phase::Acting(calls.iter().map(|open| taken_over(open, fork, base.run, seq)).collect())
            }
            _ => Phase::Between,
        };
        match &self.phase {
            // The call begins anew, so that it hears what was said.
            Phase::Waiting { .. } => {
                for text in std::mem::take(&mut self.steering) {
                    self.history.push(Arc::new(Message::user(text)));
                }
            }
            Phase::Acting(calls) => {
                // Questions are asked anew, and counted then.
                let before = |open: &&OpenCall| matches!(open.stage, Stage::Asking);
                let Phase::Acting(were) = &base.phase else { return };
                let asked = were.iter().filter(before).count() as u64;
                debug_assert_eq!(calls.len(), were.len(), "no call is lost");
                self.counters.tool_calls = self.counters.tool_calls.saturating_sub(asked);
            }
            _ => {}
        }
    }
}

/// A call as the fork goes on with it: `Running` if it was lost or ended in the base, `Queued` if all is still open.
fn taken_over(open: &OpenCall, fork: &Fork, base: RunId, seq: u64) -> OpenCall {
    let mut open = open.clone();
    if matches!(open.stage, Stage::Done(_)) {
        return open;
    }
    let started = open.attempt > 0;
    if !started {
        open.edited = None;
    }
    let later = fork.calls.iter().find(|started| started.call == open.call.id);
    if let Some(known) = later {
        let first = open.key_run.or_else(|| open.in_base.as_ref().map(|known| known.run));
        open.in_base = Some(Arc::new(InBase {
            run: first.unwrap_or(base),
            edited: open.edited.clone(),
            outcome: known.outcome.clone(),
        }));
    }
    open.stage = match open.stage {
        Stage::Retrying { at, .. } if later.is_none() => Stage::Retrying { seq, at },
        _ if started => Stage::Running { seq },
        _ => Stage::Queued,
    };
    open
}

/// Whether a limit that was reached under the old policy is no higher under the new one.
fn not_raised(kind: LimitKind, old: &Policy, new: &Policy) -> bool {
    let max = |policy: &Policy| match kind {
        LimitKind::Repetition => policy.repetition.map(|repetition| u64::from(repetition.stop_at)),
        _ => policy.limit(kind),
    };
    max(new).is_some_and(|new| max(old).is_none_or(|old| new <= old))
}
