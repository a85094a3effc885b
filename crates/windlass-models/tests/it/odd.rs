//! Replies of recorded traffic that once cost a run, a call or a signature.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::message::{AssistantMessage, ProviderMetadata, ToolCall, ToolMessage};
use windlass_core::model::FailureKind;
use windlass_core::{Message, message::Reasoning};
use windlass_models::http::replay;
use windlass_models::wires::anthropic_messages::AnthropicMessages;
use windlass_models::wires::openai_chat::OpenAiChat;
use windlass_models::wires::openai_responses::OpenAiResponses;
use windlass_models::wires::{Asked, Dialect, Wire, wire};
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
    let sealed =
        reply.reasoning.and_then(|reasoning| reasoning.provider_metadata).expect("its maker is known");
    let messages = |sealed: ProviderMetadata| {
        let calls =
            vec![ToolCall { id: long.into(), name: "f".into(), args: "{}".into(), ..ToolCall::default() }];
        let reasoning = Some(Reasoning { text: "".into(), provider_metadata: Some(sealed) });
        let said = AssistantMessage { calls, reasoning, ..AssistantMessage::default() };
        let result = ToolMessage { call: long.into(), name: "f".into(), content: "7".into(), failed: false };
        vec![Message::user("Hi"), Message::Assistant(said), Message::Tool(result)]
    };
    let other = ProviderMetadata { provider: "other".into(), ..sealed.clone() };
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
fn k54_content_that_is_another_json_value_is_its_text() {
    for (content, text) in [
        (json!({"answer": 4}), Some("{\"answer\":4}")),
        (json!({"type": "text", "text": "Hi"}), Some("Hi")),
        (json!({"type": "person", "text": "Ann"}), Some("{\"type\":\"person\",\"text\":\"Ann\"}")),
        (json!(42), Some("42")),
        (json!(-1.5), Some("-1.5")),
        (json!(true), Some("true")),
        (json!(["a", "b", null, {"type": "text", "text": "c"}, {"type": "news"}]), Some("abc")),
        (json!(["a", {"b": 1}, 7, [1, 2]]), Some("a{\"b\":1}7[1,2]")),
        (json!([]), None),
        (json!(null), None),
    ] {
        let reply = decoded(
            &json!({"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": content}}]}),
        );
        assert_eq!(reply.text.as_deref(), text, "{content}");
        let chunks = format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":{content}}}}}]}}\n\n\
             data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\n"
        );
        assert_eq!(streamed("openai_chat", &chunks).text.as_deref(), text, "{content} in a chunk");
    }
}

fn streamed(name: &str, stream: &str) -> windlass_core::model::Reply {
    let asked = Asked { model: "test/m".into(), content_bytes: 0 };
    let dialect = Dialect { label: "test".into(), ..Dialect::default() };
    let reply = replay(wire(name).expect("it is there"), &dialect, &asked, [stream.as_bytes()]);
    reply.expect(stream)
}

/// What a reply can be understood without, in types that no API promises.
const FOREIGN: [(&str, &str); 5] = [
    (
        "openai_chat",
        "data: {\"id\":5,\"created\":\"x\",\"model\":{\"a\":1},\"choices\":[{\"index\":\"0\",\"delta\":{\"role\":3,\"content\":\"Hi\",\"refusal\":5,\"reasoning\":{}},\"logprobs\":\"x\"}]}\n\n\
         data: {\"choices\":[{\"index\":\"0\",\"delta\":{\"refusal\":{},\"tool_calls\":[{\"index\":\"0\",\"id\":7,\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n\
         data: {\"choices\":[],\"x_groq\":\"x\",\"usage\":{\"prompt_tokens\":10.0,\"completion_tokens\":\"5\",\"prompt_tokens_details\":\"x\",\"completion_tokens_details\":[1]}}\n\n",
    ),
    (
        "openai_responses",
        "data: {\"type\":\"response.created\",\"response\":{\"id\":5,\"usage\":\"x\"}}\n\n\
         data: {\"type\":\"response.output_text.delta\",\"item_id\":7,\"output_index\":\"0\",\"content_index\":{},\"delta\":\"Hi\"}\n\n\
         data: {\"type\":\"response.output_item.done\",\"output_index\":\"1\",\"item\":{\"type\":\"function_call\",\"id\":1,\"call_id\":7,\"name\":\"f\",\"arguments\":\"{}\"}}\n\n\
         data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":5,\"usage\":{\"input_tokens\":\"10\",\"output_tokens\":5.0,\"input_tokens_details\":\"x\"}}}\n\n",
    ),
    (
        "anthropic_messages",
        "data: {\"type\":\"message_start\",\"message\":{\"id\":5,\"usage\":{\"input_tokens\":\"10\",\"cache_creation\":5,\"cache_read_input_tokens\":\"x\"}}}\n\n\
         data: {\"type\":\"content_block_start\",\"index\":\"0\",\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
         data: {\"type\":\"content_block_delta\",\"index\":\"0\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n\
         data: {\"type\":\"content_block_stop\",\"index\":\"0\"}\n\n\
         data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":7,\"name\":\"f\",\"input\":{}}}\n\n\
         data: {\"type\":\"content_block_stop\",\"index\":1}\n\n\
         data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_details\":\"x\"},\"usage\":{\"output_tokens\":5.0,\"output_tokens_details\":\"x\",\"iterations\":5}}\n\n\
         data: {\"type\":\"message_stop\"}\n\n",
    ),
    (
        "gemini",
        "data: {\"promptFeedback\":\"x\",\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\",\"thought\":\"false\",\"thoughtSignature\":5}]}}]}\n\n\
         data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":7,\"name\":\"f\",\"args\":{}}}]},\"finishReason\":\"STOP\",\"finishMessage\":5}],\"usageMetadata\":{\"promptTokenCount\":\"10\",\"candidatesTokenCount\":5.0,\"cachedContentTokenCount\":{}}}\n\n",
    ),
    (
        "ollama",
        "{\"message\":{\"content\":\"Hi\",\"thinking\":5,\"tool_calls\":[{\"id\":7,\"function\":{\"name\":\"f\",\"arguments\":{}}}]},\"done\":\"false\"}\n\
         {\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":\"10\",\"eval_count\":5.0}\n",
    ),
];

#[test]
fn a_field_of_another_type_costs_no_reply() {
    for (name, stream) in FOREIGN {
        let reply = streamed(name, stream);
        assert_eq!(reply.text.as_deref(), Some("Hi"), "{name}");
        assert_eq!(reply.calls.len(), 1, "{name}: {reply:?}");
        assert_eq!((&*reply.calls[0].name, &*reply.calls[0].args), ("f", "{}"), "{name}");
        assert_eq!((reply.usage.input, reply.usage.output), (10, 5), "{name}: {reply:?}");
    }
}

/// A stream in which a wire's server makes a call of that id.
fn made(name: &str, id: &str) -> String {
    if name == "anthropic_messages" {
        return format!(
            "data: {{\"type\":\"message_start\",\"message\":{{\"id\":\"m\",\"usage\":{{\"input_tokens\":5}}}}}}\n\n\
             data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"f\",\"input\":{{}}}}}}\n\n\
             data: {{\"type\":\"content_block_stop\",\"index\":0}}\n\n\
             data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"tool_use\"}},\"usage\":{{\"output_tokens\":3}}}}\n\n"
        );
    }
    let item = format!(
        "{{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"{id}\",\"name\":\"f\",\"arguments\":\"{{}}\",\"status\":\"completed\"}}"
    );
    format!(
        "data: {{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{item}}}\n\n\
         data: {{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{item}}}\n\n\
         data: {{\"type\":\"response.completed\",\"response\":{{\"status\":\"completed\",\"output\":[{item}]}}}}\n\n"
    )
}

#[test]
fn k52_odd_ids_go_back_to_their_maker_as_they_came_on_every_wire() {
    let long = format!("call_{}", "y".repeat(66));
    for (name, ids) in [
        ("anthropic_messages", [&*long, "functions.echo:0", "with space"]),
        ("openai_responses", [&*long, "functions/echo", "with space"]),
    ] {
        for id in ids {
            let reply = streamed(name, &made(name, id));
            let sealed = reply
                .reasoning
                .and_then(|reasoning| reasoning.provider_metadata)
                .expect("its maker is known");
            let other = ProviderMetadata { provider: "other".into(), ..sealed.clone() };
            for (sealed, own) in [(sealed, true), (other, false)] {
                let call =
                    ToolCall { id: id.into(), name: "f".into(), args: "{}".into(), ..ToolCall::default() };
                let reasoning = Some(Reasoning { text: "".into(), provider_metadata: Some(sealed) });
                let said = AssistantMessage { calls: vec![call], reasoning, ..AssistantMessage::default() };
                let result =
                    ToolMessage { call: id.into(), name: "f".into(), content: "7".into(), failed: false };
                let mut asked = request(false);
                let messages = [Message::user("Hi"), Message::Assistant(said), Message::Tool(result)];
                asked.messages = messages.into_iter().map(Arc::new).collect();
                let dialect = Dialect { label: "test".into(), ..Dialect::default() };
                let body = wire(name).expect("it is there").encode(&dialect, &asked).body;
                let body: Value = serde_json::from_slice(&body).expect("JSON");
                let (call, result) = if name == "anthropic_messages" {
                    (
                        &body["messages"][1]["content"][0]["id"],
                        &body["messages"][2]["content"][0]["tool_use_id"],
                    )
                } else {
                    (&body["input"][1]["call_id"], &body["input"][2]["call_id"])
                };
                assert_eq!(call, result, "{name}: the result answers the call");
                assert_eq!(*call == id, own, "{name}: {call}");
            }
        }
    }
    for name in ["anthropic_messages", "openai_responses"] {
        let reply = streamed(name, &made(name, "call_1"));
        assert!(reply.reasoning.is_none(), "{name}: an ordinary id has nothing kept for it");
    }
}
