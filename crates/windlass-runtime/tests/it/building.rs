//! What programs say of an agent: models by name, limits, people, and which of its runs to list.

use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use windlass_core::policy::{LimitKind, LimitValue};
use windlass_core::{Answer, RunId, RunState, Status};
use windlass_error::Diagnostic as _;
use windlass_models::Tour;
use windlass_runtime::{Agent, AgentDelegate, DriveOptions, Error, RunStatus, in_full};
use windlass_testing::{FnPeople, FnTool};

use crate::ground::Ground;
use crate::scenarios::{calls_then_answers, slow_tool};

#[test]
fn models_are_named_as_in_an_agent_file() {
    let agent =
        Agent::builder("a").model("tour").model("ollama/qwen3".to_owned()).model(Tour).build().unwrap();
    let names: Vec<&str> = agent.models().iter().map(|model| &*model.name).collect();
    assert_eq!(names, ["tour", "ollama/qwen3", "tour"]);
    let run = agent.run_blocking("Hello").unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    let mine = Agent::builder("a").model(("mine", Arc::new(Tour))).build().unwrap();
    assert_eq!(&*mine.models()[0].name, "mine");
}

fn told(error: &Error) -> String {
    format!("{} [{}]\n{}", in_full(error), error.code(), error.help().unwrap_or_default())
}

#[test]
fn a_model_that_cannot_be_used_is_refused_with_what_is_supported() {
    let names = ["olama/qwen3", "nonsense/x", "anthropic/claude-sonnet-4-5", "ollama", "auto", ""];
    let refused = names.map(|name| told(&Agent::builder("a").model(name).build().unwrap_err()));
    insta::assert_snapshot!(refused.join("\n\n"));
}

#[test]
fn limits_take_numbers_and_durations_and_nothing_else() {
    let limited = |kind, value: LimitValue| Agent::builder("a").model(Tour).limit(kind, value).build();
    let kept = |kind, value: LimitValue| limited(kind, value).unwrap().policy().limit(kind);
    assert_eq!(kept(LimitKind::ModelCalls, 10.into()), Some(10));
    assert_eq!(kept(LimitKind::Tokens, 5_000_000_000_u64.into()), Some(5_000_000_000));
    assert_eq!(kept(LimitKind::Seconds, 1.5.into()), Some(1_500));
    assert_eq!(kept(LimitKind::Seconds, Duration::from_millis(250).into()), Some(250));
    let wrong = [
        limited(LimitKind::ModelCalls, (-1).into()),
        limited(LimitKind::ModelCalls, 0.5.into()),
        limited(LimitKind::ModelCalls, Duration::from_secs(5).into()),
        limited(LimitKind::Seconds, f64::NAN.into()),
        limited(LimitKind::ToolCalls, u64::MAX.into()),
    ];
    insta::assert_snapshot!(wrong.map(|agent| told(&agent.unwrap_err())).join("\n\n"));
}

/// An agent with a call that must be allowed.
fn paying(ground: &Ground) -> windlass_runtime::AgentBuilder {
    let pay = slow_tool(ground, "pay", 5).spec(|spec| spec.approve = true);
    ground.agent(calls_then_answers(&[("pay", r#"{"euro":1}"#)])).tool(pay)
}

#[test]
fn a_closure_answers_what_is_asked() {
    let ground = Ground::new();
    let agent = paying(&ground).people(|ask| async move {
        assert_eq!((ask.tool(), ask.kind.name()), (Some("pay"), "approval"));
        assert_eq!(ask.args(), Some(serde_json::json!({ "euro": 1 })));
        assert!(ask.text.contains("pay"), "{}", ask.text);
        Answer::Approve
    });
    let run = ground.wait(agent.build().unwrap().run("Go.")).unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    assert!(ground.kinds(run.id()).contains(&"CallStarted"));
}

#[test]
fn a_closure_may_leave_a_question_open_and_others_may_answer_it() {
    let ground = Ground::new();
    let agent = paying(&ground).people(|_| async { None }).build().unwrap();
    let run = ground.wait(agent.run("Go.")).unwrap();
    assert_eq!(run.run_state(), RunState::Suspended);
    let asked = Arc::new(AtomicU32::new(0));
    let counted = asked.clone();
    let resumed = agent.resume(run.id()).people(move |ask| {
        let (asked, run) = (counted.clone(), ask.run);
        async move {
            asked.fetch_add(1, Ordering::Relaxed);
            assert_eq!(run, ask.run);
            Some(Answer::Deny { reason: Some("not today".into()) })
        }
    });
    let run = ground.wait(resumed.into_future()).unwrap();
    assert_eq!((run.status(), asked.load(Ordering::Relaxed)), (Some(Status::Answered), 1));
}

#[test]
fn the_people_of_a_run_go_before_those_of_the_agent() {
    let ground = Ground::new();
    let agent = paying(&ground).people(|_| async { Answer::Deny { reason: None } }).build().unwrap();
    let people = Some(Arc::new(FnPeople::new(|_| Answer::Approve)) as Arc<dyn windlass_runtime::People>);
    let options = DriveOptions { people, ..DriveOptions::default() };
    let run = ground.wait(ground.wait(agent.prepare("Go.", options)).unwrap().drive()).unwrap();
    assert!(ground.kinds(run.id()).contains(&"CallStarted"), "it was allowed");
}

#[test]
fn runs_are_listed_by_status_and_age() {
    let ground = Ground::new();
    let agent = paying(&ground).build().unwrap();
    let waits = ground.wait(agent.run("Go.")).unwrap().id();
    let ids = |listing: windlass_runtime::Listing<'_>| -> Vec<RunId> {
        ground.wait(listing.into_future()).unwrap().iter().map(|summary| summary.run).collect()
    };
    let hour = Duration::from_hours(1);
    assert_eq!(ids(agent.runs().status(RunStatus::Suspended)), [waits]);
    assert_eq!(ids(agent.runs().status(RunState::Suspended)), [waits]);
    assert_eq!(ids(agent.runs().status(RunStatus::Limit)), []);
    assert_eq!(ids(agent.runs().interrupted()), []);
    assert_eq!(ids(agent.runs().newer_than(hour)), [waits]);
    assert_eq!(ids(agent.runs().older_than(hour)), []);
    assert_eq!(ids(agent.runs().older_than(Duration::ZERO)), [waits]);
}

/// Offers one tool of that name.
#[derive(Debug)]
struct Offers(&'static str, tokio::sync::watch::Sender<u64>);

impl windlass_runtime::ToolSource for Offers {
    fn name(&self) -> &'static str {
        "shelf"
    }

    fn tools(&self) -> Vec<Arc<dyn windlass_tools::Tool>> {
        vec![Arc::new(named(self.0))]
    }

    fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.1.subscribe()
    }
}

fn named(name: &str) -> FnTool {
    FnTool::new(name, |_, _| async { Ok("done".into()) })
}

#[test]
fn p30_a_name_is_taken_once_whichever_side_comes_second() {
    let plain = || Agent::builder("a").model(Tour);
    let other = || Arc::new(AgentDelegate::new(Agent::builder("look").model(Tour).build().unwrap()));
    let shelf = || Arc::new(Offers("look", tokio::sync::watch::Sender::new(0)));
    let refused = [
        plain().tool(named("look")).tool(named("look")),
        plain().tool(named("look")).source(shelf()),
        plain().source(shelf()).tool(named("look")),
        plain().tool(named("look")).delegate(other()),
        plain().delegate(other()).tool(named("look")),
        plain().delegate(other()).source(shelf()),
    ];
    let told: Vec<_> = refused.map(|builder| told(&builder.build().unwrap_err())).into();
    insta::assert_snapshot!(told.join("\n\n"));
}

#[test]
fn p30_tools_that_code_could_not_tell_apart_are_refused_whichever_comes_second() {
    let builder = |first: &str, second: &str, code: serde_json::Value| {
        Agent::builder("a")
            .model(Tour)
            .code_program("/bin/true")
            .tool(named(first))
            .tool(named(second))
            .settings(&code)
            .build()
    };
    let plan = serde_json::json!({ "preset": "plan" });
    let error = builder("read-file", "read_file", plan.clone()).unwrap_err();
    assert_eq!(error.code(), "agent.same_in_code");
    assert_eq!(
        in_full(&error),
        "agent `a` cannot be built: the tools `read-file` and `read_file` are both `read_file` in code"
    );
    assert!(error.help().unwrap().contains("prefix"));
    let error = builder("import_", "import", plan.clone()).unwrap_err();
    assert!(
        in_full(&error).contains("the tools `import_` and `import` are both `import_` in code"),
        "{error}"
    );
    builder("read-file", "read_files", plan).unwrap();
    // Without code nothing stands in its way.
    builder("read-file", "read_file", serde_json::json!({})).unwrap();
}

#[test]
fn p30_the_model_and_the_interpreter_have_one_name_for_a_tool_in_code() {
    let words = "False None True ToolError and as assert async await break class continue def del elif else except finally \
                 for from global if import in is lambda nonlocal not or parallel pass raise return try while with yield \
                 get-weather get_weather 2fa _x a.b é print match";
    for name in words.split_whitespace() {
        let spec = windlass_core::ToolSpec::new(name, "", serde_json::json!({ "type": "object" }));
        assert_eq!(spec.name_in_code(), windlass_code::Function::new(name, [""; 0]).in_code(), "{name}");
        let shown = windlass_core::ToolSpec::run_code(
            std::slice::from_ref(&spec),
            windlass_core::policy::CodeMode::Tool(windlass_core::policy::CodeLimits::default()),
        );
        assert!(
            shown.description.contains(&format!("def {}()", spec.name_in_code())),
            "{}",
            shown.description
        );
    }
}
