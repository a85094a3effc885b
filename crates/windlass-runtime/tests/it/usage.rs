//! E41, E43: what was paid is counted on every way out, and each model sees only what is meant for it.

use std::sync::Arc;
use windlass_core::event::ModelFact;

use futures_util::StreamExt;
use futures_util::stream;
use windlass_core::model::{FailureKind, ModelChoice, Prices, Usage};
use windlass_core::policy::LimitKind;
use windlass_core::{Fact, InputKind, Status};
use windlass_models::{Delta, Model};
use windlass_runtime::{Agent, AgentBuilder, Run};
use windlass_testing::{FnModel, FnTool, called, model_failure, text_reply};
use windlass_tools::ToolError;

use crate::ground::{Ground, assert_sound, options};
use crate::scenarios::{calls_then_answers, slow_tool};

/// One dollar a million tokens in, ten out: 20 and 10 tokens cost 120 millionths.
fn priced(name: &str) -> ModelChoice {
    ModelChoice {
        name: name.into(),
        prices: Some(Prices::per_million(1.0, 10.0, None)),
        ..ModelChoice::default()
    }
}

fn agent(ground: &Ground, model: FnModel) -> AgentBuilder {
    Agent::builder("counted")
        .model_with(priced("m"), Arc::new(model))
        .log(ground.log.clone())
        .environment(Arc::new(ground.environment.clone()))
}

/// A broken call that had cost as much as a whole one.
fn paid_failure(
    request: &windlass_models::ModelRequest,
    kind: FailureKind,
) -> windlass_core::model::ModelFailure {
    let usage = Usage { input: 20, output: 10, ..Usage::default() };
    windlass_core::model::ModelFailure { usage, ..model_failure(request, kind, "broken") }
}

fn assert_calls_paid(ground: &Ground, run: &Run, calls: u64) {
    assert_eq!((run.usage().input, run.usage().output), (20 * calls, 10 * calls), "{:?}", run.status());
    assert_eq!(run.state().cost(), Some(120_000_000 * calls));
    // The end itself says so too.
    let end = run.state().ended().unwrap();
    assert_eq!((end.usage, end.cost), (*run.usage(), run.state().cost()));
    assert_sound(ground, run);
}

#[test]
fn e41_an_answer_a_limit_and_a_cancelled_run_count_what_was_paid() {
    let ground = Ground::new();
    let tool = slow_tool(&ground, "t", 5);
    let answered = agent(&ground, calls_then_answers(&[("t", "{}")])).tool(tool.clone()).build().unwrap();
    let run = ground.wait(answered.run("Go.")).unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    assert_calls_paid(&ground, &run, 2);

    let limited = agent(&ground, FnModel::new(|_| called(&[("t", "{}")])))
        .tool(tool.clone())
        .limit(LimitKind::ModelCalls, 3.0)
        .build()
        .unwrap();
    let run = ground.wait(limited.run("Go.")).unwrap();
    assert_eq!(run.status(), Some(Status::Limit(LimitKind::ModelCalls)));
    assert_calls_paid(&ground, &run, 3);

    // Cancelled in the second call, after its count had come.
    let endless = FnModel::streaming(|place, _| {
        let pieces = stream::iter(called(&[("t", "{}")]).into_iter().map(Ok));
        if place == 0 { Box::pin(pieces) } else { Box::pin(pieces.chain(stream::pending())) }
    });
    let cancelled = agent(&ground, endless).tool(tool).build().unwrap();
    let prepared = ground.wait(cancelled.prepare("Go.", options())).unwrap();
    let handle = prepared.handle();
    let (run, ()) = ground.wait(futures_util::future::join(prepared.drive(), async {
        use windlass_runtime::Environment;
        ground.environment.sleep_until(ground.environment.now() + 100).await;
        handle.send(InputKind::Cancel { reason: None }).await.unwrap();
    }));
    let run = run.unwrap();
    assert_eq!(run.status(), Some(Status::Cancelled));
    assert_calls_paid(&ground, &run, 2);
}

#[test]
fn e41_failures_retries_and_fallbacks_count_what_was_paid() {
    let ground = Ground::new();
    let failing = FnModel::streaming(|_, request| {
        Box::pin(stream::iter([Err(paid_failure(&request, FailureKind::Auth))]))
    });
    let run = ground.wait(agent(&ground, failing.clone()).build().unwrap().run("Go.")).unwrap();
    assert_eq!(run.status().map(|status| status.to_string()).as_deref(), Some("failed(model)"));
    assert_calls_paid(&ground, &run, 1);

    let shaky = FnModel::streaming(|place, request| match place {
        0 | 1 => Box::pin(stream::iter([Err(paid_failure(&request, FailureKind::Cut))])),
        _ => Box::pin(stream::iter(text_reply("done").into_iter().map(Ok))),
    });
    let run = ground.wait(agent(&ground, shaky).build().unwrap().run("Go.")).unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    assert_calls_paid(&ground, &run, 3);
    assert_eq!(run.state().counters().model_calls, 1, "tries of the transport use up no model calls");

    let second = FnModel::new(|_| text_reply("from the second"));
    let fallback = agent(&ground, failing).model_with(priced("n"), Arc::new(second)).build().unwrap();
    let run = ground.wait(fallback.run("Go.")).unwrap();
    assert_eq!(run.text(), Some("from the second"));
    assert_calls_paid(&ground, &run, 2);
}

#[test]
fn a32_e43_a_fallback_sees_only_its_own_name_and_settings_and_the_reply_says_who_answered() {
    let ground = Ground::new();
    let down = FnModel::streaming(|_, request| {
        Box::pin(stream::iter([Err(model_failure(&request, FailureKind::NotFound, "gone"))]))
    });
    let (first, second) =
        (down.clone().of_provider("one"), FnModel::new(|_| text_reply("hello")).of_provider("two"));
    let settings = |name: &str, temperature| ModelChoice { temperature, ..priced(name) };
    let agent = Agent::builder("two")
        .model_with(settings("one/big", Some(0.7)), Arc::new(first.clone()))
        .model_with(settings("two/small", None), Arc::new(second.clone()))
        .log(ground.log.clone())
        .environment(Arc::new(ground.environment.clone()))
        .build()
        .unwrap();
    let run = ground.wait(agent.run("Go.")).unwrap();
    assert_eq!(run.text(), Some("hello"));
    let seen = |model: &FnModel| -> Vec<(String, Option<f64>)> {
        let requests = model.requests().into_iter();
        requests.map(|request| (request.model.name.to_string(), request.model.temperature)).collect()
    };
    assert_eq!(seen(&first), [("one/big".to_owned(), Some(0.7))]);
    assert_eq!(seen(&second), [("two/small".to_owned(), None)]);
    assert!(!format!("{:?}", second.requests()).contains("one/big"), "the other's name is in the request");
    assert_eq!((first.provider(), second.provider()), ("one", "two"));
    let who: Vec<String> = ground
        .facts(run.id())
        .into_iter()
        .filter_map(|fact| {
            if let Fact::Model(ModelFact::Failed(turn)) = fact {
                Some(turn.failure.model.to_string())
            } else if let Fact::Model(ModelFact::Completed(turn)) = fact {
                Some(turn.model.to_string())
            } else {
                None
            }
        })
        .collect();
    assert_eq!(who, ["one/big", "two/small"]);
}

/// The one way out that is left: a tool that fails for good is told to the model, and costs no more than its turns.
#[test]
fn e41_a_failing_tool_costs_its_turns() {
    let ground = Ground::new();
    let tool = FnTool::new("t", |_, _| async { Err(ToolError::of_kind("Broken", "no")) });
    let run = ground
        .wait(agent(&ground, calls_then_answers(&[("t", "{}")])).tool(tool).build().unwrap().run("Go."));
    assert_calls_paid(&ground, &run.unwrap(), 2);
}

#[test]
fn e41_a_reply_that_breaks_after_its_count_is_not_estimated_beside_it() {
    let ground = Ground::new();
    let model = FnModel::streaming(|_, request| {
        let counted = Delta::Usage(Usage { input: 20, output: 10, ..Usage::default() });
        let pieces = [Ok(counted), Ok(Delta::Text("a long text ".repeat(100)))];
        let broken = model_failure(&request, FailureKind::Protocol, "garbage");
        Box::pin(stream::iter(pieces).chain(stream::iter([Err(broken)])))
    });
    let run = ground.wait(agent(&ground, model).build().unwrap().run("Go.")).unwrap();
    assert_calls_paid(&ground, &run, 1);
    assert!(!run.usage().estimated);
}
