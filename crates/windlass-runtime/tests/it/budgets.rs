//! E40: one limit for a run and all that do tasks of it, wherever the process dies, and whoever is resumed first.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use windlass_core::event::{DelegationFact, ModelFact};

use proptest::prelude::*;
use serde_json::json;
use windlass_core::model::{ModelChoice, Prices};
use windlass_core::policy::{LimitKind, Share};
use windlass_core::{Fact, RunId, RunState, Status};
use windlass_runtime::{Agent, AgentBuilder, AgentDelegate, Environment, Error};
use windlass_store::Index;
use windlass_testing::{BEGINNING, FnModel, text_reply};

use crate::ground::{Ground, assert_sound, options};
use crate::scenarios::calls_then_answers;

/// No run of these takes more polls than this.
const MOST_POLLS: u64 = 3_000;
/// What each model call of these tests uses, and the most that it may.
const INPUT: u64 = 20;
const OUTPUT: u64 = 10;

fn named(ground: &Ground, name: &str, model: FnModel) -> AgentBuilder {
    let choice = ModelChoice { name: "m".into(), max_tokens: Some(OUTPUT), ..ModelChoice::default() };
    Agent::builder(name)
        .model_with(choice, ground.watched(model.step_by_step()))
        .log(ground.log.clone())
        .environment(Arc::new(ground.environment.clone()))
}

fn worker(ground: &Ground) -> Agent {
    named(ground, "worker", FnModel::new(|_| text_reply("done"))).build().unwrap()
}

/// An agent that hands six tasks to another one at once, and may use 65 tokens of output with it.
fn root(ground: &Ground, share: &serde_json::Value) -> Agent {
    const SIX: &[(&str, &str)] = &[
        ("worker", r#"{"task": "one"}"#),
        ("worker", r#"{"task": "two"}"#),
        ("worker", r#"{"task": "three"}"#),
        ("worker", r#"{"task": "four"}"#),
        ("worker", r#"{"task": "five"}"#),
        ("worker", r#"{"task": "six"}"#),
    ];
    named(ground, "root", calls_then_answers(SIX))
        .settings(&json!({ "share": share, "at_limit": "none", "limits": { "output_tokens": 65 } }))
        .delegate(Arc::new(AgentDelegate::new(worker(ground))))
        .build()
        .unwrap()
}

fn tasks(ground: &Ground, run: RunId) -> Vec<RunId> {
    let started = ground.facts(run).into_iter().filter_map(|fact| match fact {
        Fact::Delegation(DelegationFact::Started(started)) => Some(started.run),
        _ => None,
    });
    let mut runs: Vec<RunId> = started.collect();
    runs.sort_unstable();
    runs.dedup();
    runs.retain(|run| ground.wait(ground.memory.summary(*run)).is_ok());
    runs
}

/// No more was paid than the limit allows, whatever the logs say; and they count all that they know of.
fn assert_within(ground: &Ground, root: RunId, at: &str) {
    let made = ground.seen.paid.load(Ordering::SeqCst) / INPUT;
    assert!(made * OUTPUT <= 65, "{at}: {made} calls were paid");
    let state = ground.state(root);
    let known: u64 = tasks(ground, root).iter().map(|run| ground.state(*run).usage().output).sum();
    let own =
        ground.facts(root).iter().filter(|fact| matches!(fact, Fact::Model(ModelFact::Completed(_)))).count()
            as u64;
    assert_eq!(state.usage().output, known + own * OUTPUT, "{at}");
    // Calls that waited for a shared limit when the process died are reserved, too: no log says that they were not made.
    let sure = state.policy().bounds.share != Share::Shared;
    assert!(!sure || state.usage().output + state.reserved().output <= 65, "{at}: {:?}", state.reserved());
}

#[test]
fn e40_parallel_sub_agents_stay_within_one_limit_wherever_the_process_dies() {
    for (share, least) in [(json!("equal"), 1), (json!({ "fixed": 0.2 }), 2), (json!("shared"), 6)] {
        for more in 0.. {
            let ground = Ground::slow();
            let prepared = ground.wait(root(&ground, &share).prepare("Go.", options())).unwrap();
            let id = prepared.id();
            let at = format!("{share}, dropped after {more} polls");
            let dropped = ground.drive(prepared, |count| {
                assert!(count < MOST_POLLS, "it does not end");
                count >= more
            });
            if dropped.is_some() {
                assert_within(&ground, id, &at);
                let paid = ground.seen.paid.load(Ordering::SeqCst) / INPUT;
                assert!(paid >= least, "{at}: {paid} calls were made");
                break;
            }
            if ground.memory.is_empty() || ground.state(id).is_finished() {
                continue;
            }
            // Somebody goes on with one of the tasks alone before the root is resumed.
            let open = |run: &RunId| !ground.state(*run).is_finished();
            if let Some(alone) = tasks(&ground, id).into_iter().rfind(open).filter(|_| more % 2 == 1) {
                let prepared =
                    ground.wait(worker(&ground).resume(alone).options(options()).prepare()).unwrap();
                ground.drive(prepared, |_| false).unwrap();
            }
            let prepared =
                ground.wait(root(&ground, &share).resume(id).options(options()).prepare()).unwrap();
            let run = ground.drive(prepared, |count| {
                assert!(count < MOST_POLLS, "it does not end");
                false
            });
            let run = run.unwrap();
            assert!(matches!(run.run_state(), RunState::Ended(_)), "{at}");
            assert_sound(&ground, &run);
            assert_within(&ground, id, &at);
        }
    }
}

#[test]
fn e40_calls_that_wait_for_a_shared_limit_are_stopped_with_their_run() {
    let ground = Ground::slow();
    let prepared = ground.wait(root(&ground, &json!("shared")).prepare("Go.", options())).unwrap();
    let (id, handle) = (prepared.id(), prepared.handle());
    let run = ground.drive(prepared, |count| {
        assert!(count < MOST_POLLS, "it does not end");
        if ground.seen.paid.load(Ordering::SeqCst) == INPUT && tasks_begun(&ground) {
            handle.send_now(windlass_core::InputKind::Cancel { reason: None });
        }
        false
    });
    let run = run.unwrap();
    assert_eq!(run.status(), Some(Status::Cancelled));
    assert!(tasks(&ground, id).iter().all(|run| ground.state(*run).is_finished()));
    assert_within(&ground, id, "cancelled");
}

/// Whether model calls of tasks are going on.
fn tasks_begun(ground: &Ground) -> bool {
    ground.seen.alive() >= 5
}

#[test]
fn e40_a_sub_agent_without_a_price_under_a_limit_on_cost_is_refused() {
    let ground = Ground::new();
    let priced = ModelChoice {
        name: "priced".into(),
        prices: Some(Prices::per_million(1.0, 1.0, None)),
        ..ModelChoice::default()
    };
    let delegate = Arc::new(AgentDelegate::new(worker(&ground)));
    let middle = Agent::builder("middle")
        .model_with(priced.clone(), ground.watched(FnModel::new(|_| text_reply("done"))))
        .delegate(delegate)
        .build()
        .unwrap();
    let built = Agent::builder("top")
        .model_with(priced, ground.watched(FnModel::new(|_| text_reply("done"))))
        .limit(LimitKind::CostUsd, 1.0)
        .delegate(Arc::new(AgentDelegate::new(middle)))
        .build();
    let refused = built.unwrap_err();
    assert!(
        matches!(&refused, Error::UnknownDelegatePrice { delegate, .. } if delegate == "middle"),
        "{refused}"
    );
}

/// Three of a worker's tasks at once, and then the answer.
const THREE: &[(&str, &str)] =
    &[("worker", r#"{"task": "one"}"#), ("worker", r#"{"task": "two"}"#), ("worker", r#"{"task": "three"}"#)];
const TWO: &[(&str, &str)] = &[("middle", r#"{"task": "one"}"#), ("middle", r#"{"task": "two"}"#)];

/// A root above two runs of an agent that has three tasks done each, with a way to share at either level.
fn family(ground: &Ground, shares: &[serde_json::Value; 2], most: u64) -> Agent {
    let middle = named(ground, "middle", calls_then_answers(THREE))
        .settings(&json!({ "share": shares[1], "at_limit": "none" }))
        .delegate(Arc::new(AgentDelegate::new(worker(ground))))
        .build()
        .unwrap();
    named(ground, "root", calls_then_answers(TWO))
        .settings(&json!({ "share": shares[0], "at_limit": "none", "limits": { "output_tokens": most } }))
        .delegate(Arc::new(AgentDelegate::new(middle)))
        .build()
        .unwrap()
}

/// The room below is held by calls of workers that hear nothing: those that wait for it wait under the limit on time, at
/// whichever level that one stands.
#[test]
fn e22_a_limit_on_time_ends_calls_that_wait_for_a_shared_limit() {
    for timed in ["root", "middle", "worker"] {
        let ground = Ground::slow();
        let limits = |name| {
            let mut limits = json!({});
            if timed == name {
                limits["seconds"] = json!(1);
            }
            if name == "root" {
                limits["output_tokens"] = json!(55);
            }
            json!({ "share": "shared", "at_limit": "none", "limits": limits })
        };
        let silent = FnModel::streaming(|_, _| Box::pin(futures_util::stream::pending()));
        let worker = named(&ground, "worker", silent).settings(&limits("worker")).build().unwrap();
        let middle = named(&ground, "middle", calls_then_answers(THREE))
            .settings(&limits("middle"))
            .delegate(Arc::new(AgentDelegate::new(worker)))
            .build()
            .unwrap();
        let root = named(&ground, "root", calls_then_answers(TWO))
            .settings(&limits("root"))
            .delegate(Arc::new(AgentDelegate::new(middle)))
            .build()
            .unwrap();
        let prepared = ground.wait(root.prepare("Go.", options())).unwrap();
        let id = prepared.id();
        let run = ground.drive(prepared, |count| {
            assert!(count < MOST_POLLS, "limit of {timed}: it does not end");
            false
        });
        let run = run.unwrap();
        assert!(matches!(run.run_state(), RunState::Ended(_)), "{timed}: {:?}", run.status());
        let took = ground.environment.now() - BEGINNING;
        assert!((1_000..=3_000).contains(&took), "{timed}: {took} ms");
        let mut below = tasks(&ground, id);
        let lowest: Vec<RunId> = below.iter().flat_map(|run| tasks(&ground, *run)).collect();
        assert_eq!(lowest.len(), 6, "{timed}");
        below.extend(lowest);
        assert!(below.iter().all(|run| ground.state(*run).is_finished()), "{timed}");
    }
}

fn ways() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![
        Just(json!("equal")),
        Just(json!("shared")),
        (1_u32..=5).prop_map(|n| json!({ "fixed": f64::from(n) / 10.0 }))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]
    /// A call that waits for a reservation waits: it is woken, or stopped with its run, and nothing spins meanwhile.
    #[test]
    fn e40_nested_families_end_whatever_they_share(
        upper in ways(),
        lower in ways(),
        most in prop_oneof![Just(15_u64), Just(25), Just(45), Just(95), Just(400)],
        cancel in proptest::option::of(0_u64..300),
    ) {
        let ground = Ground::slow();
        let shares = [upper, lower];
        let prepared = ground.wait(family(&ground, &shares, most).prepare("Go.", options())).unwrap();
        let (id, handle) = (prepared.id(), prepared.handle());
        let at = format!("{shares:?}, {most}, cancelled at {cancel:?}");
        let run = ground.drive(prepared, |count| {
            assert!(count < MOST_POLLS, "{at}: it does not end");
            if cancel == Some(count) {
                handle.send_now(windlass_core::InputKind::Cancel { reason: None });
            }
            false
        });
        let run = run.unwrap();
        prop_assert!(matches!(run.run_state(), RunState::Ended(_)), "{at}: {:?}", run.status());
        let mut below = tasks(&ground, id);
        let lowest: Vec<RunId> = below.iter().flat_map(|run| tasks(&ground, *run)).collect();
        below.extend(lowest);
        prop_assert!(below.iter().all(|run| ground.state(*run).is_finished()), "{at}");
        let made = ground.seen.paid.load(Ordering::SeqCst) / INPUT;
        prop_assert!(made * OUTPUT <= most, "{at}: {made} calls were paid");
    }
}
