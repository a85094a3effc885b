use std::sync::Arc;

use serde_json::{Value, json};
use windlass_text::steps::{Shape, doubling, taken};

use crate::codec::by_schema::alternatives::{Wanted, alternatives};
use crate::codec::by_schema::pieces::AnswerPieces;
use crate::codec::by_schema::prompt::object_prompt;
use crate::codec::by_schema::{ParsedReply, object_message, read, rebuilt};
use crate::policy::results::Results;
use crate::vocabulary::message::{AssistantMessage, Message, ToolCall};
use crate::vocabulary::purpose::ToolChoice;
use crate::vocabulary::reply::{AnswerForm, StopReason};
use crate::vocabulary::tool::ToolSpec;

fn tool(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec::new(name, "It does.", parameters)
}

fn echo() -> ToolSpec {
    tool("echo", json!({ "type": "object", "properties": { "t": { "type": "string" } }, "required": ["t"] }))
}

fn form_of_call(name: &str, args: &Value) -> Value {
    json!({
        "type": "object",
        "properties": { "tool": { "type": "string", "const": name, "enum": [name] }, "arguments": args },
        "required": ["tool", "arguments"],
        "additionalProperties": false,
    })
}

fn form_of_answer(answer: &Value) -> Value {
    json!({
        "type": "object", "properties": { "answer": answer }, "required": ["answer"], "additionalProperties": false,
    })
}

/// The forms that a schema has.
fn forms(schema: &Value) -> Vec<Value> {
    assert_eq!(
        (&schema["type"], &schema["required"], &schema["additionalProperties"]),
        (&json!("object"), &json!(["reply"]), &json!(false)),
        "an object at the root, as strict schemas want it"
    );
    let reply = &schema["properties"]["reply"];
    reply["anyOf"].as_array().cloned().unwrap_or_else(|| vec![reply.clone()])
}

#[test]
fn a_schema_has_one_form_a_tool_and_one_for_the_answer() {
    let mut hidden = tool("hidden", json!({}));
    hidden.offer = crate::vocabulary::tool::Offer::Withheld;
    let tools = [echo(), hidden, tool("now", json!({}))];
    let calls =
        || vec![form_of_call("echo", &echo().parameters), form_of_call("now", &json!({ "type": "object" }))];
    let text = form_of_answer(&json!({ "type": "string" }));
    let of = |choice: &ToolChoice, answer| forms(&alternatives(&tools, choice, answer));
    let with_text: Vec<Value> = calls().into_iter().chain([text.clone()]).collect();
    assert_eq!(of(&ToolChoice::Auto, Some(Wanted::Text)), with_text);
    assert_eq!(of(&ToolChoice::Required, Some(Wanted::Text)), calls());
    assert_eq!(of(&ToolChoice::Auto, None), calls(), "only a call of the finish tool ends the run");
    assert_eq!(of(&ToolChoice::Named("now".into()), Some(Wanted::Text)), calls().split_off(1));
    assert_eq!(of(&ToolChoice::None, Some(Wanted::Text)), std::slice::from_ref(&text));
    assert_eq!(of(&ToolChoice::None, None), [text], "a reply has at least one form");
    let output = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    assert_eq!(of(&ToolChoice::None, Some(Wanted::Output(&output))), [form_of_answer(&output)]);
}

fn references(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| *key != "default")
            .flat_map(|(key, value)| match value {
                Value::String(reference) if key == "$ref" => vec![reference.clone()],
                other => references(other),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn references_lead_to_the_definitions_of_the_whole() {
    let list = json!({ "type": "object", "properties": { "next": { "$ref": "#/$defs/list" } },
        "default": { "$ref": "#/data" } });
    let tree =
        json!({ "type": "object", "properties": { "kids": { "type": "array", "items": { "$ref": "#" } } } });
    let tools = [
        tool(
            "one",
            json!({ "$defs": { "list": list }, "type": "object", "properties": { "l": { "$ref": "#/$defs/list" } } }),
        ),
        tool("two", tree),
    ];
    let schema = alternatives(&tools, &ToolChoice::Required, None);
    let mut all = references(&schema);
    all.sort();
    all.dedup();
    assert_eq!(all, ["#/$defs/t0_$defs_list", "#/$defs/t1"]);
    assert!(
        all.iter().all(|reference| schema.pointer(reference.trim_start_matches('#')).is_some()),
        "{schema}"
    );
    assert_eq!(forms(&schema)[1]["properties"]["arguments"], json!({ "$ref": "#/$defs/t1" }));
    let nested = json!({ "reply": { "tool": "two", "arguments": { "kids": [{ "kids": [{}] }] } } });
    let wrong = json!({ "reply": { "tool": "two", "arguments": { "kids": [{ "kids": 1 }] } } });
    let fits = |value: &Value| jsonschema::validator_for(&schema).expect("a schema").is_valid(value);
    assert!(fits(&nested) && !fits(&wrong));
    let linked = json!({ "reply": { "tool": "one", "arguments": { "l": { "next": { "next": {} } } } } });
    assert!(
        fits(&linked) && !fits(&json!({ "reply": { "tool": "one", "arguments": { "l": { "next": 1 } } } }))
    );
}

#[test]
fn the_prompt_names_tools_and_forms() {
    let prompt = [Arc::new(Message::system("Be brief.")), Arc::new(Message::assistant("ok"))];
    let written = object_prompt(&prompt, &[echo()], Some(Wanted::Text), &Results::default());
    let Message::System { text } = &*written[0] else { panic!("{written:?}") };
    assert_eq!(
        &**text,
        "Be brief.\n\n## Available Tools\n- **echo**: It does.\n  Parameters: \
         {\"type\":\"object\",\"properties\":{\"t\":{\"type\":\"string\"}},\"required\":[\"t\"]}\n\
         Every reply is one JSON object and nothing else.\n\
         To use a tool, reply in this form; its result comes with the next message:\n\
         {\"reply\": {\"tool\": \"tool_name\", \"arguments\": {\"arg1\": \"value1\"}}}\n\
         Use one tool at a time.\nTo answer, reply in this form:\n{\"reply\": {\"answer\": \"your answer\"}}"
    );
    assert_eq!(*written[1], Message::assistant("{\"reply\":{\"answer\":\"ok\"}}"));
    let output = json!({ "type": "integer" });
    let typed = object_prompt(&[], &[echo()], Some(Wanted::Output(&output)), &Results::default());
    let Message::System { text } = &*typed[0] else { panic!("{typed:?}") };
    assert!(text.ends_with("with a value of this schema:\n{\"type\":\"integer\"}"), "{text}");
    let finishing = object_prompt(&[], &[echo()], None, &Results::default());
    let Message::System { text } = &*finishing[0] else { panic!("{finishing:?}") };
    assert!(!text.contains("answer"), "{text}");
}

#[test]
fn what_a_model_wrote_goes_back_as_it_came_and_the_rest_as_it_would_have() {
    let call = ToolCall { name: "echo".into(), args: "{\"t\":1}".into(), ..ToolCall::default() };
    let sent = |said: AssistantMessage, form| match object_message(
        &Message::Assistant(said),
        &Results::default(),
        form,
    )
    .into_owned()
    {
        Message::Assistant(said) => said.text.unwrap_or_default().to_string(),
        other => panic!("{other:?}"),
    };
    let text = |text: &str| AssistantMessage { text: Some(text.into()), ..AssistantMessage::default() };
    assert_eq!(sent(text("a \"b\""), AnswerForm::Text), r#"{"reply":{"answer":"a \"b\""}}"#);
    assert_eq!(sent(text("{\"n\": 1}"), AnswerForm::Output), r#"{"reply":{"answer":{"n": 1}}}"#);
    assert_eq!(sent(text("no JSON"), AnswerForm::Output), r#"{"reply":{"answer":"no JSON"}}"#);
    let native = AssistantMessage { calls: vec![call.clone(), call.clone()], ..text("So:") };
    let line = r#"{"reply":{"tool":"echo","arguments":{"t":1}}}"#;
    assert_eq!(sent(native, AnswerForm::Text), format!("So:\n{line}\n{line}"));
    let raw = " {\"reply\" : {\"tool\":\"echo\",\"arguments\":{}}}";
    let read = AssistantMessage {
        calls: vec![ToolCall { place: Some(crate::vocabulary::call_args::Span(0, raw.len())), ..call }],
        ..text(raw)
    };
    assert_eq!(sent(read, AnswerForm::Text), raw);
}

/// Replies, what they are as a text and as an output.
const REPLIES: [(&str, &str, &str); 16] = [
    (r#"{"reply":{"answer":"hi"}}"#, "=hi", "=\"hi\""),
    ("```json\n{\"reply\": {\"answer\": \"hi\"}}\n```", "=hi", "=\"hi\""),
    (r#"{"answer":"hi"}"#, "=hi", "=\"hi\""),
    (
        r#" { "reply" : { "answer" : "a\n\"b\" \u00e9 \ud83d\ude00 \/" } } "#,
        "=a\n\"b\" é 😀 /",
        r#"="a\n\"b\" \u00e9 \ud83d\ude00 \/""#,
    ),
    (r#"{"reply":{"answer":{"n":[1, "}"]} }}"#, r#"={"n":[1, "}"]}"#, r#"={"n":[1, "}"]}"#),
    (r#"{"reply":{"answer":42}}"#, "=42", "=42"),
    (r#"{"reply":{"answer":""}}"#, "=", "=\"\""),
    (r#"{"more":{"answer":"no"},"reply":{"x":["answer"],"answer":"hi"}}"#, "=hi", "=\"hi\""),
    (
        r#"{"reply":{"tool":"echo","arguments":{"answer":"no"}}}"#,
        "echo {\"answer\":\"no\"}",
        "echo {\"answer\":\"no\"}",
    ),
    (r#"{"tool":"echo","arguments":{ "t": 1 }}"#, "echo { \"t\": 1 }", "echo { \"t\": 1 }"),
    (r#"{"reply":{"tool":"echo"}}"#, "echo {}", "echo {}"),
    (r#"{"reply":{"tool":1}}"#, "!the tool's name is no text", "!the tool's name is no text"),
    (
        r#"{"reply":{"tool":"a","answer":"b"}}"#,
        "!it has a tool and an answer",
        "!it has a tool and an answer",
    ),
    (r#"{"reply":{}}"#, "!it has neither a tool nor an answer", "!it has neither a tool nor an answer"),
    (r#"{"reply": {"tool": "ec"#, "!it is not valid JSON", "!it is not valid JSON"),
    ("I would say: 4", "prose", "prose"),
];

fn shown(text: &str, form: AnswerForm) -> String {
    match read(&text.into(), form) {
        ParsedReply::Call(call) => format!("{} {}", call.name, &*call.args),
        ParsedReply::Answer(answer) => format!("={answer}"),
        ParsedReply::Neither(fault) => format!("!{}", fault.split(':').next().unwrap_or_default()),
        ParsedReply::Prose => "prose".to_owned(),
    }
}

#[test]
fn replies_are_calls_answers_or_neither() {
    for (reply, text, output) in REPLIES {
        assert_eq!(shown(reply, AnswerForm::Text), text, "{reply}");
        assert_eq!(shown(reply, AnswerForm::Output), output, "{reply}");
    }
    assert_eq!(shown(r#"{"tool":"echo","answer":null}"#, AnswerForm::Text), "echo {}");
    assert_eq!(shown(r#"{"tool":null,"answer":null}"#, AnswerForm::Output), "=null");
}

/// E13, E15: the answer in pieces is the answer of the whole, wherever the reply is cut.
#[test]
fn e15_pieces_of_an_answer_are_the_answer() {
    for (reply, text, output) in REPLIES {
        for (form, wanted) in [(AnswerForm::Text, text), (AnswerForm::Output, output)] {
            let wanted = wanted.strip_prefix('=').unwrap_or_default();
            // A reply with both is no answer, though it may begin as one.
            if text.starts_with("!it has a tool and") {
                continue;
            }
            let chars: Vec<char> = reply.chars().collect();
            for cut in 0..=chars.len() {
                let mut pieces = AnswerPieces::of(form);
                let (one, other): (String, String) =
                    (chars[..cut].iter().collect(), chars[cut..].iter().collect());
                assert_eq!(pieces.push(&one) + &pieces.push(&other), wanted, "{reply} at {cut}");
            }
            let mut pieces = AnswerPieces::of(form);
            let each: String = chars.iter().map(|c| pieces.push(&c.to_string())).collect();
            assert_eq!(each, wanted, "{reply}");
            assert_eq!(pieces.anew().push(reply), wanted, "{reply}");
        }
    }
}

/// A replay reads the answer that was stored.
#[test]
fn a_rebuilt_reply_is_read_as_its_answer() {
    for form in [AnswerForm::Text, AnswerForm::Output] {
        for answer in ["", "4", "{\"n\": [1, \"}\"]}", "\"a\\\"b\"", "null", "true"] {
            let whole = rebuilt(answer, form, StopReason::Stop);
            if !(form == AnswerForm::Output && answer.is_empty()) {
                assert_eq!(shown(&whole, form), format!("={answer}"), "{whole}");
            }
            let cut = rebuilt(answer, form, StopReason::Length);
            let mut pieces = AnswerPieces::of(form);
            assert_eq!(pieces.push(&cut), answer, "{cut}");
        }
    }
}

#[test]
fn reading_costs_the_length_of_the_reply() {
    let shapes: [Shape; 3] = [
        ("a long answer", |n| format!("{{\"reply\":{{\"answer\":\"{}\"}}}}", "a".repeat(n))),
        ("long arguments", |n| format!("{{\"tool\":\"a\",\"arguments\":[{}1]}}", "1, ".repeat(n))),
        ("many members", |n| {
            let members: Vec<String> = (0..n).map(|at| format!("\"x{at}\":1,")).collect();
            format!("{{{}\"answer\":1}}", members.concat())
        }),
    ];
    for (what, text) in shapes {
        let cost = |n| {
            let text = text(n).into();
            taken(|| read(&text, AnswerForm::Text))
        };
        doubling(cost).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    }
}
