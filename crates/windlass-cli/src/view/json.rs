//! A run as JSON lines: the same form for `run`, `chat`, `runs watch`, `runs show` and `runs export`.

use std::io;

use serde_json::{Value, json};
use windlass_core::{Event, OpenQuestion, RunState};
use windlass_runtime::{Run, Update};

use crate::failure::Failure;
use crate::out;

/// Writes a JSON object a line, until that fails for the first time.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub(super) broken: Option<io::Error>,
}

impl Writer {
    pub(crate) fn value(&mut self, value: &Value) {
        if self.broken.is_none() {
            self.broken = out::json(value).err();
        }
    }

    pub(super) fn event(&mut self, number: u64, fact: &Event) {
        self.value(&event(number, fact));
    }

    pub(super) fn update(&mut self, update: &Update) {
        let value = match update {
            Update::Text { action, text } => json!({ "type": "text", "action": action.seq, "text": text }),
            Update::Reasoning { action, text } => {
                json!({ "type": "reasoning", "action": action.seq, "text": text })
            }
            Update::Call { action, index, name, args } => {
                json!({ "type": "call", "action": action.seq, "index": index, "name": name, "args": args })
            }
            Update::Partial { action, output } => {
                json!({ "type": "partial", "action": action.seq, "output": output })
            }
            Update::Void { action } => json!({ "type": "void", "action": action.seq }),
            Update::Log(line) => json!({ "type": "log", "warning": line.warning, "text": line.text }),
            Update::Refused { invalid } => {
                json!({ "type": "refused", "code": invalid.code(), "message": invalid.to_string() })
            }
            Update::Events(_) => {
                super::each(update, |number, fact| self.event(number, fact));
                return;
            }
        };
        self.value(&value);
    }
}

/// An event with its number in its run.
pub(crate) fn event(number: u64, event: &Event) -> Value {
    let data = event.fact.body().ok().and_then(|body| serde_json::from_str::<Value>(&body).ok());
    json!({ "type": "event", "seq": number, "at": event.at, "event": event.fact.kind(), "data": data })
}

/// A run as it stands.
pub(crate) fn run(run: &Run, failure: Option<&Failure>) -> Value {
    let state = run.state();
    let standing = match run.standing() {
        RunState::Running => "running".to_owned(),
        RunState::Suspended => "suspended".to_owned(),
        RunState::Ended(status) => status.to_string(),
    };
    let counters = state.counters();
    json!({
        "type": "run",
        "run": run.id(),
        "status": standing,
        "agent": state.agent(),
        "session": state.session(),
        "text": run.text(),
        "output": run.output(),
        "error": run.error(),
        "usage": run.usage(),
        "cost_usd": run.cost_usd(),
        "model_calls": counters.model_calls,
        "tool_calls": counters.tool_calls,
        "questions": run.questions().iter().map(question).collect::<Vec<_>>(),
        "failure": failure.map(Failure::json),
    })
}

/// A question that waits for its answer.
pub(crate) fn question(question: &OpenQuestion) -> Value {
    json!({
        "id": question.id,
        "kind": question.kind.name(),
        "call": question.call,
        "text": question.text,
        "suggestions": question.suggestions,
        "expects": question.kind.expects(),
    })
}
