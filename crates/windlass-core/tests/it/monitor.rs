//! What must hold of a run whatever happens to it, watched fact by fact. Random runs and the exhaustive search share it:
//! it is small and comparable, so that a search may take it as a part of its states.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windlass_core::event::{
    CallDecided, CallFact, CallFinished, CallStarted, CodeFact, CodeStarted, ContextFact, Decision,
    DelegationFact, LimitFact, ModelFact, PeopleFact, PlanFact, QuestionKind, RunFact, TaskOrder,
};
use windlass_core::model::{FailureKind, Purpose, Usage};
use windlass_core::policy::{AtLimit, LimitKind, Stop};
use windlass_core::run::{Found, OpenCall};
use windlass_core::tool::{CODE_LIMIT, Effect, ToolKind};
use windlass_core::{
    ActionId, ActionKind, Answer, CallId, CallOutcome, Event, Fact, InputKind, Message, RunState, State,
    ToolSpec, pending,
};

/// What has been seen of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    /// The model asked for it.
    Wanted,
    /// It waits for a person's decision.
    Held,
    /// A person allowed it.
    Allowed,
    /// It must not run.
    Forbidden,
    /// It is a question to a person.
    Asking,
    /// It runs, or its process died while it ran.
    Running,
    /// A try failed.
    Failed,
    /// It had started when the process died.
    Doubted,
    /// It has its result.
    Done,
    /// A hook elsewhere asked for it: the hook here is asked again.
    Dropped,
}

/// The promises of a run, checked with every input that is taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Monitor {
    calls: BTreeMap<CallId, (String, Seen)>,
    /// Those that a hook asked for.
    by_hook: BTreeSet<CallId>,
    /// Those that code made.
    by_code: BTreeMap<CallId, CallId>,
    /// What each call of code asks for.
    asks: BTreeMap<CallId, Asks>,
    /// The calls with an effect that code has made, with their results.
    happened: Vec<(Asks, CallOutcome)>,
    /// The arguments that each call was begun with.
    begun_with: BTreeMap<CallId, Value>,
    /// The call of the plan's step.
    steps: Option<CallId>,
    /// Those that were begun, here or by another agent.
    begun: BTreeSet<CallId>,
    /// Those that a person has allowed.
    allowed: BTreeSet<CallId>,
    /// The tools that a person has allowed for the rest of the session.
    rules: BTreeSet<String>,
    /// Those begun of which it is known that they did not happen, or how they failed.
    settled: BTreeSet<CallId>,
    cancelled: bool,
    ended: bool,
    usage: Usage,
    counts: BTreeMap<LimitKind, u64>,
    /// Whether a limit has cut the loop and only a closing call may follow.
    closing: bool,
    closing_turns: BTreeSet<u32>,
    /// The turn whose call leaves items out, to find the one that the provider refuses.
    probing: Option<u32>,
    turn: u32,
    round: u32,
}

type Held = Result<(), String>;

/// A call of code: the code, the tool and the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asks {
    code: CallId,
    tool: String,
    args: String,
}

macro_rules! hold {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(format!($($words)+));
        }
    };
}

/// A run that waits for a quota has timers alone, and goes on before its time is over (E55).
fn waits_for_quota(state: &State) -> Held {
    let Some(wait) = state.quota_wait() else { return Ok(()) };
    let own = state.models().iter().any(|model| model.name == wait.model);
    hold!(!own || state.policy().request.wait_for_quota, "it was told to wait");
    let actions = pending(state);
    let timers: Vec<u64> = actions
        .iter()
        .filter_map(|action| if let ActionKind::SetTimer { at } = action.work { Some(at) } else { None })
        .collect();
    hold!(timers.len() == actions.len(), "nothing else goes on: {actions:?}");
    hold!(timers.iter().min() == Some(&wait.until), "the quota comes before the deadline: {timers:?}");
    Ok(())
}

impl Monitor {
    /// Takes note of what followed from an input, and checks it and the state after it.
    pub(crate) fn see(&mut self, input: &InputKind, before: &State, events: &[Event], after: &State) -> Held {
        hold!(!events.is_empty(), "what is taken is recorded");
        let events_before = before.version();
        hold!(after.version() == events_before + events.len() as u64, "the version counts the facts");
        for event in events {
            hold!(!self.ended, "nothing follows the end: {:?}", event.fact.kind());
            self.fact(input, &event.fact, after)?;
        }
        hold!(self.ended == after.is_finished(), "the end is a fact");
        hold!(self.usage == *after.usage(), "usage is counted on every way (E41)");
        for (kind, count) in &self.counts {
            if let Some(max) = after.policy().limit(*kind) {
                hold!(*count <= max, "{kind} is {max}, and there were {count}");
            }
        }
        let most = closing_calls(after);
        hold!(self.closing_turns.len() <= most, "{most} closing calls at most: {:?}", self.closing_turns);
        valid_history(after)?;
        waits_for_quota(after)?;
        self.work(before, after)
    }

    fn fact(&mut self, input: &InputKind, fact: &Fact, state: &State) -> Held {
        if self.cancelled {
            hold!(!begins(fact), "nothing begins after a cancel: {}", fact.kind());
        }
        self.count(fact)?;
        match fact {
            Fact::Model(ModelFact::Started(turn)) if turn.purpose.speaks() => {
                hold!(self.open().next().is_none(), "all calls are answered before a model is asked");
            }
            Fact::Model(ModelFact::Completed(turn)) => {
                self.usage.add(&turn.usage);
                hold!(turn.purpose.speaks() || turn.calls.is_empty(), "a judge calls nothing");
                for call in &turn.calls {
                    let fresh = (call.name.to_string(), Seen::Wanted);
                    let new = self.calls.insert(call.id.clone(), fresh).is_none();
                    hold!(new, "call ids are unique: {}", call.id);
                }
            }
            Fact::Call(CallFact::StepBranched(branched)) => {
                for call in &branched.calls {
                    let new =
                        self.calls.insert(call.id.clone(), (call.name.to_string(), Seen::Wanted)).is_none();
                    hold!(new, "call ids are unique: {}", call.id);
                    self.by_hook.insert(call.id.clone());
                }
            }
            Fact::Code(_) | Fact::Plan(PlanFact::Made(_)) => self.code_fact(input, fact, state)?,
            Fact::Model(ModelFact::Failed(turn)) => self.usage.add(&turn.failure.usage),
            Fact::Model(ModelFact::ProbeAnswered(probe)) => self.usage.add(&probe.usage),
            Fact::Run(RunFact::Resumed(_)) => self.adopted(input, state),
            Fact::Call(CallFact::Held(held)) => {
                self.held(input, &held.call, fact)?;
            }
            Fact::Call(CallFact::Decided(decided)) => self.decided(decided, fact)?,
            Fact::Call(CallFact::ToolAllowed(allowed)) => {
                let always = matches!(input, InputKind::Answered { answer: Answer::Always, .. });
                hold!(always, "only a person makes a rule");
                self.rules.extend(self.calls.get(&allowed.call).map(|(name, _)| name.clone()));
            }
            Fact::Call(CallFact::Started(started)) => self.started(input, started, state)?,
            Fact::Call(CallFact::Retried(retried)) => {
                let out_of_time = matches!(retried.outcome, CallOutcome::TimedOut { .. });
                let name = self.calls.get(&retried.call).map_or("", |(name, _)| name);
                let once = spec(state, &retried.call, name).is_none_or(|tool| tool.effect == Effect::Once);
                hold!(!(once && out_of_time), "call {} may have happened, and is tried again", retried.call);
                self.step(&retried.call, Seen::Failed, fact, |seen| *seen == Seen::Running)?;
                self.settled.insert(retried.call.clone());
            }
            Fact::Call(CallFact::Doubted(doubted)) => {
                self.doubted(input, &doubted.call, fact, state)?;
            }
            Fact::Delegation(DelegationFact::Started(started)) => {
                self.begun.insert(started.call.clone());
                // Of a call that failed as a tool: its agent was gone then, and is there again.
                self.step(&started.call, Seen::Running, fact, |seen| {
                    matches!(seen, Seen::Wanted | Seen::Allowed | Seen::Running | Seen::Asking | Seen::Failed)
                })?;
            }
            Fact::Delegation(DelegationFact::Deferred(waits)) => {
                self.step(&waits.call, Seen::Asking, fact, |seen| *seen == Seen::Running)?;
            }
            Fact::Delegation(DelegationFact::Finished(finished)) => {
                self.usage.add(&finished.usage);
                self.step(&finished.call, Seen::Done, fact, |seen| *seen == Seen::Running)?;
            }
            Fact::People(PeopleFact::InputRequested(asked)) if asked.child_question.is_some() => {
                let call = asked.call.as_ref().ok_or("a delegate's question is about its call")?;
                self.step(call, Seen::Asking, fact, |seen| *seen == Seen::Running)?;
            }
            Fact::People(PeopleFact::InputRequested(asked)) => {
                self.asked(asked.kind, asked.call.as_ref(), fact)?;
            }
            Fact::Call(CallFact::Finished(finished)) => self.finished(finished, fact, state)?,
            Fact::Context(ContextFact::Compacted(compacted)) => {
                hold!(
                    compacted.bytes_after < compacted.bytes_before,
                    "a compaction makes the conversation smaller"
                );
            }
            Fact::People(PeopleFact::CancelRequested(_)) => self.cancelled = true,
            Fact::Run(RunFact::Ended(_)) => {
                self.ended = true;
                let open: Vec<_> = self.open().collect();
                hold!(open.is_empty(), "every call has its result at the end: {open:?}");
            }
            _ => {}
        }
        Ok(())
    }

    /// Facts about code and the calls that it makes.
    fn code_fact(&mut self, input: &InputKind, fact: &Fact, state: &State) -> Held {
        match fact {
            Fact::Code(CodeFact::Started(started)) => self.coded(input, started, fact, state)?,
            Fact::Code(CodeFact::Called(called)) => {
                self.step(&called.call, Seen::Running, fact, |seen| *seen == Seen::Running)?;
                for call in &called.calls {
                    let before = self.calls.insert(call.id.clone(), (call.name.to_string(), Seen::Wanted));
                    let new = before.is_none_or(|(_, seen)| seen == Seen::Dropped);
                    hold!(new, "call ids are unique: {}", call.id);
                    self.by_code.insert(call.id.clone(), called.call.clone());
                    let (code, tool) = (called.call.clone(), call.name.to_string());
                    let asks = Asks { code, tool, args: call.args.to_text().to_string() };
                    self.asks.insert(call.id.clone(), asks);
                }
            }
            Fact::Code(CodeFact::Finished(finished)) => {
                hold!(self.made_by(&finished.call).next().is_none(), "code ends after its calls: {fact:?}");
                // Another agent has taken over what was being stopped.
                let stopped = finished.outcome == CallOutcome::Interrupted;
                self.step(&finished.call, Seen::Done, fact, |seen| match seen {
                    Seen::Running => true,
                    Seen::Wanted | Seen::Failed => stopped,
                    _ => false,
                })?;
            }
            Fact::Plan(PlanFact::Made(made)) => {
                if let Some(call) = &made.call {
                    let fresh = ("run_code".to_owned(), Seen::Wanted);
                    hold!(self.calls.insert(call.clone(), fresh).is_none(), "call ids are unique: {call}");
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn finished(&mut self, finished: &CallFinished, fact: &Fact, state: &State) -> Held {
        let ran = matches!(
            finished.outcome,
            CallOutcome::Ok { .. } | CallOutcome::Error { .. } | CallOutcome::TimedOut { .. }
        );
        let name = self.calls.get(&finished.call).map(|(name, _)| name.clone()).unwrap_or_default();
        let finish = state.tool(&name).is_some_and(|tool| matches!(tool.kind, ToolKind::Finish(_)));
        let by_code = self.by_code.contains_key(&finished.call);
        // A call of code that has happened in an earlier try has that result; one beyond the code's limit has an error.
        let known = self.asks.get(&finished.call).is_some_and(|asks| {
            self.happened.iter().any(|(made, outcome)| made == asks && *outcome == finished.outcome)
        });
        let limited = by_code
            && matches!(&finished.outcome, CallOutcome::Error { kind: Some(kind), .. } if **kind == *CODE_LIMIT);
        let ran = ran && !finish && !known && !limited;
        // What was going on when another agent took over may have happened.
        let stopped = matches!(
            finished.outcome,
            CallOutcome::Interrupted | CallOutcome::Skipped { .. } | CallOutcome::Unknown
        );
        // One that was in doubt and has a result has happened, too.
        let began = |(_, seen): &(String, Seen)| matches!(seen, Seen::Running | Seen::Doubted);
        let began = self.calls.get(&finished.call).is_some_and(began);
        self.step(&finished.call, Seen::Done, fact, |seen| match seen {
            // A run that is being stopped ends calls of code where they stand.
            Seen::Dropped => by_code && stopped,
            Seen::Done => false,
            Seen::Running | Seen::Doubted | Seen::Asking => true,
            _ => !ran,
        })?;
        let once = spec(state, &finished.call, &name).is_none_or(|tool| tool.effect == Effect::Once);
        if let Some(asks) =
            self.asks.get(&finished.call).filter(|_| began && once && finished.outcome.is_ok())
        {
            self.happened.push((asks.clone(), finished.outcome.clone()));
        }
        Ok(())
    }

    /// Code begins, or goes on in a new process: its calls have their own facts.
    fn coded(&mut self, input: &InputKind, started: &CodeStarted, fact: &Fact, state: &State) -> Held {
        let call = &started.call;
        let begun = !self.begun.insert(call.clone());
        hold!(begun == (started.attempt > 1), "attempts are counted: {started:?}");
        let free = !needs_approval(state, call, self.name(call));
        self.step(call, Seen::Running, fact, |seen| match seen {
            Seen::Wanted => free,
            Seen::Allowed | Seen::Failed => true,
            Seen::Running => takes_over(input),
            Seen::Held | Seen::Forbidden | Seen::Asking | Seen::Doubted | Seen::Done | Seen::Dropped => false,
        })
    }

    /// The open calls that the code of a call has made.
    fn made_by(&self, code: &CallId) -> impl Iterator<Item = &CallId> {
        self.open().filter(move |call| self.by_code.get(*call) == Some(code))
    }

    fn open(&self) -> impl Iterator<Item = &CallId> {
        let over = |seen: &Seen| matches!(seen, Seen::Done | Seen::Dropped);
        self.calls.iter().filter(move |(_, (_, seen))| !over(seen)).map(|(id, _)| id)
    }

    fn held(&mut self, input: &InputKind, call: &CallId, fact: &Fact) -> Held {
        // One that was allowed may have changed since.
        let again = self.allowed.contains(call);
        if settles(input) {
            self.settled.insert(call.clone());
        }
        self.step(call, Seen::Held, fact, |seen| match seen {
            Seen::Wanted | Seen::Held => true,
            Seen::Allowed | Seen::Running | Seen::Failed | Seen::Doubted => again,
            _ => false,
        })
    }

    fn doubted(&mut self, input: &InputKind, call: &CallId, fact: &Fact, state: &State) -> Held {
        let begun = self.begun.contains(call);
        hold!(begun, "what was not begun is not in doubt: {}", call);
        let free = !needs_approval(state, call, self.name(call));
        self.step(call, Seen::Doubted, fact, |seen| match seen {
            Seen::Running => takes_over(input) || loses(input),
            Seen::Doubted => takes_over(input),
            // Another agent had begun it.
            Seen::Wanted => free,
            Seen::Allowed => true,
            _ => false,
        })
    }

    fn name(&self, call: &CallId) -> &str {
        self.calls.get(call).map_or("", |(name, _)| name)
    }

    /// A call is decided on once: by a person whom it was put to, by a rule that a person made, or by the policy.
    fn decided(&mut self, decided: &CallDecided, fact: &Fact) -> Held {
        let by_rule = decided.decision == Decision::Allowed;
        let allowed = by_rule || matches!(decided.decision, Decision::Approved | Decision::Edited { .. });
        let by_person = !by_rule && !matches!(decided.decision, Decision::Forbidden { .. });
        if by_rule {
            let name = self.calls.get(&decided.call).map_or("", |(name, _)| name);
            hold!(self.rules.contains(name), "a rule that nobody made allows {name}");
        }
        let next = if allowed { Seen::Allowed } else { Seen::Forbidden };
        if allowed {
            self.allowed.insert(decided.call.clone());
        }
        self.step(&decided.call, next, fact, |seen| match (by_person, by_rule) {
            (true, _) => *seen == Seen::Held,
            (false, true) => matches!(seen, Seen::Wanted | Seen::Held),
            (false, false) => *seen == Seen::Wanted,
        })
    }

    /// Another agent goes on: nothing counts that anybody has decided elsewhere, each open call is at the gate.
    fn adopted(&mut self, input: &InputKind, state: &State) {
        let InputKind::Resumed { adjusted: Some(adjusted), .. } = input else { return };
        if adjusted.agent.is_none() {
            return;
        }
        self.allowed.clear();
        self.rules.clear();
        self.settled.clear();
        for (call, (_, seen)) in &mut self.calls {
            if *seen == Seen::Dropped || *seen == Seen::Done {
                continue;
            }
            let others = self.by_hook.contains(call) || self.by_code.contains_key(call);
            let dropped = others && state.open_call(call).is_none();
            *seen = if dropped { Seen::Dropped } else { Seen::Wanted };
        }
    }

    fn step(&mut self, call: &CallId, next: Seen, fact: &Fact, fits: impl Fn(&Seen) -> bool) -> Held {
        let Some((_, seen)) = self.calls.get_mut(call) else {
            return Err(format!("nobody asked for call {call}: {fact:?}"));
        };
        hold!(fits(seen), "call {call} is {seen:?}, and then comes {fact:?}");
        *seen = next;
        Ok(())
    }

    fn asked(&mut self, kind: QuestionKind, call: Option<&CallId>, fact: &Fact) -> Held {
        match (kind, call) {
            (
                QuestionKind::Limit(_)
                | QuestionKind::Plan
                | QuestionKind::Result
                | QuestionKind::Pause
                | QuestionKind::Auth,
                None,
            ) => Ok(()),
            (QuestionKind::Clarify, Some(call)) => {
                self.step(call, Seen::Asking, fact, |seen| *seen == Seen::Wanted)
            }
            (QuestionKind::Approval, Some(call)) => {
                self.step(call, Seen::Held, fact, |seen| *seen == Seen::Held)
            }
            (QuestionKind::Outcome, Some(call)) => {
                self.step(call, Seen::Doubted, fact, |seen| *seen == Seen::Doubted)
            }
            _ => Err(format!("a question without what it is about: {fact:?}")),
        }
    }

    /// A call with an effect is not begun a second time unless it is known that it did not happen (E30, E36).
    fn started(&mut self, input: &InputKind, started: &CallStarted, state: &State) -> Held {
        let Some((name, seen)) = self.calls.get(&started.call) else {
            return Err(format!("nobody asked for call {}", started.call));
        };
        let once = spec(state, &started.call, name).is_none_or(|tool| tool.effect == Effect::Once);
        let begun = self.begun.contains(&started.call);
        // With other arguments it is another call.
        let args = state.open_call(&started.call).map(OpenCall::value);
        let another = args.is_some() && args.as_ref() != self.begun_with.get(&started.call);
        let blind = begun && once && !another && !self.settled.contains(&started.call);
        let may = match seen {
            Seen::Wanted => !blind && !needs_approval(state, &started.call, name),
            Seen::Allowed => !blind,
            Seen::Failed => true,
            Seen::Running => takes_over(input) && !once,
            Seen::Doubted => settles(input),
            Seen::Held | Seen::Forbidden | Seen::Asking | Seen::Done | Seen::Dropped => false,
        };
        hold!(may, "call {} of {name} is {seen:?} and must not begin: {input:?}", started.call);
        hold!(begun == (started.attempt > 1), "attempts are counted: {started:?} while {seen:?}");
        self.begun.insert(started.call.clone());
        self.settled.remove(&started.call);
        self.begun_with.extend(args.map(|args| (started.call.clone(), args)));
        if let Some((_, seen)) = self.calls.get_mut(&started.call) {
            *seen = Seen::Running;
        }
        Ok(())
    }

    /// What was let happen is never more than the limits, but for one closing call.
    fn count(&mut self, fact: &Fact) -> Held {
        let kind = match fact {
            Fact::Limit(LimitFact::Reached(reached)) => {
                self.closing = matches!(reached.at_limit, AtLimit::WrapUp | AtLimit::ForceFinish);
                // Or too little of it is left for the next call.
                let fair = reached.reached >= reached.max || reached.reached + reached.needed > reached.max;
                hold!(fair, "a limit is reached when it is: {reached:?}");
                return Ok(());
            }
            Fact::Limit(LimitFact::Raised(_)) => {
                self.closing = false;
                return Ok(());
            }
            Fact::Model(ModelFact::Started(started)) => {
                self.turn = started.turn;
                if is_a_step(started.purpose) {
                    self.probing = (!started.without.is_empty()).then_some(started.turn);
                }
                if self.closing && started.purpose.speaks() {
                    self.closing_turns.insert(started.turn);
                }
                let plans = matches!(started.purpose, Purpose::Perceive | Purpose::Decide);
                hold!(!(self.closing && plans), "nothing is planned once a limit cut the loop");
                return Ok(());
            }
            Fact::Model(ModelFact::Completed(done))
                if is_a_step(done.purpose) && !self.closing_turns.contains(&done.turn) =>
            {
                LimitKind::ModelCalls
            }
            Fact::Model(ModelFact::Failed(failed))
                if self.probing.is_some()
                    && is_a_step(failed.purpose)
                    && failed.failure.kind == FailureKind::BadRequest
                    && !self.closing_turns.contains(&failed.turn) =>
            {
                LimitKind::ModelCalls
            }
            Fact::Model(ModelFact::ProbeAnswered(probe)) if !self.closing_turns.contains(&probe.turn) => {
                LimitKind::ModelCalls
            }
            Fact::Plan(PlanFact::IterationStarted(_)) => LimitKind::Iterations,
            Fact::Call(CallFact::Retried(_)) => LimitKind::Retries,
            Fact::Plan(PlanFact::StepFinished(_)) if self.steps.take().is_some() => LimitKind::PlanSteps,
            Fact::Plan(PlanFact::Made(made)) => {
                self.steps.clone_from(&made.call);
                return Ok(());
            }
            Fact::Code(CodeFact::Started(CodeStarted { attempt: 1, .. })) => {
                self.count_round();
                return Ok(());
            }
            Fact::Call(CallFact::Started(CallStarted { attempt: 1, .. })) => LimitKind::ToolCalls,
            Fact::Delegation(DelegationFact::Started(started)) if self.by_hook.contains(&started.call) => {
                return Ok(());
            }
            Fact::Delegation(DelegationFact::Started(started)) if started.attempt == 1 => {
                LimitKind::ToolCalls
            }
            // A delegate's question is no call of its own.
            Fact::People(PeopleFact::InputRequested(asked))
                if asked.kind == QuestionKind::Clarify && asked.child_question.is_none() =>
            {
                LimitKind::ToolCalls
            }
            _ => return Ok(()),
        };
        *self.counts.entry(kind).or_default() += 1;
        if kind == LimitKind::ToolCalls {
            hold!(!self.closing_turns.contains(&self.turn), "no call runs once a limit cut the loop");
            self.count_round();
        }
        Ok(())
    }

    fn count_round(&mut self) {
        if self.round != self.turn {
            self.round = self.turn;
            *self.counts.entry(LimitKind::ToolRounds).or_default() += 1;
        }
    }

    /// What should be going on now, against what should have been before.
    fn work(&self, before: &State, after: &State) -> Held {
        let wanted = pending(after);
        let ids: BTreeSet<ActionId> = wanted.iter().map(|action| action.id).collect();
        hold!(ids.len() == wanted.len(), "ids of actions are unique: {wanted:?}");
        if self.ended || self.cancelled {
            let stops = |action: &windlass_core::Action| {
                matches!(action.work, ActionKind::Delegate { order: TaskOrder::Stop, .. })
            };
            let none = wanted.iter().all(|action| !self.ended && stops(action));
            hold!(none, "a run that ended or is cancelled wants nothing but ends: {wanted:?}");
        }
        let timer = |action: &windlass_core::Action| matches!(action.work, ActionKind::SetTimer { .. });
        let earlier = pending(before);
        for action in &wanted {
            hold!(action.id.run == after.run(), "an action belongs to its run: {action:?}");
            hold!((1..=after.version()).contains(&action.id.seq), "an action is made by a fact: {action:?}");
            // A timer of a deadline may be set aside and come back.
            let new = action.id.seq > before.version() || matches!(action.work, ActionKind::SetTimer { .. });
            let same = earlier.iter().find(|other| other.id == action.id);
            hold!(
                // The run's one alarm moves.
                same.map_or(new, |other| other.work == action.work || timer(other) && timer(action)),
                "an id stands for the same work as long as it is wanted, and never comes again: {action:?}"
            );
            let fits = match &action.work {
                ActionKind::RunTool { call, .. } | ActionKind::Delegate { call, .. } => {
                    matches!(self.calls.get(call), Some((_, Seen::Running)))
                }
                ActionKind::RunCode { call } => {
                    let running = matches!(self.calls.get(call), Some((_, Seen::Running)));
                    running && self.made_by(call).next().is_none()
                }
                ActionKind::CheckCall { call } => matches!(self.calls.get(call), Some((_, Seen::Doubted))),
                ActionKind::CallModel { purpose } if !purpose.speaks() => true,
                ActionKind::CallModel { .. } | ActionKind::RunHook => self.open().next().is_none(),
                ActionKind::Ask { .. } | ActionKind::SetTimer { .. } => true,
            };
            hold!(fits, "nothing is done for a call that does not want it: {action:?}");
        }
        let ask = |action: &windlass_core::Action| matches!(action.work, ActionKind::Ask { .. });
        match after.run_state() {
            RunState::Suspended => {
                let awaits = wanted.iter().any(ask) || after.quota_wait().is_some();
                let waits = awaits && wanted.iter().all(|action| ask(action) || timer(action));
                hold!(waits, "who is suspended waits for somebody, and for nothing else: {wanted:?}");
            }
            RunState::Running => {
                let only_asks = !wanted.is_empty() && wanted.iter().all(ask);
                hold!(!only_asks, "who waits only for people is suspended: {wanted:?}");
            }
            RunState::Ended(_) => hold!(self.ended, "an end is recorded"),
        }
        Ok(())
    }
}

/// Whether a fact begins anything.
fn begins(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::Model(ModelFact::Started(_))
            | Fact::Call(
                CallFact::Started(_) | CallFact::Retried(_) | CallFact::Held(_) | CallFact::Doubted(_),
            )
            | Fact::Code(CodeFact::Started(_) | CodeFact::Called(_))
            | Fact::People(PeopleFact::InputRequested(_))
            | Fact::Limit(LimitFact::Raised(_))
    )
}

/// Whether a model call is a step of the loop, and not one that serves a step.
fn is_a_step(purpose: Purpose) -> bool {
    match purpose {
        Purpose::Act | Purpose::Merge | Purpose::Perceive | Purpose::Decide => true,
        Purpose::Summarise | Purpose::Verify | Purpose::Judge => false,
    }
}

/// What a call runs: its tool, or what it reaches by name.
fn spec<'s>(state: &'s State, call: &CallId, name: &str) -> Option<&'s ToolSpec> {
    let target = state.open_call(call).and_then(|open| state.target(open));
    target.or_else(|| state.tool(name))
}

/// A closing call, and its repeats: where it must finish one that asks for text, and where an output is wanted one for each
/// that does not fit.
fn closing_calls(state: &State) -> usize {
    let finishes = state.policy().replies.stop == Stop::FinishTool;
    let fits = finishes || state.policy().replies.stop == Stop::Text && state.output_schema().is_some();
    1 + usize::from(finishes) + if fits { state.policy().replies.parse_retries as usize } else { 0 }
}

/// Whether a person must allow a call.
fn needs_approval(state: &State, call: &CallId, name: &str) -> bool {
    spec(state, call, name).is_some_and(|tool| tool.approve)
}

/// Whether it is known now that a call did not happen.
fn settles(input: &InputKind) -> bool {
    matches!(
        input,
        InputKind::Checked { found: Found::NotHappened, .. }
            | InputKind::Answered { answer: Answer::RunAgain, .. }
    )
}

/// Whether the answer of a call is lost while its run goes on.
fn loses(input: &InputKind) -> bool {
    matches!(
        input,
        InputKind::CallLost { .. } | InputKind::CallEnded { outcome: CallOutcome::TimedOut { .. }, .. }
    )
}

/// Whether somebody goes on with a run whose process is gone.
fn takes_over(input: &InputKind) -> bool {
    matches!(input, InputKind::Resumed { .. })
}

/// A provider would take the conversation as it is whenever a model is asked (invariant 6).
fn valid_history(state: &State) -> Held {
    let mut waiting: Vec<&CallId> = Vec::new();
    let mut seen = BTreeSet::new();
    for message in state.history().iter() {
        match &**message {
            Message::Tool(result) => {
                hold!(waiting.first() == Some(&&result.call), "results follow their calls, in call order");
                waiting.remove(0);
            }
            other => {
                hold!(waiting.is_empty(), "calls without results before {other:?}: {waiting:?}");
                if let Message::Assistant(said) = other {
                    waiting = said.calls.iter().map(|call| &call.id).collect();
                    hold!(waiting.iter().all(|id| seen.insert(*id)), "ids are unique over the conversation");
                }
            }
        }
    }
    let calls = |work: &ActionKind| matches!(work, ActionKind::CallModel { purpose } if purpose.speaks());
    let calling = pending(state).iter().any(|action| calls(&action.work));
    hold!(
        waiting.is_empty() || !(calling || state.is_finished()),
        "all calls are answered before a model is asked: {waiting:?}"
    );
    Ok(())
}
