//! How the end of a call is put to the model.

use serde::Serialize as _;
use serde_json::{Value, json};

use crate::message::{Content, Message, Part, ToolMessage};
use crate::open_call::OpenCall;
use crate::outcome::{CallOutcome, DeniedBy};
use crate::policy::{Policy, Results};

/// How many bytes of an unknown tool's name are shown to the model that called it.
const SHOWN_NAME: usize = 200;

/// The tool message of a call.
pub(crate) fn tool_message(policy: &Policy, open: &OpenCall, outcome: CallOutcome) -> Message {
    let call = &open.call;
    let failed = !outcome.is_ok();
    let content = match (outcome, policy.results) {
        (CallOutcome::Ok { content }, Results::Plain | Results::Acorn) => content,
        (CallOutcome::Ok { content }, Results::Announced) => announced(&call.name, &content),
        (CallOutcome::Ok { content }, Results::Kaos) if call.delegate => {
            format!("Agent response: {}", content.text()).into()
        }
        (CallOutcome::Ok { content }, Results::Kaos) => kaos_result(&content),
        (CallOutcome::Rejected { message }, _) => rejected(&message).into(),
        (failure, Results::Kaos) => kaos_failure(open, &failure).into(),
        (failure, results) => match (failure_text(open.target_name(), &failure), results) {
            (Failure::Plain(text), _) => text.into(),
            (Failure::Error(text), Results::Announced) => {
                format!("Error Executing Tool: {}\nError: {text}", call.name).into()
            }
            (Failure::Error(text), Results::Acorn) => match &failure {
                CallOutcome::Error { kind: Some(kind), .. } => format!("Tool error: {kind}: {text}").into(),
                _ => format!("Tool error: {text}").into(),
            },
            (Failure::Error(text), Results::Plain | Results::Kaos) => format!("Error: {text}").into(),
        },
    };
    Message::Tool(ToolMessage { call: call.id.clone(), name: call.name.clone(), content, failed })
}

/// What the conversation gains from a branch that a hook asked for (acorn).
pub(crate) fn branch_message(policy: &Policy, open: &OpenCall, outcome: CallOutcome) -> Message {
    const BEFORE: &str = "[Branch Result]\n";
    let content = match tool_message(policy, open, outcome) {
        Message::Tool(result) => result.content,
        other => other.content().cloned().unwrap_or_else(|| "".into()),
    };
    let content = match content {
        Content::Text(text) => format!("{BEFORE}{text}").into(),
        // A stored payload stays one.
        Content::Parts(parts) => {
            let before = Part::Text { text: BEFORE.trim_end().into() };
            Content::Parts(std::iter::once(before).chain(parts).collect())
        }
    };
    Message::User { content }
}

/// acorn's words for an output that does not fit.
fn rejected(message: &str) -> String {
    format!(
        "Error: Output validation failed: {message}\nPlease call {} again with valid arguments.",
        crate::FINISH_TOOL
    )
}

/// SwiftAgentKit's wrapper around a result.
fn announced(name: &str, content: &Content) -> Content {
    let before = format!("Successfully Executed Tool: {name}\n-- Start Tool Result ---");
    let after = "-- End Tool Result ---\n\nYou can now continue with the next step in the conversation.";
    match content {
        // A stored payload stays one: parts are put together line by line.
        Content::Parts(parts) if content.refs().next().is_some() => {
            let text = |text: &str| Part::Text { text: text.into() };
            let parts = [text(&before)].into_iter().chain(parts.iter().cloned()).chain([text(after)]);
            Content::Parts(parts.collect())
        }
        _ => format!("{before}\n{}\n{after}", content.text()).into(),
    }
}

/// KAOS gives a tool's structured content, else its text as the field `result`, in the way of Python's `json.dumps`.
fn kaos_result(content: &Content) -> Content {
    let text = content.text();
    let value = match serde_json::from_str::<Value>(&text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        _ => json!({ "result": &*text }),
    };
    let line = format!("Tool result: {}", python_json(&value));
    match content {
        Content::Text(_) => line.into(),
        Content::Parts(parts) => {
            let shown = |part: &&Part| matches!(part, Part::Text { .. } | Part::Stored(_));
            let media = parts.iter().filter(|part| !shown(part)).cloned();
            Content::Parts(std::iter::once(Part::Text { text: line.into() }).chain(media).collect())
        }
    }
}

fn kaos_failure(open: &OpenCall, outcome: &CallOutcome) -> String {
    let call = &open.call;
    match (outcome, &call.fault) {
        (CallOutcome::Malformed { message }, Some(_)) => message.to_string(),
        (CallOutcome::UnknownTool { nearest }, _) if call.delegate => {
            let names: Vec<_> = nearest.iter().map(|name| format!("'{name}'")).collect();
            format!(
                "Delegation failed: Sub-agent '{}' not found. Available: [{}]",
                call.name,
                names.join(", ")
            )
        }
        _ => {
            let (Failure::Error(text) | Failure::Plain(text)) = failure_text(open.target_name(), outcome);
            if call.delegate {
                let who = format!("Agent {}", call.name);
                // KAOS says whose failure it is.
                let own = matches!(outcome, CallOutcome::Error { .. }) && !text.starts_with(&who);
                let who = if own { format!("{who}: ") } else { String::new() };
                format!("Agent response: [Delegation failed: {who}{text}]")
            } else {
                format!("Tool execution failed: {text}")
            }
        }
    }
}

/// JSON with a blank after each comma and colon.
fn python_json(value: &Value) -> String {
    struct Spaced;
    impl serde_json::ser::Formatter for Spaced {
        fn begin_array_value<W: ?Sized + std::io::Write>(
            &mut self,
            out: &mut W,
            first: bool,
        ) -> std::io::Result<()> {
            if first { Ok(()) } else { out.write_all(b", ") }
        }
        fn begin_object_key<W: ?Sized + std::io::Write>(
            &mut self,
            out: &mut W,
            first: bool,
        ) -> std::io::Result<()> {
            if first { Ok(()) } else { out.write_all(b", ") }
        }
        fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, out: &mut W) -> std::io::Result<()> {
            out.write_all(b": ")
        }
    }
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, Spaced);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        Err(_) => value.to_string(),
    }
}

enum Failure {
    /// A failure of the call: takes the preset's form.
    Error(String),
    /// A call that did not run to its end: the same words everywhere.
    Plain(String),
}

fn failure_text(name: &str, outcome: &CallOutcome) -> Failure {
    match outcome {
        CallOutcome::Ok { content } => Failure::Plain(content.text().into_owned()),
        CallOutcome::Error { message, .. }
        | CallOutcome::Malformed { message }
        | CallOutcome::Rejected { message } => Failure::Error(message.to_string()),
        CallOutcome::TimedOut { after_ms } => {
            let seconds = *after_ms as f64 / 1e3;
            Failure::Error(format!("Tool call timed out after {seconds} second(s) (tool: {name})."))
        }
        CallOutcome::UnknownTool { nearest } => {
            let hint = match nearest.as_slice() {
                [] => String::new(),
                names => format!(". The nearest tools: {}", names.join(", ")),
            };
            // A name that no tool has may be of any length.
            let shown = name.get(..name.floor_char_boundary(SHOWN_NAME)).unwrap_or_default();
            let more = if shown.len() < name.len() { "…" } else { "" };
            Failure::Error(format!("Tool '{shown}{more}' not found{hint}"))
        }
        CallOutcome::Denied { reason, by: DeniedBy::Policy } => Failure::Error(match reason {
            Some(pattern) => format!("Tool denied by policy: {name} (rule {pattern})"),
            None => format!("Tool denied by policy: {name}"),
        }),
        CallOutcome::Denied { reason, by: DeniedBy::Person } => Failure::Error(match reason {
            Some(reason) => format!("The call of {name} was denied: {reason}"),
            None => format!("The call of {name} was denied."),
        }),
        CallOutcome::Skipped { reason } => Failure::Plain(format!("skipped: {reason}")),
        CallOutcome::Interrupted | CallOutcome::Abandoned => Failure::Plain("interrupted".to_owned()),
        CallOutcome::Unknown => Failure::Plain("outcome unknown".to_owned()),
    }
}
