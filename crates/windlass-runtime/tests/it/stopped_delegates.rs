//! E19, E41: however a run is stopped, the runs of the agents that it handed tasks to end, and what they used is counted.

use std::cell::Cell;
use std::sync::Arc;
use windlass_core::event::{DelegationFact, ModelFact, RunFact};

use windlass_core::model::Usage;
use windlass_core::policy::LimitKind;
use windlass_core::tool::ToolKind;
use windlass_core::{Fact, InputKind, RunId, RunState, Status};
use windlass_runtime::{Agent, AgentBuilder, AgentDelegate};
use windlass_store::{Index, UsageFilter};
use windlass_testing::FnTool;
use windlass_tools::ToolError;

use crate::ground::{Ground, assert_sound, options};
use crate::scenarios::{calls_then_answers, slow_tool};

/// No run of these takes more polls than this.
const MOST_POLLS: u64 = 2_000;

fn named(ground: &Ground, name: &str, calls: &'static [(&'static str, &'static str)]) -> AgentBuilder {
    let model = ground.watched(calls_then_answers(calls));
    Agent::builder(name)
        .model(("function", model))
        .log(ground.log.clone())
        .environment(Arc::new(ground.environment.clone()))
}

/// An agent that hands a task to another one, which hands it to a third, which works for long.
fn family(ground: &Ground) -> Agent {
    let worker = named(ground, "worker", &[("look", "{}")]).tool(slow_tool(ground, "look", 1_000));
    above(ground, worker)
}

/// The same with a third one that asks something that nobody answers.
fn family_that_asks(ground: &Ground) -> AgentBuilder {
    let ask = FnTool::new("ask", |_, _| async { Err(ToolError::new("people answer this")) });
    let worker = named(ground, "worker", &[("ask", r#"{"question": "Which?"}"#)])
        .tool(ask.spec(|spec| spec.kind = ToolKind::Ask));
    let worker = Arc::new(AgentDelegate::new(worker.build().unwrap()));
    let helper = named(ground, "helper", &[("worker", r#"{"task": "ask"}"#)]).delegate(worker);
    let helper = Arc::new(AgentDelegate::new(helper.build().unwrap()));
    named(ground, "root", &[("helper", r#"{"task": "ask"}"#)]).delegate(helper)
}

fn above(ground: &Ground, worker: AgentBuilder) -> Agent {
    let worker = Arc::new(AgentDelegate::new(worker.build().unwrap()));
    let helper = named(ground, "helper", &[("worker", r#"{"task": "look"}"#)]).delegate(worker);
    let helper = Arc::new(AgentDelegate::new(helper.build().unwrap()));
    named(ground, "root", &[("helper", r#"{"task": "look"}"#)]).delegate(helper).build().unwrap()
}

/// The runs of the tasks that a run handed over, and of theirs.
fn below(ground: &Ground, run: RunId) -> Vec<RunId> {
    let facts = ground.facts(run);
    let mut runs: Vec<RunId> = Vec::new();
    for fact in facts {
        if let Fact::Delegation(DelegationFact::Started(started)) = fact
            && !runs.contains(&started.run)
            && ground.wait(ground.memory.summary(started.run)).is_ok()
        {
            runs.push(started.run);
            runs.extend(below(ground, started.run));
        }
    }
    runs
}

/// Nothing is left open, and the root counts what all of them used.
fn assert_all_ended(ground: &Ground, root: RunId, at: &str) {
    let mut all = Usage::default();
    for run in std::iter::once(root).chain(below(ground, root)) {
        let facts = ground.facts(run);
        assert!(matches!(facts.last(), Some(Fact::Run(RunFact::Ended(_)))), "{at}: the run {run} is open");
        for fact in &facts {
            if let Fact::Model(ModelFact::Completed(turn)) = fact {
                all.add(&turn.usage);
            } else if let Fact::Model(ModelFact::Failed(turn)) = fact {
                all.add(&turn.failure.usage);
            }
        }
    }
    assert_eq!(ground.state(root).usage().total(), all.total(), "{at}");
    // A sum over the log counts each call once, whatever was brought back to whom.
    let [sum] = ground.wait(ground.memory.usage(UsageFilter::default())).unwrap().try_into().unwrap();
    assert_eq!((sum.spend.input, sum.spend.output), (all.input, all.output), "{at}");
}

/// Whether some task's run is open while the run that handed it over is being stopped.
fn left_open(ground: &Ground, root: RunId) -> bool {
    let asked = ground.kinds(root).contains(&"CancelRequested");
    let open = |run: &RunId| !ground.state(*run).is_finished();
    asked && open(&root) && below(ground, root).iter().any(open)
}

#[test]
fn e19_e41_a_sub_agent_of_a_cancelled_run_ends_and_is_counted_wherever_the_process_dies() {
    let mut found_open = 0;
    for cancel in 0.. {
        let sent = Cell::new(false);
        for more in 0.. {
            let ground = Ground::slow();
            let prepared = ground.wait(family(&ground).prepare("Go.", options())).unwrap();
            let (root, handle) = (prepared.id(), prepared.handle());
            let dropped = ground.drive(prepared, |count| {
                assert!(count < MOST_POLLS, "it does not end");
                if count == cancel {
                    sent.set(true);
                    handle.send_now(InputKind::Cancel { reason: None });
                }
                count >= cancel + more
            });
            assert_eq!(ground.seen.alive(), 0);
            if dropped.is_some() {
                assert_all_ended(&ground, root, "not dropped");
                break;
            }
            if ground.memory.is_empty() || ground.state(root).is_finished() {
                continue;
            }
            found_open += u32::from(left_open(&ground, root));
            let prepared = ground.wait(family(&ground).resume(root).options(options()).prepare()).unwrap();
            let run = ground.drive(prepared, |count| {
                assert!(count < MOST_POLLS, "it does not end");
                false
            });
            let run = run.unwrap();
            let at = format!("cancelled after {cancel} polls, dropped {more} later");
            assert!(matches!(run.run_state(), RunState::Ended(_)), "{at}");
            assert_sound(&ground, &run);
            assert_all_ended(&ground, root, &at);
        }
        if cancel > 0 && !sent.get() {
            break;
        }
    }
    assert!(found_open > 10, "deaths while sub-agents were open: {found_open}");
}

#[test]
fn e19_e41_a_sub_agent_that_waits_for_a_person_ends_with_the_run_that_is_cancelled() {
    let ground = Ground::new();
    let agent = family_that_asks(&ground).build().unwrap();
    let run = ground.wait(agent.run("Go.")).unwrap();
    assert_eq!(run.run_state(), RunState::Suspended);
    assert_eq!(below(&ground, run.id()).len(), 2);
    ground.wait(agent.post(run.id(), InputKind::Cancel { reason: None })).unwrap();
    let prepared = ground.wait(agent.resume(run.id()).options(options()).prepare()).unwrap();
    let run = ground.drive(prepared, |_| false).unwrap();
    assert_eq!(run.status(), Some(Status::Cancelled));
    assert_eq!(run.usage().input, 60, "a call each was paid");
    assert_all_ended(&ground, run.id(), "cancelled while a person is asked");
}

#[test]
fn e19_e41_a_sub_agent_that_waits_for_a_person_ends_with_the_run_whose_time_is_over() {
    let ground = Ground::new();
    let agent = family_that_asks(&ground)
        .settings(&serde_json::json!({ "at_limit": "fail" }))
        .limit(LimitKind::Seconds, 1.0)
        .build()
        .unwrap();
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let run = ground.drive(prepared, |_| false).unwrap();
    assert_eq!(run.status(), Some(Status::Limit(LimitKind::Seconds)));
    assert_eq!(run.usage().input, 60, "a call each was paid");
    assert_all_ended(&ground, run.id(), "out of time while a person is asked");
}
