//! How much there is to look at in an input: whoever drives a run does long work where nobody waits for it.

use crate::action::{Found, What};
use crate::event::RunInput;
use crate::message::{Content, Message};
use crate::outcome::CallOutcome;
use crate::question::Answer;
use crate::reply::Reply;
use crate::state::State;

/// What a call of a reply counts beside its own bytes: it is looked at more often than they are.
const CALL: u64 = 256;
/// What a part of a result counts beside its own bytes.
const PART: u64 = 64;

impl What {
    /// About how many bytes of text it brings, of whoever it comes from.
    pub fn heft(&self) -> u64 {
        match self {
            Self::Start(start) => {
                let input = match &start.input {
                    RunInput::Messages(messages) => messages.as_slice(),
                    RunInput::Fork(_) | RunInput::Continue(_) => &[],
                };
                start.prompt.iter().chain(input).map(|message| of_message(message)).sum()
            }
            Self::Replied { reply, .. } | Self::Objected { reply, .. } => reply.heft(),
            Self::ModelFailed { failure, .. } => failure.message.len() as u64,
            Self::CallEnded { outcome, .. }
            | Self::Delegated { outcome, .. }
            | Self::Checked { found: Found::Happened(outcome), .. } => of_outcome(outcome),
            Self::DelegateAsks { text, suggestions, .. } => {
                suggestions.iter().chain([text]).map(|text| text.len() as u64).sum()
            }
            Self::Stepped { edits, .. } => {
                let inserted = edits.splices.iter().flat_map(|splice| &splice.insert);
                inserted.map(|message| of_message(message)).sum()
            }
            Self::Answered { answer, .. } => match answer {
                Answer::Text(text) | Answer::Result(text) | Answer::Conclude(text) => text.len() as u64,
                _ => 0,
            },
            Self::Steer { text } => text.len() as u64,
            Self::Resumed { .. }
            | Self::Adopted { .. }
            | Self::Checked { .. }
            | Self::Cancel { .. }
            | Self::ToolsChanged { .. }
            | Self::TimerFired { .. } => 0,
        }
    }
}

impl State {
    /// About how many bytes are looked at when this input is decided on: its own, and those of the calls that it lets go on.
    pub fn heft_of(&self, what: &What) -> u64 {
        let open = self.open_calls().map(|open| open.args().len() as u64);
        let names = match what {
            What::Replied { reply, .. } | What::Objected { reply, .. } => {
                // Each call is looked for among all tools.
                reply.calls.len().saturating_mul(self.tools.len()) as u64
            }
            _ => 0,
        };
        open.fold(what.heft().saturating_add(names), u64::saturating_add)
    }
}

impl Reply {
    /// About how many bytes of text it brings.
    pub fn heft(&self) -> u64 {
        let text = self.text.as_ref().map_or(0, |text| text.len());
        let reasoning = self.reasoning.as_ref().map_or(0, |reasoning| {
            reasoning.text.len() + reasoning.sealed.as_ref().map_or(0, |sealed| sealed.data.len())
        });
        let calls = self.calls.iter().map(|call| (call.name.len() + call.args.len()) as u64 + CALL);
        (text + reasoning) as u64 + calls.sum::<u64>()
    }
}

fn of_outcome(outcome: &CallOutcome) -> u64 {
    match outcome {
        CallOutcome::Ok { content } => of_content(content),
        CallOutcome::Error { message, .. }
        | CallOutcome::Malformed { message }
        | CallOutcome::Rejected { message } => message.len() as u64,
        CallOutcome::Skipped { reason } => reason.len() as u64,
        CallOutcome::Denied { reason, .. } => reason.as_ref().map_or(0, |reason| reason.len() as u64),
        CallOutcome::TimedOut { .. }
        | CallOutcome::UnknownTool { .. }
        | CallOutcome::Interrupted { .. }
        | CallOutcome::Unknown => 0,
    }
}

fn of_content(content: &Content) -> u64 {
    let parts = match content {
        Content::Text(_) => 0,
        Content::Parts(parts) => parts.len() as u64 * PART,
    };
    content.bytes() + parts
}

fn of_message(message: &Message) -> u64 {
    message.content().map_or_else(|| message.bytes(), of_content)
}
