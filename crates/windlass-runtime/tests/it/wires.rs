//! What an agent learns of its models: how calls go to one that refuses tools (K41).

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use serde_json::json;
use windlass_core::model::{FailureKind, ModelChoice, ModelFailure, OutputBy, Refusal};
use windlass_core::policy::{LimitKind, Preset, Wire};
use windlass_core::tool::ToolKind;
use windlass_core::{Message, Status, ToolSpec};
use windlass_models::{HttpModel, HttpModelConfig, ModelRequest, Timeouts};
use windlass_runtime::{Agent, DriveOptions, ForkOptions, Run};
use windlass_testing::{FnModel, FnTool, called, model_failure, text_reply};

/// A model that takes no tools, and is asked in text then.
fn refusing() -> FnModel {
    FnModel::streaming(|_, request: ModelRequest| {
        if request.tools.iter().any(ToolSpec::is_offered) {
            let failed = model_failure(&request, FailureKind::Unsupported, "no tools here");
            return stream::iter([Err(failed)]).boxed();
        }
        stream::iter(text_reply("done").into_iter().map(Ok).collect::<Vec<_>>()).boxed()
    })
}

fn agent(model: FnModel) -> Agent {
    let echo = FnTool::new("echo", |_, _| async { Ok("hi".into()) });
    let mut policy = Preset::TEXT.policy();
    policy.request.wire = Wire::Auto;
    Agent::builder("x").model(("m1", Arc::new(model))).policy(policy).tool(echo).build().unwrap()
}

/// A server that is said to hold answers to schemas beside tools, and refuses to.
fn refusing_schemas() -> FnModel {
    FnModel::streaming(|_, request: ModelRequest| {
        let piece = if request.response_schema.is_some() {
            let failed = model_failure(&request, FailureKind::BadRequest, "json_schema is not supported");
            vec![Err(ModelFailure { refuses: Some(Refusal::Schema), ..failed })]
        } else if request.tools.iter().any(|tool| matches!(tool.kind, ToolKind::Finish(_))) {
            called(&[("__finish__", r#"{"title":"The Sea"}"#)]).into_iter().map(Ok).collect()
        } else {
            text_reply(r#"{"title":"The Sea"}"#).into_iter().map(Ok).collect()
        };
        stream::iter(piece).boxed()
    })
}

#[tokio::test]
async fn issue_27_a_server_that_refuses_the_schema_is_not_asked_by_it_again() {
    let schema =
        json!({ "type": "object", "properties": { "title": { "type": "string" } }, "required": ["title"] });
    for preset in [Preset::TYPED, Preset::CHAT] {
        let model = refusing_schemas();
        let known =
            ModelChoice { name: "m1".into(), output: Some(OutputBy::Native), ..ModelChoice::default() };
        let agent = Agent::builder("x")
            .model_with(known, Arc::new(model.clone()))
            .policy(preset.policy())
            .output_schema(schema.clone())
            .build()
            .unwrap();
        for requests in [2, 3] {
            let run = answered(&agent).await;
            assert_eq!(run.output(), Some(&json!({ "title": "The Sea" })));
            assert_eq!(model.requests().len(), requests, "nobody asks again: {}", preset.name);
        }
    }
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

/// A model that takes no tools, on a server that holds it to schemas: it fills the form of a tool once, then that of the answer.
fn held() -> FnModel {
    FnModel::streaming(|_, request: ModelRequest| {
        if request.tools.iter().any(ToolSpec::is_offered) {
            let failed = model_failure(&request, FailureKind::Unsupported, "no tools here");
            return stream::iter([Err(failed)]).boxed();
        }
        let Some((_, schema)) = &request.response_schema else {
            return stream::iter(text_reply("no schema").into_iter().map(Ok).collect::<Vec<_>>()).boxed();
        };
        let called = request.messages.last().is_some_and(|last| matches!(**last, Message::Tool(_)));
        let name = &schema["properties"]["reply"]["anyOf"][0]["properties"]["tool"]["const"];
        let reply = if called {
            json!({ "reply": { "answer": "done" } })
        } else {
            json!({ "reply": { "tool": name, "arguments": {} } })
        };
        stream::iter(text_reply(&reply.to_string()).into_iter().map(Ok).collect::<Vec<_>>()).boxed()
    })
}

#[tokio::test]
async fn k41_a_refusal_leads_to_calls_by_schema() {
    let model = held();
    let echo = FnTool::new("echo", |_, _| async { Ok("hi".into()) });
    let choice = ModelChoice { name: "m1".into(), structured: Some(true), ..ModelChoice::default() };
    let agent = Agent::builder("x").model_with(choice, Arc::new(model.clone())).tool(echo).build().unwrap();
    let run = answered(&agent).await;
    assert_eq!(run.text(), Some("done"));
    assert_eq!((offers(&model), model.requests().len()), (1, 3));
    answered(&agent).await;
    assert_eq!((offers(&model), model.requests().len()), (1, 5), "nobody asks again");
}

/// A real server that holds a small model to the forms of a reply: the forms are what its grammar lets the model write.
#[tokio::test]
#[ignore = "needs a llama-server at WINDLASS_PEER"]
async fn peer_is_held_to_the_forms_of_a_reply() {
    let url = std::env::var("WINDLASS_PEER").expect("WINDLASS_PEER is the address of a llama-server");
    let config = HttpModelConfig {
        allow_proxy: false,
        timeouts: Timeouts { first_token_ms: 600_000, total_ms: 600_000, ..Timeouts::default() },
        ..HttpModelConfig::openai_chat("peer", url)
    };
    let parameters = json!({
        "type": "object", "properties": { "expression": { "type": "string" } }, "required": ["expression"],
        "additionalProperties": false,
    });
    let calculate = FnTool::new("calculate", |_, _| async { Ok("391".into()) })
        .spec(|spec| (spec.parameters, spec.description) = (Arc::new(parameters), "Computes.".into()));
    let choice = ModelChoice {
        name: "peer/m".into(),
        temperature: Some(0.0),
        max_tokens: Some(60),
        ..ModelChoice::default()
    };
    let mut policy = Preset::CHAT.policy();
    policy.request.wire = Wire::Schema;
    policy.set_limit_value(LimitKind::ModelCalls, 3);
    let example = "What is 2 + 3?\n{\"reply\": {\"tool\": \"calculate\", \"arguments\": {\"expression\": \"2 + 3\"}}}\n\
                   Tool result: 5\n{\"reply\": {\"answer\": \"It is 5.\"}}";
    let agent = Agent::builder("x")
        .model_with(choice, Arc::new(HttpModel::new(config).unwrap()))
        .instructions(format!("Compute with the tool. An example:\n{example}"))
        .policy(policy)
        .tool(calculate)
        .build()
        .unwrap();
    let run = agent.run("What is 17 * 23?").await.unwrap();
    let results = run.messages().filter(|message| matches!(***message, Message::Tool(_))).count();
    let said: Vec<_> = run.messages().map(|message| format!("{message:?}")).collect();
    assert!(results > 0, "{said:#?}");
    assert!(!said.iter().any(|said| said.contains("Invalid reply")), "{said:#?}");
}

#[tokio::test]
async fn a_presets_temperature_is_left_out_where_the_models_entry_says_so() {
    let asked = async |preset: Preset, choice: ModelChoice| {
        let model = FnModel::streaming(|_, _| {
            stream::iter(text_reply("done").into_iter().map(Ok).collect::<Vec<_>>()).boxed()
        });
        let mut policy = preset.policy();
        policy.replies = Preset::CHAT.policy().replies;
        let agent =
            Agent::builder("x").model_with(choice, Arc::new(model.clone())).policy(policy).build().unwrap();
        answered(&agent).await;
        model.requests()[0].model.temperature
    };
    let named = ModelChoice { name: "m1".into(), ..ModelChoice::default() };
    let taking_none = ModelChoice { sampling: Some(false), ..named.clone() };
    let own = ModelChoice { temperature: Some(0.2), ..taking_none.clone() };
    assert_eq!(asked(Preset::TYPED, named.clone()).await, None);
    assert_eq!(asked(Preset::ACORN, named).await, Some(0.7));
    assert_eq!(asked(Preset::ACORN, taking_none).await, None);
    assert_eq!(asked(Preset::ACORN, own).await, Some(0.2), "what the file says counts");
}
