//! The current turn, and what happened several turns in a row.

use windlass_text::json;

use crate::protocol::fact::Rejection;
use crate::state::remedies::Remedies;
use crate::state::routing::says_something;
use crate::state::search::Search;
use crate::vocabulary::call_args::CallArgs;
use crate::vocabulary::ids::Text;
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::reply::{ModelFailure, StopReason};

/// The current turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Turn {
    /// Its number within the run, from 1.
    number: u32,
    /// Why the last reply stopped.
    stop: StopReason,
    /// Whether the model that replied was to answer with the output.
    output_in_text: bool,
    /// Number of accepted calls: neither malformed, nor skipped, nor a rejected output.
    accepted: u32,
    /// Number of calls that ran or were put to a person.
    counted: u32,
    /// Number of malformed calls.
    malformed: u32,
    /// Number of calls without a result.
    failed: u32,
    /// Number of results that say something.
    found: u32,
    /// The limit that one of its calls ran into.
    cut: Option<Cut>,
    /// The branches that the hook asked for after its step, with their ends.
    branched: Vec<Branched>,
    /// The remedies from its model call's failures, while a pause has laid that call aside.
    remedies: Remedies,
    /// The failure of its model call, once nothing is tried any more.
    failure: Option<Box<ModelFailure>>,
    /// The search for the items that its provider refuses.
    search: Option<Box<Search>>,
    /// The counts of events in a row, up to this turn.
    consecutive: Consecutive,
}

impl Turn {
    /// Its number within the run, from 1.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Why the last reply stopped.
    pub(crate) fn stop(&self) -> StopReason {
        self.stop
    }

    /// Number of accepted calls: neither malformed, nor skipped, nor a rejected output.
    pub(crate) fn accepted(&self) -> u32 {
        self.accepted
    }

    /// Number of malformed calls.
    pub(crate) fn malformed(&self) -> u32 {
        self.malformed
    }

    /// Number of calls without a result.
    pub(crate) fn failed(&self) -> u32 {
        self.failed
    }

    /// Number of results that say something.
    pub(crate) fn found(&self) -> u32 {
        self.found
    }

    /// The limit that one of its calls ran into.
    pub(crate) fn cut(&self) -> Option<Cut> {
        self.cut
    }

    /// The branches that the hook asked for after its step, with their ends.
    pub(crate) fn branched(&self) -> &[Branched] {
        &self.branched
    }

    /// The failure of its model call, once nothing is tried any more.
    pub(crate) fn failure(&self) -> Option<&ModelFailure> {
        self.failure.as_deref()
    }

    /// The search for the items that its provider refuses.
    pub(crate) fn search(&self) -> Option<&Search> {
        self.search.as_deref()
    }

    /// The counts of events in a row, up to this turn.
    pub(crate) fn consecutive(&self) -> &Consecutive {
        &self.consecutive
    }

    /// Whether the model that replied was to answer with the output.
    pub(crate) fn output_in_text(&self) -> bool {
        self.output_in_text
    }

    /// A reply comes, of a model that is to answer with the output, or not.
    pub(crate) fn answered_by(&mut self, output_in_text: bool) {
        self.output_in_text = output_in_text;
    }

    /// A reply came.
    pub(crate) fn replied(&mut self, stop: StopReason) {
        self.stop = stop;
        if !matches!(stop, StopReason::Length | StopReason::Refused | StopReason::Filtered) {
            self.consecutive.cut = 0;
        }
    }

    /// The reply has calls.
    pub(crate) fn calls_came(&mut self) {
        self.consecutive.prompts = 0;
    }

    /// The reply was an output that fits.
    pub(crate) fn reply_accepted(&mut self) {
        self.consecutive.rejected = 0;
    }

    /// The reply was not accepted.
    pub(crate) fn reply_rejected(&mut self, reason: Rejection) {
        match reason {
            Rejection::Truncated | Rejection::Refused | Rejection::Filtered => self.consecutive.cut += 1,
            Rejection::NoCall => self.consecutive.prompts += 1,
            Rejection::Invalid => self.consecutive.rejected += 1,
            Rejection::Unproven => {}
        }
    }

    /// Counts consecutive equal calls, this one included. An `exempt` one may well be repeated.
    pub(crate) fn repeated(&mut self, name: &Text, args: &CallArgs, exempt: bool) -> u32 {
        let same = |last: &&Repeated| !exempt && last.name == *name && json::same(&last.args, args);
        let times = 1 + self.consecutive.repeated.as_ref().filter(same).map_or(0, |last| last.times);
        self.consecutive.repeated = Some(Repeated { name: name.clone(), args: args.clone(), times });
        times
    }

    /// Something of the turn runs. Whether it is the first.
    pub(crate) fn ran(&mut self) -> bool {
        self.counted += 1;
        let first = self.counted == 1;
        if first {
            self.consecutive.rejected = 0;
        }
        first
    }

    /// A call has its outcome. A hook's malformed request is no fault of the model's; `own`: it is the model's.
    pub(crate) fn call_ended(&mut self, outcome: &CallOutcome, own: bool) {
        self.failed += u32::from(!outcome.is_ok());
        match outcome {
            CallOutcome::Malformed { .. } => {
                if own {
                    self.consecutive.malformed += u32::from(self.malformed == 0);
                    self.malformed += 1;
                }
            }
            CallOutcome::Rejected { .. } | CallOutcome::Skipped { .. } => {}
            CallOutcome::Ok { content } => {
                self.found += u32::from(says_something(content));
                self.accepted += 1;
            }
            CallOutcome::Error { .. }
            | CallOutcome::TimedOut { .. }
            | CallOutcome::Denied { .. }
            | CallOutcome::UnknownTool { .. }
            | CallOutcome::Interrupted
            | CallOutcome::Abandoned
            | CallOutcome::Unknown => self.accepted += 1,
        }
    }

    /// A call ran into a limit, after `repeat` equal ones. The first limit counts.
    pub(crate) fn cut_by(&mut self, limit: LimitKind, repeat: u32) {
        self.cut.get_or_insert(Cut { limit, repeat });
    }

    /// A limit ends the loop.
    pub(crate) fn limit_reached(&mut self) {
        self.cut = None;
        self.consecutive.rejected = 0;
    }

    /// A branch of the hook has ended.
    pub(crate) fn branch_ended(&mut self, args: Text, outcome: CallOutcome) {
        self.branched.push(Branched { args, outcome });
    }

    /// The hook is asked again.
    pub(crate) fn drop_branches(&mut self) {
        self.branched.clear();
    }

    /// A pause lays its model call aside.
    pub(crate) fn defer(&mut self, remedies: Remedies) {
        self.remedies = remedies;
    }

    /// The model call that was laid aside begins.
    pub(crate) fn take_remedies(&mut self) -> Remedies {
        std::mem::take(&mut self.remedies)
    }

    /// Its model call has failed, and nothing is tried any more.
    pub(crate) fn failed_for_good(&mut self, failure: ModelFailure) {
        self.failure = Some(Box::new(failure));
    }

    /// The model for simple turns has failed for good.
    pub(crate) fn simple_model_failed(&mut self) {
        self.consecutive.simple_failed += 1;
    }

    /// The search begins, goes on or ends.
    pub(crate) fn search_mut(&mut self) -> &mut Option<Box<Search>> {
        &mut self.search
    }

    /// Another run goes on with the turn: its model call begins anew, and its cut stays if it `holds` there.
    pub(crate) fn begin_anew(&mut self, holds: impl Fn(LimitKind) -> bool) {
        self.cut = self.cut.filter(|cut| holds(cut.limit));
        self.remedies = Remedies::default();
        self.search = None;
    }

    /// The turn is over. One that ran without a malformed call ends their row.
    pub(crate) fn over(&mut self) {
        if self.malformed == 0 && self.counted > 0 {
            self.consecutive.malformed = 0;
        }
    }

    /// The next turn: nothing of this one is left but why its reply stopped, what cut it, and the consecutive counts.
    pub(crate) fn next(&mut self, number: u32) {
        let consecutive = std::mem::take(&mut self.consecutive);
        *self = Self { number, stop: self.stop, cut: self.cut, consecutive, ..Self::default() };
    }
}

/// Things that happened several times in a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Consecutive {
    /// Prompts after turns without a call.
    prompts: u32,
    /// Replies that were cut off, refused or filtered.
    cut: u32,
    /// Turns with malformed calls.
    malformed: u32,
    /// Outputs that did not fit.
    rejected: u32,
    /// Final failures of the model for simple turns.
    simple_failed: u32,
    /// The last call.
    repeated: Option<Repeated>,
}

impl Consecutive {
    /// Prompts after turns without a call.
    pub(crate) fn prompts(&self) -> u32 {
        self.prompts
    }

    /// Replies that were cut off, refused or filtered.
    pub(crate) fn cut(&self) -> u32 {
        self.cut
    }

    /// Turns with malformed calls.
    pub(crate) fn malformed(&self) -> u32 {
        self.malformed
    }

    /// Outputs that did not fit.
    pub(crate) fn rejected(&self) -> u32 {
        self.rejected
    }

    /// Final failures of the model for simple turns.
    pub(crate) fn simple_failed(&self) -> u32 {
        self.simple_failed
    }

    /// The last call.
    pub(crate) fn repeated(&self) -> Option<&Repeated> {
        self.repeated.as_ref()
    }
}

/// The last call and how often it came in a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Repeated {
    name: Text,
    args: CallArgs,
    times: u32,
}

impl Repeated {
    pub(crate) fn times(&self) -> u32 {
        self.times
    }
}

/// A limit that a call ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    limit: LimitKind,
    /// Number of consecutive equal calls.
    repeat: u32,
}

impl Cut {
    pub(crate) fn limit(self) -> LimitKind {
        self.limit
    }

    /// Number of consecutive equal calls.
    pub(crate) fn repeat(self) -> u32 {
        self.repeat
    }
}

/// A branch that a hook asked for, and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Branched {
    /// Arguments of the hook's branch, as JSON text.
    pub args: Text,
    /// The outcome with its result.
    pub outcome: CallOutcome,
}
