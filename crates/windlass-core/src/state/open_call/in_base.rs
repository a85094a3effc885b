//! Facts of a call that come from elsewhere: from the base of a fork, or from an earlier try of the code that makes it.

use crate::protocol::fact::fork::{MadeCall, StartedCall};
use crate::state::open_call::{OpenCall, Origin};
use crate::vocabulary::budget::Budget;
use crate::vocabulary::ids::{CallId, RunId, Text};
use crate::vocabulary::outcome::CallOutcome;

/// State of a call in the base of a fork.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InBase {
    /// The run that first started it.
    run: RunId,
    /// The arguments in place of the model's that it was started with.
    edited: Option<Text>,
    /// The run that another agent does it in, if it was handed over.
    child: Option<RunId>,
    /// Budget lent to that run.
    lent: Budget,
    /// Outcome; `None`: unknown.
    outcome: Option<CallOutcome>,
    /// The calls that its code makes there, as far as they were started and are not open here.
    made: Vec<PriorCall>,
}

/// A call of code that was made before, by the base of a fork or in an earlier try: the same call takes it over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PriorCall {
    /// Its place among the calls of the code, from 0.
    place: u32,
    name: Text,
    args: Text,
    /// Its attempts so far in this run.
    attempt: u32,
    /// Those that failed.
    failed: u32,
    /// The run and the id in its idempotency key.
    key: (RunId, CallId),
    /// State of the call; `None`: it has ended and may run again, with its key.
    known: Option<InBase>,
}

impl PriorCall {
    /// The run and the id in its idempotency key.
    pub(crate) fn key(&self) -> &(RunId, CallId) {
        &self.key
    }

    /// State of the call; `None`: it has ended and may run again, with its key.
    pub(crate) fn known(&self) -> Option<&InBase> {
        self.known.as_ref()
    }

    /// Its attempts so far in this run.
    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Those that failed.
    pub(crate) fn failed(&self) -> u32 {
        self.failed
    }

    /// A call of code as a later try finds it, if it was started.
    pub(crate) fn of(open: &OpenCall, own: RunId) -> Option<Self> {
        let Origin::Code { place, .. } = open.origin() else { return None };
        if open.attempt() == 0 && open.in_base().is_none() {
            return None;
        }
        let outcome = open.outcome().cloned();
        let known = open.known().filter(|_| outcome.is_none()).cloned().unwrap_or_else(|| {
            InBase::unknown(open.keyed_by(own), open.edited.clone(), *open.lent()).with_outcome(outcome)
        });
        Some(Self {
            place: *place,
            name: open.call.name.clone(),
            args: open.call.args.to_text(),
            attempt: open.attempt(),
            failed: open.failed(),
            key: open.key(own),
            known: Some(known),
        })
    }

    /// The same call, as if it had not happened: it may run again, with its key.
    pub(crate) fn runs_again(self) -> Self {
        Self { attempt: 0, failed: 0, known: None, ..self }
    }

    /// Whether both are the same call of the code.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.place, &self.name, &self.args) == (other.place, &other.name, &other.args)
    }
}

impl InBase {
    /// The run that first started it.
    pub(crate) fn run(&self) -> RunId {
        self.run
    }

    /// The arguments in place of the model's that it was started with.
    pub(crate) fn edited(&self) -> Option<&Text> {
        self.edited.as_ref()
    }

    /// The run that another agent does it in, if it was handed over.
    pub(crate) fn child(&self) -> Option<RunId> {
        self.child
    }

    /// Budget lent to that run.
    pub(crate) fn lent(&self) -> Budget {
        self.lent
    }

    /// Outcome; `None`: unknown.
    pub(crate) fn outcome(&self) -> Option<&CallOutcome> {
        self.outcome.as_ref()
    }

    /// The calls that its code makes there, as far as they were started and are not open here.
    pub(crate) fn made(&self) -> &[PriorCall] {
        &self.made
    }

    /// The call was started there with these arguments in place of the model's, and its outcome is unknown.
    pub(crate) fn unknown(run: RunId, edited: Option<Text>, lent: Budget) -> Self {
        Self { run, edited, child: None, lent, outcome: None, made: Vec::new() }
    }

    /// The same call with its outcome there.
    pub(crate) fn with_outcome(self, outcome: Option<CallOutcome>) -> Self {
        Self { outcome, ..self }
    }

    /// The same call, handed over to that run, with the calls that its code made.
    pub(crate) fn with_work(self, child: Option<RunId>, made: Vec<PriorCall>) -> Self {
        Self { child, made, ..self }
    }

    /// The call of code, of those whose keys are not `taken`, that this one is: of the same tool with the same arguments, at
    /// the same place if there is one. A branch that is not taken again, or another order, moves the others.
    pub(crate) fn made_before(
        &self,
        place: u32,
        open: &OpenCall,
        taken: &[(RunId, CallId)],
    ) -> Option<&PriorCall> {
        let equal = |made: &&PriorCall| {
            made.name == open.call.name && *made.args == *open.call.args && !taken.contains(&made.key)
        };
        // Of several, one that has happened: it is not made once more.
        let order = |made: &&PriorCall| (made.place != place, made.known.is_none(), made.place);
        self.made.iter().filter(equal).min_by_key(order)
    }

    /// Adds calls of code; the same call takes the place of an earlier one.
    pub(crate) fn take(&mut self, made: Vec<PriorCall>) {
        self.made.retain(|known| !made.iter().any(|fresh| fresh.key == known.key));
        self.made.extend(made);
    }
}

/// The calls of code that are known: those of the base's own base, and those that the base made.
pub(crate) fn prior_calls(older: Vec<PriorCall>, made: &[MadeCall], base: RunId) -> Vec<PriorCall> {
    let fresh = made.iter().map(|made| {
        let StartedCall { child, budget: lent, outcome, .. } = made.started.clone();
        let known = InBase { run: base, edited: None, child, lent, outcome, made: Vec::new() };
        let (place, name, args) = (made.place, made.name.clone(), made.args.clone());
        let key = (base, made.started.call.clone());
        PriorCall { place, name, args, attempt: 0, failed: 0, key, known: Some(known) }
    });
    let mut all = fresh.collect::<Vec<_>>();
    let known = |older: &PriorCall| all.iter().any(|made| made.is_same(older));
    let older: Vec<PriorCall> = older.into_iter().filter(|older| !known(older)).collect();
    all.extend(older);
    all
}
