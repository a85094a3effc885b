//! The events of a conversation as the memory of KAOS tells them.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};
use windlass_core::event::{
    CallFact, CodeFact, Decision, DelegationFact, DelegationFinished, ModelFact, PeopleFact, RunEnded,
    RunFact, RunInput,
};
use windlass_core::message::ToolCall;
use windlass_core::{CallId, CallOutcome, Event, Fact, Message, RunId, SessionId, Status};
use windlass_store::Store;

use crate::error::Error;
use crate::load::pages::{RunPages, numbered};
use crate::reports::{session_runs, sessions};

/// The number of events that a session keeps where its loop does not say (KAOS' `max_session_events`).
const KEPT: usize = 500;

/// The events of a session in order: messages, calls, results, delegations, answers. Each one is an object with `event_id`,
/// `timestamp`, `event_type`, `content` and `metadata`. Only the last ones are kept, as many as the session's loop says
/// (`memory.max_session_events`). A session without runs has none.
///
/// # Errors
/// The log failed.
pub async fn session_events(log: &dyn Store, session: &SessionId) -> Result<VecDeque<Value>, Error> {
    let mut memory = Memory { kept: KEPT, events: VecDeque::new() };
    for run in session_runs(log, Some(session)).await?.iter().rev() {
        let mut teller = Teller { run: run.run, calls: BTreeMap::new(), trace: None };
        let mut pages = RunPages::new(log, run.run);
        while let Some(batches) = pages.next().await? {
            for (number, event) in batches.iter().flat_map(numbered) {
                memory.heed(&event.fact);
                teller.tell(number, event).into_iter().for_each(|event| memory.keep(event));
            }
        }
    }
    Ok(memory.events)
}

/// The size of the bounded memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionStats {
    /// The sessions that it holds.
    pub sessions: u64,
    /// Their events, as many as each session keeps.
    pub events: u64,
    /// The sessions beyond its bounds, which are still in the log.
    pub dropped: u64,
}

impl SessionStats {
    /// Events per session, rounded down.
    pub fn average(&self) -> u64 {
        self.events.checked_div(self.sessions).unwrap_or(0)
    }
}

/// Counts the sessions and events that the bounded memory holds.
///
/// # Errors
/// The log failed.
pub async fn session_stats(log: &dyn Store) -> Result<SessionStats, Error> {
    let mut stats = SessionStats::default();
    for session in sessions(log).await? {
        if session.held {
            stats.sessions += 1;
            stats.events += session_events(log, &session.id).await?.len() as u64;
        } else {
            stats.dropped += 1;
        }
    }
    Ok(stats)
}

/// The last events of a session: no more than its loop keeps.
struct Memory {
    kept: usize,
    events: VecDeque<Value>,
}

impl Memory {
    fn heed(&mut self, fact: &Fact) {
        if let Fact::Run(RunFact::Started(start)) = fact
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

/// An event as KAOS tells it, before it has an id and a time.
struct KaosEvent {
    kind: &'static str,
    content: Value,
}

impl KaosEvent {
    fn new(kind: &'static str, content: Value) -> Self {
        Self { kind, content }
    }
}

/// Tells the events of one run.
struct Teller {
    run: RunId,
    calls: BTreeMap<CallId, ToolCall>,
    /// The ids of the trace and of the run's span in it, where one tells of it.
    trace: Option<(String, String)>,
}

impl Teller {
    /// Keeps what later events refer to.
    fn heed(&mut self, fact: &Fact) {
        if let Fact::Run(RunFact::Started(start)) = fact {
            self.trace = start.traceparent.as_deref().and_then(ids);
        } else if let Fact::Model(ModelFact::Completed(turn)) = fact {
            self.calls.extend(turn.calls.iter().map(|call| (call.id.clone(), call.clone())));
        } else if let Fact::Code(CodeFact::Called(code)) = fact {
            self.calls.extend(code.calls.iter().map(|call| (call.id.clone(), call.clone())));
        } else if let Fact::Call(CallFact::Verified(verified)) = fact {
            if let (Some(args), Some(call)) = (&verified.args, self.calls.get_mut(&verified.call)) {
                call.args = args.clone().into();
            }
        } else if let Fact::Call(CallFact::Decided(decided)) = fact
            && let Decision::Edited { args } = &decided.decision
            && let Some(call) = self.calls.get_mut(&decided.call)
        {
            // The call runs with the arguments that a person gave it.
            call.args = args.clone().into();
        }
    }

    fn tell(&mut self, number: u64, event: &Event) -> Vec<Value> {
        self.heed(&event.fact);
        let events: Vec<KaosEvent> = match &event.fact {
            Fact::Run(RunFact::Started(start)) => match &start.input {
                RunInput::Messages(messages) => {
                    messages.iter().filter_map(|message| message_event(message)).collect()
                }
                RunInput::Continue(_) | RunInput::Fork(_) => Vec::new(),
            },
            Fact::People(PeopleFact::Steered(steered)) => {
                let content = steered.content(steered.text.clone());
                vec![KaosEvent::new("user_message", json!(content.text()))]
            }
            Fact::Code(CodeFact::Started(started)) if started.attempt == 1 => self.called(&started.call),
            Fact::Code(CodeFact::Finished(finished)) => self.result(&finished.call, &finished.outcome),
            // A call that began again after a restart is the same one.
            Fact::Call(CallFact::Started(started)) if started.attempt == 1 => self.called(&started.call),
            Fact::Call(CallFact::Finished(finished)) => self.result(&finished.call, &finished.outcome),
            Fact::Delegation(DelegationFact::Started(started)) if started.attempt == 1 => {
                let task = args(self.calls.get(&started.call)).get("task").cloned();
                vec![KaosEvent::new("delegation_request", json!({ "agent": started.agent, "task": task }))]
            }
            Fact::Delegation(DelegationFact::Finished(finished)) => self.handed_back(finished),
            Fact::Run(RunFact::Ended(end)) => ended(end),
            _ => Vec::new(),
        };
        events
            .into_iter()
            .enumerate()
            .map(|(place, kaos)| self.event(number, place, event.at, kaos))
            .collect()
    }

    fn handed_back(&self, finished: &DelegationFinished) -> Vec<KaosEvent> {
        let agent = self.calls.get(&finished.call).map(|call| call.name.clone());
        vec![if let CallOutcome::Ok { content } = &finished.outcome {
            KaosEvent::new("delegation_response", json!({ "agent": agent, "response": content.text() }))
        } else {
            KaosEvent::new("delegation_error", json!({ "agent": agent, "error": error(&finished.outcome) }))
        }]
    }

    /// KAOS tells of no result that there is not.
    fn result(&self, call: &CallId, outcome: &CallOutcome) -> Vec<KaosEvent> {
        let CallOutcome::Ok { content } = outcome else { return Vec::new() };
        let tool = self.calls.get(call).map(|call| call.name.clone());
        vec![KaosEvent::new("tool_result", json!({ "tool": tool, "result": content.text() }))]
    }

    fn called(&self, call: &CallId) -> Vec<KaosEvent> {
        let Some(call) = self.calls.get(call) else { return Vec::new() };
        vec![KaosEvent::new("tool_call", json!({ "tool": call.name, "arguments": args(Some(call)) }))]
    }

    fn event(&self, number: u64, place: usize, at: u64, kaos: KaosEvent) -> Value {
        let KaosEvent { kind, content } = kaos;
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

fn message_event(message: &Message) -> Option<KaosEvent> {
    match message {
        Message::User { content, .. } => Some(KaosEvent::new("user_message", json!(content.text()))),
        Message::TaskDelegation { content } => {
            Some(KaosEvent::new("task_delegation_received", json!(content.text())))
        }
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
        CallOutcome::Ok { .. }
        | CallOutcome::Malformed { .. }
        | CallOutcome::Rejected { .. }
        | CallOutcome::UnknownTool { .. }
        | CallOutcome::Denied { .. }
        | CallOutcome::Skipped { .. }
        | CallOutcome::Interrupted
        | CallOutcome::Abandoned
        | CallOutcome::Unknown => "interrupted".to_owned(),
    }
}

/// FNV-1a: gives an event the same id every time.
fn fingerprint(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The time in UTC, as KAOS writes it.
fn timestamp(at: u64) -> String {
    let time = i64::try_from(at).ok().and_then(chrono::DateTime::from_timestamp_millis);
    time.map_or_else(|| at.to_string(), |time| time.format("%Y-%m-%dT%H:%M:%S%.3f+00:00").to_string())
}

/// The end of a run.
fn ended(end: &RunEnded) -> Vec<KaosEvent> {
    match end.status {
        Status::Answered | Status::Concluded | Status::Clarification => {
            let text = end.text.as_deref().unwrap_or_default();
            let output = end.output.as_ref().filter(|_| text.is_empty());
            vec![KaosEvent::new("agent_response", output.cloned().unwrap_or_else(|| json!(text)))]
        }
        Status::Failed(_) => vec![KaosEvent::new("error", json!(end.error))],
        // The limit's text is no answer (K2).
        Status::Limit(_) | Status::Cancelled => Vec::new(),
    }
}
