//! Renders the outcome of a call for the model.

use serde::Serialize as _;
use serde_json::{Value, json};

use crate::message::{CallTarget, Content, Message, Part, ToolMessage};
use crate::open_call::OpenCall;
use crate::outcome::{CallOutcome, DeniedBy};
use crate::policy::{Policy, Results, filled};

/// Maximum number of bytes of an unknown tool's name that are shown to the model that called it.
const SHOWN_NAME: usize = 200;

/// The tool message of a call.
pub(crate) fn tool_message(policy: &Policy, open: &OpenCall, outcome: CallOutcome) -> Message {
    let (call, results) = (&open.call, &policy.wording.results);
    let failed = !outcome.is_ok();
    let content = if let CallOutcome::Ok { content } = outcome {
        let template = if call.target == CallTarget::Agent { &results.agent } else { &results.tool };
        worded(template, &call.name, content)
    } else {
        failure_message(results, open, &outcome).into()
    };
    Message::Tool(ToolMessage { call: call.id.clone(), name: call.name.clone(), content, failed })
}

/// A result in the form of its template.
fn worded(template: &str, tool: &str, content: Content) -> Content {
    const RESULT: &str = "{result}";
    const JSON: &str = "{json}";
    if template == RESULT {
        return content;
    }
    if template.contains(JSON) {
        let text = content.text();
        let line = filled(template, &[("tool", tool), ("json", &one_line(&text))]);
        return with_media(line, &content);
    }
    if let (Some((before, after)), Content::Parts(parts)) = (template.split_once(RESULT), &content)
        && content.refs().next().is_some()
    {
        // A stored payload stays one: parts are put together line by line.
        let part =
            |text: &str| Part::Text { text: filled(text.trim_matches('\n'), &[("tool", tool)]).into() };
        let parts = [part(before)].into_iter().chain(parts.iter().cloned()).chain([part(after)]);
        return Content::Parts(parts.collect());
    }
    let text = content.text();
    filled(template, &[("tool", tool), ("result", &text), ("text", &text)]).into()
}

/// Structured content as it is, a text as the field `result`.
fn one_line(text: &str) -> String {
    let structured =
        serde_json::from_str(text).ok().filter(|value: &Value| value.is_object() || value.is_array());
    let value = structured.unwrap_or_else(|| json!({ "result": text }));
    spaced_json(&value)
}

/// A line in place of a content's text; its media stay.
fn with_media(line: String, content: &Content) -> Content {
    match content {
        Content::Text(_) => line.into(),
        Content::Parts(parts) => {
            let shown = |part: &&Part| matches!(part, Part::Text { .. } | Part::Stored(_));
            let media = parts.iter().filter(|part| !shown(part)).cloned();
            Content::Parts(std::iter::once(Part::Text { text: line.into() }).chain(media).collect())
        }
    }
}

fn failure_message(results: &Results, open: &OpenCall, outcome: &CallOutcome) -> String {
    let call = &open.call;
    let error = failure_text(open.target_name(), outcome);
    let mut kind = String::new();
    let mut who = String::new();
    let mut agents = String::new();
    let usual = if call.target == CallTarget::Agent { &results.agent_failed } else { &results.failed };
    let template = match outcome {
        CallOutcome::Rejected { .. } => &results.rejected,
        CallOutcome::Malformed { .. } if call.fault.is_some() => &results.unreadable,
        CallOutcome::UnknownTool { nearest } if call.target == CallTarget::Agent => {
            agents = nearest.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
            &results.agent_unknown
        }
        CallOutcome::Skipped { .. }
        | CallOutcome::Interrupted
        | CallOutcome::Abandoned
        | CallOutcome::Unknown => {
            if call.target == CallTarget::Agent {
                &results.agent_undone
            } else {
                &results.undone
            }
        }
        CallOutcome::Error { kind: known, .. } => {
            kind = known.as_ref().map_or(String::new(), |kind| format!("{kind}: "));
            let agent = format!("Agent {}", call.name);
            if !error.starts_with(&agent) {
                who = format!("{agent}: ");
            }
            usual
        }
        CallOutcome::Ok { .. }
        | CallOutcome::Malformed { .. }
        | CallOutcome::UnknownTool { .. }
        | CallOutcome::TimedOut { .. }
        | CallOutcome::Denied { .. } => usual,
    };
    filled(
        template,
        &[("tool", &call.name), ("error", &error), ("kind", &kind), ("who", &who), ("agents", &agents)],
    )
}

/// The message added for a branch that a hook asked for (acorn).
pub(crate) fn branch_message(policy: &Policy, open: &OpenCall, outcome: CallOutcome) -> Message {
    const BEFORE: &str = "[Branch Result]\n";
    let said = tool_message(policy, open, outcome);
    let content = said.content().cloned().unwrap_or_else(|| "".into());
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

/// JSON with a blank after each comma and colon.
fn spaced_json(value: &Value) -> String {
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

/// The error text before its template is applied.
fn failure_text(name: &str, outcome: &CallOutcome) -> String {
    match outcome {
        CallOutcome::Ok { content } => content.text().into_owned(),
        CallOutcome::Error { message, .. }
        | CallOutcome::Malformed { message }
        | CallOutcome::Rejected { message } => message.to_string(),
        CallOutcome::TimedOut { after_ms } => {
            let seconds = *after_ms as f64 / 1e3;
            format!("Tool call timed out after {seconds} second(s) (tool: {name}).")
        }
        CallOutcome::UnknownTool { nearest } => {
            let hint = match nearest.as_slice() {
                [] => String::new(),
                names => format!(". The nearest tools: {}", names.join(", ")),
            };
            // A name that no tool has may be of any length.
            let shown = name.get(..name.floor_char_boundary(SHOWN_NAME)).unwrap_or_default();
            let more = if shown.len() < name.len() { "…" } else { "" };
            format!("Tool '{shown}{more}' not found{hint}")
        }
        CallOutcome::Denied { reason, by: DeniedBy::Policy } => match reason {
            Some(pattern) => format!("Tool denied by policy: {name} (rule {pattern})"),
            None => format!("Tool denied by policy: {name}"),
        },
        CallOutcome::Denied { reason, by: DeniedBy::Person } => match reason {
            Some(reason) => format!("The call of {name} was denied: {reason}"),
            None => format!("The call of {name} was denied."),
        },
        CallOutcome::Skipped { reason } => format!("skipped: {reason}"),
        CallOutcome::Interrupted | CallOutcome::Abandoned => "interrupted".to_owned(),
        CallOutcome::Unknown => "outcome unknown".to_owned(),
    }
}
