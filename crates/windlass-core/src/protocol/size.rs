//! Size estimates of inputs and facts, by which drivers move long work off the thread of the event loop.

use serde_json::Value;

use crate::protocol::fact::calls::{CallDecided, Decision};
use crate::protocol::fact::interrupts::{AnsweredBy, Steered};
use crate::protocol::fact::plan::{Perception, PlanStep, StepWork};
use crate::protocol::fact::run::{RunInput, RunStarted};
use crate::protocol::fact::{
    Adjusted, CallFact, CodeFact, ContextFact, DelegationFact, Fact, LimitFact, ModelFact, PeopleFact,
    PlanFact, RunFact,
};
use crate::protocol::input::{Found, InputKind};
use crate::vocabulary::annotations::Annotations;
use crate::vocabulary::history::Splice;
use crate::vocabulary::ids::Text;
use crate::vocabulary::message::{Content, Media, Message, Reasoning, ToolCall};
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::question::Answer;
use crate::vocabulary::reply::{ModelFailure, Reply};
use crate::vocabulary::tool::ToolSpec;

/// Weight of a reply's call beside its own bytes: a call is read several times.
const CALL: u64 = 256;
/// Weight of a result's part beside its own bytes.
const PART: u64 = 64;
/// Weight of a tool's description.
const TOOL: u64 = 512;

impl InputKind {
    /// Approximate size of the input's text, in bytes.
    pub fn text_bytes(&self) -> u64 {
        match self {
            Self::Start(start) => of_start(start),
            Self::Replied { reply, .. } => reply.text_bytes(),
            Self::ModelFailed { failure, .. } => of_failure(failure),
            Self::CallEnded { outcome, .. }
            | Self::CallLost { outcome, .. }
            | Self::DelegateEnded { outcome, .. }
            | Self::Checked { found: Found::Happened(outcome), .. } => of_outcome(outcome),
            Self::CodeCalls { calls, .. } => {
                calls.iter().map(|call| (call.name.len() + call.args.len()) as u64 + CALL).sum()
            }
            Self::CodeEnded { outcome, stdout, .. } => {
                of_outcome(outcome) + stdout.as_ref().map_or(0, |stdout| stdout.len() as u64)
            }
            Self::DelegateAsks { text, suggestions, .. } => of_texts(suggestions.iter().chain([text])),
            Self::DelegateDeferred { model, .. } => model.len() as u64,
            Self::HookEnded { edits, .. } => of_splices(&edits.splices),
            Self::Answered { answer, by, .. } => of_answer(answer) + of_name(by.as_ref()),
            Self::Steer(steered) => of_steered(steered),
            Self::Pause { reason } => reason.as_ref().map_or(0, |reason| reason.len() as u64),
            Self::Queue { messages, .. } => messages.iter().map(|message| of_message(message)).sum(),
            Self::Resumed { .. }
            | Self::Checked { .. }
            | Self::Cancel { .. }
            | Self::ToolsChanged { .. }
            | Self::TimerFired { .. } => 0,
        }
    }
}

impl Reply {
    /// About how many bytes of text it brings.
    pub fn text_bytes(&self) -> u64 {
        let text = self.text.as_ref().map_or(0, |text| text.len() as u64);
        let calls = self.calls.iter().map(|call| (call.name.len() + call.args.len()) as u64 + CALL);
        text + self.reasoning.as_ref().map_or(0, of_reasoning)
            + of_media(&self.media)
            + calls.sum::<u64>()
            + of_annotations(self.annotations.as_deref())
    }
}

impl Fact {
    /// Approximate size of the fact's text, in bytes.
    pub fn text_bytes(&self) -> u64 {
        match self {
            Self::Run(fact) => of_run(fact),
            Self::Model(fact) => of_model(fact),
            Self::Call(fact) => of_call(fact),
            Self::Code(fact) => of_code(fact),
            Self::Delegation(DelegationFact::Finished(finished)) => of_outcome(&finished.outcome),
            Self::Plan(fact) => of_plan(fact),
            Self::Context(fact) => of_context(fact),
            Self::People(fact) => of_people(fact),
            Self::Delegation(DelegationFact::Started(_) | DelegationFact::Deferred(_))
            | Self::Limit(LimitFact::Reached(_) | LimitFact::Raised(_)) => 0,
        }
    }
}

fn optional(text: Option<&Text>) -> u64 {
    text.map_or(0, |text| text.len() as u64)
}

fn of_run(fact: &RunFact) -> u64 {
    let tools = |tools: &[ToolSpec]| tools.len() as u64 * TOOL;
    match fact {
        RunFact::Started(start) => of_start(start) + tools(&start.tools),
        RunFact::Adjusted(adjusted) => {
            of_adjusted(adjusted) + adjusted.tools.as_ref().map_or(0, |all| tools(all))
        }
        RunFact::Ended(end) => {
            optional(end.text.as_ref())
                + optional(end.error.as_ref())
                + end.output.as_ref().map_or(0, of_value)
        }
        RunFact::Resumed(_) => 0,
    }
}

fn of_model(fact: &ModelFact) -> u64 {
    match fact {
        ModelFact::Completed(turn) => {
            let reasoning = turn.reasoning.as_ref().map_or(0, of_reasoning);
            let texts = optional(turn.text.as_ref()) + optional(turn.objection.as_ref());
            let notes = of_annotations(turn.annotations.as_deref());
            texts + reasoning + of_media(&turn.media) + of_calls(&turn.calls) + notes
        }
        ModelFact::Failed(turn) => of_failure(&turn.failure),
        ModelFact::OutputRejected(rejected) => rejected.note.len() as u64,
        ModelFact::Started(_)
        | ModelFact::Hedged(_)
        | ModelFact::HedgeSkipped(_)
        | ModelFact::ProbeAnswered(_) => 0,
    }
}

fn of_call(fact: &CallFact) -> u64 {
    match fact {
        CallFact::Decided(CallDecided { decision: Decision::Edited { args }, .. }) => args.len() as u64,
        CallFact::Retried(retried) => of_outcome(&retried.outcome),
        CallFact::Finished(finished) => of_outcome(&finished.outcome) + optional(finished.note.as_ref()),
        CallFact::ResultSummarised(summarised) => summarised.summary.as_ref().map_or(0, Content::bytes),
        CallFact::StepBranched(branched) => of_calls(&branched.calls),
        CallFact::Held(_)
        | CallFact::Decided(_)
        | CallFact::ToolAllowed(_)
        | CallFact::Verified(_)
        | CallFact::Started(_)
        | CallFact::Doubted(_) => 0,
    }
}

fn of_code(fact: &CodeFact) -> u64 {
    match fact {
        CodeFact::Called(called) => of_calls(&called.calls),
        CodeFact::Finished(finished) => {
            of_outcome(&finished.outcome)
                + optional(finished.stdout.as_ref())
                + optional(finished.note.as_ref())
        }
        CodeFact::Started(_) => 0,
    }
}

fn of_plan(fact: &PlanFact) -> u64 {
    match fact {
        PlanFact::Perceived(perceived) => of_perception(&perceived.perception),
        PlanFact::Proposed(proposed) => of_plan_text(&proposed.text, Some(&proposed.step)),
        PlanFact::Made(made) => of_plan_text(&made.text, made.step.as_ref()),
        PlanFact::StepFinished(finished) => optional(finished.result.as_ref()),
        PlanFact::IterationStarted(started) => optional(started.note.as_ref()),
        PlanFact::BlackboardRestored(restored) => restored.note.len() as u64,
        PlanFact::Judged(judged) => judged.missing.len() as u64,
        PlanFact::BlackboardSaved(_) => 0,
    }
}

fn of_context(fact: &ContextFact) -> u64 {
    match fact {
        ContextFact::HistoryEdited(edited) => of_splices(&edited.splices),
        ContextFact::Compacted(compacted) => of_splices(&compacted.splices),
        ContextFact::Measured(_) | ContextFact::Warned(_) | ContextFact::CompactionSkipped(_) => 0,
    }
}

fn of_people(fact: &PeopleFact) -> u64 {
    match fact {
        PeopleFact::InputRequested(asked) => of_texts(asked.suggestions.iter().chain([&asked.text])),
        PeopleFact::InputReceived(received) => of_answer(&received.answer) + of_name(received.by.as_ref()),
        PeopleFact::Steered(steered) => of_steered(steered),
        PeopleFact::MessageQueued(queued) => queued.messages.iter().map(|message| of_message(message)).sum(),
        PeopleFact::Paused(_) | PeopleFact::CancelRequested(_) => 0,
    }
}

/// The changes, without the tools.
fn of_adjusted(adjusted: &Adjusted) -> u64 {
    let prompt = adjusted.prompt.iter().flat_map(|prompt| prompt.iter());
    let prompt: u64 = prompt.map(|message| of_message(message)).sum();
    let refused = adjusted.refused.as_ref().map_or(0, |refused| refused.message.len() as u64);
    prompt + refused + adjusted.objective.as_ref().map_or(0, |objective| objective.len() as u64)
}

/// The name that somebody who answered gave.
fn of_name(by: Option<&AnsweredBy>) -> u64 {
    by.and_then(|by| by.name.as_ref()).map_or(0, |name| name.len() as u64)
}

fn of_perception(found: &Perception) -> u64 {
    let texts = [&found.reasoning, &found.local_reasoning, &found.solution_summary];
    of_texts(texts.into_iter())
}

fn of_steered(steered: &Steered) -> u64 {
    steered.bytes() + steered.prompt.as_ref().map_or(0, |prompt| prompt.len()) as u64
}

fn of_start(start: &RunStarted) -> u64 {
    let input = match &start.input {
        RunInput::Messages(messages) => messages.as_slice(),
        RunInput::Fork(_) | RunInput::Continue(_) => &[],
    };
    let messages: u64 = start.prompt.iter().chain(input).map(|message| of_message(message)).sum();
    messages + start.objective.as_ref().map_or(0, |objective| objective.len() as u64)
}

fn of_reasoning(reasoning: &Reasoning) -> u64 {
    (reasoning.text.len() + reasoning.provider_metadata.as_ref().map_or(0, |sealed| sealed.data.len())) as u64
}

fn of_annotations(annotations: Option<&Annotations>) -> u64 {
    annotations.map_or(0, Annotations::bytes)
}

fn of_media(media: &[Media]) -> u64 {
    media.iter().map(Media::bytes).sum()
}

fn of_calls(calls: &[ToolCall]) -> u64 {
    calls.iter().map(|call| (call.name.len() + call.args.len()) as u64 + CALL).sum()
}

fn of_splices(splices: &[Splice]) -> u64 {
    splices.iter().flat_map(|splice| &splice.insert).map(|message| of_message(message)).sum()
}

fn of_texts<'t>(texts: impl Iterator<Item = &'t Text>) -> u64 {
    texts.map(|text| text.len() as u64).sum()
}

fn of_answer(answer: &Answer) -> u64 {
    match answer {
        Answer::Text(text) | Answer::Result(text) | Answer::Conclude(text) => text.len() as u64,
        Answer::Final { final_answer, confidence, .. } => {
            (final_answer.len() + confidence.as_ref().map_or(0, |text| text.len())) as u64
        }
        Answer::ApproveWith { args } => of_value(args),
        Answer::Resume { text } => text.as_ref().map_or(0, |text| text.len() as u64),
        Answer::Deny { reason } => reason.as_ref().map_or(0, |reason| reason.len() as u64),
        Answer::Plan { plan, step } => of_texts(plan.iter()) + step.as_ref().map_or(0, of_value),
        Answer::Accept
        | Answer::Approve
        | Answer::Always
        | Answer::RunAgain
        | Answer::Unknown
        | Answer::Retry
        | Answer::Raise(_) => 0,
    }
}

fn of_plan_text(lines: &[Text], step: Option<&PlanStep>) -> u64 {
    let work = step.map_or(0, |step| match &step.work {
        StepWork::Code(text) | StepWork::Conclude(text) => text.len() as u64,
        StepWork::Nop => 0,
    });
    of_texts(lines.iter()) + work
}

fn of_value(value: &Value) -> u64 {
    2 + match value {
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(of_value).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() as u64 + of_value(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
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
        | CallOutcome::Interrupted
        | CallOutcome::Abandoned
        | CallOutcome::Unknown => 0,
    }
}

fn of_failure(failure: &ModelFailure) -> u64 {
    failure.message.len() as u64 + failure.reply().map_or(0, of_content)
}

fn of_content(content: &Content) -> u64 {
    let parts = match content {
        Content::Text(_) => 0,
        Content::Parts(parts) => parts.len() as u64 * PART,
    };
    content.bytes() + parts
}

fn of_message(message: &Message) -> u64 {
    let notes = match message {
        Message::Assistant(reply) => of_annotations(reply.annotations.as_deref()),
        Message::System { .. } | Message::User { .. } | Message::TaskDelegation { .. } | Message::Tool(_) => {
            0
        }
    };
    notes + message.content().map_or_else(|| message.bytes(), of_content)
}
