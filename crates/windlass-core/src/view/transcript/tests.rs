use std::sync::Arc;

use windlass_text::steps::{doubling, taken};

use super::*;
use crate::vocabulary::call_args::Span;
use crate::vocabulary::message::{AssistantMessage, Content, Part, ToolCall, ToolMessage};

fn conversation(messages: impl IntoIterator<Item = Message>) -> History {
    messages.into_iter().chain([Message::user("Sum up.")]).map(Arc::new).collect()
}

fn said(text: &str, calls: Vec<ToolCall>) -> Message {
    Message::Assistant(AssistantMessage { text: Some(text.into()), calls, ..AssistantMessage::default() })
}

fn call(args: &str) -> ToolCall {
    ToolCall { id: "c".into(), name: "put".into(), args: args.into(), ..ToolCall::default() }
}

fn result(content: Content) -> Message {
    Message::Tool(ToolMessage { call: "c".into(), name: "put".into(), content, failed: false })
}

#[test]
fn calls_that_stand_in_a_text_are_told_once() {
    let placed = ToolCall { place: Some(Span(4, 9)), ..call("{}") };
    let told = transcript(&conversation([said("So: put() ", vec![placed]), result("done".into())]));
    let lines = "Branch history:\n[Assistant] Called put({})\n[Assistant] So:\n[Tool Result] done\n\nSum up.";
    assert_eq!(told, Message::user(lines));
}

#[test]
fn writing_a_transcript_costs_the_length_of_the_conversation() {
    type Shape = (&'static str, fn(usize) -> History);
    let parts = |n: usize| Content::Parts(vec![Part::Text { text: "x".into() }; n]);
    let shapes: [Shape; 7] = [
        ("one text", |n| conversation([Message::user("x".repeat(n))])),
        ("the last text", |n| [Arc::new(Message::user("x".repeat(n)))].into_iter().collect()),
        ("many texts", |n| conversation(vec![Message::user("x"); n])),
        ("many calls", |n| conversation([said("So:", vec![call("{\"a\":1}"); n])])),
        ("calls in a text", |n| {
            let calls = (0..n).map(|at| ToolCall { place: Some(Span(6 * at, 6 * at + 5)), ..call("{}") });
            conversation([said(&"put() ".repeat(n), calls.collect())])
        }),
        ("calls and results", |n| {
            let step = [said("", vec![call("{}")]), result("x".into())];
            conversation(std::iter::repeat_n(step, n).flatten())
        }),
        ("system messages, which are left out", |n| conversation(vec![Message::system("x"); n])),
    ];
    let all =
        shapes.into_iter().map(|(what, shape)| (what, Box::new(shape) as Box<dyn Fn(usize) -> History>));
    let in_parts: Box<dyn Fn(usize) -> History> = Box::new(move |n| conversation([result(parts(n))]));
    for (what, shape) in all.chain([("parts", in_parts)]) {
        let cost = |n| {
            let (history, mut text) = (shape(n), String::new());
            let steps = taken(|| text = written(&history));
            let most = 2 * (text.len() as u64 + history.bytes()) + history.len() as u64;
            assert!((text.len() as u64..=most).contains(&(steps + 17)), "{what}: {steps} steps");
            steps
        };
        doubling(cost).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    }
}
