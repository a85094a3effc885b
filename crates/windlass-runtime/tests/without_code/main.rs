//! A program that was built without the interpreter of code: what asks for it is refused early, and what is stored stays readable.
//!
//! A target of its own, so that it is compiled without all tests of `it`.
#![cfg(not(feature = "code"))]

#[allow(dead_code, reason = "it serves the tests of `it`, too")]
#[path = "../it/ground.rs"]
mod ground;

use windlass_core::policy::{CodeLimits, CodeMode, Preset};
use windlass_core::{RunId, Status};
use windlass_error::{Diagnostic as _, Kind};
use windlass_read::exchange::Export;
use windlass_runtime::{AgentBuilder, DriveOptions, Error};
use windlass_store::{Index as _, RunFilter};
use windlass_testing::{FnModel, FnTool, called, text_reply};

use ground::Ground;

/// An agent whose model writes code once, then answers.
fn coder(ground: &Ground) -> AgentBuilder {
    let mut policy = Preset::CHAT.policy();
    policy.calls.code = CodeMode::Tool(CodeLimits::default());
    let model =
        FnModel::script([called(&[("run_code", r#"{"code": "return look()"}"#)]), text_reply("done")]);
    ground.agent(model).tool(FnTool::new("look", |_, _| async { Ok("seen".into()) })).policy(policy)
}

fn assert_not_built(error: &Error) {
    assert_eq!((error.code(), error.kind()), ("code.not_built", Kind::Invalid), "{error:?}");
    let help = error.help().unwrap();
    assert!(help.contains("build with the feature `code`"), "{help}");
}

#[test]
fn an_agent_whose_model_writes_code_is_refused_when_it_is_built() {
    let ground = Ground::new();
    assert_not_built(&coder(&ground).build().unwrap_err());
    let plan = ground.agent(FnModel::script([])).policy(Preset::PLAN.policy());
    assert_not_built(&plan.build().unwrap_err());
}

/// A run that stopped while its code was in progress. The code's program is another one, as in a process that could run it.
fn stopped_in_its_code() -> (Ground, RunId) {
    for polls in 1..1_000 {
        let ground = Ground::slow();
        let agent = coder(&ground).code_program("/bin/true").build().unwrap();
        let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
        let run = prepared.id();
        assert!(ground.drive(prepared, |count| count >= polls).is_none(), "it ended before its code began");
        // Its first append may not be done yet.
        let is_stored = ground.wait(ground.memory.summary(run)).is_ok();
        if is_stored && ground.kinds(run).contains(&"CodeStarted") {
            return (ground, run);
        }
    }
    panic!("no code began");
}

#[test]
fn a_stored_run_with_code_is_read_and_a_refused_agent_loses_nothing_of_it() {
    let (ground, run) = stopped_in_its_code();
    let before = ground.facts(run);
    assert_not_built(&coder(&ground).build().unwrap_err());
    assert_eq!(ground.facts(run), before);
    assert!(ground.state(run).ended().is_none());
    let listed = ground.wait(ground.memory.list(RunFilter::default())).unwrap();
    assert_eq!(listed.iter().map(|summary| summary.run).collect::<Vec<_>>(), [run]);
    let mut lines = 0;
    ground.wait(async {
        let mut export = Export::of(&*ground.memory, run).await.unwrap();
        while export.next_line().await.unwrap().is_some() {
            lines += 1;
        }
    });
    assert!(lines > 0);
    // With a program that can be named the agent goes on: this one runs no code, and the model is told so.
    let agent = coder(&ground).code_program("/bin/true").build().unwrap();
    let ended = ground.wait(async { agent.resume(run).await }).unwrap();
    assert_eq!(ended.status(), Some(Status::Answered));
}
