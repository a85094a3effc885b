//! Replies of recorded traffic that once cost a run, a call or a signature.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::message::{AssistantMessage, SealedReasoning, ToolCall, ToolMessage};
use windlass_core::model::FailureKind;
use windlass_core::{Message, message::Reasoning};
use windlass_models::wires::anthropic_messages::AnthropicMessages;
use windlass_models::wires::openai_chat::OpenAiChat;
use windlass_models::wires::openai_responses::OpenAiResponses;
use windlass_models::wires::{Asked, Dialect, Wire};
use windlass_models::{HttpModel, HttpModelConfig, Model, assemble};

use crate::server::{Server, chunk, request, stream_end, stream_head};

fn decoded(body: &Value) -> windlass_core::model::Reply {
    let dialect = Dialect { label: "test".into(), ..Dialect::default() };
    let asked = Asked { model: "test/m".into(), content_bytes: 0 };
    OpenAiChat.decode(&dialect, body.to_string().as_bytes(), &asked).expect("a reply")
}

#[tokio::test]
async fn k51_two_replies_in_one_stream_are_a_broken_stream() {
    let start = |id: &str| {
        format!(
            "data: {{\"type\":\"message_start\",\"message\":{{\"id\":\"{id}\",\"usage\":{{\"input_tokens\":5}}}}}}\n\n"
        )
    };
    let call = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"pay\",\"input\":{}}}\n\n\
        data: {\"type\":\"content_block_stop\",\"index\":0}\n\n";
    let end = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":3}}\n\n\
        data: {\"type\":\"message_stop\"}\n\n";
    let created =
        |id: &str| format!("data: {{\"type\":\"response.created\",\"response\":{{\"id\":\"{id}\"}}}}\n\n");
    let item = "data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"pay\",\"arguments\":\"{}\"}}\n\n";
    let done = "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[],\"usage\":{\"input_tokens\":5,\"output_tokens\":3}}}\n\n";
    let cases: [(&'static dyn Wire, String, String); 2] = [
        (
            &AnthropicMessages,
            [&start("a"), call, &start("b"), call, end].concat(),
            [&start("a"), call, &start("a"), end].concat(),
        ),
        (
            &OpenAiResponses,
            [&created("a"), item, &created("b"), item, done].concat(),
            [&created("a"), &created("a"), item, done].concat(),
        ),
    ];
    for (wire, two, one) in cases {
        for (body, broken) in [(&two, true), (&one, false)] {
            let server = Server::start(vec![stream_head(), chunk(body), stream_end()]).await;
            let config = HttpModelConfig {
                allow_proxy: false,
                ..HttpModelConfig::new(wire, "test", server.url.as_str())
            };
            let model = HttpModel::new(config).expect("a good base URL");
            match assemble(model.call(request(true)), "test/m").await {
                Ok(reply) => assert!(!broken && reply.calls.len() == 1, "{reply:?}"),
                Err(failure) => {
                    assert!(broken && failure.kind == FailureKind::Cut, "{failure:?}");
                    assert!(failure.message.contains("reply `b` begins within reply `a`"), "{failure}");
                }
            }
        }
    }
}

#[test]
fn k52_long_ids_go_back_to_their_maker_as_they_came() {
    let long = "tool_0_get_weather_forecast_for_the_whole_week_in_berlin";
    let reply = decoded(
        &json!({"choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "content": null,
        "tool_calls": [{"id": long, "type": "function", "function": {"name": "f", "arguments": "{}"}}]}}]}),
    );
    let sealed = reply.reasoning.and_then(|reasoning| reasoning.sealed).expect("its maker is known");
    let messages = |sealed: SealedReasoning| {
        let calls =
            vec![ToolCall { id: long.into(), name: "f".into(), args: "{}".into(), ..ToolCall::default() }];
        let reasoning = Some(Reasoning { text: "".into(), sealed: Some(sealed) });
        let said = AssistantMessage { calls, reasoning, ..AssistantMessage::default() };
        let result = ToolMessage { call: long.into(), name: "f".into(), content: "7".into(), failed: false };
        vec![Message::user("Hi"), Message::Assistant(said), Message::Tool(result)]
    };
    let other = SealedReasoning { provider: "other".into(), ..sealed.clone() };
    for (sealed, own) in [(sealed, true), (other, false)] {
        let mut asked = request(false);
        asked.messages = messages(sealed).into_iter().map(Arc::new).collect();
        let dialect = Dialect { label: "test".into(), ..Dialect::default() };
        let body: Value = serde_json::from_slice(&OpenAiChat.encode(&dialect, &asked).body).expect("JSON");
        let (call, result) =
            (&body["messages"][1]["tool_calls"][0]["id"], &body["messages"][2]["tool_call_id"]);
        assert_eq!(call, result, "the result answers the call");
        assert_eq!(*call == long, own, "{call}");
    }
}

#[test]
fn k53_an_empty_function_call_costs_no_signature() {
    for empty in [json!({}), json!({"name": "", "arguments": ""}), json!({"name": null, "arguments": "{}"})] {
        let reply = decoded(
            &json!({"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Hi",
            "function_call": empty, "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}}]}),
        );
        assert!(reply.calls.is_empty(), "{reply:?}");
        let said =
            AssistantMessage { text: reply.text, reasoning: reply.reasoning, ..AssistantMessage::default() };
        let mut asked = request(false);
        asked.messages = [Message::user("Hi"), Message::Assistant(said)].into_iter().map(Arc::new).collect();
        let dialect = Dialect { label: "test".into(), ..Dialect::default() };
        let body: Value = serde_json::from_slice(&OpenAiChat.encode(&dialect, &asked).body).expect("JSON");
        assert_eq!(body["messages"][1]["reasoning_details"][0]["data"], "x", "{body}");
    }
}

#[test]
fn k54_content_that_is_a_json_object_is_its_text() {
    for (content, text) in [
        (json!({"answer": 4}), Some("{\"answer\":4}")),
        (json!({"type": "text", "text": "Hi"}), Some("Hi")),
        (json!({"type": "person", "text": "Ann"}), Some("{\"type\":\"person\",\"text\":\"Ann\"}")),
        (json!(null), None),
    ] {
        let reply = decoded(
            &json!({"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": content}}]}),
        );
        assert_eq!(reply.text.as_deref(), text, "{content}");
    }
}
