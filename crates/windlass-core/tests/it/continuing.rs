//! E2: a run that a limit cut can be continued with a higher one; nothing that was done is done again, and what was used
//! stays used.

use std::sync::Arc;

use windlass_core::event::{CallFact, ModelFact, RunInput};
use windlass_core::model::Usage;
use windlass_core::policy::{Limit, LimitKind, Preset};
use windlass_core::{
    ActionId, ActionKind, CallId, CallOutcome, Event, Fact, Input, InputKind, Policy, RunId, State, Status,
    accept, evolve, pending,
};

use crate::environment::{self, BEGINNING};

/// How long each model call and each tool takes, in milliseconds.
const TAKES: u64 = 400;

/// Drives a run whose model calls two tools each turn, and answers with its `turns`th. Timers fire when they are due.
fn drive(mut state: State, start: Input, turns: usize) -> (State, Vec<Event>) {
    let mut now = start.at;
    let mut input = Some(start);
    let mut events = Vec::new();
    let mut asked = 0;
    while let Some(next) = input.take() {
        for event in accept(&state, next).unwrap() {
            state = evolve(state, &event);
            events.push(event);
        }
        let wanted = pending(&state);
        let due = wanted.iter().find_map(|action| match action.work {
            ActionKind::SetTimer { at } if at <= now + TAKES => {
                Some((at, InputKind::TimerFired { action: action.id }))
            }
            _ => None,
        });
        let ends = wanted.into_iter().find_map(|action| {
            let id = action.id;
            match action.work {
                ActionKind::CallModel { .. } => {
                    asked += 1;
                    let args = format!("{{\"n\":{asked}}}");
                    let calls = vec![("read", args.as_str(), None), ("put", args.as_str(), None)];
                    let usage = Usage { input: 10, output: 5, ..Usage::default() };
                    let calls = if asked < turns { calls } else { Vec::new() };
                    Some(InputKind::replied(id, environment::reply(Some("Hm."), calls, usage)))
                }
                ActionKind::RunTool { .. } => Some(InputKind::CallEnded {
                    action: id,
                    outcome: CallOutcome::Ok { content: "done".into() },
                }),
                _ => None,
            }
        });
        input = match (due, ends) {
            (Some((at, what)), _) => {
                now = at;
                Some(Input { at, what })
            }
            (None, Some(what)) => {
                now += TAKES;
                Some(Input { at: now, what })
            }
            // What was stopped comes back: that is the only thing left to do.
            (None, None) => stopped(&state, &events).map(|what| Input { at: now, what }),
        };
    }
    (state, events)
}

/// The end of a call that is being stopped.
fn stopped(state: &State, events: &[Event]) -> Option<InputKind> {
    let finished = |call: &CallId| {
        events
            .iter()
            .any(|event| matches!(&event.fact, Fact::Call(CallFact::Finished(done)) if done.call == *call))
    };
    let seq = events.iter().position(
        |event| matches!(&event.fact, Fact::Call(CallFact::Started(started)) if !finished(&started.call)),
    )? as u64
        + 1;
    let action = ActionId { run: state.run(), seq };
    Some(InputKind::CallEnded { action, outcome: CallOutcome::Interrupted })
}

fn limited(kind: LimitKind, written: f64) -> Policy {
    let mut policy = Preset::CHAT.policy();
    policy.bounds.limits.clear();
    policy.bounds.limits.insert(kind, Limit { max: kind.keep(written).unwrap(), at_limit: None });
    policy
}

/// Continues a run that ended at a limit with another policy.
fn continued(base: &State, policy: Policy, turns: usize) -> (State, Vec<Event>) {
    let run = RunId::from_number(8);
    let mut start = environment::start(policy, base.tools());
    start.at = BEGINNING + 1_000_000;
    if let InputKind::Start(started) = &mut start.what {
        started.run = run;
        started.input = RunInput::Continue(base.carried());
    }
    drive(State::on_base(run, base), start, turns)
}

#[test]
fn e2_each_limit_can_be_raised_and_the_run_goes_on() {
    for (kind, cut, raised) in [
        (LimitKind::ModelCalls, 2.0, 9.0),
        (LimitKind::ToolRounds, 2.0, 9.0),
        (LimitKind::ToolCalls, 3.0, 20.0),
        (LimitKind::Tokens, 30.0, 1_000.0),
        (LimitKind::InputTokens, 20.0, 1_000.0),
        (LimitKind::OutputTokens, 10.0, 1_000.0),
        (LimitKind::CostUsd, 0.000_05, 1.0),
        (LimitKind::Seconds, 2.0, 60.0),
    ] {
        let first = environment::start(limited(kind, cut), &Arc::new(environment::tools()));
        let (base, _) = drive(State::new(environment::run_id()), first, 100);
        assert_eq!(base.ended().unwrap().status, Status::Limit(kind), "{kind}");
        let before = base.history().len();

        let (state, events) = continued(&base, limited(kind, raised), 2);
        assert_eq!(state.ended().unwrap().status, Status::Answered, "{kind}: {events:?}");
        let kept =
            state.history().iter().zip(base.history().iter()).take(before).all(|(a, b)| Arc::ptr_eq(a, b));
        assert!(kept, "{kind}: the conversation goes on from where it was");
        assert!(
            state.counters().model_calls > base.counters().model_calls,
            "{kind}: what was used stays used"
        );
        assert!(state.history().len() > before);
    }
}

#[test]
fn e2_what_was_used_counts_against_the_higher_limit() {
    for (kind, cut, raised) in [
        (LimitKind::ModelCalls, 2.0, 3.0),
        (LimitKind::ToolRounds, 2.0, 3.0),
        (LimitKind::ToolCalls, 3.0, 4.0),
        (LimitKind::Tokens, 30.0, 45.0),
        (LimitKind::CostUsd, 0.000_05, 0.000_07),
        (LimitKind::Seconds, 2.0, 3.0),
    ] {
        let first = environment::start(limited(kind, cut), &Arc::new(environment::tools()));
        let (base, _) = drive(State::new(environment::run_id()), first, 100);
        let (state, events) = continued(&base, limited(kind, raised), 100);
        assert_eq!(state.ended().unwrap().status, Status::Limit(kind), "{kind}");
        let turns =
            events.iter().filter(|event| matches!(event.fact, Fact::Model(ModelFact::Completed(_)))).count();
        assert!(turns <= 2, "{kind}: only the difference was left, and {turns} turns were taken");
        if kind == LimitKind::Seconds {
            let spent = events.last().unwrap().at - events.first().unwrap().at;
            assert_eq!(spent, 1_000, "one second of three was left");
        }
    }
}
