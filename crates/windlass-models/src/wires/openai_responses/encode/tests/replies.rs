//! Replies go back as they came.

use super::*;

/// A message that was made of a reply, as the core makes it: a call without a usable id gets one.
pub(super) fn message_of(reply: &Reply) -> AssistantMessage {
    let calls = reply.calls.iter().enumerate().map(|(at, call)| ToolCall {
        id: call.id.as_deref().map_or_else(|| format!("made_{at}").into(), Into::into),
        name: call.name.clone(),
        args: (&*call.args).into(),
        ..ToolCall::default()
    });
    AssistantMessage {
        text: reply.text.clone(),
        reasoning: reply.reasoning.clone(),
        media: reply.media.clone().into(),
        calls: calls.collect(),
        annotations: reply.annotations.clone(),
    }
}

pub(super) fn decoded(dialect: &Dialect, json: &str) -> Reply {
    let asked = Asked { model: "m".into(), content_bytes: 0 };
    decode(dialect, json.as_bytes(), &asked).expect("a reply")
}

/// A whole reply of the corpus, and the reply that it is.
fn recorded(name: &str) -> (Value, Reply) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/openai_responses");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).expect("a file");
    let reply = decoded(&dialect(), &text);
    (serde_json::from_str(&text).expect("JSON"), reply)
}

/// Takes out what does not go back: probabilities of tokens.
fn without_logprobs(items: &Value) -> Value {
    let mut items = items.clone();
    for item in items.as_array_mut().into_iter().flatten() {
        let Some(content) = item.get_mut("content").and_then(Value::as_array_mut) else { continue };
        for part in content.iter_mut().filter_map(Value::as_object_mut) {
            part.remove("logprobs");
        }
    }
    items
}

#[test]
fn e44_items_that_the_provider_needs_go_back_unchanged() {
    for name in [
        "reasoning_encrypted_without_text",
        "reasoning_summary",
        "reasoning_twice",
        "reasoning_text",
        "refusal",
        "text_then_refusal",
        "phase_commentary",
        "phase_commentary_and_answer",
        "incomplete_content_filter",
        "web_search",
        "image_generation",
        "tool_search",
        "file_search",
        "code_interpreter",
        "mcp",
        "mcp_approval_request",
        "custom_tool_call",
        "shell_calls",
        "shell_in_container",
        "compaction",
        "unknown_item",
        "interleaved",
    ] {
        let (whole, reply) = recorded(name);
        let said = message_of(&reply);
        let sent = items(vec![Message::Assistant(said.clone())]);
        assert_eq!(without_logprobs(&sent), without_logprobs(&whole["output"]), "{name}");
        // For another provider, only what it can read.
        let other = Dialect { label: "other".into(), ..Dialect::default() };
        let foreign = body_in(&other, &request(vec![Message::Assistant(said)]));
        for item in &foreign["input"].as_array().expect("a list")[1..] {
            assert!(matches!(item["type"].as_str(), Some("message" | "function_call")), "{name}: {item}");
            assert_eq!(item.get("id"), None, "{name}");
        }
    }
}

#[test]
fn a_plain_reply_goes_back_without_ids() {
    let assistant = |text: &str| json!({"type": "message", "role": "assistant", "content": text});
    for (name, sent) in [
        ("text", json!([assistant("Hello there, Zürich! 🦀\nBye.")])),
        (
            "call",
            json!([{"type": "function_call", "call_id": "call_01", "name": "get_weather",
            "arguments": "{\"city\":\"Zürich\",\"days\":3}"}]),
        ),
        ("reasoning_summary_without_seal", json!([assistant("Done.")])),
    ] {
        assert_eq!(items(vec![Message::Assistant(message_of(&recorded(name).1))]), sent, "{name}");
    }
}

#[test]
fn reasoning_without_its_item_stays_out_and_takes_the_ids_along() {
    // The first reasoning cannot go back: the provider would miss it beside an id that it knows.
    let reply = decoded(
        &dialect(),
        r#"{"status":"completed","output":[
            {"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"One."}]},
            {"id":"msg_1","type":"message","role":"assistant","status":"completed","phase":"commentary",
                "content":[{"type":"output_text","text":"A."}]},
            {"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"f","arguments":"{}"},
            {"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":"e"}]}"#,
    );
    assert_eq!(
        items(vec![Message::Assistant(message_of(&reply))]),
        json!([{"type": "message", "phase": "commentary", "role": "assistant",
                "content": [{"type": "output_text", "text": "A.", "annotations": []}]},
            {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}])
    );
}

#[test]
fn reasoning_that_nothing_followed_stays_out() {
    let (_, reply) = recorded("incomplete_in_reasoning");
    let sent = items(vec![Message::Assistant(message_of(&reply)), Message::user("Go on.")]);
    assert_eq!(sent, json!([{"type": "message", "role": "user", "content": "Go on."}]));
}

#[test]
fn a_changed_reply_goes_back_without_what_was_kept() {
    let (_, reply) = recorded("reasoning_summary");
    let mut said = message_of(&reply);
    said.text = Some("Edited.".into());
    let sent = items(vec![Message::Assistant(said)]);
    assert_eq!(sent[0], json!({"type": "message", "role": "assistant", "content": "Edited."}));
    assert_eq!((sent[1].get("id"), sent.as_array().map(Vec::len)), (None, Some(2)));
}

#[test]
fn results_of_calls_that_are_no_functions_have_their_own_form() {
    let (_, reply) = recorded("shell_calls");
    let said = Message::Assistant(message_of(&reply));
    let results = |failed| {
        let of = |id: &str| result_of(id, "out", failed);
        let sent = items(vec![said.clone(), of("call_01"), of("call_02"), of("call_03")]);
        sent.as_array().expect("a list")[3..].to_vec()
    };
    assert_eq!(
        Value::from(results(false)),
        json!([
            {"type": "local_shell_call_output", "id": "call_01", "output": "out"},
            {"type": "shell_call_output", "call_id": "call_02",
                "output": [{"outcome": {"type": "exit", "exit_code": 0}, "stdout": "out", "stderr": ""}]},
            {"type": "apply_patch_call_output", "call_id": "call_03", "status": "completed", "output": "out"}
        ])
    );
    let failed = results(true);
    assert_eq!(failed[1]["output"][0]["stderr"], "out");
    assert_eq!(failed[2]["status"], "failed");
    let (_, custom) = recorded("custom_tool_call");
    let sent = items(vec![Message::Assistant(message_of(&custom)), result_of("call_01", "7", false)]);
    assert_eq!(sent[2], json!({"type": "custom_tool_call_output", "call_id": "call_01", "output": "7"}));
}

#[test]
fn an_image_whose_bytes_are_elsewhere_is_a_note() {
    let (_, reply) = recorded("image_generation");
    let mut said = message_of(&reply);
    said.media[0].source = MediaSource::Url("https://example.com/a.png".into());
    let sent = items(vec![Message::Assistant(said)]);
    assert_eq!(sent[0]["content"], "[image: image/png, https://example.com/a.png]");
}
