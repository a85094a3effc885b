//! Reports on runs, choices of tools, memory of earlier runs, repetition.

use std::num::NonZeroU32;
use std::sync::Arc;

use futures_util::stream;
use serde_json::{Value, json};
use windlass_core::model::{FailureKind, Role, Usage};
use windlass_core::{Answer, Message, RunState, Status};
use windlass_error::Diagnostic as _;
use windlass_models::Delta;
use windlass_read::compat::promptchain::ContextSize;
use windlass_read::compat::session10::{PERFORMANCE_COLUMNS, session_log, tables};
use windlass_read::exchange::RunLog;
use windlass_read::reports::{Reliability, newest_runs, receipts, statistics};
use windlass_runtime::{Agent, AgentBuilder, AgentDelegate, DriveOptions, Error, Repeat};
use windlass_store::MemoryLog;
use windlass_testing::{FnModel, FnTool, called, model_failure, text_reply};

fn builder(model: FnModel) -> AgentBuilder {
    Agent::builder("worker").model(("m1", Arc::new(model)))
}

fn look() -> FnTool {
    FnTool::new("look", |_, _| async { Ok("seen".into()) })
}

fn only(tools: &[&str]) -> DriveOptions {
    let only_tools = Some(tools.iter().map(|tool| (*tool).into()).collect());
    DriveOptions { only_tools, ..DriveOptions::default() }
}

fn names(request: &windlass_models::ModelRequest) -> Vec<String> {
    request.tools.iter().map(|tool| tool.name.to_string()).collect()
}

#[tokio::test]
async fn p25_metadata_in_promptchains_shape() {
    let model = FnModel::script([called(&[("look", r#"{"at": "a"}"#)]), text_reply("Done.")]);
    let agent = builder(model).tool(look()).build().unwrap();
    let run = agent.run("Go").await.unwrap();
    let metadata = run.metadata(&**agent.log()).await.unwrap();
    let value = serde_json::to_value(&metadata).unwrap();
    let fields: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "final_answer",
            "total_steps",
            "max_steps_reached",
            "objective_achieved",
            "steps",
            "total_tools_called",
            "total_tokens_used",
            "total_execution_time_ms",
            "history_mode",
            "max_internal_steps",
            "model_name",
            "context",
            "errors_count",
            "warnings_count"
        ]
    );
    assert_eq!((&value["final_answer"], &value["history_mode"]), (&json!("Done."), &json!("full")));
    assert_eq!((metadata.total_steps, metadata.total_tools_called), (1, 1));
    assert!(metadata.objective_achieved && !metadata.max_steps_reached);
    assert_eq!(metadata.total_tokens_used, run.usage().total());
    let call = &value["steps"][0]["tool_calls"][0];
    assert_eq!(
        (&call["name"], &call["args"], &call["result"]),
        (&json!("look"), &json!({ "at": "a" }), &json!("seen"))
    );
    let summary = serde_json::to_string(&metadata.summary()).unwrap();
    assert!(!summary.contains("Done.") && !summary.contains("seen"), "{summary}");
    assert!(summary.contains(r#""tool_calls_count":1"#), "{summary}");
}

#[tokio::test]
async fn p25_a_limit_and_a_failed_tool_are_a_warning_and_an_error() {
    let model = FnModel::new(|_| called(&[("look", "{}")]));
    let broken = FnTool::new("look", |_, _| async { Err(windlass_tools::ToolError::new("no light")) });
    let agent =
        builder(model).tool(broken).settings(&json!({ "limits": { "tool_calls": 1 } })).build().unwrap();
    let metadata = agent.run("Go").await.unwrap().metadata(&**agent.log()).await.unwrap();
    assert!(metadata.max_steps_reached && !metadata.objective_achieved);
    assert_eq!((metadata.errors_count, metadata.warnings_count), (1, 1), "{metadata:?}");
    assert_eq!(metadata.errors, ["look: no light"]);
}

/// A model that asks for two rounds of tools, and answers.
fn rounds() -> FnModel {
    FnModel::new(|request| {
        let results = request.messages.iter().filter(|message| matches!(&***message, Message::Tool(_)));
        let round = results.count() + 1;
        if round > 2 { text_reply("Done.") } else { called(&[("look", &format!(r#"{{"n": {round}}}"#))]) }
    })
}

#[tokio::test]
async fn p20_simple_turns_go_to_their_model_and_are_counted() {
    let (big, small) = (rounds(), rounds());
    // The order does not matter: the main model is the first without a role.
    let agent = Agent::builder("worker").simple_model(("small", Arc::new(small.clone())));
    let agent = agent.model(("big", Arc::new(big.clone()))).tool(look()).build().unwrap();
    assert_eq!(&*agent.models()[0].name, "big");
    let run = agent.run("Go").await.unwrap();
    assert_eq!(run.text(), Some("Done."));
    assert_eq!((big.requests().len(), small.requests().len()), (1, 2));
    let metadata = run.metadata(&**agent.log()).await.unwrap();
    let turns: Vec<_> =
        metadata.turns_by_model.iter().map(|one| (&*one.model, one.role, one.turns)).collect();
    assert_eq!(turns, [("big", Role::Main, 1), ("small", Role::Simple, 2)]);
    assert_eq!(
        serde_json::to_value(&metadata).unwrap()["turns_by_model"][1],
        json!({ "model": "small", "role": "simple", "turns": 2 })
    );
}

#[tokio::test]
async fn p20_a_fallback_s_turns_are_its_own() {
    let gone = FnModel::streaming(|_, request| {
        Box::pin(stream::iter([Err(model_failure(&request, FailureKind::Auth, "no key"))]))
    });
    let (spare, small) = (rounds(), rounds());
    let agent = Agent::builder("worker").model(("big", Arc::new(gone))).model(("spare", Arc::new(spare)));
    let agent = agent.simple_model(("small", Arc::new(small))).tool(look()).build().unwrap();
    let metadata = agent.run("Go").await.unwrap().metadata(&**agent.log()).await.unwrap();
    let turns: Vec<_> = metadata.turns_by_model.iter().map(|one| (&*one.model, one.turns)).collect();
    assert_eq!(turns, [("big", 0), ("spare", 1), ("small", 2)]);
}

#[tokio::test]
async fn p20_a_role_alone_is_no_model() {
    let alone = Agent::builder("worker").simple_model(("small", Arc::new(rounds()))).build().unwrap_err();
    assert!(matches!(alone, Error::NoModel { .. }), "{alone}");
}

#[tokio::test]
async fn e39_the_error_of_an_estimate_is_shown() {
    let model = FnModel::new(|_| {
        let usage = Usage { input: 80, output: 2, ..Usage::default() };
        text_reply("Done.").into_iter().chain([Delta::Usage(usage)]).collect()
    });
    let agent = builder(model).settings(&json!({ "context": { "max_tokens": 1000 } })).build().unwrap();
    let run = agent.run("x".repeat(400)).await.unwrap();
    let metadata = run.metadata(&**agent.log()).await.unwrap();
    let size = metadata.context.unwrap();
    assert_eq!((size.estimated_tokens, size.counted_tokens, size.next_tokens), (100, 80, 81));
    assert_eq!((size.error_percent, size.max_tokens), (25.0, Some(1000)));
    assert_eq!(ContextSize::of(run.state()), Some(size));
    assert_eq!(serde_json::to_value(&metadata).unwrap()["context"]["error_percent"], json!(25.0));
    // A provider that counts nothing leaves nothing to compare.
    let silent = builder(FnModel::new(|_| vec![Delta::Text("Done.".into())])).build().unwrap();
    assert_eq!(silent.run("Go").await.unwrap().metadata(&**silent.log()).await.unwrap().context, None);
}

/// A run under this preset whose provider counts 80 tokens a request: the estimate and the count stand side by side.
async fn the_error_is_shown_under(preset: &str, first: fn() -> Vec<Delta>) {
    let model = FnModel::new(move |_| {
        let usage = Usage { input: 80, output: 2, ..Usage::default() };
        first().into_iter().chain([Delta::Usage(usage)]).collect()
    });
    let settings = json!({ "preset": preset, "context": { "max_tokens": 1000 } });
    let agent = builder(model).instructions("Look.").code_program("/bin/true").settings(&settings);
    let typed = if preset == "typed" { agent.output_schema(json!({ "type": "object" })) } else { agent };
    let agent = typed.build().unwrap();
    let run = agent.run("x".repeat(400)).await.unwrap();
    let size = run.metadata(&**agent.log()).await.unwrap().context.unwrap();
    assert_eq!(size.counted_tokens, 80);
    let estimated = size.estimated_tokens as f64;
    assert!(estimated >= 100.0, "{estimated}");
    assert!((size.error_percent - (estimated / 80.0 - 1.0) * 100.0).abs() < 0.1, "{size:?}");
}

#[tokio::test]
async fn e39_under_typed_the_error_of_an_estimate_is_shown() {
    the_error_is_shown_under("typed", || called(&[("__finish__", "{}")])).await;
}

#[tokio::test]
async fn e39_under_text_the_error_of_an_estimate_is_shown() {
    the_error_is_shown_under("text", || text_reply("Done.")).await;
}

#[tokio::test]
async fn e39_under_refine_the_error_of_an_estimate_is_shown() {
    the_error_is_shown_under("refine", || text_reply("Done.")).await;
}

#[tokio::test]
async fn e39_under_plan_the_error_of_an_estimate_is_shown() {
    let answer = || text_reply(r#"{"original_goal_achieved": true, "solution_summary": "Done."}"#);
    the_error_is_shown_under("plan", answer).await;
}

#[tokio::test]
async fn p19_results_are_compared_with_what_the_verifier_expected() {
    let verdict = |expected: &str| {
        text_reply(
            &json!({ "should_execute": true, "confidence": 1.0, "predicted_result": expected }).to_string(),
        )
    };
    let refusal =
        json!({ "should_execute": false, "confidence": 1.0, "predicted_result": "seen" }).to_string();
    let model = FnModel::script([
        called(&[("look", r#"{"n": 1}"#)]),
        verdict("seen"),
        called(&[("look", r#"{"n": 2}"#)]),
        verdict("nothing but seen"),
        called(&[("look", r#"{"n": 3}"#)]),
        text_reply(&refusal),
        text_reply("Done."),
    ]);
    let settings = json!({ "verify": { "dry_run": true } });
    let agent = builder(model).tool(look()).settings(&settings).build().unwrap();
    let metadata = agent.run("Go").await.unwrap().metadata(&**agent.log()).await.unwrap();
    let calls: Vec<_> = metadata.steps.iter().flat_map(|step| &step.tool_calls).collect();
    let accuracies: Vec<_> = calls.iter().map(|call| (call.expected.as_deref(), call.accuracy)).collect();
    assert_eq!(
        accuracies,
        [(Some("seen"), Some(1.0)), (Some("nothing but seen"), Some(0.5)), (Some("seen"), None)],
        "a call that does not run has no result to compare"
    );
    assert_eq!(metadata.prediction_accuracy, Some(0.75));
}

#[tokio::test]
async fn p28_a_run_is_given_some_tools_none_or_all_and_a_resumed_run_keeps_them() {
    let model = FnModel::new(|request| {
        let paid = request.messages.iter().any(|message| matches!(&**message, Message::Tool(_)));
        if paid || request.tools.is_empty() { text_reply("Done.") } else { called(&[("pay", "{}")]) }
    });
    let log = Arc::new(MemoryLog::new());
    let agent = |model: &FnModel| {
        let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true);
        builder(model.clone()).tool(look()).tool(pay).log(log.clone()).build().unwrap()
    };
    let first = agent(&model).run_with("Go", only(&["p*"])).await.unwrap();
    assert_eq!(first.run_state(), RunState::Suspended);
    let restarted = agent(&model);
    restarted.answer(first.id(), "q1", Answer::Approve).await.unwrap();
    let ended = restarted.resume(first.id()).prepare().await.unwrap().drive().await.unwrap();
    assert_eq!(ended.text(), Some("Done."));
    let offered: Vec<_> = model.requests().iter().map(names).collect();
    assert_eq!(offered, [["pay"], ["pay"]], "after the restart, too");
    let none = agent(&model).run_with("Go", only(&[])).await.unwrap();
    assert_eq!((none.text(), none.state().tools().len()), (Some("Done."), 0));
    let all = agent(&model).run_with("Go", DriveOptions::default()).await.unwrap();
    assert_eq!(all.state().tools().len(), 2);
    let unknown = agent(&model).run_with("Go", only(&["lok"])).await.unwrap_err();
    assert!(matches!(&unknown, Error::UnknownTool { nearest, .. } if *nearest == ["look"]), "{unknown}");
    assert_eq!(
        (unknown.code(), unknown.help().unwrap().as_ref()),
        ("run.unknown_tool", "did you mean look?")
    );
}

#[tokio::test]
async fn p26_inner_messages_of_a_delegate_never_reach_the_parent() {
    let inner = FnModel::script([called(&[("look", r#"{"secret": "inner-args"}"#)]), text_reply("found it")]);
    let log = Arc::new(MemoryLog::new());
    let child = Agent::builder("child")
        .model(("m2", Arc::new(inner)))
        .tool(FnTool::new("look", |_, _| async { Ok("inner-result".into()) }));
    let child = child.log(log.clone()).build().unwrap();
    let outer = FnModel::script([called(&[("child", r#"{"task": "find"}"#)]), text_reply("Done.")]);
    let parent =
        builder(outer.clone()).delegate(Arc::new(AgentDelegate::new(child))).log(log).build().unwrap();
    let run = parent.run("Go").await.unwrap();
    assert_eq!(run.text(), Some("Done."));
    let conversation = serde_json::to_string(&run.messages().collect::<Vec<_>>()).unwrap();
    let sent = format!("{:?}", outer.requests());
    assert!(conversation.contains("found it"), "{conversation}");
    for inside in ["inner-args", "inner-result"] {
        assert!(!conversation.contains(inside) && !sent.contains(inside), "{inside} left the child run");
    }
}

#[tokio::test]
async fn p34_a_repetition_is_bounded_and_says_why_it_stopped() {
    let model = FnModel::new(|_| text_reply("more"));
    let agent = builder(model.clone()).build().unwrap();
    let three = NonZeroU32::new(3).unwrap();
    let all = Repeat::at_most(three).run(&agent, "Go", DriveOptions::default()).await.unwrap();
    assert_eq!(serde_json::to_value(&all).unwrap(), json!({ "_stopped": "max_iters", "_iterations": 3 }));
    assert_eq!(model.requests().len(), 3);
    let second = |at: u32, _: &windlass_runtime::Run| (at == 2).then(|| "enough".to_owned());
    let broken =
        Repeat::at_most(three).until(second).run(&agent, "Go", DriveOptions::default()).await.unwrap();
    assert_eq!((broken.stopped.as_str(), broken.iterations), ("enough", 2));
    let brief = Repeat::at_most(three).within(std::time::Duration::ZERO);
    let brief = brief.run(&agent, "Go", DriveOptions::default()).await.unwrap();
    assert_eq!((brief.stopped.as_str(), brief.iterations), ("max_seconds", 1));
    let cut = builder(FnModel::new(|_| text_reply("x")))
        .settings(&json!({ "limits": { "model_calls": 0 } }))
        .build()
        .unwrap();
    let cut = Repeat::at_most(three).run(&cut, "Go", DriveOptions::default()).await.unwrap();
    assert_eq!((cut.stopped.as_str(), cut.iterations), ("limit(model_calls)", 1));
}

fn texts(request: &windlass_models::ModelRequest) -> String {
    format!("{:?} {:?}", request.prompt, request.messages)
}

#[tokio::test]
async fn p35_a_run_is_reminded_of_similar_earlier_answers_only() {
    let model = FnModel::new(|_| text_reply("The train leaves at nine."));
    let recall = json!({ "recall": { "top": 1, "similarity": 0.7, "among": 10 } });
    let agent = builder(model.clone()).settings(&recall).build().unwrap();
    let first = agent.run("When does the train to Bergen leave?").await.unwrap();
    assert!(first.state().recalled().is_empty());
    let other = agent.run("Paint the fence.").await.unwrap();
    assert!(other.state().recalled().is_empty(), "too different");
    let again = agent.run("When does the train to Bergen leave today?").await.unwrap();
    let recalled = again.state().recalled();
    assert_eq!((recalled.len(), recalled[0].run), (1, first.id()));
    assert!(recalled[0].score >= 0.7 && recalled[0].score < 1.0, "{recalled:?}");
    let sent = texts(model.requests().last().unwrap());
    assert!(sent.contains("Earlier runs with similar inputs") && sent.contains("to Bergen leave?"), "{sent}");
    let loaded = windlass_runtime::Run::load(&**agent.log(), again.id()).await.unwrap();
    assert_eq!(loaded.state().recalled(), recalled, "it is in the log, so that a replay needs no search");
    let off = builder(FnModel::new(|_| text_reply("ok"))).log(agent.log().clone()).build().unwrap();
    assert!(off.run("When does the train to Bergen leave?").await.unwrap().state().recalled().is_empty());
}

#[tokio::test]
async fn p35_a_run_is_reminded_of_no_other_owners_runs() {
    let recall = json!({ "recall": { "top": 3, "similarity": 0 } });
    let agent = builder(FnModel::new(|_| text_reply("At nine."))).settings(&recall).build().unwrap();
    let mut before = None;
    for owner in ["ann", "bob", "local", "ann"] {
        let options = DriveOptions { owner: owner.into(), ..DriveOptions::default() };
        let run = agent.run_with("When does the train leave?", options).await.unwrap();
        let recalled: Vec<_> = run.state().recalled().iter().map(|recalled| recalled.run).collect();
        let own = before.filter(|_| owner == "ann");
        assert_eq!(recalled, own.into_iter().collect::<Vec<_>>(), "{owner}");
        before = before.or(Some(run.id()));
    }
}

#[tokio::test]
async fn p35_a_run_that_failed_is_not_recalled() {
    let model = FnModel::new(|_| text_reply("x"));
    let log = Arc::new(MemoryLog::new());
    let cut = json!({ "limits": { "model_calls": 0 } });
    builder(model.clone()).settings(&cut).log(log.clone()).build().unwrap().run("Same words").await.unwrap();
    let agent = builder(model).settings(&json!({ "recall": "on" })).log(log).build().unwrap();
    assert!(agent.run("Same words").await.unwrap().state().recalled().is_empty());
}

#[tokio::test]
async fn s12_the_score_takes_the_answer_and_the_length_into_account() {
    let recall = json!({ "recall": { "top": 3, "similarity": 0, "by": "input_and_answer" } });
    let model = FnModel::new(|request| {
        let asked = texts(request);
        text_reply(if asked.contains("population of Oslo, the capital") {
            "Oslo has 700000 people"
        } else {
            "no idea"
        })
    });
    let agent = builder(model).settings(&recall).build().unwrap();
    agent.run("population of Oslo, the capital").await.unwrap();
    agent.run("zzzz").await.unwrap();
    let run = agent.run("How many people has Oslo").await.unwrap();
    let recalled = run.state().recalled();
    assert_eq!(&*recalled[0].query, "population of Oslo, the capital", "{recalled:?}");
    assert!(recalled.iter().all(|one| one.score <= 0.9), "{recalled:?}");
    assert!(recalled[0].score > recalled[1].score);
}

#[tokio::test]
async fn s23_s24_session_log_tables_and_statistics() {
    let model = FnModel::script([
        called(&[("look", r#"{"at": "a"}"#)]),
        text_reply("Seen, \"all\" of it."),
        called(&[("break", "{}")]),
        text_reply("Broken."),
    ]);
    let broken = FnTool::new("break", |_, _| async { Err(windlass_tools::ToolError::new("snap")) });
    let agent = builder(model).tool(look()).tool(broken).build().unwrap();
    let log = &**agent.log();
    let first = agent.run("Look at a").await.unwrap();
    agent.run("Break it").await.unwrap();
    let session = session_log(log, first.id()).await.unwrap();
    let step = &session["plan_versions"][0]["steps"][0];
    assert_eq!((&step["type"], &step["status"]), (&json!("CODE"), &json!("completed")));
    assert_eq!(step["code"], json!({ "tool_name": "look", "tool_arguments": { "at": "a" } }));
    assert_eq!(
        (&step["execution_result"]["status"], &step["execution_result"]["result"]),
        (&json!("success"), &json!("seen"))
    );
    assert_eq!(session["plan_versions"][0]["steps"][1]["type"], "CONCLUDE");
    assert_eq!(session["state_snapshot"]["final_answer"], "Seen, \"all\" of it.");
    let runs = newest_runs(log, None, 10).await.unwrap();
    assert_eq!(runs[0], first.id(), "in the order in which they began");
    let tables = tables(log, &runs).await.unwrap();
    let mut rows = tables.performance.lines();
    assert_eq!(rows.next().unwrap(), PERFORMANCE_COLUMNS.join(","));
    let row = rows.next().unwrap();
    assert!(row.contains(",1,Look at a,Look at a,\"Seen, \"\"all\"\" of it.\",look,success,"), "{row}");
    assert!(rows.next().unwrap().contains(",break,0,snap,answered"));
    assert_eq!(tables.queries.lines().count(), 3);
    let all = statistics(log, &runs).await.unwrap();
    assert_eq!((all.runs, all.succeeded, all.queries.len()), (2, 2, 2));
    let tool = |name: &str| all.tools.iter().find(|tool| &*tool.tool == name).unwrap();
    assert_eq!((tool("look").succeeded, tool("look").reliability), (1, Reliability::Reliable));
    assert_eq!((tool("break").calls, tool("break").reliability), (1, Reliability::Unreliable));
}

#[tokio::test]
async fn s21_an_answer_that_a_person_gave_is_a_failure_whatever_its_words() {
    for words in ["Conclude with current results", "Alles gut"] {
        let model = FnModel::new(|_| called(&[("look", "{}")]));
        let limits = json!({ "limits": { "tool_calls": { "max": 1, "at_limit": "ask" } } });
        let agent = builder(model).tool(look()).settings(&limits).build().unwrap();
        let run = agent.run("Go").await.unwrap();
        let question = run.questions()[0].id.clone();
        agent.answer(run.id(), question, Answer::Conclude(words.into())).await.unwrap();
        let ended = agent.resume(run.id()).prepare().await.unwrap().drive().await.unwrap();
        assert_eq!(ended.status(), Some(Status::Concluded));
        let all = statistics(&**agent.log(), &[run.id()]).await.unwrap();
        assert_eq!((all.runs, all.succeeded), (1, 0), "{words}");
        let table = tables(&**agent.log(), &[run.id()]).await.unwrap().performance;
        assert!(table.contains(",failure,"), "{table}");
    }
}

#[tokio::test]
async fn s28_three_failures_in_a_row_are_to_be_avoided() {
    let model = FnModel::script([
        called(&[("break", "{\"n\":1}")]),
        called(&[("break", "{\"n\":2}")]),
        called(&[("break", "{\"n\":3}")]),
        text_reply("Broken."),
    ]);
    let broken = FnTool::new("break", |_, _| async { Err(windlass_tools::ToolError::new("snap")) });
    let agent = builder(model).tool(broken).build().unwrap();
    agent.run("Go").await.unwrap();
    let tools = agent.tool_reliability().await.unwrap();
    assert_eq!((tools[0].failures_in_a_row, tools[0].reliability), (3, Reliability::Avoid));
}

#[tokio::test]
async fn p38_the_run_log_has_a_line_an_event() {
    let agent = builder(FnModel::script([text_reply("Done.")])).build().unwrap();
    let run = agent.run("Go").await.unwrap();
    let (mut log, mut lines) = (RunLog::of(&**agent.log(), run.id()).await.unwrap(), Vec::<Value>::new());
    while let Some(more) = log.next().await.unwrap() {
        lines.extend(more);
    }
    assert_eq!(lines.len() as u64, run.state().version());
    let fields: Vec<&str> = lines[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["time", "run", "agent", "session", "seq", "event", "data"]);
    assert_eq!((&lines[0]["event"], &lines[0]["agent"]), (&json!("RunStarted"), &json!("worker")));
    assert!(lines[0]["time"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn e54_a_call_that_only_reads_gives_no_receipt_and_a_failed_one_says_so() {
    let model = FnModel::script([
        called(&[("look", "{}"), ("write", r#"{"to": ["x"], "path": "a.txt"}"#)]),
        text_reply("Done."),
    ]);
    let write = FnTool::new("write", |_, _| async { Err(windlass_tools::ToolError::new("full")) });
    let write = write.effect(windlass_core::tool::Effect::Once);
    let look = look().effect(windlass_core::tool::Effect::ReadOnly);
    let agent = builder(model).tool(look).tool(write).build().unwrap();
    let run = agent.run("Go").await.unwrap();
    let found = receipts(&**agent.log(), run.id()).await.unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (&*found[0].tool, found[0].shown.as_deref(), found[0].outcome.name()),
        ("write", Some("a.txt"), "failed")
    );
    assert_eq!(found[0].result_sha256, None);
}

#[tokio::test]
async fn e54_a_required_tool_that_the_agent_lacks_is_refused_with_the_nearest() {
    let built = builder(FnModel::script([])).tool(look()).settings(&json!({ "require": ["lok"] })).build();
    let error = built.unwrap_err();
    assert_eq!(
        (error.code(), error.help().unwrap().as_ref()),
        ("agent.unknown_required", "did you mean look?")
    );
}
