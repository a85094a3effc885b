//! Forks: runs that go on from any event of another one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use windlass_core::event::{
    AgentRef, Base, CallFact, CodeFact, Decision, DelegationFact, Fork, LimitFact, ModelFact, PlanFact,
    RunFact, RunInput, RunStarted,
};
use windlass_core::model::{Purpose, Reply, StopReason, Usage};
use windlass_core::policy::Preset;
use windlass_core::run::Origin;
use windlass_core::tool::Effect;
use windlass_core::{
    ActionId, ActionKind, CallId, CallOutcome, Event, Fact, Input, InputKind, Policy, RunId, State, accept,
    evolve, pending, replay,
};
use windlass_error::Diagnostic as _;

use crate::environment::{BEGINNING, reply};
use crate::generate::policies;
use crate::machine::{Machine, stored};
use crate::purse::Purse;

/// The fork's own policy, and what is said to it.
#[derive(Clone, Debug)]
pub(crate) struct Other {
    policy: Option<Policy>,
    say: bool,
}

pub(crate) fn others() -> impl Strategy<Value = Other> {
    (proptest::option::weighted(0.3, policies()), any::<bool>())
        .prop_map(|(policy, say)| Other { policy, say })
}

/// Another id for each generation.
fn next_id(state: &State) -> RunId {
    RunId::from_number(state.run().0.as_u128() + 1)
}

/// The state after so many events.
pub(crate) fn at(base: &Machine, place: usize) -> State {
    stored(&base.events[..place]).iter().fold(base.origin.clone(), evolve)
}

/// The start of a fork.
pub(crate) fn start(state: &State, later: &[Event], policy: Option<Policy>, say: Option<&str>) -> Input {
    let agent = AgentRef { name: "tester".into(), digest: "0".into() };
    let fork = RunInput::Fork(Fork::of(state, later, say.map(Into::into)));
    let started = RunStarted {
        base: Some(Base { run: state.run(), version: state.version(), digest: state.digest() }),
        prompt: state.prompt().clone(),
        tools: state.tools().clone(),
        models: state.models().clone(),
        policy: policy.map_or_else(|| state.policy().clone(), Arc::new),
        objective: state.objective().cloned(),
        ..RunStarted::new(next_id(state), agent, fork)
    };
    Input { at: BEGINNING + 1_000_000, what: InputKind::Start(Box::new(started)) }
}

/// Begins a fork after so many events of a run. `None`: the run had ended there.
pub(crate) fn begin(base: &Machine, place: usize, other: Other) -> Option<Machine> {
    let state = at(base, place);
    let say = other.say.then_some("Think again.");
    let input = start(&state, &base.events[place..], other.policy, say);
    let fresh = State::on_base(next_id(&state), &state);
    if state.is_finished() {
        let refused = accept(&fresh, input).unwrap_err();
        assert_eq!(refused.code(), "input.nothing_to_fork");
        return None;
    }
    let tools = state.tools().clone();
    let before = base.before.iter().chain(&base.events[..place]).cloned().collect();
    // A closing call that the base had begun has a purse of its own.
    let line = || base.before.iter().chain(&base.events[..place]);
    let plain = !line().any(|event| matches!(event.fact, Fact::Limit(LimitFact::Reached(_))));
    // Neither has one that makes its requests anew from a plan.
    let purse = plain.then(|| Purse::carrying(&state.carried()));
    Some(Machine::begun_with(fresh, before, &input, tools, purse))
}

/// What holds for a fork after every input: one end, one result for each call of the base or its own, a conversation
/// that a provider takes, and its own usage counted, no more.
pub(crate) fn holds(state: &State, before: &[Event], events: &[Event]) {
    assert_eq!(state.version(), events.len() as u64);
    let ends = events.iter().filter(|event| matches!(event.fact, Fact::Run(RunFact::Ended(_)))).count();
    assert_eq!(ends, usize::from(state.is_finished()));
    let mut open: BTreeMap<&CallId, bool> = BTreeMap::new();
    for event in before.iter().chain(events) {
        match &event.fact {
            Fact::Model(ModelFact::Completed(turn)) => {
                let fresh = |call| open.insert(call, true).is_none();
                assert!(turn.calls.iter().map(|call| &call.id).all(fresh), "ids are unique");
            }
            Fact::Call(CallFact::StepBranched(branched)) => {
                let fresh = |call| open.insert(call, true).is_none();
                assert!(branched.calls.iter().map(|call| &call.id).all(fresh), "ids are unique");
            }
            Fact::Code(CodeFact::Called(code)) => {
                assert_eq!(open.get(&code.call), Some(&true), "{code:?}");
                let fresh = |call| open.insert(call, true).is_none();
                assert!(code.calls.iter().map(|call| &call.id).all(fresh), "ids are unique");
            }
            Fact::Plan(PlanFact::Made(made)) => {
                let fresh = |call| open.insert(call, true).is_none();
                assert!(made.call.iter().all(fresh), "ids are unique");
            }
            Fact::Code(CodeFact::Started(started)) => {
                assert_eq!(open.get(&started.call), Some(&true), "{started:?}");
            }
            Fact::Code(CodeFact::Finished(finished)) => {
                assert_eq!(open.insert(&finished.call, false), Some(true), "one result: {finished:?}");
            }
            Fact::Call(CallFact::Started(started)) => {
                assert_eq!(open.get(&started.call), Some(&true), "{started:?}");
            }
            Fact::Call(CallFact::Held(held)) => assert_eq!(open.get(&held.call), Some(&true), "{held:?}"),
            Fact::Call(CallFact::Finished(finished)) => {
                assert_eq!(open.insert(&finished.call, false), Some(true), "one result: {finished:?}");
            }
            Fact::Delegation(DelegationFact::Finished(finished)) => {
                assert_eq!(open.insert(&finished.call, false), Some(true), "one result: {finished:?}");
            }
            _ => {}
        }
    }
    let wanted = pending(state);
    let speaks = |work: &ActionKind| matches!(work, ActionKind::CallModel { purpose } if purpose.speaks());
    if state.is_finished() || wanted.iter().any(|action| speaks(&action.work)) {
        let all = || lines(before).chain(lines(events)).collect::<Vec<_>>().join("\n");
        assert!(open.values().all(|open| !open), "every call has its result: {open:?}\n{}", all());
        assert_eq!(state.history().fault(), None, "\n{}", all());
    }
    let ids: BTreeSet<_> = wanted.iter().map(|action| action.id).collect();
    assert_eq!(ids.len(), wanted.len(), "ids of actions are unique: {wanted:?}");
    let own = |id: &ActionId| id.run == state.run() && (0..=state.version()).contains(&id.seq);
    assert!(ids.iter().all(own), "an action is the fork's own: {wanted:?}");
    let mut used = Usage::default();
    for event in events {
        match &event.fact {
            Fact::Model(ModelFact::Completed(turn)) => used.add(&turn.usage),
            Fact::Model(ModelFact::Failed(turn)) => used.add(&turn.failure.usage),
            Fact::Model(ModelFact::ProbeAnswered(probe)) => used.add(&probe.usage),
            Fact::Delegation(DelegationFact::Finished(finished)) => used.add(&finished.usage),
            _ => {}
        }
    }
    assert_eq!(*state.usage(), used, "what the base used is not counted again");
}

fn edited(events: &[Event]) -> BTreeSet<&CallId> {
    let calls = events.iter().filter_map(|event| match &event.fact {
        Fact::Call(CallFact::Decided(decided)) if matches!(decided.decision, Decision::Edited { .. }) => {
            Some(&decided.call)
        }
        Fact::Call(CallFact::Verified(verified)) => verified.args.as_ref().map(|_| &verified.call),
        _ => None,
    });
    calls.collect()
}

fn coded(events: &[Event]) -> impl Iterator<Item = &CallId> {
    events.iter().filter_map(|event| match &event.fact {
        Fact::Code(CodeFact::Started(started)) => Some(&started.call),
        _ => None,
    })
}

fn effects(base: &Machine) -> BTreeMap<&str, Effect> {
    base.state.tools().iter().map(|tool| (&*tool.name, tool.effect)).collect()
}

/// What ended in a base never runs again in the fork; what a base lost runs again only if that does no harm.
pub(crate) fn repeats_nothing(bases: &[&Machine], place: usize, fork: &Machine) {
    let base = bases[0];
    let (before, later) = base.events.split_at(place);
    let mut names: BTreeMap<&CallId, &str> = BTreeMap::new();
    let (mut started, mut running, mut ended) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    // The oldest first: what a fork makes of a call comes after what its base made of it.
    let below: BTreeSet<&CallId> = calls(&base.before).collect();
    let lines = bases.iter().enumerate().rev();
    for (age, event) in lines.flat_map(|(age, base)| base.events.iter().map(move |event| (age, event))) {
        // What the base's base called after the base had left it only shares its id with a call of this line.
        let elsewhere = |call: &CallId| age > 0 && !below.contains(call);
        match &event.fact {
            Fact::Model(ModelFact::Completed(turn)) => {
                names.extend(turn.calls.iter().map(|call| (&call.id, &*call.name)));
            }
            Fact::Code(CodeFact::Called(code)) => {
                names.extend(code.calls.iter().map(|call| (&call.id, &*call.name)));
            }
            Fact::Call(CallFact::Started(call)) if !elsewhere(&call.call) => {
                started.insert(&call.call);
                running.insert(&call.call);
            }
            // A result that a person gives for a call in doubt is no end of a call that ran.
            Fact::Call(CallFact::Doubted(call)) => drop(running.remove(&call.call)),
            Fact::Call(CallFact::Retried(call)) => {
                started.remove(&call.call);
                running.remove(&call.call);
            }
            Fact::Call(CallFact::Finished(call)) if running.remove(&call.call) => {
                use CallOutcome::{Error, Ok, TimedOut};
                if matches!(call.outcome, Ok { .. } | Error { .. } | TimedOut { .. }) {
                    ended.insert(&call.call);
                }
            }
            _ => {}
        }
    }
    let before_fork = edited(before);
    let (anew, there) = (edited(&fork.events), edited(later));
    let far: BTreeSet<_> = bases.iter().skip(1).flat_map(|base| edited(&base.events)).collect();
    // Calls that ran with other arguments, and ids that turns of two lines have in common, are other calls.
    let own: BTreeSet<&CallId> = calls(&fork.events).collect();
    let line: BTreeSet<&CallId> = calls(&fork.before).collect();
    // Code goes on where it stood; whether its calls repeat is looked at for each of them.
    let code: BTreeSet<&CallId> = bases.iter().flat_map(|base| coded(&base.events)).collect();
    let same = |call: &CallId| {
        let here = before_fork.contains(call);
        let edited = here != there.contains(call) && (!here || bases.len() > 1) || far.contains(call);
        line.contains(call) && !code.contains(call) && !own.contains(call) && !anew.contains(call) && !edited
    };
    let effects = effects(base);
    let mut doubted = BTreeSet::new();
    for event in &fork.events {
        match &event.fact {
            Fact::Call(CallFact::Doubted(call)) => drop(doubted.insert(&call.call)),
            Fact::Call(CallFact::Started(call)) if same(&call.call) => {
                assert!(
                    !ended.contains(&call.call),
                    "{} ended in the base, and runs again:\n{}",
                    call.call,
                    story(bases, place, fork)
                );
                let name = names.get(&call.call).copied().unwrap_or_default();
                let once = effects.get(name).is_some_and(|effect| *effect == Effect::Once);
                let lost = started.contains(&call.call);
                assert!(!(once && lost) || doubted.contains(&call.call), "{} may have happened", call.call);
            }
            _ => {}
        }
    }
}

/// A call of code: the code, its place in it, the tool and the arguments.
type HostCall = (CallId, u32, String, String);

/// The host call of that id, if it is open and not edited.
fn host_call(state: &State, id: &CallId) -> Option<HostCall> {
    let open = state.open_call(id).filter(|open| open.edited.is_none())?;
    match open.origin() {
        Origin::Code { by, place } => {
            Some((by.clone(), *place, open.call.name.to_string(), open.call.args.to_text().to_string()))
        }
        Origin::Model | Origin::Hook | Origin::Plan => None,
    }
}

/// A call with an effect that code made in the base, and that happened there, is not made again by the same code in the fork:
/// the fork's code is given its result.
pub(crate) fn repeats_no_host_call(base: &Machine, place: usize, fork: &Machine) {
    let effects = effects(base);
    let (mut state, mut happened) = (base.origin.clone(), BTreeSet::new());
    for event in stored(&base.events[..place]) {
        if let Fact::Call(CallFact::Finished(finished)) = &event.fact
            && finished.outcome.is_ok()
            && let Some(call) = host_call(&state, &finished.call)
            && effects.get(&*call.2).is_some_and(|effect| *effect == Effect::Once)
        {
            happened.insert(call);
        }
        state = evolve(state, &event);
    }
    let mut state = fork.origin.clone();
    for event in stored(&fork.events) {
        if let Fact::Call(CallFact::Started(started)) = &event.fact {
            let again = host_call(&state, &started.call).filter(|call| happened.contains(call));
            assert_eq!(again, None, "it happened in the base:\n{}", story(&[base], place, fork));
        }
        state = evolve(state, &event);
    }
}

/// All events, one a line: of the bases, and of the fork that begins after so many of the youngest one.
fn story(bases: &[&Machine], place: usize, fork: &Machine) -> String {
    let mut lines = Vec::new();
    for machine in bases.iter().rev().copied().chain([fork]) {
        lines.push(format!("run {}", machine.state.run()));
        lines.extend(self::lines(&machine.events));
    }
    lines.push(format!("forked after {place}"));
    lines.join("\n")
}

pub(crate) fn lines(events: &[Event]) -> impl Iterator<Item = String> {
    events.iter().enumerate().map(|(number, event)| {
        let body = event.fact.body().unwrap();
        let body: String = body.chars().take(if number == 0 { 120 } else { 400 }).collect();
        format!("{:>4} {} {body}", number + 1, event.fact.kind())
    })
}

fn calls(events: &[Event]) -> impl Iterator<Item = &CallId> {
    let calls = events.iter().map(|event| match &event.fact {
        Fact::Model(ModelFact::Completed(turn)) => turn.calls.iter().map(|call| &call.id).collect(),
        Fact::Code(CodeFact::Called(code)) => code.calls.iter().map(|call| &call.id).collect(),
        Fact::Plan(PlanFact::Made(made)) => made.call.iter().collect(),
        _ => Vec::new(),
    });
    calls.flatten()
}

/// The fork's state is the fold of its events on its base, and it replays.
pub(crate) fn folds_and_replays(base: &Machine, place: usize, fork: &Machine) {
    let below = at(base, place);
    let events = stored(&fork.events);
    let fresh = State::on_base(next_id(&below), &below);
    assert_eq!(events.iter().fold(fresh.clone(), evolve), fork.state);
    let (mut state, mut from) = (fresh, 0);
    for (to, cause) in &fork.appends {
        state =
            replay(&state, cause, &events[from..*to]).unwrap_or_else(|difference| panic!("{difference:#?}"));
        from = *to;
    }
}

#[test]
fn a_fork_into_another_loop_begins_with_its_own_step() {
    let purposes = |policy: Policy, other: Policy| {
        let base = Machine::new(policy);
        let fork = begin(&base, base.events.len(), Other { policy: Some(other), say: false }).unwrap();
        let asked = |machine: &Machine| {
            let mut asked = machine.events.iter().filter_map(|event| match &event.fact {
                Fact::Model(ModelFact::Started(turn)) => Some((turn.turn, turn.purpose)),
                _ => None,
            });
            (asked.next(), asked.next())
        };
        assert!(asked(&base).0.is_some(), "a call of the base is open");
        asked(&fork)
    };
    let (chat, plan) = (|| Preset::CHAT.policy(), || Preset::PLAN.policy());
    assert_eq!(purposes(chat(), plan()), (Some((2, Purpose::Perceive)), None), "a plan is begun");
    assert_eq!(purposes(plan(), chat()), (Some((2, Purpose::Act)), None), "the loop of tools is begun");
    assert_eq!(purposes(chat(), chat()), (Some((1, Purpose::Act)), None), "the same loop repeats its call");
}

#[test]
fn a_fork_of_a_paused_reply_sends_it_back() {
    let mut base = Machine::new(Preset::CHAT.policy());
    let action = pending(&base.state)[0].id;
    let paused = Reply { stop: StopReason::Paused, ..reply(Some("Wait."), Vec::new(), Usage::default()) };
    let what = InputKind::replied(action, paused);
    assert!(base.offer(&Input { at: BEGINNING, what }), "it is a reply");
    let is_reply = |event: &Event| matches!(event.fact, Fact::Model(ModelFact::Completed(_)));
    let place = base.events.iter().position(is_reply).unwrap() + 1;
    let fork = begin(&base, place, Other { policy: None, say: false }).unwrap();
    for machine in [&base, &fork] {
        let last = machine.events.last().unwrap();
        assert!(matches!(&last.fact, Fact::Model(ModelFact::Started(turn)) if turn.turn == 2), "{last:?}");
    }
}
