//! A27: runs from code that is not async.

use std::sync::Arc;

use windlass_core::Status;
use windlass_runtime::Agent;
use windlass_testing::FnTool;
use windlass_tools::ToolError;

use crate::scenarios::calls_then_answers;

/// An agent in the real world, whose tool needs a runtime.
fn agent() -> Agent {
    let nap = FnTool::new("nap", |_, _| async {
        let rested = tokio::task::spawn_blocking(|| "rested").await;
        Ok(rested.map_err(|error| ToolError::new(error.to_string()))?.into())
    });
    let model = Arc::new(calls_then_answers(&[("nap", "{}")]));
    Agent::builder("plain").model(("function", model)).tool(nap).build().unwrap()
}

#[test]
fn a27_plain_code_runs_an_agent() {
    let agent = agent();
    for _ in 0..2 {
        let run = agent.run_blocking("Go.").unwrap();
        assert_eq!((run.status(), run.text()), (Some(Status::Answered), Some("done")));
    }
}

#[tokio::test]
async fn a27_within_a_running_runtime_too() {
    let agent = agent();
    let run = agent.run_blocking("Go.").unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    // The same agent goes on in the runtime.
    assert_eq!(agent.run("Again.").await.unwrap().status(), Some(Status::Answered));
}
