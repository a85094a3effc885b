//! Hedges and stalls piece by piece: what subscribers see of two models, and what holds off a stall limit.

use std::sync::Arc;

use futures_util::future::join;
use futures_util::{StreamExt, stream};
use serde_json::json;
use windlass_core::event::{ModelFact, TurnFailed};
use windlass_core::model::{FailureKind, ModelChoice, ModelFailure, StopReason, Usage};
use windlass_core::policy::LimitKind;
use windlass_core::{Fact, Status};
use windlass_models::Delta;
use windlass_read::reports::{run_costs, total_cost};
use windlass_runtime::{Agent, AgentBuilder, Environment, Run, Update, Updates};
use windlass_testing::{FnModel, SimEnvironment};

use crate::ground::{Ground, options};

/// Longer than any test runs, in milliseconds.
const NEVER: u64 = 600_000;

/// What a scripted stream does, and when, in milliseconds since its request.
type Script = Vec<(u64, Result<Delta, FailureKind>)>;

#[expect(clippy::unnecessary_wraps, reason = "a piece of a script may be a failure")]
fn text(text: &str) -> Result<Delta, FailureKind> {
    Ok(Delta::Text(text.to_owned()))
}

#[expect(clippy::unnecessary_wraps, reason = "a piece of a script may be a failure")]
fn used(input: u64) -> Result<Delta, FailureKind> {
    Ok(Delta::Usage(Usage { input, output: 1, ..Usage::default() }))
}

const END: Result<Delta, FailureKind> = Ok(Delta::Stop(StopReason::Stop));

fn timed(environment: &SimEnvironment, script: Script) -> FnModel {
    let environment = environment.clone();
    FnModel::streaming(move |_, request| {
        let (environment, began) = (environment.clone(), environment.now());
        let model = request.model.name.clone();
        Box::pin(stream::iter(script.clone()).then(move |(after, piece)| {
            let (environment, model) = (environment.clone(), model.clone());
            async move {
                environment.sleep_until(began + after).await;
                piece.map_err(|kind| ModelFailure::new(kind, "it broke", model))
            }
        }))
    })
}

/// An agent whose second model is asked 100 ms after the first.
fn hedged(ground: &Ground, one: Script, two: Script) -> Agent {
    let first = ModelChoice { name: "one".into(), hedge_ms: Some(100), ..ModelChoice::default() };
    let builder = Agent::builder("tested")
        .model_with(first, ground.watched(timed(&ground.environment, one)))
        .model(("two", timed(&ground.environment, two)));
    on(ground, builder).build().unwrap()
}

fn on(ground: &Ground, builder: AgentBuilder) -> AgentBuilder {
    builder.log(ground.memory.clone()).environment(Arc::new(ground.environment.clone()))
}

/// What a subscriber sees of the replies: their pieces, and marks that void them.
async fn pieces(mut updates: Updates) -> Vec<String> {
    let mut seen = Vec::new();
    while let Some(update) = updates.next().await {
        if let Update::Text { text, .. } = update {
            seen.push(text.to_string());
        } else if let Update::Void { .. } = update {
            seen.push("void".to_owned());
        }
    }
    seen
}

fn listened(ground: &Ground, agent: &Agent) -> (Run, Vec<String>) {
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let updates = prepared.updates();
    let (run, seen) = ground.wait(join(prepared.drive(), pieces(updates)));
    (run.unwrap(), seen)
}

fn lost(ground: &Ground, run: &Run) -> TurnFailed {
    let failed = ground
        .facts(run.id())
        .into_iter()
        .find_map(|fact| if let Fact::Model(ModelFact::Failed(failed)) = fact { Some(failed) } else { None });
    failed.expect("one of two attempts has ended")
}

#[test]
fn e15_e41_pieces_of_a_slower_model_are_void_once_the_other_one_has_replied() {
    let ground = Ground::new();
    let one = vec![(0, used(7)), (10, text("Once upon")), (NEVER, END)];
    let two = vec![(20, text("Do")), (30, text("ne.")), (40, END)];
    let (run, seen) = listened(&ground, &hedged(&ground, one, two));
    assert_eq!(seen, ["Once upon", "void", "Do", "ne."]);
    assert_eq!(run.text(), Some("Done."));
    assert_eq!(ground.seen.alive(), 0, "the slower stream is gone");
    let lost = lost(&ground, &run);
    assert_eq!((lost.remaining_model, &*lost.failure.model), (Some(1), "one"));
    // What the provider had counted by then, which is not all that it bills.
    assert_eq!((lost.failure.usage.input, lost.failure.usage.estimated), (7, true));
}

/// Servers bill a stopped reply in full: nothing of its reservation is free again, in the run and in those that share its limit.
#[test]
fn e40_e41_the_slower_model_keeps_its_whole_reservation() {
    for share in ["equal", "shared"] {
        for told in
            [vec![(0, used(7)), (NEVER, END)], vec![(0, text("Once upon")), (NEVER, END)], vec![(NEVER, END)]]
        {
            let ground = Ground::new();
            let two = vec![(20, used(3)), (20, text("Done.")), (20, END)];
            let first = ModelChoice {
                name: "one".into(),
                hedge_ms: Some(100),
                max_tokens: Some(400),
                ..ModelChoice::default()
            };
            let second = ModelChoice { name: "two".into(), max_tokens: Some(400), ..ModelChoice::default() };
            let builder = Agent::builder("tested")
                .model_with(first, ground.watched(timed(&ground.environment, told)))
                .model_with(second, ground.watched(timed(&ground.environment, two)))
                .settings(&json!({ "limits": { "tokens": 1_000 }, "share": share }));
            let agent = on(&ground, builder).build().unwrap();
            let (run, _) = listened(&ground, &agent);
            assert_eq!(run.text(), Some("Done."), "{share}");
            let lost = lost(&ground, &run).failure.usage;
            let kept = run.state().reserved();
            assert_eq!(lost.output + kept.output, 400, "{share}: {lost:?}, {kept:?}");
            let spent = run.state().used_before();
            assert!(spent.output >= 401 && spent.output < 410, "{share}: {spent:?}");
        }
    }
}

#[test]
fn e41_the_costs_of_two_attempts_are_those_of_their_own_models() {
    let slow = || vec![(0, used(7)), (NEVER, END)];
    let quick = |ms| vec![(ms, used(3)), (ms, text("Done.")), (ms, END)];
    for (one, two, expected) in [
        (slow(), quick(20), [("one", 7, true), ("two", 3, false)]),
        (quick(150), slow(), [("two", 7, true), ("one", 3, false)]),
    ] {
        let ground = Ground::new();
        let (run, _) = listened(&ground, &hedged(&ground, one, two));
        let family = ground.wait(run_costs(&*ground.memory, run.id())).unwrap();
        let calls = family[0].calls.iter();
        let calls: Vec<_> =
            calls.map(|call| (&*call.model, call.usage.input, call.failed.is_some())).collect();
        assert_eq!(calls, expected);
        assert_eq!(total_cost(&family).usage, *run.usage(), "the ledger counts the same");
    }
}

#[test]
fn e15_pieces_of_the_second_model_follow_once_the_first_has_failed() {
    let ground = Ground::new();
    let one = vec![(10, text("Once upon")), (200, Err(FailureKind::Cut))];
    let two = vec![(20, text("Do")), (150, text("ne.")), (160, END)];
    let (run, seen) = listened(&ground, &hedged(&ground, one, two));
    assert_eq!(seen, ["Once upon", "void", "Do", "ne."]);
    assert_eq!(run.text(), Some("Done."));
}

#[test]
fn e15_the_first_model_keeps_its_pieces_when_it_wins() {
    let ground = Ground::new();
    let one = vec![(10, text("Once ")), (150, text("upon.")), (160, END)];
    let two = vec![(20, text("Never.")), (NEVER, END)];
    let (run, seen) = listened(&ground, &hedged(&ground, one, two));
    assert_eq!(seen, ["Once ", "upon."]);
    assert_eq!(run.text(), Some("Once upon."));
    // The other one had said something, which nobody has counted.
    assert!(lost(&ground, &run).failure.usage.estimated);
}

/// A run with a stall limit of a second; whether somebody listens makes no difference.
fn stalling(script: &Script) -> Vec<(Status, u64)> {
    let results = [false, true].map(|listens| {
        let ground = Ground::new();
        let builder = Agent::builder("tested")
            .model(("one", timed(&ground.environment, script.clone())))
            .settings(&json!({ "limits": { "stall_seconds": 1 }, "at_limit": "none" }));
        let agent = on(&ground, builder).build().unwrap();
        let began = ground.environment.now();
        let run = if listens {
            listened(&ground, &agent).0
        } else {
            let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
            ground.wait(prepared.drive()).unwrap()
        };
        (run.status().unwrap(), ground.environment.now() - began)
    });
    results.to_vec()
}

#[test]
fn e56_content_of_a_stream_holds_off_the_stall_limit_of_the_run() {
    let script = vec![(800, text("one ")), (1_600, text("two ")), (2_400, text("three")), (3_200, END)];
    assert_eq!(stalling(&script), vec![(Status::Answered, 3_200); 2]);
}

#[test]
fn e56_empty_pieces_and_the_same_usage_hold_off_nothing() {
    let noise = (1..100).flat_map(|tenth| [(tenth * 100, text("")), (tenth * 100, used(7))]);
    let script: Script = [(0, used(7)), (500, text("one"))].into_iter().chain(noise.skip(10)).collect();
    let cut = Status::Limit(LimitKind::StallSeconds);
    assert_eq!(stalling(&script), vec![(cut, 1_500); 2]);
}
