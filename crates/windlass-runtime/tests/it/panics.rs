//! What is broken around a run does not break the run: panics, empty streams, huge results.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt;
use futures_util::stream;
use serde_json::json;
use windlass_core::event::{CallFact, FailKind};
use windlass_core::{CallOutcome, Fact, Message, Status};
use windlass_models::{Delta, Deltas, ModelRequest};
use windlass_runtime::Run;
use windlass_testing::{FnModel, FnTool, text_reply};
use windlass_tools::ToolContext;

use crate::ground::{Ground, assert_sound, options};
use crate::scenarios::{calls_then_answers, slow_tool};

fn drive(ground: &Ground, agent: &windlass_runtime::Agent) -> Run {
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let run = ground.drive(prepared, |_| false).unwrap();
    assert_sound(ground, &run);
    run
}

#[test]
fn a_tool_that_panics_gives_the_model_an_error_and_the_others_go_on() {
    let ground = Ground::slow();
    let at_once =
        FnTool::new("at_once", |_: ToolContext, _| -> std::future::Ready<_> { panic!("before it began") })
            .spec(|spec| spec.effect = windlass_core::tool::Effect::ReadOnly);
    let later = FnTool::new("later", |_, _| async {
        windlass_testing::yield_now().await;
        panic!("in the {}", "middle")
    })
    .spec(|spec| spec.effect = windlass_core::tool::Effect::ReadOnly);
    let agent = ground
        .agent(calls_then_answers(&[("at_once", "{}"), ("later", "{}"), ("sound", "{}")]))
        .tool(at_once)
        .tool(later)
        .tool(slow_tool(&ground, "sound", 5))
        .build()
        .unwrap();
    let run = drive(&ground, &agent);
    assert_eq!(run.status(), Some(Status::Answered));
    let results: Vec<String> = run
        .messages()
        .filter_map(|message| {
            if let Message::Tool(result) = &**message {
                Some(result.content.text().into_owned())
            } else {
                None
            }
        })
        .collect();
    let expected = [
        "Error: the tool panicked: before it began",
        "Error: the tool panicked: in the middle",
        "sound is done",
    ];
    assert_eq!(results, expected);
}

/// A tool that panics may have had its effect: nobody knows, so that a person is asked, whatever tries are left.
#[test]
fn e30_a_once_tool_that_panics_is_in_doubt_and_not_tried_again() {
    for late in [false, true] {
        let ground = Ground::slow();
        let begun = Arc::new(AtomicUsize::new(0));
        let count = begun.clone();
        let tool = FnTool::new("pay", move |_, _| {
            count.fetch_add(1, Ordering::SeqCst);
            assert!(late, "before the first await");
            async {
                windlass_testing::yield_now().await;
                panic!("in the {}", "middle")
            }
        })
        .spec(|spec| spec.effect = windlass_core::tool::Effect::Once);
        let agent = ground
            .agent(calls_then_answers(&[("pay", "{}")]))
            .settings(&json!({ "retries": 2 }))
            .tool(tool)
            .build()
            .unwrap();
        let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
        let run = ground.drive(prepared, |_| false).unwrap();
        assert_eq!((run.status(), begun.load(Ordering::SeqCst)), (None, 1), "late: {late}");
        assert_eq!(run.questions()[0].kind, windlass_core::event::QuestionKind::Outcome);
        let kinds = ground.kinds(run.id());
        assert!(kinds.contains(&"CallDoubted"), "{kinds:?}");
        assert!(!kinds.iter().any(|kind| matches!(*kind, "CallRetried" | "CallFinished")), "{kinds:?}");
    }
}

#[test]
fn a_check_that_panics_leaves_the_call_in_doubt() {
    let ground = Ground::slow();
    let tool = slow_tool(&ground, "t", 5)
        .spec(|spec| spec.effect = windlass_core::tool::Effect::Once)
        .check(|_, _| -> std::future::Ready<_> { panic!("no idea") });
    let agent = ground.agent(calls_then_answers(&[("t", "{}")])).tool(tool).build().unwrap();
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let run = prepared.id();
    ground.drive(prepared, |_| !ground.seen.begun.lock().unwrap().is_empty());
    let prepared = ground.wait(agent.resume(run).options(options()).prepare()).unwrap();
    let run = ground.drive(prepared, |_| false).unwrap();
    assert_eq!(run.status(), None);
    assert_eq!(run.questions()[0].kind, windlass_core::event::QuestionKind::Outcome);
}

fn failed(model: impl Fn(usize, ModelRequest) -> Deltas + Send + Sync + 'static) -> (Ground, Run, String) {
    let ground = Ground::slow();
    let agent = ground.agent(FnModel::streaming(model)).build().unwrap();
    let run = drive(&ground, &agent);
    assert_eq!(run.status(), Some(Status::Failed(FailKind::Model)));
    let error = run.error().unwrap().to_owned();
    (ground, run, error)
}

#[test]
fn a_model_that_panics_has_failed() {
    let (.., error) = failed(|_, _| panic!("no such wire"));
    assert!(error.contains("the model panicked: no such wire"), "{error}");

    let (.., error) = failed(|_, _| Box::pin(stream::poll_fn(|_| panic!("at the first piece"))));
    assert!(error.contains("at the first piece"), "{error}");

    let (_, run, error) = failed(|_, _| {
        let pieces = text_reply("half of it").into_iter().take(2).map(Ok);
        Box::pin(stream::iter(pieces).chain(stream::poll_fn(|_| panic!("in the middle"))))
    });
    assert!(error.contains("in the middle"), "{error}");
    assert_eq!(run.usage().input, 20, "what was paid before the panic is counted");
}

#[test]
fn a_panic_of_one_model_is_made_good_by_the_next() {
    let ground = Ground::new();
    let agent = ground
        .agent(FnModel::streaming(|_, _| panic!("down")))
        .model(("second", ground.watched(FnModel::new(|_| text_reply("here")))))
        .build()
        .unwrap();
    assert_eq!(drive(&ground, &agent).text(), Some("here"));
}

#[test]
fn a_stream_that_ends_before_anything_came_is_no_answer_but_tried_again() {
    let (ground, run, error) = failed(|_, _| Box::pin(stream::empty()));
    assert!(error.contains("ended without any data"), "{error}");
    let tries = ground.kinds(run.id()).iter().filter(|kind| **kind == "TurnFailed").count();
    assert_eq!(tries, 4, "one try and three more");
    assert_eq!(run.usage().total(), 0);

    let ground = Ground::new();
    let once = FnModel::streaming(|place, _| match place {
        0 => Box::pin(stream::empty()),
        _ => Box::pin(stream::iter(text_reply("now").into_iter().map(Ok))),
    });
    // `FnModel` counts the requests of the inner model here.
    let agent = ground.agent(once).build().unwrap();
    assert_eq!(drive(&ground, &agent).text(), Some("now"));
}

#[test]
fn e04_a_whole_reply_without_text_or_calls_is_an_empty_answer() {
    let ground = Ground::new();
    let model = FnModel::new(|_| vec![Delta::Stop(windlass_core::model::StopReason::Stop)]);
    let run = drive(&ground, &ground.agent(model).build().unwrap());
    assert_eq!((run.status(), run.text()), (Some(Status::Answered), Some("")));
}

#[test]
fn a_result_below_the_bound_is_kept_and_shared() {
    let ground = Ground::new();
    let tool = FnTool::new("big", |_, _| async { Ok("0123456789".repeat(6_553).into()) });
    let agent = ground.agent(calls_then_answers(&[("big", "{}")])).tool(tool).build().unwrap();
    let run = drive(&ground, &agent);
    assert_eq!(run.status(), Some(Status::Answered));
    let stored = ground.facts(run.id()).into_iter().find_map(|fact| {
        if let Fact::Call(CallFact::Finished(finished)) = fact { Some(finished.outcome) } else { None }
    });
    let Some(CallOutcome::Ok { content: windlass_core::message::Content::Text(stored) }) = stored else {
        panic!("{stored:?}")
    };
    assert_eq!(stored.len(), 65_530);
    let shown = run.messages().find_map(|message| {
        if let Message::Tool(result) = &**message { Some(result.content.clone()) } else { None }
    });
    let Some(windlass_core::message::Content::Text(shown)) = shown else { panic!("no result") };
    assert!(std::sync::Arc::ptr_eq(&stored, &shown), "the text is in memory twice");
}
