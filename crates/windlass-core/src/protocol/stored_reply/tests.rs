use serde_json::{Value, json};

use super::*;
use crate::codec::fenced::blocks_in;
use crate::codec::forms::{ReadCall, calls_in};
use crate::vocabulary::message::Message;
use crate::vocabulary::tool::ToolSpec;

/// A payload of so many bytes.
fn payload(bytes: usize) -> String {
    "x\\n ö\\\"".repeat(bytes / 8 + 1)
}

/// The same long call in each form in which a text or a reasoning may hold it.
fn replies(bytes: usize) -> Vec<(&'static str, Option<Text>, Option<Reasoning>)> {
    let text = payload(bytes);
    let calls = [
        (
            "fenced",
            format!(
                "So:\n```tool_call\n{{ \"tool\": \"put\",\n \"arguments\": {{ \"text\" : \"{text}\" }} }}\n```\n"
            ),
        ),
        ("delegate", format!("```delegate\n{{\"agent\": \"put\", \"task\": \"{text}\"}}\n```")),
        ("json", format!(" {{\"name\": \"put\", \"parameters\": {{\"text\": \"{text}\"}}}}\n")),
        (
            "hermes",
            format!("<tool_call>{{\"name\":\"put\",\"arguments\":{{\"text\":\"{text}\"}}}}</tool_call>"),
        ),
        ("python", format!("put(text = \"{text}\", n=[1, True])")),
        ("python tag", format!("<|python_tag|>put(text='{}')<|eom_id|>", text.replace('"', "'"))),
        ("tags", format!("<tool_call>put<arg_key>text</arg_key>\n<arg_value>{text}</arg_value></tool_call>")),
    ];
    let thought =
        calls.last().map(|(_, call)| Reasoning { text: call.as_str().into(), provider_metadata: None });
    let mut replies: Vec<_> =
        calls.into_iter().map(|(form, text)| (form, Some(Text::from(text)), None)).collect();
    replies.push(("reasoning", None, thought));
    replies
}

/// A reply as a fact, with its calls.
fn turn(text: Option<Text>, reasoning: Option<Reasoning>) -> TurnCompleted {
    let tools = [ToolSpec::new("put", "", json!({ "type": "object" }))];
    let found = source(text.as_ref(), reasoning.as_ref()).unwrap();
    let read = match blocks_in(found) {
        none if none.is_empty() => calls_in(found, &tools).unwrap_or_default(),
        blocks => blocks,
    };
    let call = |read: ReadCall| ToolCall {
        id: "c1".into(),
        name: read.name,
        args: read.args,
        place: read.place,
        target: read.target,
        ..ToolCall::default()
    };
    let calls: Vec<_> = read.into_iter().map(call).collect();
    assert_eq!(calls.len(), 1, "{found}");
    let (stop, usage, model) = (StopReason::Stop, Usage::default(), "m1".into());
    let (purpose, about) = (crate::vocabulary::purpose::Purpose::Act, None);
    let media = Vec::new();
    TurnCompleted {
        turn: 1,
        purpose,
        about,
        text,
        reasoning,
        media: media.into(),
        calls,
        annotations: None,
        stop,
        usage,
        model,
        objection: None,
        answer_form: None,
    }
}

#[test]
fn a_reply_with_calls_in_its_text_is_stored_once() {
    for ((form, text, reasoning), (_, longer, more)) in replies(1_000).into_iter().zip(replies(11_000)) {
        let size = |text: &Option<Text>, reasoning: &Option<Reasoning>| {
            serde_json::to_string(source(text.as_ref(), reasoning.as_ref()).unwrap()).unwrap().len()
        };
        let (one, two) = (size(&text, &reasoning), size(&longer, &more));
        let stored = |turn: &TurnCompleted| serde_json::to_string(turn).unwrap().len();
        let (turn, long) = (turn(text, reasoning), turn(longer, more));
        // What stands beside the text does not grow with it, but for the digits of places.
        let beside = (stored(&turn) - one, stored(&long) - two);
        assert!(beside.1 <= beside.0 + 8, "{form}: {beside:?} bytes beside texts of {one} and {two}");
        assert!(beside.0 < 256, "{form}: {} bytes", beside.0);
    }
}

#[test]
fn a_stored_reply_comes_back_with_its_calls() {
    for (form, text, reasoning) in replies(64) {
        let turn = turn(text, reasoning);
        let body = serde_json::to_string(&turn).unwrap();
        let back: TurnCompleted = serde_json::from_str(&body).unwrap();
        assert_eq!(back, turn, "{form}");
        assert_eq!(serde_json::to_string(&back).unwrap(), body, "{form}");
        let args: Value = serde_json::from_str(&back.calls[0].args).unwrap();
        let field = if form == "delegate" { "task" } else { "text" };
        assert!(args[field].as_str().unwrap().contains('ö'), "{form}: {args}");
        let message = AssistantMessage {
            text: turn.text,
            reasoning: turn.reasoning,
            calls: turn.calls,
            ..AssistantMessage::default()
        };
        let message = Message::Assistant(message);
        let body = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&body).unwrap(), message, "{form}");
    }
}

#[test]
fn arguments_in_json_are_the_bytes_of_the_text_also_after_a_restart() {
    for (form, text, reasoning) in
        replies(64).into_iter().filter(|(form, ..)| *form == "fenced" || *form == "json")
    {
        let turn = turn(text, reasoning);
        let back: TurnCompleted = serde_json::from_str(&serde_json::to_string(&turn).unwrap()).unwrap();
        for turn in [turn, back] {
            let text = turn.text.unwrap();
            assert!(Span::of(&turn.calls[0].args, &text).is_some(), "{form}");
        }
    }
}

#[test]
fn arguments_stay_with_a_call_whose_text_is_changed() {
    let (_, text, reasoning) = replies(64).swap_remove(0);
    let turn = turn(text, reasoning);
    let mut said = AssistantMessage { text: turn.text, calls: turn.calls, ..AssistantMessage::default() };
    said.text = Some("Cut.".into());
    let back: AssistantMessage = serde_json::from_str(&serde_json::to_string(&said).unwrap()).unwrap();
    assert_eq!(back, said);
    assert!(back.calls[0].args.contains("ö"));
    let call: ToolCall = serde_json::from_str(&serde_json::to_string(&said.calls[0]).unwrap()).unwrap();
    assert_eq!(call, said.calls[0], "alone, too");
}

#[test]
fn places_that_a_text_does_not_have_are_no_arguments() {
    for place in ["[0,99]", "[2,1]", "[1,2]", "[18446744073709551615,1]"] {
        for notation in ["json", "task", "python", "tags"] {
            let said = format!(
                "{{\"text\":\"öx\",\"calls\":[{{\"id\":\"c\",\"name\":\"a\",\
                 \"args\":{{\"place\":{place},\"notation\":\"{notation}\"}},\"place\":{place}}}]}}"
            );
            let said: AssistantMessage = serde_json::from_str(&said).unwrap();
            assert_eq!(&*said.calls[0].args, "", "{place}");
            assert!(said.text_without_calls().is_some());
        }
    }
}
