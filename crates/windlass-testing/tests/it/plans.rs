//! Plan loops as a whole: their session log, sessions and forks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use windlass_core::event::PlanFact;

use serde_json::{Value, json};
use windlass_core::model::Purpose;
use windlass_core::tool::Effect;
use windlass_core::{Answer, Fact, Message, Status};
use windlass_models::{Delta, ModelRequest};
use windlass_read::compat::session10::{session_log, tables};
use windlass_read::reports::statistics;
use windlass_runtime::{Agent, AgentBuilder, DriveOptions, ForkOptions, Run};
use windlass_store::{MemoryLog, Store};
use windlass_testing::{FnModel, FnTool, text_reply};

fn builder(model: FnModel) -> AgentBuilder {
    Agent::builder("planner")
        .model(("m1", Arc::new(model)))
        .code_program(env!("CARGO_BIN_EXE_windlass-testing-code"))
}

fn look() -> FnTool {
    FnTool::new("look", |_, _| async { Ok("seen".into()) })
}

/// A reply of a planner.
fn planned(reply: &Value) -> Vec<Delta> {
    text_reply(&reply.to_string())
}

fn perceived(goal: bool, useful: bool, summary: &str) -> Vec<Delta> {
    planned(&json!({
        "original_goal_achieved": goal, "local_goal_achieved": useful, "confidence": "0.7",
        "reasoning": format!("why {summary}"), "solution_summary": summary,
    }))
}

fn code(lines: &[&str], code: &str) -> Vec<Delta> {
    planned(&json!({ "plan_text": lines, "description": "a step", "type": "CODE", "code": code }))
}

#[tokio::test]
async fn s23_the_session_log_of_a_plan_has_its_versions_and_steps() {
    let model = FnModel::script([
        perceived(false, true, "nothing"),
        code(&["Look.", "Say."], "return look()"),
        perceived(false, false, "seen"),
        code(&["Break."], "return 1 / 0"),
        perceived(false, true, "given"),
    ]);
    let settings =
        json!({ "preset": "plan", "limits": { "plan_steps": 2 }, "MAX_RETRIES": 1, "retry_wait_ms": 1 });
    let agent = builder(model).tool(look()).settings(&settings).build().unwrap();
    let log = &**agent.log();
    let run = agent.run("Look at a").await.unwrap();
    agent.answer(run.id(), run.questions()[0].id.clone(), Answer::Result("0".into())).await.unwrap();
    let run = agent.resume(run.id()).prepare().await.unwrap().drive().await.unwrap();
    let given = Answer::Final {
        final_answer: "It is 0.".into(),
        confidence: Some("0.95".into()),
        original_goal_achieved: true,
    };
    agent.answer(run.id(), run.questions()[0].id.clone(), given).await.unwrap();
    let run = agent.resume(run.id()).prepare().await.unwrap().drive().await.unwrap();
    assert_eq!(run.status(), Some(Status::Concluded));
    let session = session_log(log, run.id()).await.unwrap();
    assert_eq!(session["perception"]["solution_summary"], "nothing", "the query's perception");
    let versions = session["plan_versions"].as_array().unwrap();
    assert_eq!((versions.len(), &versions[0]["plan_text"]), (2, &json!(["Look.", "Say."])));
    let first = &versions[0]["steps"][0];
    assert_eq!(
        first["code"],
        json!({ "tool_name": "raw_code_block", "tool_arguments": { "code": "return look()" } })
    );
    assert_eq!(first["execution_result"]["result"], "seen");
    let of = |step: &Value| {
        (
            step["status"].clone(),
            step["attempts"].clone(),
            step["was_replanned"].clone(),
            step["parent_index"].clone(),
        )
    };
    assert_eq!(of(first), (json!("completed"), json!(1), json!(true), Value::Null));
    assert_eq!(first["perception"]["solution_summary"], "seen");
    let second = &versions[1]["steps"][0];
    assert_eq!(of(second), (json!("completed"), json!(2), json!(false), json!(0)));
    let done = &second["execution_result"];
    assert_eq!(
        (&done["result"], &done["human_provided"], &done["retry_count"]),
        (&json!("0"), &json!(true), &json!(1))
    );
    assert!(second["error"].as_str().unwrap().contains("ZeroDivisionError"), "{second}");
    let last = &versions[1]["steps"][1];
    assert_eq!(
        (&last["type"], &last["conclusion"], &last["index"]),
        (&json!("CONCLUDE"), &json!("It is 0."), &json!(2))
    );
    let end = &session["state_snapshot"];
    assert_eq!((&end["final_answer"], &end["confidence"]), (&json!("It is 0."), &json!("0.95")));
    assert_eq!((&end["final_plan"], end["final_steps"].as_array().unwrap().len()), (&json!(["Break."]), 2));
    // S21: a person gave the answer.
    let table = tables(log, &[run.id()]).await.unwrap().performance;
    assert!(table.contains(",Break.,failure,"), "{table}");
    assert_eq!(statistics(log, &[run.id()]).await.unwrap().succeeded, 0);
}

/// The last message of a request.
fn asked(request: &ModelRequest) -> String {
    let last = request.messages.iter().last().and_then(|message| message.content());
    last.map(|content| content.text().into_owned()).unwrap_or_default()
}

fn in_session() -> DriveOptions {
    DriveOptions { session: Some("talk".into()), ..DriveOptions::default() }
}

async fn talk(agent: &Agent, input: &str) -> Run {
    agent.prepare(input, in_session()).await.unwrap().drive().await.unwrap()
}

#[tokio::test]
async fn s12_a_session_goes_on_under_another_preset_and_back() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let named = |model: &FnModel, settings: &Value| {
        let model = model.clone();
        builder(model).log(log.clone()).tool(look()).settings(settings).build().unwrap()
    };
    let model = FnModel::script([
        perceived(false, true, "nothing"),
        code(&["Look."], "return look()"),
        perceived(true, true, "It is blue."),
        text_reply("As I said: blue."),
        perceived(true, true, "Blue, still."),
    ]);
    let plan = named(&model, &json!({ "preset": "plan" }));
    let chat = named(&model, &json!({ "preset": "chat" }));
    assert_eq!(talk(&plan, "Which colour?").await.text(), Some("It is blue."));
    assert_eq!(talk(&chat, "Again?").await.text(), Some("As I said: blue."));
    let last = talk(&plan, "Still?").await;
    assert_eq!(last.text(), Some("Blue, still."));
    let requests = model.requests();
    let text = |message: &Arc<Message>| match &**message {
        Message::Assistant(said) => said.text.as_ref().map(ToString::to_string),
        other => other.content().map(|content| content.text().into_owned()),
    };
    let said: Vec<String> = requests[3].messages.iter().filter_map(text).collect();
    // No reply of a planner and no result of a step: queries and answers.
    assert_eq!(said, ["Which colour?", "It is blue.", "Again?"]);
    let input = asked(&requests[4]);
    for part in [r#""query": "Which colour?""#, r#""solution_summary": "As I said: blue.""#, "Still?"] {
        assert!(input.contains(part), "{part}: {input}");
    }
    assert!(
        input.find("As I said").unwrap() < input.find("It is blue.").unwrap(),
        "the newest first: {input}"
    );
    assert_eq!(last.state().plan().unwrap().versions.len(), 0, "the plan of a run is its own");
}

/// A planner that pays once and is content when it reads so.
fn payer() -> FnModel {
    FnModel::new(|request| {
        let input = asked(request);
        match request.purpose {
            Purpose::Perceive => perceived(input.contains("paid"), true, "It is paid."),
            _ if input.contains("initial") => code(&["Pay.", "Say."], "return pay()"),
            _ => code(&["Pay.", "Say."], "return 'paid before'"),
        }
    })
}

#[tokio::test]
async fn e36_a_fork_at_each_event_of_a_plan_pays_no_second_time() {
    let paid = Arc::new(AtomicUsize::new(0));
    let count = paid.clone();
    let pay = FnTool::new("pay", move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Ok("paid".into()) }
    });
    let agent = builder(payer()).tool(pay.effect(Effect::Once)).settings(&json!({ "preset": "plan" }));
    let agent = agent.build().unwrap();
    let run = agent.run("Pay one.").await.unwrap();
    assert_eq!((run.text(), paid.load(Ordering::Relaxed)), (Some("It is paid."), 1));
    let mut facts = Vec::new();
    for batch in agent.log().read(run.id(), 1, usize::MAX).await.unwrap() {
        facts.extend(batch.events.iter().map(|event| event.fact.clone()));
    }
    let made =
        facts.iter().position(|fact| matches!(fact, Fact::Plan(PlanFact::Made(_)))).unwrap() as u64 + 1;
    for at in 1..run.state().version() {
        let before = paid.load(Ordering::Relaxed);
        let fork = ForkOptions { at, ..ForkOptions::default() };
        let fork = agent.fork(run.id(), fork, DriveOptions::default()).await.unwrap();
        let forked = fork.prepared.drive().await.unwrap();
        assert_eq!(
            (forked.status(), forked.text()),
            (Some(Status::Answered), Some("It is paid.")),
            "at {at}"
        );
        // Before the plan was made the fork makes a plan of its own.
        let again = paid.load(Ordering::Relaxed) - before;
        assert_eq!(again, usize::from(at < made), "forked after event {at} of {facts:#?}");
        assert_eq!(forked.state().plan().unwrap().steps().count(), 1, "at {at}");
    }
}

#[tokio::test]
async fn e36_a_run_goes_on_as_a_plan_after_its_tools_were_called() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let model = FnModel::script([
        windlass_testing::called(&[("look", r#"{"at": "a"}"#)]),
        text_reply("It is red."),
        perceived(false, true, "nothing"),
        code(&["Look."], "return look()"),
        perceived(true, true, "It is blue."),
    ]);
    let named = |settings: &Value| {
        builder(model.clone()).log(log.clone()).tool(look()).settings(settings).build().unwrap()
    };
    let run = named(&json!({ "preset": "chat" })).run("Which colour?").await.unwrap();
    let plan = named(&json!({ "preset": "plan" }));
    let fork = ForkOptions { at: run.state().version() - 3, changed: true, ..ForkOptions::default() };
    let fork = plan.fork(run.id(), fork, DriveOptions::default()).await.unwrap();
    let forked = fork.prepared.drive().await.unwrap();
    assert_eq!((forked.status(), forked.text()), (Some(Status::Answered), Some("It is blue.")));
    assert!(asked(&model.requests()[2]).contains(r#""raw_input": "Which colour?""#), "{forked:?}");
}
