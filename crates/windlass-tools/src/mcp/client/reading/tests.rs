use serde_json::json;

use super::*;

fn line(text: &str) -> Read {
    read(text)
}

/// The text of the answer's items, or its error.
fn answer(text: &str) -> Result<Value, ErrorData> {
    match line(text) {
        Read::Answer(answer) => match answer.to(RequestId::Number(1)) {
            Incoming::Response(response) => Ok(serde_json::to_value(response.result).expect("JSON")),
            Incoming::Error(error) => Err(error.error),
            other => panic!("{text}: {other:?}"),
        },
        other => panic!("{text}: {other:?}"),
    }
}

fn content(items: &str) -> Value {
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":{items}}}}}"#);
    answer(&text).expect("a result")["content"].clone()
}

#[test]
fn e46_stray_text_is_told_from_answers_that_cannot_be_read() {
    for stray in [
        "Server ready.",
        "[INFO] up",
        "{\"level\":30,\"msg\":\"hi\"}",
        "42",
        "{ not json",
        "{\"id\":3,\"error\":\"x\",\"level\":5}",
    ] {
        assert!(matches!(line(stray), Read::Stray), "{stray}");
    }
    for (broken, id) in [
        ("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[", Some(3)),
        ("{\"jsonrpc\":\"2.0\",\"result\":{\"content\":[", None),
        ("{\"jsonrpc\":\"2.0\",\"id\":3}", Some(3)),
        ("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":null}", Some(3)),
        ("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{},\"error\":{\"code\":1,\"message\":\"x\"}}", Some(3)),
    ] {
        let Read::Answer(answer) = line(broken) else { panic!("{broken}") };
        assert_eq!(answer.id, id.map(RequestId::Number), "{broken}");
        assert!(answer.error().and_then(unreadable).is_some(), "{broken}");
    }
    assert!(matches!(line("{\"jsonrpc\":\"2.0\",\"method\":7}"), Read::Foreign));
    let message = "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}";
    assert!(matches!(line(message), Read::Message(_)));
}

#[test]
fn e46_nulls_beside_the_answer_are_absent() {
    let result = answer(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false},"error":null}"#);
    assert_eq!(result.expect("a result")["isError"], json!(false));
    let error = answer(r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-32000,"message":"m"}}"#);
    assert_eq!(error.expect_err("an error"), ErrorData::new(ErrorCode(-32000), "m", None));
    assert!(answer(r#"{"id":1,"result":{"content":[]}}"#).is_ok(), "no version, and nothing but an answer");
    assert!(answer(r#"[{"jsonrpc":"2.0","id":1,"result":{"content":[]}}]"#).is_ok(), "a batch of one");
}

#[test]
fn e46_errors_in_other_forms_keep_what_they_say() {
    for (error, code, message) in [
        (r#""out of disk""#, -32603, "out of disk"),
        (r#"{"code":"-32602","message":"m"}"#, -32602, "m"),
        (r#"{"code":"ENOENT","message":"no file"}"#, -32603, "ENOENT: no file"),
        (r#"{"code":-32000.0,"message":null}"#, -32000, "it gave no message"),
        (r#"{"code":99999999999,"message":"m"}"#, -32603, "99999999999: m"),
        (r#"{"message":{"why":"x"}}"#, -32603, r#"{"why":"x"}"#),
        (r#"{"reason":"x"}"#, -32603, r#"{"reason":"x"}"#),
        ("42", -32603, "42"),
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#);
        let found = answer(&text).expect_err("an error");
        assert_eq!((found.code.0, found.message.as_ref()), (code, message), "{error}");
        assert_eq!(unreadable(&found), None);
    }
}

#[test]
fn e46_readable_items_stay_and_a_note_stands_for_the_others() {
    let note = |kind: &str| json!({"type": "text", "text": format!("[an item of type {kind} was omitted: it cannot be read]")});
    let good = json!({"type": "text", "text": "good"});
    for (item, becomes) in [
        (r#"{"type":"hologram","data":1}"#, note("hologram")),
        (r#"{"type":"text"}"#, note("text")),
        (r#"{"type":"text","text":42}"#, json!({"type": "text", "text": "42"})),
        (r#"{"text":"x"}"#, json!({"type": "text", "text": "x"})),
        (r#""bare""#, json!({"type": "text", "text": "bare"})),
        (r#"{"type":"text","text":"x","annotations":7}"#, json!({"type": "text", "text": "x"})),
        (r#"{"type":"text","text":"a\ud83d"}"#, json!({"type": "text", "text": "a\u{fffd}"})),
        (r#"{"type":"image","data":7,"mimeType":"image/png"}"#, note("image")),
        (
            r#"{"type":"image","data":"aGk=","mimeType":"image/png","annotations":[]}"#,
            json!({"type": "image", "data": "aGk=", "mimeType": "image/png"}),
        ),
        ("null", note("unnamed")),
    ] {
        let items = content(&format!(r#"[{item}, {{"type":"text","text":"good"}}]"#));
        assert_eq!(items, json!([becomes, good]), "{item}");
    }
    assert_eq!(content(r#""only text""#), json!([{"type": "text", "text": "only text"}]));
}

#[test]
fn a_quoted_message_is_short() {
    assert_eq!(quoted("abc"), "\"abc\"");
    assert_eq!(quoted(&"é".repeat(500)).chars().count(), QUOTED_CHARS + 3);
}
