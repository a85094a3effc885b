use std::sync::Arc;

use serde_json::json;
use windlass_text::steps::{Shape, doubling, taken};

use crate::codec::fenced::{blocks_in, fenced_message, fenced_prompt};
use crate::policy::presets::Preset;
use crate::policy::results::Results;
use crate::vocabulary::message::{AssistantMessage, CallTarget, Message, ToolCall};
use crate::vocabulary::tool::{Offer, ToolKind, ToolSpec};

fn read(text: &str) -> Vec<(String, String, bool, Option<String>)> {
    let calls = blocks_in(&text.into()).into_iter();
    calls
        .map(|read| {
            let fault = read.fault.map(|fault| fault.to_string());
            (read.name.to_string(), read.args.to_string(), read.target == CallTarget::Agent, fault)
        })
        .collect()
}

/// The text around the blocks.
fn beside(text: &str) -> Option<String> {
    let calls = blocks_in(&text.into()).into_iter();
    let calls = calls.map(|read| ToolCall { place: read.place, ..ToolCall::default() }).collect();
    let said = AssistantMessage { text: Some(text.into()), calls, ..AssistantMessage::default() };
    said.text_without_calls().map(|left| left.to_string())
}

fn block(kind: &str, body: &str) -> String {
    format!("Let me see.\n\n```{kind}\n{body}\n```\nThen.")
}

#[test]
fn k6_a_block_with_text_around_it_is_a_call() {
    let text = block("tool_call", r#"{"tool": "add", "arguments": {"a": 1}}"#);
    assert_eq!(read(&text), [("add".into(), r#"{"a": 1}"#.into(), false, None)]);
    assert_eq!(beside(&text).as_deref(), Some("Let me see.\n\n\nThen."));
    assert_eq!(read(&text.replace('\n', "\r\n")).len(), 1);
}

#[test]
fn k7_a_delegation_hands_a_task_over() {
    let text = block("delegate", r#"{"agent": "researcher", "task": "Find it"}"#);
    assert_eq!(read(&text), [("researcher".into(), r#"{"task":"Find it"}"#.into(), true, None)]);
    let missing = block("delegate", r#"{"agent": "researcher"}"#);
    assert_eq!(read(&missing)[0].3.as_deref(), Some("Invalid delegation: missing 'agent' or 'task'"));
}

#[test]
fn k8_tools_come_before_delegations() {
    let text = format!(
        "{}{}",
        block("delegate", r#"{"agent": "a", "task": "t"}"#),
        block("tool_call", r#"{"tool": "add"}"#)
    );
    let names: Vec<_> = read(&text).into_iter().map(|call| call.0).collect();
    assert_eq!(names, ["add", "a"]);
    assert_eq!(beside(&text).as_deref(), Some("Let me see.\n\n\nThen.Let me see.\n\n\nThen."));
    // A block is one piece of text: what another one interrupts is two.
    let parted =
        "```delegate\n{\"agent\": \"a\",\n```tool_call\n{\"tool\": \"add\"}\n```\n\"task\": \"t\"}\n```";
    let calls = read(parted);
    assert_eq!((calls.len(), &*calls[0].0), (2, "add"));
    assert!(calls[1].3.as_ref().unwrap().contains("not closed"), "{calls:?}");
    assert_eq!(beside(parted).as_deref(), Some("\"task\": \"t\"}\n```"));
}

#[test]
fn e5_a_block_that_cannot_be_read_says_why() {
    let fault = |text: &str| read(text)[0].3.clone().unwrap();
    assert!(
        fault(&block("tool_call", r#"{"tool": "#))
            .starts_with("Invalid tool call: the block is not valid JSON: ")
    );
    assert!(fault("```tool_call\n{\"tool\": \"a\"}").contains("not closed"));
    assert!(fault("```tool_call\n[1]\n```").contains("one JSON object"));
    assert!(fault("```tool_call\n```").contains("not valid JSON"));
    assert_eq!(fault(&block("tool_call", "{}")), "Tool execution failed: Tool name not specified");
}

#[test]
fn e12_other_fences_are_text() {
    for text in [
        "```json\n{\"tool\": \"a\"}\n```",
        "```tool_calls\n{\"tool\": \"a\"}\n```",
        "```tool_call {} ```",
        "",
        "plain",
    ] {
        assert_eq!(read(text), [], "{text}");
    }
}

#[test]
fn k4_k5_the_prompt_has_instructions_tools_and_agents() {
    let tool = ToolSpec::new("echo", "Says it again.", json!({ "type": "object" }));
    let mut agent = ToolSpec::new("researcher", "Finds things.", json!({ "type": "object" }));
    agent.kind = ToolKind::Delegate;
    let mut gone = agent.clone();
    (gone.name, gone.offer) = ("writer".into(), Offer::Unreachable);
    let prompt = [Arc::new(Message::system("Be brief.")), Arc::new(Message::user("example"))];
    let written = fenced_prompt(&prompt, &[tool, agent, gone], &Preset::TEXT.policy().wording.results);
    let Message::System { text } = &*written[0] else { panic!("{written:?}") };
    assert_eq!(
        &**text,
        "Be brief.\n\n## Available Tools\n- **echo**: Says it again.\n  Parameters: {\n  \"type\": \"object\"\n}\n\
         To use a tool, respond with a JSON block in this exact format:\n```tool_call\n\
         {\"tool\": \"tool_name\", \"arguments\": {\"arg1\": \"value1\"}}\n```\n\
         Wait for the tool result before providing your final answer.\n\n\
         ## Available Agents for Delegation\n- **researcher**: Finds things.\n\n**Unavailable agents:**\n\
         - **writer**: (unavailable)\nTo delegate a task to another agent, respond with:\n```delegate\n\
         {\"agent\": \"agent_name\", \"task\": \"task description\"}\n```\n\
         Wait for the agent's response before providing your final answer."
    );
    assert_eq!(*written[1], Message::user("example"));
    assert_eq!(fenced_prompt(&prompt[1..], &[], &Results::default()), prompt[1..]);
}

#[test]
fn a_native_call_is_written_as_its_block() {
    let call = ToolCall { name: "add".into(), args: "{\"a\":1}".into(), ..ToolCall::default() };
    let said =
        AssistantMessage { text: Some("So:".into()), calls: vec![call], ..AssistantMessage::default() };
    let written = fenced_message(&Message::Assistant(said), &Results::default()).into_owned();
    let block = "So:\n\n```tool_call\n{\"tool\":\"add\",\"arguments\":{\"a\":1}}\n```";
    assert_eq!(written, Message::assistant(block));
}

#[test]
fn reading_blocks_costs_the_length_of_the_reply() {
    let shapes: [Shape; 8] = [
        ("opening fences in one line", |n| "```tool_call".repeat(n)),
        ("opening fences", |n| "```tool_call\n".repeat(n)),
        ("fences of another name", |n| "```tool_calls x\n".repeat(n)),
        ("blanks behind a fence", |n| format!("```tool_call{}", " ".repeat(n))),
        ("blocks", |n| "```tool_call\n{\"tool\":\"a\"}\n```\n".repeat(n)),
        ("delegations", |n| "```delegate\n{\"agent\":\"a\",\"task\":\"t\"}\n```\n".repeat(n)),
        ("both", |n| "```tool_call```delegate\n{}\n```".repeat(n)),
        ("long arguments", |n| {
            format!("```tool_call\n{{\"tool\":\"a\",\"arguments\":[{}1]}}\n```", "1, ".repeat(n))
        }),
    ];
    for (what, shape) in shapes {
        let cost = |n| {
            let text = shape(n);
            let steps = taken(|| blocks_in(&text.as_str().into()));
            assert!(steps <= 8 * text.len() as u64, "{what}: {steps} of {}", text.len());
            steps
        };
        doubling(cost).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    }
}

#[test]
fn blocks_beyond_the_most_stay_text() {
    let block = "```tool_call\n{\"tool\":\"a\"}\n```\n";
    let text = block.repeat(70);
    assert_eq!(read(&text).len(), 64);
    assert_eq!(beside(&text).unwrap().matches("```tool_call").count(), 6);
}

#[test]
fn a_name_that_comes_twice_in_a_block_is_a_fault() {
    let text = block("tool_call", r#"{"tool": "ls", "tool": "rm", "arguments": {}}"#);
    assert_eq!(
        read(&text)[0].3.as_deref(),
        Some("Invalid tool call: the block is not valid JSON: duplicate field `tool` at line 1 column 21")
    );
}

#[test]
fn a_native_call_with_more_values_than_may_be_read_is_written_without_them() {
    let args = format!("{{\"list\":[{}0]}}", "0,".repeat(600_000));
    let call =
        crate::vocabulary::message::ToolCall { name: "add".into(), args: args.into(), ..Default::default() };
    let said = AssistantMessage { calls: vec![call], ..AssistantMessage::default() };
    let written = fenced_message(&Message::Assistant(said), &Results::default()).into_owned();
    assert_eq!(written, Message::assistant("```tool_call\n{\"tool\":\"add\",\"arguments\":null}\n```"));
}
