//! Plain calls: what goes over and what comes back, in both lifecycles.

use serde_json::{Value, json};
use windlass_core::message::Part;
use windlass_core::message::{Content, MediaSource};
use windlass_core::tool::Effect;
use windlass_tools::ToolError;
use windlass_tools::mcp::{Lifecycle, McpServer};

use crate::support::*;

#[tokio::test]
async fn tools_come_from_all_pages_with_prefix_schema_and_effect() {
    let mut config = config(&["normal"]);
    config.trust = true;
    let server = soon(McpServer::connect(config)).await.expect("a server");
    let tools = server.tools();
    assert_eq!(tools.len(), 18);
    assert!(tools.iter().all(|tool| tool.spec().name.starts_with("evil__") && tool.spec().checker().is_ok()));
    let effect = |name: &str| tool(&server, name).spec().effect;
    assert_eq!(
        (effect("echo"), effect("env"), effect("fail")),
        (Effect::ReadOnly, Effect::Idempotent, Effect::Once)
    );
    assert_eq!(server.instructions().as_deref(), Some("Mind the tools."));
    assert!(server.tools().into_iter().all(|tool| windlass_tools::ToolSet::new().add(tool).is_ok()));
}

#[tokio::test]
async fn both_lifecycles_are_spoken() {
    assert_eq!(connect(&["normal"]).await.lifecycle(), Lifecycle::Discover);
    let mut config = config(&["normal"]);
    config.lifecycle = Lifecycle::Initialize;
    let server = soon(McpServer::connect(config)).await.expect("a server");
    assert_eq!(server.lifecycle(), Lifecycle::Initialize);
    assert_eq!(text(&server, "echo", json!({"text": "hi"})).await, "hi");
}

#[tokio::test]
async fn the_idempotency_key_and_the_ids_are_in_meta() {
    for lifecycle in [Lifecycle::Discover, Lifecycle::Initialize] {
        let mut config = config(&["normal"]);
        config.lifecycle = lifecycle;
        let server = soon(McpServer::connect(config)).await.expect("a server");
        let meta: Value = serde_json::from_str(&text(&server, "meta", json!({})).await).expect("JSON");
        assert_eq!(meta["windlass/idempotency_key"], "key-9", "{meta}");
        assert_eq!(meta["windlass/run"], context().run.to_string());
        assert_eq!(meta["windlass/call"], "call-3");
    }
}

#[tokio::test]
async fn e47_images_resources_and_structured_content_arrive() {
    let server = connect(&["normal"]).await;
    let Ok(Content::Parts(parts)) = call(&server, "mixed", json!({})).await else { panic!("parts") };
    let [Part::Text { text: first }, Part::Image(image), Part::Text { text: last }] = parts.as_slice() else {
        panic!("{parts:?}");
    };
    assert_eq!((first.as_ref(), image.media_type.as_ref()), ("a picture", "image/png"));
    assert_eq!(image.source, MediaSource::Base64("aGk=".into()));
    assert_eq!(last.as_ref(), "[resource note://1]\nremember");
    assert_eq!(text(&server, "structured", json!({})).await, r#"{"sum":7}"#);
}

#[tokio::test]
async fn a_failed_tool_is_an_error_and_the_server_lives_on() {
    let server = connect(&["normal"]).await;
    let pid = text(&server, "pid", json!({})).await;
    assert_eq!(
        call(&server, "fail", json!({"text": "a.txt"})).await,
        Err(ToolError::new("no such file: a.txt"))
    );
    let refused = call(&server, "refuse", json!({"text": "grief"})).await.expect_err("refused");
    assert_eq!(refused.message.as_ref(), "refused with grief (JSON-RPC error -32603)");
    assert_eq!(refused.kind.as_deref(), Some("mcp_error"));
    assert_eq!(text(&server, "pid", json!({})).await, pid);
}

#[tokio::test]
async fn many_calls_at_once_get_each_their_own_answer() {
    let server = connect(&["normal"]).await;
    let echo = tool(&server, "echo");
    let calls = (0..200).map(|number| echo.call(context(), json!({"text": number.to_string()})));
    let answers = soon(futures_util::future::join_all(calls)).await;
    for (number, answer) in answers.into_iter().enumerate() {
        assert_eq!(text_of(answer), number.to_string());
    }
}

#[tokio::test]
async fn a_server_that_asks_is_told_that_there_is_nothing_to_get() {
    let mut config = config(&["normal"]);
    config.lifecycle = Lifecycle::Initialize;
    let server = soon(McpServer::connect(config)).await.expect("a server");
    let answers = text(&server, "ask", json!({})).await;
    assert!(answers.starts_with("0 roots; "), "{answers}");
    assert_eq!(
        answers.matches("-32601").count(),
        2,
        "sampling and elicitation are unknown methods: {answers}"
    );
}

#[tokio::test]
async fn a_dropped_or_cancelled_call_is_cancelled_at_the_server() {
    let server = connect(&["normal"]).await;
    let scratch = Scratch::new();
    let hang = tool(&server, "hang");
    let args = |name: &str| json!({"started": scratch.text(name), "cancelled": scratch.text(&format!("{name}-over"))});
    {
        let mut call = hang.call(context(), args("dropped"));
        tokio::select! {
            result = &mut call => panic!("{result:?}"),
            () = until("the call is there", || scratch.path("dropped").exists()) => {}
        }
    }
    until("the server knows that nobody waits", || scratch.path("dropped-over").exists()).await;

    let context = context();
    let cancelled = context.cancelled.clone();
    let call = hang.call(context, args("cancelled"));
    let cancel = async {
        until("the call is there", || scratch.path("cancelled").exists()).await;
        cancelled.cancel();
    };
    let (result, ()) = soon(futures_util::future::join(call, cancel)).await;
    assert_eq!(result.expect_err("cancelled").kind.as_deref(), Some("cancelled"));
    until("the server knows that it was cancelled", || scratch.path("cancelled-over").exists()).await;
    assert_eq!(text(&server, "echo", json!({"text": "still here"})).await, "still here");
}

#[tokio::test]
async fn arguments_that_are_no_object_are_not_sent() {
    let server = connect(&["normal"]).await;
    let error = call(&server, "echo", json!([1])).await.expect_err("no object");
    assert_eq!(error.message.as_ref(), "the arguments must be an object, not `[1]`");
}
