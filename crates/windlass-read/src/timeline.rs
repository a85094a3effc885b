//! The timeline of a run: its start, its steps with their calls, its model calls and tasks, its end. Reports are made of it.

mod calls;
mod model_calls;
mod prefixes;
mod questions;
mod tasks;
mod waits;

use windlass_core::event::{
    CallFact, CallVerified, CodeFact, DelegationFact, InputReceived, LimitFact, LimitReached, Millis,
    ModelFact, PeopleFact, Perception, PlanFact, PlanMade, Rejection, RunEnded, RunFact, RunInput,
    RunStarted, TurnFailed,
};
use windlass_core::message::ToolCall;
use windlass_core::model::{FailureKind, Usage};
use windlass_core::{Answer, CallId, CallOutcome, Event, Fact, Message, RunId, Status};
use windlass_store::Log;

use crate::error::Error;
use crate::load::pages::{RunPages, numbered};
use crate::load::start_of;
pub use calls::{By, TimelineCall};
use model_calls::ModelCalls;
pub use model_calls::{HostedUse, ModelCall, ModelCallEnd, ModelTurns};
use prefixes::Prefixes;
pub use prefixes::{BreakCause, PrefixBreak};
pub use questions::Question;
pub use tasks::Task;
pub use waits::{ModelAsk, Wait, WaitKind, WaitOn, Waits};

/// A run, read from its log.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The run.
    pub run: RunId,
    /// Its start.
    pub start: RunStarted,
    /// When it began.
    pub began: Millis,
    /// Time of its last event.
    pub last: Millis,
    /// Its steps, at least one once it has an event.
    pub steps: Vec<TimelineStep>,
    /// Its models with their replies.
    pub models: Vec<ModelTurns>,
    /// Its model calls that have ended, in order.
    pub model_calls: Vec<ModelCall>,
    /// The requests that do not go on with the beginning of those before them, in order.
    pub breaks: Vec<PrefixBreak>,
    /// The tasks that it handed over, in order.
    pub tasks: Vec<Task>,
    /// The questions that it put to people, in order.
    pub questions: Vec<Question>,
    /// The times in which nobody worked for it: those of rate limits, quotas, retries and people, in the order in which they began.
    pub waits: Vec<Wait>,
    /// Limits that it reached, in words.
    pub warnings: Vec<String>,
    /// The party that gave its end.
    pub ending: By,
    /// Its end.
    pub end: Option<RunEnded>,
    /// The first perception of a plan loop: that of the query.
    pub perception: Option<Perception>,
    /// The last version of its plan.
    pub plan: Option<PlanMade>,
    /// The calls that run the code of its steps.
    pub codes: Vec<TimelineCall>,
}

/// A step: for now a whole run is one. A loop with several iterations begins one with each.
#[derive(Clone, Debug, Default)]
pub struct TimelineStep {
    /// When it began.
    pub began: Millis,
    /// When its last event happened.
    pub ended: Millis,
    /// Its calls, in the order in which models asked for them.
    pub calls: Vec<TimelineCall>,
    /// Tokens of its model calls and tasks.
    pub tokens: u64,
    /// Replies with neither text nor call.
    pub clarifications: u32,
    /// Failed model calls and calls, in words.
    pub errors: Vec<String>,
}

impl Timeline {
    /// Reads a run.
    pub async fn of(log: &dyn Log, run: RunId) -> Result<Self, Error> {
        let start = start_of(log, run).await?;
        let mut timeline = Self {
            run,
            start,
            began: 0,
            last: 0,
            steps: Vec::new(),
            models: Vec::new(),
            model_calls: Vec::new(),
            breaks: Vec::new(),
            tasks: Vec::new(),
            questions: Vec::new(),
            waits: Vec::new(),
            warnings: Vec::new(),
            ending: By::Agent,
            end: None,
            perception: None,
            plan: None,
            codes: Vec::new(),
        };
        let (mut reader, mut pages) = (Reader::default(), RunPages::new(log, run));
        reader.models.models(&timeline.start.models);
        while let Some(batches) = pages.next().await? {
            for (seq, event) in batches.iter().flat_map(numbered) {
                reader.read(&mut timeline, seq, event);
            }
        }
        (timeline.models, timeline.model_calls) = reader.models.done();
        timeline.breaks = reader.prefixes.done();
        timeline.waits.extend(reader.waits.open().iter().filter(|wait| wait.on.kind().is_idle()).cloned());
        timeline.waits.sort_by_key(|wait| wait.number);
        Ok(timeline)
    }

    /// The run's input: the last message that a person or another agent gave.
    pub fn query(&self) -> String {
        let RunInput::Messages(messages) = &self.start.input else { return String::new() };
        let given = messages.iter().rev().find_map(|message| match &**message {
            Message::User { content, .. } | Message::TaskDelegation { content } => {
                Some(content.text().into_owned())
            }
            Message::System { .. } | Message::Assistant(_) | Message::Tool(_) => None,
        });
        given.unwrap_or_default()
    }

    /// The run's answer: its output, or its text.
    pub fn answer(&self) -> Option<String> {
        let end = self.end.as_ref()?;
        let output = end.output.as_ref().map(ToString::to_string);
        output.or_else(|| end.text.as_ref().map(ToString::to_string))
    }

    /// Its calls, step by step.
    pub fn calls(&self) -> impl Iterator<Item = &TimelineCall> {
        self.steps.iter().flat_map(|step| step.calls.iter())
    }

    /// From its first event to its last one, waits included.
    pub fn ms(&self) -> u64 {
        self.last.saturating_sub(self.began)
    }

    /// The call that ran the code of a step of a plan.
    pub fn code(&self, id: &CallId) -> Option<&TimelineCall> {
        self.codes.iter().find(|call| call.id == *id)
    }

    /// A person has answered: what they gave is theirs.
    fn answered(&mut self, received: &InputReceived) {
        match &received.answer {
            Answer::Conclude(_) | Answer::Final { .. } => self.ending = By::Person,
            // A conclusion that a person gave as the plan's next step.
            Answer::Plan { step: Some(step), .. } => {
                let kind = step.get("type").and_then(serde_json::Value::as_str).unwrap_or_default();
                if kind.eq_ignore_ascii_case("conclude") {
                    self.ending = By::Person;
                }
            }
            Answer::Result(_) => {
                let asked = self.questions.iter().find(|asked| asked.question == received.question);
                let step = self.steps.last_mut();
                let call = asked
                    .and_then(|asked| asked.call.as_ref())
                    .zip(step)
                    .and_then(|(call, step)| step.call(call));
                if let Some(call) = call {
                    call.result_by = By::Person;
                }
            }
            Answer::Approve
            | Answer::ApproveWith { .. }
            | Answer::Always
            | Answer::Deny { .. }
            | Answer::Text(_)
            | Answer::RunAgain
            | Answer::Unknown
            | Answer::Accept
            | Answer::Plan { step: None, .. }
            | Answer::Resume { .. }
            | Answer::Retry
            | Answer::Raise(_) => {}
        }
    }

    fn warns(&mut self, reached: &LimitReached) {
        let amount = reached.limit.amount(reached.max);
        self.warnings.push(format!("the limit of {amount} was reached"));
    }

    /// Takes in what an event says of a plan.
    fn plans(&mut self, event: &Event) {
        if let Fact::Plan(PlanFact::Perceived(perceived)) = &event.fact {
            self.perception.get_or_insert_with(|| perceived.perception.clone());
        } else if let Fact::Plan(PlanFact::Made(made)) = &event.fact {
            if let Some(id) = &made.call {
                let call = ToolCall { id: id.clone(), ..ToolCall::default() };
                self.codes.push(TimelineCall::opened(&call));
            }
            self.plan = Some(made.clone());
        } else if let Fact::Code(CodeFact::Started(started)) = &event.fact {
            if let Some(code) = self.codes.iter_mut().find(|code| code.id == started.call) {
                code.begins(event.at);
            }
        } else if let Fact::Call(CallFact::Retried(retried)) = &event.fact {
            if let Some(code) = self.codes.iter_mut().find(|code| code.id == retried.call) {
                code.retries += 1;
            }
        } else if let Fact::Code(CodeFact::Finished(finished)) = &event.fact
            && let Some(code) = self.codes.iter_mut().find(|code| code.id == finished.call)
        {
            (code.ended, code.outcome) = (Some(event.at), Some(finished.outcome.clone()));
        }
    }

    /// Whether the agent itself reached the goal. An answer that a person gave is a failure of the agent.
    pub fn succeeded(&self) -> bool {
        let reached = |status| matches!(status, Status::Answered | Status::Concluded);
        self.ending == By::Agent && self.end.as_ref().is_some_and(|end| reached(end.status))
    }

    /// How it ended, in words.
    pub fn status(&self) -> String {
        self.end.as_ref().map_or_else(|| "not ended".to_owned(), |end| end.status.to_string())
    }
}

#[derive(Default)]
struct Reader {
    models: ModelCalls,
    prefixes: Prefixes,
    waits: Waits,
}

/// Whether an event begins a step of the run.
fn begins_step(fact: &Fact) -> bool {
    matches!(fact, Fact::Plan(PlanFact::IterationStarted(_)))
}

impl Reader {
    fn read(&mut self, timeline: &mut Timeline, seq: u64, event: &Event) {
        if timeline.began == 0 {
            timeline.began = event.at;
        }
        timeline.last = timeline.last.max(event.at);
        timeline.plans(event);
        if begins_step(&event.fact) || timeline.steps.is_empty() {
            timeline.steps.push(TimelineStep { began: event.at, ..TimelineStep::default() });
        }
        self.models.learn(seq, event);
        self.prefixes.learn(seq, event);
        tasks::learn(&mut timeline.tasks, event);
        questions::learn(&mut timeline.questions, event);
        let over = self.waits.learn(event).into_iter();
        timeline.waits.extend(over.filter(|wait| wait.on.kind().is_idle()));
        let Some(step) = timeline.steps.last_mut() else { return };
        step.ended = step.ended.max(event.at);
        step.tokens += event.fact.usage().map_or(0, Usage::total);
        match &event.fact {
            Fact::Model(ModelFact::Completed(turn)) => step.opens(&turn.calls),
            Fact::Model(ModelFact::Failed(failed)) => step.failed(failed),
            Fact::Call(CallFact::Started(started)) => step.begins(&started.call, event.at),
            Fact::Delegation(DelegationFact::Started(started)) => step.begins(&started.call, event.at),
            Fact::Code(CodeFact::Started(started)) => step.begins(&started.call, event.at),
            Fact::Code(CodeFact::Called(called)) => step.opens(&called.calls),
            Fact::Code(CodeFact::Finished(finished)) => {
                step.ends(&finished.call, &finished.outcome, event.at);
            }
            Fact::Call(CallFact::Verified(verified)) => step.expects(verified),
            Fact::Call(CallFact::Retried(retried)) => step.retried(&retried.call),
            Fact::Call(CallFact::Finished(finished)) => {
                step.ends(&finished.call, &finished.outcome, event.at);
            }
            Fact::Delegation(DelegationFact::Finished(finished)) => {
                step.ends(&finished.call, &finished.outcome, event.at);
            }
            Fact::People(PeopleFact::InputReceived(received)) => timeline.answered(received),
            Fact::Model(ModelFact::OutputRejected(rejected)) => step.rejected(rejected.reason),
            Fact::Limit(LimitFact::Reached(reached)) => timeline.warns(reached),
            Fact::Run(RunFact::Ended(end)) => timeline.end = Some(end.clone()),
            _ => {}
        }
    }
}

impl TimelineStep {
    /// A model call failed.
    fn failed(&mut self, failed: &TurnFailed) {
        // The slower of two models is no error.
        if failed.remaining_model.is_none() || failed.failure.kind != FailureKind::Cancelled {
            self.errors.push(failed.failure.message.to_string());
        }
    }

    fn opens(&mut self, calls: &[ToolCall]) {
        self.calls.extend(calls.iter().map(TimelineCall::opened));
    }

    fn expects(&mut self, verified: &CallVerified) {
        if let Some(call) = self.call(&verified.call) {
            call.expected.clone_from(&verified.verdict.predicted_result);
        }
    }

    fn rejected(&mut self, reason: Rejection) {
        self.clarifications += u32::from(reason == Rejection::NoCall);
    }

    fn retried(&mut self, id: &CallId) {
        if let Some(call) = self.call(id) {
            call.retries += 1;
        }
    }

    fn call(&mut self, id: &CallId) -> Option<&mut TimelineCall> {
        self.calls.iter_mut().rev().find(|call| call.id == *id)
    }

    fn begins(&mut self, id: &CallId, at: Millis) {
        if let Some(call) = self.call(id) {
            call.begins(at);
        }
    }

    fn ends(&mut self, id: &CallId, outcome: &CallOutcome, at: Millis) {
        let Some(call) = self.call(id) else { return };
        (call.ended, call.outcome) = (Some(at), Some(outcome.clone()));
        if let Some(error) = call.error().filter(|_| call.began.is_some()) {
            let error = format!("{}: {error}", call.name);
            self.errors.push(error);
        }
    }
}
