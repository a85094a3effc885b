//! What an agent learns of its models: how calls go to one that refuses tools (K41).

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use windlass_core::model::FailureKind;
use windlass_core::policy::{Preset, Wire};
use windlass_core::{Status, ToolSpec};
use windlass_models::ModelRequest;
use windlass_runtime::{Agent, DriveOptions, ForkOptions, Run};
use windlass_testing::{FnModel, FnTool, model_failure, said};

/// A model that takes no tools, and is asked in text then.
fn refusing() -> FnModel {
    FnModel::streaming(|_, request: ModelRequest| {
        if request.tools.iter().any(ToolSpec::is_offered) {
            let failed = model_failure(&request, FailureKind::Unsupported, "no tools here");
            return stream::iter([Err(failed)]).boxed();
        }
        stream::iter(said("done").into_iter().map(Ok).collect::<Vec<_>>()).boxed()
    })
}

fn agent(model: FnModel) -> Agent {
    let echo = FnTool::new("echo", |_, _| async { Ok("hi".into()) });
    let mut policy = Preset::TEXT.policy();
    policy.request.wire = Wire::Auto;
    Agent::builder("x").model(("m1", Arc::new(model))).policy(policy).tool(echo).build().unwrap()
}

/// How many requests offered tools.
fn offers(model: &FnModel) -> usize {
    model.requests().iter().filter(|request| !request.tools.is_empty()).count()
}

async fn answered(agent: &Agent) -> Run {
    let run = agent.run("go").await.unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    run
}

#[tokio::test]
async fn k41_runs_of_other_conversations_know_what_one_learnt() {
    let model = refusing();
    let agent = agent(model.clone());
    answered(&agent).await;
    assert_eq!((offers(&model), model.requests().len()), (1, 2));
    answered(&agent).await;
    assert_eq!((offers(&model), model.requests().len()), (1, 3), "nobody asks again");
}

#[tokio::test]
async fn k41_a_fork_from_before_the_refusal_meets_it_once_more() {
    let model = refusing();
    let agent = agent(model.clone());
    let run = answered(&agent).await;
    let fork = ForkOptions { at: 2, ..ForkOptions::default() };
    // The base's own models apply, as they were then: the refusal comes once more, and the run goes on.
    let fork = agent.fork(run.id(), fork, DriveOptions::default()).await.unwrap();
    let forked = fork.prepared.drive().await.unwrap();
    assert_eq!(forked.status(), Some(Status::Answered));
    assert_eq!(offers(&model), 2);
}
