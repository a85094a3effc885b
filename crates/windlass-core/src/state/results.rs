//! Renders the outcome of a call for the model.

use serde::Serialize as _;
use serde_json::{Value, json};

use crate::policy::Policy;
use crate::policy::results::Results;
use crate::policy::results::words::{DENIED, DENIED_BY_PERSON, NOT_VERIFIED, TIMED_OUT, UNKNOWN, UNNAMED};
use crate::policy::texts::filled;
use crate::state::open_call::OpenCall;
use crate::vocabulary::message::{CallTarget, Content, Message, Part, ToolMessage};
use crate::vocabulary::outcome::{CallOutcome, DeniedBy};

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
            let is_text = |part: &&Part| matches!(part, Part::Text { .. } | Part::Stored(_));
            let media = parts.iter().filter(|part| !is_text(part)).cloned();
            Content::Parts(std::iter::once(Part::Text { text: line.into() }).chain(media).collect())
        }
    }
}

impl OpenCall {
    /// Its failure in words, if it has failed.
    pub fn failure(&self) -> Option<String> {
        let outcome = self.outcome().filter(|outcome| !outcome.is_ok())?;
        let results = Results::default();
        let (_, words) = for_tool(&results, self, outcome);
        Some(Details::of(outcome).fill(words, self.target_name()))
    }
}

/// The usual words for the outcome of a tool's call that is no result.
pub(crate) fn plain_failure(outcome: &CallOutcome, tool: &str) -> String {
    let words = match outcome {
        CallOutcome::TimedOut { .. } => TIMED_OUT,
        CallOutcome::Denied { by: DeniedBy::Policy, .. } => DENIED,
        CallOutcome::Denied { by: DeniedBy::Person, .. } => DENIED_BY_PERSON,
        CallOutcome::Denied { by: DeniedBy::Verifier, .. } => NOT_VERIFIED,
        CallOutcome::UnknownTool { .. } => UNKNOWN,
        CallOutcome::Ok { .. }
        | CallOutcome::Error { .. }
        | CallOutcome::Malformed { .. }
        | CallOutcome::Rejected { .. }
        | CallOutcome::Skipped { .. }
        | CallOutcome::Interrupted
        | CallOutcome::Abandoned
        | CallOutcome::Unknown => "{error}",
    };
    Details::of(outcome).fill(words, tool)
}

/// The text of a call that failed.
fn failure_message(results: &Results, open: &OpenCall, outcome: &CallOutcome) -> String {
    let (call, reached) = (&open.call, open.target_name());
    let mut details = Details::of(outcome);
    // A name that no tool has may be of any length.
    let prefix = reached.get(..reached.floor_char_boundary(SHOWN_NAME)).unwrap_or_default();
    let tool = if prefix.len() < reached.len() { format!("{prefix}…") } else { prefix.to_owned() };
    let (mut template, words) = for_tool(results, open, outcome);
    if call.target == CallTarget::Agent {
        details.error = details.fill(words, &tool);
        template = for_agent(results, outcome).unwrap_or(template);
    }
    if matches!(outcome, CallOutcome::Error { .. }) {
        let agent = format!("Agent {}", call.name);
        details.who = if details.error.starts_with(&agent) { String::new() } else { format!("{agent}: ") };
    }
    details.fill(template, &tool)
}

/// The template for the failed call of a tool, and its usual words without a frame.
fn for_tool<'r>(results: &'r Results, open: &OpenCall, outcome: &CallOutcome) -> (&'r str, &'static str) {
    const ERROR: &str = "{error}";
    match outcome {
        CallOutcome::Rejected { .. } => (&results.rejected, ERROR),
        CallOutcome::Malformed { .. } if open.call.fault.is_some() => (&results.unreadable, ERROR),
        CallOutcome::Malformed { .. } => (&results.misfit, ERROR),
        CallOutcome::UnknownTool { .. } if open.target_name().is_empty() => (&results.unnamed, UNNAMED),
        CallOutcome::UnknownTool { .. } => (&results.unknown, UNKNOWN),
        CallOutcome::TimedOut { .. } => (&results.timed_out, TIMED_OUT),
        CallOutcome::Denied { by: DeniedBy::Policy, .. } => (&results.denied, DENIED),
        CallOutcome::Denied { by: DeniedBy::Person, .. } => (&results.denied_by_person, DENIED_BY_PERSON),
        CallOutcome::Denied { by: DeniedBy::Verifier, .. } => (&results.not_verified, NOT_VERIFIED),
        CallOutcome::Skipped { .. }
        | CallOutcome::Interrupted
        | CallOutcome::Abandoned
        | CallOutcome::Unknown => (&results.undone, ERROR),
        CallOutcome::Ok { .. } | CallOutcome::Error { .. } => (&results.failed, ERROR),
    }
}

/// The template for the failed task of an agent, where it has one of its own.
fn for_agent<'r>(results: &'r Results, outcome: &CallOutcome) -> Option<&'r str> {
    match outcome {
        CallOutcome::UnknownTool { .. } => Some(&results.agent_unknown),
        CallOutcome::Skipped { .. }
        | CallOutcome::Interrupted
        | CallOutcome::Abandoned
        | CallOutcome::Unknown => Some(&results.agent_undone),
        CallOutcome::Ok { .. }
        | CallOutcome::Error { .. }
        | CallOutcome::TimedOut { .. }
        | CallOutcome::Denied { .. } => Some(&results.agent_failed),
        CallOutcome::Malformed { .. } | CallOutcome::Rejected { .. } => None,
    }
}

/// The values that fill the places of a failure's template.
#[derive(Default)]
struct Details {
    error: String,
    kind: String,
    who: String,
    nearest: String,
    agents: String,
    seconds: String,
    rule: String,
    reason: String,
}

impl Details {
    fn of(outcome: &CallOutcome) -> Self {
        let error = |error: &str| Self { error: error.to_owned(), ..Self::default() };
        match outcome {
            CallOutcome::Ok { content } => error(&content.text()),
            CallOutcome::Error { kind, message } => {
                let kind = kind.as_ref().map_or(String::new(), |kind| format!("{kind}: "));
                Self { kind, ..error(message) }
            }
            CallOutcome::Malformed { message } | CallOutcome::Rejected { message } => error(message),
            CallOutcome::TimedOut { after_ms } => {
                Self { seconds: (*after_ms as f64 / 1e3).to_string(), ..Self::default() }
            }
            CallOutcome::UnknownTool { nearest } => {
                let quoted: Vec<String> = nearest.iter().map(|name| format!("'{name}'")).collect();
                let hint = format!(". The nearest tools: {}", nearest.join(", "));
                let nearest = if quoted.is_empty() { String::new() } else { hint };
                Self { nearest, agents: quoted.join(", "), ..Self::default() }
            }
            CallOutcome::Denied { reason, by: DeniedBy::Policy } => {
                let rule = reason.as_ref().map_or(String::new(), |pattern| format!(" (rule {pattern})"));
                Self { rule, ..Self::default() }
            }
            CallOutcome::Denied { reason, by: DeniedBy::Person | DeniedBy::Verifier } => {
                let reason = reason.as_ref().map_or(".".to_owned(), |reason| format!(": {reason}"));
                Self { reason, ..Self::default() }
            }
            CallOutcome::Skipped { reason } => error(&format!("skipped: {reason}")),
            CallOutcome::Interrupted | CallOutcome::Abandoned => error("interrupted"),
            CallOutcome::Unknown => error("outcome unknown"),
        }
    }

    fn fill(&self, template: &str, tool: &str) -> String {
        let places = [
            ("tool", tool),
            ("error", &self.error),
            ("kind", &self.kind),
            ("who", &self.who),
            ("nearest", &self.nearest),
            ("agents", &self.agents),
            ("seconds", &self.seconds),
            ("rule", &self.rule),
            ("reason", &self.reason),
        ];
        filled(template, &places)
    }
}

/// The message added for a branch that a hook asked for (acorn).
pub(crate) fn branch_message(policy: &Policy, open: &OpenCall, outcome: CallOutcome) -> Message {
    const BEFORE: &str = "[Branch Result]\n";
    let message = tool_message(policy, open, outcome);
    let content = message.content().cloned().unwrap_or_else(|| "".into());
    let content = match content {
        Content::Text(text) => format!("{BEFORE}{text}").into(),
        // A stored payload stays one.
        Content::Parts(parts) => {
            let before = Part::Text { text: BEFORE.trim_end().into() };
            Content::Parts(std::iter::once(before).chain(parts).collect())
        }
    };
    Message::User { content, pinned: false }
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

/// The text of a result where the code neither printed nor returned anything.
const NOTHING: &str = "The code returned nothing.";

/// The outcome of code as the model sees it: with what the code printed.
pub(crate) fn with_printed(outcome: CallOutcome, printed: Option<&str>) -> CallOutcome {
    let printed = printed.unwrap_or_default().trim_end();
    match outcome {
        CallOutcome::Ok { content } if printed.is_empty() => {
            let nothing = matches!(&content, Content::Text(text) if text.is_empty());
            CallOutcome::Ok { content: if nothing { NOTHING.into() } else { content } }
        }
        CallOutcome::Ok { content: Content::Text(text) } if text.is_empty() => {
            CallOutcome::Ok { content: printed.into() }
        }
        CallOutcome::Ok { content: Content::Text(text) } => {
            CallOutcome::Ok { content: format!("{printed}\n{text}").into() }
        }
        CallOutcome::Ok { content: Content::Parts(parts) } => {
            let before = Part::Text { text: printed.into() };
            CallOutcome::Ok { content: Content::Parts(std::iter::once(before).chain(parts).collect()) }
        }
        CallOutcome::Error { kind, message } if !printed.is_empty() => {
            CallOutcome::Error { kind, message: format!("{message}\n\nPrinted before:\n{printed}").into() }
        }
        ended @ (CallOutcome::Error { .. }
        | CallOutcome::TimedOut { .. }
        | CallOutcome::Malformed { .. }
        | CallOutcome::Rejected { .. }
        | CallOutcome::UnknownTool { .. }
        | CallOutcome::Denied { .. }
        | CallOutcome::Skipped { .. }
        | CallOutcome::Interrupted
        | CallOutcome::Abandoned
        | CallOutcome::Unknown) => ended,
    }
}
