//! Typed outputs from Rust: checks of one's own (A3, A15), and that a replay runs none of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;
use windlass_core::event::{FailKind, ModelFact};
use windlass_core::policy::LimitKind;
use windlass_core::{Fact, Message, Status};
use windlass_error::Diagnostic as _;
use windlass_read::numbered;
use windlass_read::reports::replay_run;
use windlass_runtime::{Agent, AgentBuilder, DriveOptions, ForkOptions, Step};
use windlass_testing::{FnModel, called, text_reply};

const EVEN: &str = "n must be even";

fn builder(model: FnModel) -> AgentBuilder {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    Agent::builder("even").model(("m1", Arc::new(model))).output_schema(schema)
}

/// Outputs with these numbers, one after another.
fn finishes(args: &'static [&'static str]) -> FnModel {
    FnModel::script(args.iter().map(|args| called(&[("__finish__", args)])).collect::<Vec<_>>())
}

fn even(asked: &Arc<AtomicUsize>) -> impl Fn(&serde_json::Value) -> Result<(), String> + use<> {
    let asked = asked.clone();
    move |output| {
        asked.fetch_add(1, Ordering::Relaxed);
        if output["n"].as_i64().is_some_and(|n| n % 2 == 0) { Ok(()) } else { Err(EVEN.to_owned()) }
    }
}

async fn objections(agent: &Agent, run: &windlass_runtime::Run) -> Vec<String> {
    let batches = agent.log().read(run.id(), 1, usize::MAX).await.unwrap();
    let events =
        batches.iter().flat_map(|batch| numbered(batch).map(|(_, event)| event.clone()).collect::<Vec<_>>());
    events
        .filter_map(|event| {
            if let Fact::Model(ModelFact::Completed(turn)) = event.fact {
                turn.objection.map(|text| text.to_string())
            } else {
                None
            }
        })
        .collect()
}

/// Decision 29 of the loops reference.
#[tokio::test]
async fn an_agent_with_tools_and_an_output_calls_its_tools_first() {
    let model = || {
        FnModel::script([
            called(&[("calculate", r#"{"expression": "2 + 2"}"#)]),
            called(&[("__finish__", r#"{"n": 4}"#)]),
        ])
    };
    let agent = builder(model()).tool(windlass_tools::builtin::Calculate::default()).build().unwrap();
    assert_eq!(agent.policy().limit(LimitKind::ModelCalls), Some(10));
    let run = agent.run("Count").await.unwrap();
    assert_eq!((run.status(), run.output()), (Some(Status::Answered), Some(&json!({ "n": 4 }))));
    let typed = builder(model()).tool(windlass_tools::builtin::Calculate::default());
    let run = typed.settings(&json!({ "preset": "typed" })).build().unwrap().run("Count").await.unwrap();
    assert_eq!(run.status(), Some(Status::Limit(LimitKind::ModelCalls)), "acorn's single turn");
    assert_eq!(builder(model()).build().unwrap().policy().limit(LimitKind::ModelCalls), None);
}

#[tokio::test]
async fn a15_a_check_asks_again_and_a_replay_runs_none() {
    let asked = Arc::new(AtomicUsize::new(0));
    let agent =
        builder(finishes(&[r#"{"n": 3}"#, r#"{"n": "x"}"#, r#"{"n": 4}"#])).validate(even(&asked)).build();
    let agent = agent.unwrap();
    let run = agent.run("Count").await.unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    assert_eq!(run.output(), Some(&json!({ "n": 4 })));
    assert_eq!(asked.load(Ordering::Relaxed), 2, "what breaks the schema is not its business");
    let told = run.messages().map(|message| format!("{message:?}")).collect::<Vec<_>>().join("\n");
    assert!(told.contains(&format!("Output validation failed: {EVEN}")), "{told}");
    assert_eq!(objections(&agent, &run).await, [EVEN]);
    let replayed = replay_run(&**agent.log(), run.id(), None).await.unwrap();
    assert!(replayed.difference.is_none(), "{:?}", replayed.difference);
    assert_eq!(asked.load(Ordering::Relaxed), 2, "a replay asks nobody");
}

#[tokio::test]
async fn a15_a_check_that_never_accepts_ends_the_run() {
    let asked = Arc::new(AtomicUsize::new(0));
    let agent =
        builder(finishes(&[r#"{"n": 1}"#, r#"{"n": 3}"#, r#"{"n": 5}"#])).validate(even(&asked)).build();
    let agent = agent.unwrap();
    let run = agent.run("Count").await.unwrap();
    assert_eq!(run.status(), Some(Status::Failed(FailKind::Parse)));
    assert!(run.error().unwrap().contains(EVEN), "{:?}", run.error());
    assert_eq!(run.output(), None);
    assert!(replay_run(&**agent.log(), run.id(), None).await.unwrap().difference.is_none());
}

#[tokio::test]
async fn a15_a_check_that_panics_accepts_nothing() {
    let agent = builder(finishes(&[r#"{"n": 1}"#, r#"{"n": 3}"#, r#"{"n": 5}"#]));
    let agent = agent.validate(|_| panic!("on fire")).build().unwrap();
    let run = agent.run("Count").await.unwrap();
    assert_eq!(run.status(), Some(Status::Failed(FailKind::Parse)));
    assert!(run.error().unwrap().contains("panicked"), "{:?}", run.error());
}

#[tokio::test]
async fn a15_an_answer_in_the_replys_format_is_checked_too() {
    let asked = Arc::new(AtomicUsize::new(0));
    let model = FnModel::script([text_reply(r#"{"n": 3}"#), text_reply(r#"{"n": 4}"#)]);
    let agent = builder(model).settings(&json!({ "preset": "chat" })).validate(even(&asked)).build().unwrap();
    let run = agent.run("Count").await.unwrap();
    assert_eq!(run.output(), Some(&json!({ "n": 4 })));
    assert_eq!(objections(&agent, &run).await, [EVEN]);
    assert!(replay_run(&**agent.log(), run.id(), None).await.unwrap().difference.is_none());
}

#[tokio::test]
async fn a6_a11_a_hook_as_a_function_sees_each_step_and_may_abort() {
    let tool = windlass_testing::FnTool::new("look", |_, _| async { Ok("seen".into()) });
    let model = FnModel::script([called(&[("look", "{}")]), called(&[("look", "{}")])]);
    let agent = builder(model).settings(&json!({ "preset": "typed", "max_steps": 5 })).tool(tool);
    let hook = |step: Step| if step.counter == 2 { Err("no key".to_owned()) } else { Ok(step) };
    let run = agent.on_step(hook).build().unwrap().run("Look").await.unwrap();
    assert_eq!(run.status(), Some(Status::Failed(FailKind::Hook)));
    assert_eq!(run.error(), Some("no key"));
}

#[tokio::test]
async fn a4_a5_a_step_shows_its_number_settings_tools_reply_calls_and_results() {
    let look = windlass_testing::FnTool::new("look", |_, _| async { Ok("seen".into()) });
    let fail = windlass_testing::FnTool::new("fail", |_, _| async {
        Err(windlass_tools::ToolError::new("no light"))
    });
    let model = FnModel::script([called(&[("look", "{}"), ("fail", "{}")]), called(&[("look", "{}")])]);
    let settings = json!({ "preset": "typed", "max_steps": 5 });
    let seen: Arc<Mutex<Vec<serde_json::Value>>> = Arc::default();
    let noted = seen.clone();
    let hook = move |step: Step| {
        let (text, calls) = step.response().expect("a step has a reply");
        let calls: Vec<&str> = calls.iter().map(|call| &*call.name).collect();
        let results: Vec<_> = step
            .results()
            .map(|result| json!([&*result.name, result.content.text(), result.failed]))
            .collect();
        noted.lock().unwrap().push(json!({
            "counter": step.counter, "model": &*step.model, "temperature": step.temperature,
            "max_tokens": step.max_tokens, "tools": step.tools().collect::<Vec<_>>(), "text": text.as_deref(),
            "calls": calls, "results": results,
        }));
        if step.counter == 2 { Err("enough".to_owned()) } else { Ok(step) }
    };
    let agent = builder(model).settings(&settings).tool(look).tool(fail).on_step(hook).build().unwrap();
    agent.run("Look").await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0]["counter"], 1);
    assert_eq!(seen[1]["counter"], 2);
    assert!(seen[0]["temperature"].is_null(), "nobody set one");
    assert_eq!(seen[0]["max_tokens"], serde_json::Value::Null);
    assert_eq!(seen[0]["tools"], json!(["look", "fail", "__finish__"]));
    assert_eq!(seen[0]["calls"], json!(["look", "fail"]));
    let failed = json!(["fail", "Tool error: no light", true]);
    assert_eq!(seen[0]["results"], json!([["look", "seen", false], failed]));
    assert_eq!(seen[1]["results"], json!([["look", "seen", false]]));
}

#[tokio::test]
async fn l18_a_hook_gives_the_instructions_of_the_next_request() {
    let look = windlass_testing::FnTool::new("look", |_, _| async { Ok("seen".into()) });
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = heard.clone();
    let model = FnModel::new(move |request| {
        let system = request.prompt.iter().map(|message| {
            message.content().map_or_else(
                || if let Message::System { text } = &**message { text.to_string() } else { String::new() },
                |content| content.text().into_owned(),
            )
        });
        let mut heard = noted.lock().unwrap();
        heard.push(system.collect());
        if heard.len() < 3 { called(&[("look", "{}")]) } else { text_reply("Done.") }
    });
    let hook = |mut step: Step| {
        step.instructions = format!("Step {} is done.", step.counter);
        Ok(step)
    };
    let agent = Agent::builder("a").model(("m1", Arc::new(model))).instructions("Begin.").tool(look);
    let run = agent.on_step(hook).build().unwrap().run("Look").await.unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    assert_eq!(*heard.lock().unwrap(), ["Begin.", "Step 1 is done.", "Step 2 is done."]);
}

#[test]
fn a42_what_cannot_work_is_refused_when_the_agent_is_built() {
    let built = |builder: AgentBuilder| builder.build().unwrap_err();
    let error = built(Agent::builder("a"));
    assert_eq!((error.code(), error.to_string().as_str()), ("agent.no_model", "agent `a` has no model"));
    let alone = || FnModel::new(|_| text_reply("hello"));
    let model = Arc::new(alone());
    let single = Agent::builder("a").model(("m", model)).settings(&json!({ "preset": "typed" }));
    assert_eq!(built(single).code(), "agent.no_output");
    let cache = json!({ "cache": [{ "location": "message", "index": "0" }] });
    let error = windlass_runtime::in_full(&built(builder(alone()).settings(&cache)));
    assert!(error.ends_with("cache[0]['index'] must be an int, got: str"), "{error}");
}

#[tokio::test]
async fn a15_e36_a_fork_from_within_a_rejection_counts_it_once() {
    // The model does it right once it has read what was wrong, and has one try for that.
    let model = FnModel::new(|request| {
        let told = request.messages.iter().any(|message| matches!(&**message, Message::Tool(_)));
        called(&[("__finish__", if told { r#"{"n": 4}"# } else { r#"{"n": "x"}"# })])
    });
    let agent = builder(model).settings(&json!({ "parse_retries": 1 })).build().unwrap();
    let run = agent.run("Count").await.unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    for at in 1..run.state().version() {
        let options = ForkOptions { at, ..ForkOptions::default() };
        let fork = agent.fork(run.id(), options, DriveOptions::default()).await.unwrap();
        let forked = fork.prepared.drive().await.unwrap();
        assert_eq!(forked.status(), Some(Status::Answered), "after event {at}: {:?}", forked.error());
    }
}
