//! The fenced wire: tools described in the system prompt, calls as fenced JSON blocks in the text (KAOS).
//!
//! The conversation is kept in the same form for every wire; here it is put into text for models that know no calls.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;
use windlass_text::json::read;
use windlass_text::steps::{self, Scan};

use crate::codec::forms::ReadCall;
use crate::codec::phases;
use crate::policy::results::Results;
use crate::vocabulary::call_args::{CallArgs, Span};
use crate::vocabulary::ids::Text;
use crate::vocabulary::message::{AssistantMessage, CallTarget, Content, Message};
use crate::vocabulary::notation::Notation;
use crate::vocabulary::readings::Readings;
use crate::vocabulary::tool::{Offer, ToolKind, ToolSpec};

const TOOL_FENCE: &str = "```tool_call";
const DELEGATE_FENCE: &str = "```delegate";
/// The most blocks of one reply.
const MOST_BLOCKS: usize = 64;

const TOOL_INSTRUCTIONS: &str = "To use a tool, respond with a JSON block in this exact format:\n\
    ```tool_call\n{\"tool\": \"tool_name\", \"arguments\": {\"arg1\": \"value1\"}}\n```\n\
    Wait for the tool result before providing your final answer.";
const DELEGATE_INSTRUCTIONS: &str = "To delegate a task to another agent, respond with:\n\
    ```delegate\n{\"agent\": \"agent_name\", \"task\": \"task description\"}\n```\n\
    Wait for the agent's response before providing your final answer.";

/// The heading of the caller's system messages.
const CALLERS_SECTION: &str = "## User-Provided System Prompt";
/// The line after them.
const AGENT_WINS: &str = "Where this contradicts the instructions above, follow those above.";

/// The fault of a block that names no tool.
const NO_NAME: &str = "Tool execution failed: Tool name not specified";
/// Fault of a delegation block without an agent or a task.
const NO_TARGET: &str = "Invalid delegation: missing 'agent' or 'task'";

/// Whether what a block with this fault says could be read at all.
pub(crate) fn readable(fault: &str) -> bool {
    fault == NO_NAME || fault == NO_TARGET
}

/// The messages before the conversation, with the offered tools and agents described in the system prompt.
pub fn fenced_prompt(prompt: &[Arc<Message>], tools: &[ToolSpec], results: &Results) -> Vec<Arc<Message>> {
    let sections = sections(tools, [TOOL_INSTRUCTIONS, DELEGATE_INSTRUCTIONS]);
    prompt_with(&sections, prompt, |message| fenced_message(message, results))
}

/// The same where calls are JSON objects ([`phases`]).
pub(crate) fn actions_prompt(
    prompt: &[Arc<Message>],
    tools: &[ToolSpec],
    results: &Results,
) -> Vec<Arc<Message>> {
    let mut sections = sections(tools, [phases::TOOL_INSTRUCTIONS, phases::DELEGATE_INSTRUCTIONS]);
    if !sections.is_empty() {
        sections.push(phases::NO_ACTION.to_owned());
    }
    prompt_with(&sections, prompt, |message| fenced_message(message, results))
}

/// The messages before the conversation with these sections in the system prompt; the others are worded by `word`.
pub(crate) fn prompt_with(
    sections: &[String],
    prompt: &[Arc<Message>],
    word: impl Fn(&Message) -> Cow<'_, Message>,
) -> Vec<Arc<Message>> {
    let mut system = prompt
        .iter()
        .filter_map(|message| if let Message::System { text } = &**message { Some(&**text) } else { None });
    let own = system.next();
    let callers: Vec<&str> = system.collect();
    let callers =
        (!callers.is_empty()).then(|| format!("\n{CALLERS_SECTION}\n{}\n{AGENT_WINS}", callers.join("\n\n")));
    let parts: Vec<&str> =
        own.into_iter().chain(sections.iter().chain(&callers).map(String::as_str)).collect();
    let mut messages = Vec::with_capacity(prompt.len() + 1);
    if !parts.is_empty() {
        messages.push(Arc::new(Message::system(parts.join("\n").trim_start_matches('\n'))));
    }
    let others = prompt.iter().filter(|message| !message.instructs());
    messages.extend(others.map(|message| match word(message) {
        Cow::Borrowed(_) => message.clone(),
        Cow::Owned(written) => Arc::new(written),
    }));
    messages
}

fn sections(tools: &[ToolSpec], [to_call, to_delegate]: [&str; 2]) -> Vec<String> {
    let offered = || tools.iter().filter(|tool| tool.is_offered());
    let described: Vec<String> = offered()
        .filter(|tool| tool.kind != ToolKind::Delegate)
        .map(|tool| {
            let schema = serde_json::to_string_pretty(&*tool.parameters).unwrap_or_default();
            format!("- **{}**: {}\n  Parameters: {schema}", tool.name, tool.description)
        })
        .collect();
    let known =
        |tool: &&ToolSpec| tool.kind == ToolKind::Delegate && tool.is_known() && tool.offer != Offer::Denied;
    let delegates: Vec<&ToolSpec> = tools.iter().filter(known).collect();
    let mut sections = Vec::new();
    if !described.is_empty() {
        sections.push(format!("\n## Available Tools\n{}", described.join("\n")));
        sections.push(to_call.to_owned());
    }
    if !delegates.is_empty() {
        let line = |tool: &&ToolSpec| format!("- **{}**: {}", tool.name, tool.description);
        let (there, gone): (Vec<_>, Vec<_>) = delegates.into_iter().partition(|tool| tool.is_offered());
        let mut lines: Vec<String> = there.iter().map(line).collect();
        if !gone.is_empty() {
            lines.push("\n**Unavailable agents:**".to_owned());
            lines.extend(gone.iter().map(|tool| format!("- **{}**: (unavailable)", tool.name)));
        }
        sections.push(format!("\n## Available Agents for Delegation\n{}", lines.join("\n")));
        sections.push(to_delegate.to_owned());
    }
    sections
}

/// A message in text: calls as blocks, results as user messages.
pub fn fenced_message<'m>(message: &'m Message, results: &Results) -> Cow<'m, Message> {
    match message {
        Message::Assistant(reply) if !reply.calls.is_empty() => {
            // What came as text goes back as it came.
            let text = reply.text.clone().filter(|_| reply.has_calls_in_text());
            Cow::Owned(Message::Assistant(AssistantMessage {
                text: Some(text.unwrap_or_else(|| with_blocks(reply).into())),
                reasoning: reply.reasoning.clone(),
                media: reply.media.clone(),
                ..AssistantMessage::default()
            }))
        }
        Message::Tool(result) => {
            let head = if result.failed { &*results.failed_prefix } else { &*results.prefix };
            let content = match &result.content {
                Content::Text(text) => Content::Text(format!("{head}{text}").into()),
                Content::Parts(parts) if head.is_empty() => Content::Parts(parts.clone()),
                Content::Parts(parts) => {
                    let head = crate::vocabulary::message::Part::Text { text: head.trim_end().into() };
                    Content::Parts(std::iter::once(head).chain(parts.iter().cloned()).collect())
                }
            };
            Cow::Owned(Message::User { content, pinned: false })
        }
        Message::System { .. }
        | Message::User { .. }
        | Message::TaskDelegation { .. }
        | Message::Assistant(_) => Cow::Borrowed(message),
    }
}

/// Calls that were made natively, written as the blocks that they would have been.
fn with_blocks(reply: &AssistantMessage) -> String {
    let mut parts: Vec<String> = reply.text.iter().map(ToString::to_string).collect();
    for call in &reply.calls {
        // Arguments that are beyond a bound are none, as those that are no JSON.
        let args = read(&call.args).unwrap_or_default();
        let block = if call.target == CallTarget::Agent {
            format!("{DELEGATE_FENCE}\n{}\n```", json!({ "agent": &*call.name, "task": args.get("task") }))
        } else {
            format!("{TOOL_FENCE}\n{}\n```", json!({ "tool": &*call.name, "arguments": args }))
        };
        parts.push(block);
    }
    parts.join("\n\n")
}

/// The calls in a text, tools before delegations. Empty: there is no block.
///
/// Arguments stay where they stand: no value is made of them, so that reading a reply costs its length once.
pub(crate) fn blocks_in(text: &Text) -> Vec<ReadCall> {
    let (mut calls, between) = take_blocks(text, &text[..], TOOL_FENCE, MOST_BLOCKS);
    for part in between {
        let room = MOST_BLOCKS - calls.len();
        calls.extend(take_blocks(text, part, DELEGATE_FENCE, room).0);
    }
    calls
}

/// Splits part of a text into at most `most` blocks and the text between them. Text after the last block stays text.
fn take_blocks<'t>(text: &Text, part: &'t str, fence: &str, most: usize) -> (Vec<ReadCall>, Vec<&'t str>) {
    let mut scan = Scan::new(part);
    let (mut calls, mut between) = (Vec::new(), Vec::new());
    let mut after = part;
    while calls.len() < most && scan.until(fence).is_some() {
        let fenced = after.get(scan.since(after).len() - fence.len()..).unwrap_or_default();
        scan.pass_while(|c| c != '\n' && c.is_whitespace());
        if !scan.take("\n") {
            // A fence of another name that begins the same way is text.
            continue;
        }
        let body = closing(&mut scan);
        let call = if fence == TOOL_FENCE { tool_call(text, body) } else { delegation(text, body) };
        calls.push(ReadCall { place: Span::of(scan.since(fenced), text), ..call });
        between.push(after.get(..after.len() - fenced.len()).unwrap_or_default());
        after = scan.rest();
    }
    between.push(after);
    (calls, between)
}

/// The body up to the fence that closes it. A block that is not closed takes all that follows.
fn closing<'t>(scan: &mut Scan<'t>) -> Result<&'t str, String> {
    if scan.take("```") {
        return Ok("");
    }
    scan.until("\n```").ok_or_else(|| {
        let _unclosed = scan.pass(scan.rest().len());
        "the block is not closed by a line of ```".to_owned()
    })
}

/// The JSON object in a block, of the fields that count.
fn object<'t, T: Deserialize<'t>>(body: Result<&'t str, String>) -> Result<T, String> {
    let body = body?.trim();
    steps::add(body.len());
    if body.starts_with('{') {
        return serde_json::from_str(body).map_err(|error| format!("the block is not valid JSON: {error}"));
    }
    match serde_json::from_str::<IgnoredAny>(body) {
        Ok(_) => Err("the block must hold one JSON object".to_owned()),
        Err(error) => Err(format!("the block is not valid JSON: {error}")),
    }
}

#[derive(Deserialize)]
struct ToolBlock<'t> {
    #[serde(borrow)]
    tool: Option<&'t RawValue>,
    #[serde(borrow)]
    arguments: Option<&'t RawValue>,
}

#[derive(Deserialize)]
struct DelegateBlock<'t> {
    #[serde(borrow)]
    agent: Option<&'t RawValue>,
    #[serde(borrow)]
    task: Option<&'t RawValue>,
}

/// A field that is a text and not empty.
pub(crate) fn text_of(field: Option<&RawValue>) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Words<'t>(#[serde(borrow)] Cow<'t, str>);
    let Words(text) = serde_json::from_str(field?.get()).ok()?;
    (!text.is_empty()).then_some(text)
}

pub(crate) fn tool_call(text: &Text, body: Result<&str, String>) -> ReadCall {
    let block: ToolBlock<'_> = match object(body) {
        Ok(block) => block,
        Err(fault) => return faulty("tool_call", format!("Invalid tool call: {fault}"), CallTarget::Tool),
    };
    let Some(name) = text_of(block.tool) else {
        return faulty("tool_call", NO_NAME.to_owned(), CallTarget::Tool);
    };
    let args = block.arguments.map(|args| CallArgs::part(text, args.get(), Notation::Json, None));
    ReadCall { name: (&*name).into(), args: args.unwrap_or_else(|| "{}".into()), ..ReadCall::default() }
}

pub(crate) fn delegation(text: &Text, body: Result<&str, String>) -> ReadCall {
    let block: DelegateBlock<'_> = match object(body) {
        Ok(block) => block,
        Err(fault) => return faulty("delegate", format!("Invalid delegation: {fault}"), CallTarget::Agent),
    };
    let named = text_of(block.agent).zip(block.task).filter(|_| text_of(block.task).is_some());
    let Some((agent, task)) = named else {
        return faulty("delegate", NO_TARGET.to_owned(), CallTarget::Agent);
    };
    let json = Notation::Task.json(task.get(), &Readings::new());
    let args = CallArgs::part(text, task.get(), Notation::Task, json);
    ReadCall { name: (&*agent).into(), args, target: CallTarget::Agent, ..ReadCall::default() }
}

fn faulty(name: &str, fault: String, target: CallTarget) -> ReadCall {
    ReadCall {
        name: name.into(),
        args: "{}".into(),
        target,
        fault: Some(fault.into()),
        ..ReadCall::default()
    }
}

#[cfg(test)]
mod tests;
