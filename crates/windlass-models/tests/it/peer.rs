//! A real llama-server with a real small model, on each wire that it speaks:
//! `WINDLASS_PEER=http://127.0.0.1:8181 cargo nextest run -p windlass-models peer --run-ignored only --no-capture`.
//!
//! The model may be a base model: worked examples show it how calls look, and what it says is not judged.

use std::io::Write as _;
use std::sync::Arc;

use serde_json::json;
use windlass_core::message::{AssistantMessage, ToolCall, ToolMessage};
use windlass_core::model::{FailureKind, ModelChoice, ModelFailure, Reply, StopReason, ToolChoice, Usage};
use windlass_core::{Message, ToolSpec};
use windlass_models::wires::{WIRES, Wire};
use windlass_models::{HttpModel, HttpModelConfig, Model, ModelRequest, PrefixCell, assemble, conformance};

/// The wires that llama-server speaks, by their names.
const SPOKEN: [&str; 3] = ["openai_chat", "openai_responses", "anthropic_messages"];

fn say(words: &str) {
    writeln!(std::io::stdout().lock(), "{words}").expect("stdout is open");
}

fn model(wire: &'static dyn Wire) -> HttpModel {
    let url = std::env::var("WINDLASS_PEER").expect("WINDLASS_PEER is the address of a llama-server");
    let config = HttpModelConfig { allow_proxy: false, ..HttpModelConfig::new(wire, "peer", url) };
    HttpModel::new(config).expect("a good base URL")
}

/// A call of the tool `add` with its result and the answer after it.
fn example(id: &str, (a, b): (u32, u32)) -> [Message; 4] {
    let args = json!({ "a": a, "b": b }).to_string();
    let call =
        ToolCall { id: id.into(), name: "add".into(), args: args.as_str().into(), ..ToolCall::default() };
    let result = ToolMessage {
        call: id.into(),
        name: "add".into(),
        content: (a + b).to_string().into(),
        failed: false,
    };
    [
        Message::user(format!("What is {a} plus {b}?")),
        Message::Assistant(AssistantMessage { calls: vec![call], ..AssistantMessage::default() }),
        Message::Tool(result),
        Message::assistant(format!("The sum is {}.", a + b)),
    ]
}

/// A request of these messages. `stop` is set where the API has a place for it: a base model writes on without.
fn asked(model: &HttpModel, messages: Vec<Message>) -> ModelRequest {
    let choice = ModelChoice {
        name: "peer/m".into(),
        temperature: Some(0.0),
        max_tokens: Some(64),
        stop: vec!["<|im_end|>".into()],
        ..ModelChoice::default()
    };
    let messages = messages.into_iter().map(Arc::new).collect();
    let prompt = Arc::new(vec![Arc::new(Message::system("You add numbers with the tool."))]);
    let mut request = ModelRequest { model: choice, messages, prompt, ..conformance::request("peer/m", "") };
    if model.refuses(&request).is_some() {
        request.model.stop = Vec::new();
    }
    request
}

fn with_tools(mut request: ModelRequest) -> ModelRequest {
    let numbers = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"]});
    request.tools = Arc::new(vec![ToolSpec::new("add", "Adds two numbers.", numbers)]);
    request
}

/// Asks, and once more as the core does: llama-server closes the connection right behind a stream, which a request that
/// follows at once may not know yet.
async fn ask(model: &HttpModel, request: &ModelRequest, stream: bool) -> Result<Reply, ModelFailure> {
    let request = ModelRequest { stream, prefix: PrefixCell::default(), ..request.clone() };
    match assemble(model.call(request.clone()), "peer/m").await {
        Err(failure) if failure.kind == FailureKind::Connect => assemble(model.call(request), "peer/m").await,
        answered => answered,
    }
}

/// A reply without what differs from one call to the next: ids, the layout that holds them, blanks in arguments (a whole reply
/// of Anthropic Messages has an object) and cached tokens.
fn bare(reply: &Reply) -> Reply {
    let mut bare = reply.clone();
    for call in &mut bare.calls {
        call.id = None;
        if let Ok(args) = serde_json::from_str::<serde_json::Value>(&call.args) {
            call.args = args.to_string().into();
        }
    }
    bare.usage = Usage { cached: 0, ..bare.usage };
    bare.reasoning = None;
    bare
}

/// The suite for live models, again where the server had closed a connection as above.
async fn conforms(model: &HttpModel, request: &ModelRequest) -> Result<(), conformance::Broken> {
    for _ in 0..8 {
        match conformance::live(model, request).await {
            Err(broken) if broken.found.starts_with("Connect") => say("  a connection was closed: again"),
            judged => return judged,
        }
    }
    conformance::live(model, request).await
}

async fn calls_tools(model: &HttpModel) -> Result<(), ModelFailure> {
    let mut messages = vec![];
    messages.extend(example("call_1", (2, 3)));
    messages.extend(example("call_2", (20, 14)));
    messages.push(Message::user("What is 17 plus 25?"));
    let first = with_tools(asked(model, messages.clone()));
    let streamed = ask(model, &first, true).await?;
    say(&format!("  streamed: {streamed:?}"));
    let whole = ask(model, &first, false).await?;
    assert_eq!(bare(&streamed), bare(&whole), "streaming and blocking give the same reply");
    assert!(streamed.usage.input > 50 && streamed.usage.output > 0 && !streamed.usage.estimated);
    // A base model goes on calling until its limit.
    if !streamed.calls.is_empty() {
        assert!(matches!(streamed.stop, StopReason::ToolCalls | StopReason::Length), "{:?}", streamed.stop);
    }
    let calls = streamed.calls.iter().map(|call| ToolCall {
        id: call.id.as_deref().expect("an id").into(),
        name: call.name.clone(),
        args: (&*call.args).into(),
        ..ToolCall::default()
    });
    let calls: Vec<_> = calls.collect();
    let results = calls.iter().map(|call| {
        let (call, name) = (call.id.clone(), call.name.clone());
        Message::Tool(ToolMessage { call, name, content: "42".into(), failed: false })
    });
    let results: Vec<_> = results.collect();
    messages.push(Message::Assistant(AssistantMessage {
        text: streamed.text.clone(),
        reasoning: streamed.reasoning.clone(),
        calls,
        ..AssistantMessage::default()
    }));
    messages.extend(results);
    let second = ask(model, &with_tools(asked(model, messages)), true).await?;
    say(&format!("  after the result: {second:?}"));
    Ok(())
}

async fn cut_off(model: &HttpModel) -> Result<(), ModelFailure> {
    let mut request = asked(model, vec![Message::user("Count from one to a hundred, in words.")]);
    request.model.max_tokens = Some(5);
    request.model.stop = Vec::new();
    let reply = ask(model, &request, true).await?;
    say(&format!("  cut off: {:?} {:?}", reply.stop, reply.text));
    assert_eq!(bare(&ask(model, &request, false).await?), bare(&reply));
    Ok(())
}

/// `held`: the server holds the model to a schema on this wire. On the others it passes the schema over (seen 2026-11).
async fn structured(model: &HttpModel, held: bool) -> Result<(), ModelFailure> {
    let schema = json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"],
        "additionalProperties": false});
    let mut request = asked(model, vec![Message::user("What is 2 plus 3? Reply as JSON.")]);
    request.response_schema = Some(("answer".into(), Arc::new(schema)));
    let reply = ask(model, &request, true).await?;
    say(&format!("  structured: {:?}", reply.text));
    let text = reply.text.as_deref().unwrap_or_default().trim_end_matches("<|im_end|>");
    let fits = serde_json::from_str::<serde_json::Value>(text).is_ok_and(|value| value["sum"].is_i64());
    assert!(fits || !held, "{text}");
    Ok(())
}

#[tokio::test]
#[ignore = "needs a llama-server at WINDLASS_PEER"]
async fn peer_speaks_each_of_its_wires() {
    let mut failed = Vec::new();
    for wire in WIRES.iter().copied().filter(|wire| SPOKEN.contains(&wire.facts().name)) {
        let name = wire.facts().name;
        say(name);
        let model = model(wire);
        let models = model.list_models().await;
        say(&format!("  models: {models:?}"));
        let plain = asked(&model, vec![Message::user("Say hello.")]);
        failed.extend(conforms(&model, &plain).await.err().map(|broken| format!("{name}: {broken}")));
        let results = [
            ("tools", calls_tools(&model).await),
            ("limit", cut_off(&model).await),
            ("structured", structured(&model, name == "openai_chat").await),
        ];
        for (what, result) in results {
            failed.extend(result.err().map(|failure| format!("{name}, {what}: {failure:?}")));
        }
        let required = ModelRequest { choice: ToolChoice::Required, ..with_tools(plain) };
        let reply = ask(&model, &required, true).await;
        say(&format!("  required: {reply:?}"));
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
