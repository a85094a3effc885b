//! `windlass sessions events`: what happened in a conversation, as KAOS' memory tells it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};
use windlass_core::{
    CallId, CallOutcome, Event, Fact, Message, RunId, RunInput, SessionId, Status, ToolCall,
};
use windlass_runtime::numbered;
use windlass_store::{EventLog as _, SqliteLog};

use super::known;
use crate::failure::{Exit, Failure};
use crate::out;
use crate::view::words::cut;

/// How many events of a session are kept where its loop does not say (KAOS' `max_session_events`).
const KEPT: usize = 500;
/// How many events are read in one go.
const READ_AT_ONCE: usize = 1_000;
/// How many characters of an event's content a line shows.
const CONTENT_CHARS: usize = 200;

#[derive(Debug, Args)]
pub(super) struct EventsArgs {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    /// Only the last so many; never more than the loop's `memory.max_session_events`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// One JSON object an event
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: EventsArgs, log: Option<Arc<SqliteLog>>) -> Result<Exit, Failure> {
    let id = SessionId::from(args.session.as_str());
    let told = match &log {
        Some(log) if !known::runs(log, Some(&id)).await?.is_empty() => told(log, &id).await?,
        _ => return Err(super::unknown(&args.session)),
    };
    let limit = args.limit.map_or(usize::MAX, |limit| limit as usize);
    for event in told.iter().skip(told.len().saturating_sub(limit)) {
        if args.json { out::json(event)? } else { show(event)? }
    }
    Ok(Exit::Good)
}

/// The events of a session: the last ones, as many as its loop keeps.
pub(super) async fn told(log: &SqliteLog, id: &SessionId) -> Result<VecDeque<Value>, Failure> {
    let mut memory = Memory { kept: KEPT, events: VecDeque::new() };
    for run in known::runs(log, Some(id)).await?.iter().rev() {
        let mut teller = Teller { run: run.run, calls: BTreeMap::new(), trace: None };
        let mut from = 1;
        loop {
            let batches = log.read(run.run, from, READ_AT_ONCE).await?;
            let Some(last) = batches.last() else { break };
            from = last.last() + 1;
            for (number, event) in batches.iter().flat_map(numbered) {
                memory.heed(&event.fact);
                teller.tell(number, event).into_iter().for_each(|event| memory.keep(event));
            }
        }
    }
    Ok(memory.events)
}

/// The last events of a session: no more than its loop keeps (K25).
struct Memory {
    kept: usize,
    events: VecDeque<Value>,
}

impl Memory {
    fn heed(&mut self, fact: &Fact) {
        if let Fact::RunStarted(start) = fact
            && let Some(memory) = start.policy.past.memory.bounds()
        {
            self.kept = memory.max_session_events as usize;
        }
    }

    fn keep(&mut self, event: Value) {
        self.events.push_back(event);
        while self.events.len() > self.kept {
            self.events.pop_front();
        }
    }
}

/// Tells the events of one run.
struct Teller {
    run: RunId,
    calls: BTreeMap<CallId, ToolCall>,
    /// The ids of the trace and of the run's span in it, where one tells of it (K29).
    trace: Option<(String, String)>,
}

impl Teller {
    fn tell(&mut self, number: u64, event: &Event) -> Vec<Value> {
        if let Fact::RunStarted(start) = &event.fact {
            self.trace = start.trace.as_deref().and_then(ids);
        }
        let told: Vec<(&str, Value)> = match &event.fact {
            Fact::RunStarted(start) => match &start.input {
                RunInput::Messages(messages) => messages.iter().filter_map(|message| said(message)).collect(),
                RunInput::Continue(_) | RunInput::Fork(_) => Vec::new(),
            },
            Fact::Steered(steered) => vec![("user_message", json!(steered.text))],
            Fact::TurnCompleted(turn) => {
                self.calls.extend(turn.calls.iter().map(|call| (call.id.clone(), call.clone())));
                Vec::new()
            }
            // A call that began again after a restart is the same one.
            Fact::CallStarted(started) if started.attempt == 1 => self.called(&started.call),
            Fact::CallFinished(finished) => match &finished.outcome {
                CallOutcome::Ok { content } => {
                    let tool = self.calls.get(&finished.call).map(|call| call.name.clone());
                    vec![("tool_result", json!({ "tool": tool, "result": content.text() }))]
                }
                // KAOS tells of no result that there is not.
                _ => Vec::new(),
            },
            Fact::DelegationStarted(started) if started.attempt == 1 => {
                let task = args(self.calls.get(&started.call)).get("task").cloned();
                vec![("delegation_request", json!({ "agent": started.agent, "task": task }))]
            }
            Fact::DelegationFinished(finished) => {
                let agent = self.calls.get(&finished.call).map(|call| call.name.clone());
                vec![match &finished.outcome {
                    CallOutcome::Ok { content } => {
                        ("delegation_response", json!({ "agent": agent, "response": content.text() }))
                    }
                    other => ("delegation_error", json!({ "agent": agent, "error": error(other) })),
                }]
            }
            Fact::RunEnded(end) => match end.status {
                Status::Answered | Status::Concluded | Status::Clarification => {
                    let text = end.text.as_deref().unwrap_or_default();
                    let output = end.output.as_ref().filter(|_| text.is_empty());
                    vec![("agent_response", output.cloned().unwrap_or_else(|| json!(text)))]
                }
                Status::Failed(_) => vec![("error", json!(end.error))],
                // The limit's text is no answer (K2).
                Status::Limit(_) | Status::Cancelled => Vec::new(),
            },
            _ => Vec::new(),
        };
        told.into_iter().enumerate().map(|(place, told)| self.event(number, place, event.at, told)).collect()
    }

    fn called(&self, call: &CallId) -> Vec<(&'static str, Value)> {
        let Some(call) = self.calls.get(call) else { return Vec::new() };
        vec![("tool_call", json!({ "tool": call.name, "arguments": args(Some(call)) }))]
    }

    fn event(&self, number: u64, place: usize, at: u64, (kind, content): (&str, Value)) -> Value {
        let mut metadata = json!({ "run": self.run, "event": number });
        if let (Some((trace, span)), Some(fields)) = (&self.trace, metadata.as_object_mut()) {
            fields.extend([("trace_id".to_owned(), json!(trace)), ("span_id".to_owned(), json!(span))]);
        }
        json!({
            "event_id": format!("event_{:08x}", fingerprint(&format!("{} {number} {place}", self.run))),
            "timestamp": timestamp(at),
            "event_type": kind,
            "content": content,
            "metadata": metadata,
        })
    }
}

/// The trace's and the span's id in a `traceparent`.
fn ids(parent: &str) -> Option<(String, String)> {
    let mut parts = parent.split('-').skip(1);
    Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
}

fn said(message: &Message) -> Option<(&'static str, Value)> {
    match message {
        Message::User { content } => Some(("user_message", json!(content.text()))),
        Message::TaskDelegation { content } => Some(("task_delegation_received", json!(content.text()))),
        Message::System { .. } | Message::Assistant(_) | Message::Tool(_) => None,
    }
}

fn args(call: Option<&ToolCall>) -> Value {
    call.and_then(|call| serde_json::from_str(&call.args).ok()).unwrap_or_else(|| json!({}))
}

fn error(outcome: &CallOutcome) -> String {
    match outcome {
        CallOutcome::Error { message, .. } => message.to_string(),
        CallOutcome::TimedOut { after_ms } => format!("timed out after {after_ms} ms"),
        _ => "interrupted".to_owned(),
    }
}

/// FNV-1a: the same event has the same id whenever somebody looks.
fn fingerprint(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The time in UTC, as KAOS writes it.
fn timestamp(at: u64) -> String {
    let time = i64::try_from(at).ok().and_then(chrono::DateTime::from_timestamp_millis);
    time.map_or_else(|| at.to_string(), |time| time.format("%Y-%m-%dT%H:%M:%S%.3f+00:00").to_string())
}

fn show(event: &Value) -> std::io::Result<()> {
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let content = match event.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    out::line(format_args!(
        "{}  {:<24}  {}",
        text("timestamp"),
        text("event_type"),
        cut(&content, CONTENT_CHARS)
    ))
}
