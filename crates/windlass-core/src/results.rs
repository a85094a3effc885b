//! How the end of a call is put to the model.

use crate::message::{Content, Message, Part, ToolCall, ToolMessage};
use crate::outcome::CallOutcome;
use crate::policy::{Policy, Results};

/// The tool message of a call.
pub(crate) fn tool_message(policy: &Policy, call: &ToolCall, outcome: CallOutcome) -> Message {
    let failed = !outcome.is_ok();
    let content = match (outcome, policy.results) {
        (CallOutcome::Ok { content }, Results::Plain) => content,
        (CallOutcome::Ok { content }, Results::Announced) => announced(&call.name, &content),
        (failure, results) => match (failure_text(&call.name, &failure), results) {
            (Failure::Plain(text), _) => text.into(),
            (Failure::Error(text), Results::Plain) => format!("Error: {text}").into(),
            (Failure::Error(text), Results::Announced) => {
                format!("Error Executing Tool: {}\nError: {text}", call.name).into()
            }
        },
    };
    Message::Tool(ToolMessage { call: call.id.clone(), name: call.name.clone(), content, failed })
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

enum Failure {
    /// A failure of the call: takes the preset's form.
    Error(String),
    /// A call that did not run to its end: the same words everywhere.
    Plain(String),
}

fn failure_text(name: &str, outcome: &CallOutcome) -> Failure {
    match outcome {
        CallOutcome::Ok { content } => Failure::Plain(content.text().into_owned()),
        CallOutcome::Error { message, .. } | CallOutcome::Malformed { message } => {
            Failure::Error(message.to_string())
        }
        CallOutcome::TimedOut { after_ms } => {
            let seconds = *after_ms as f64 / 1e3;
            Failure::Error(format!("Tool call timed out after {seconds} second(s) (tool: {name})."))
        }
        CallOutcome::UnknownTool { nearest } => {
            let hint = match nearest.as_slice() {
                [] => String::new(),
                names => format!(". The nearest tools: {}", names.join(", ")),
            };
            Failure::Error(format!("Tool '{name}' not found{hint}"))
        }
        CallOutcome::Denied { reason, by_policy: true } => Failure::Error(match reason {
            Some(pattern) => format!("Tool denied by policy: {name} (rule {pattern})"),
            None => format!("Tool denied by policy: {name}"),
        }),
        CallOutcome::Denied { reason, by_policy: false } => Failure::Error(match reason {
            Some(reason) => format!("The call of {name} was denied: {reason}"),
            None => format!("The call of {name} was denied."),
        }),
        CallOutcome::Skipped { reason } => Failure::Plain(format!("skipped: {reason}")),
        CallOutcome::Interrupted { .. } => Failure::Plain("interrupted".to_owned()),
        CallOutcome::Unknown => Failure::Plain("outcome unknown".to_owned()),
    }
}
