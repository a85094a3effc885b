//! A run as a whole: its start, its steps with their calls, its end. Reports are made of it.

mod routes;

use windlass_core::event::{
    CallVerified, InputReceived, Millis, Perception, PlanMade, Rejection, RunEnded, RunInput, RunStarted,
    TurnCompleted, TurnFailed,
};
use windlass_core::message::ToolCall;
use windlass_core::model::FailureKind;
use windlass_core::{Answer, CallId, CallOutcome, Event, Fact, Message, QuestionId, RunId, Status, Text};
use windlass_store::Log;

use crate::error::Error;
use crate::load::pages::RunPages;
use crate::load::start_of;
pub use routes::ModelTurns;
pub(crate) use routes::OpenCalls;
use routes::Router;

/// A run, read from its log.
#[derive(Clone, Debug)]
pub(crate) struct Trail {
    pub(crate) run: RunId,
    pub(crate) start: RunStarted,
    pub(crate) began: Millis,
    /// Time of its last event.
    pub(crate) last: Millis,
    pub(crate) steps: Vec<TrailStep>,
    /// Its models with their replies.
    pub(crate) models: Vec<ModelTurns>,
    pub(crate) warnings: Vec<String>,
    pub(crate) ending: By,
    pub(crate) end: Option<RunEnded>,
    /// The first perception of a plan loop: that of the query.
    pub(crate) perception: Option<Perception>,
    /// The last version of its plan.
    pub(crate) plan: Option<PlanMade>,
    /// The calls that run the code of its steps.
    pub(crate) codes: Vec<TrailCall>,
}

/// The party that gave a run's end or a call's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum By {
    /// The agent or its tool.
    #[default]
    Agent,
    /// A person.
    Person,
}

/// A step: for now a whole run is one. A loop with several iterations begins one with each ([`begins_step`]).
#[derive(Clone, Debug, Default)]
pub(crate) struct TrailStep {
    pub(crate) began: Millis,
    pub(crate) ended: Millis,
    pub(crate) calls: Vec<TrailCall>,
    pub(crate) tokens: u64,
    pub(crate) clarifications: u32,
    pub(crate) errors: Vec<String>,
}

/// A call of a tool or another agent.
#[derive(Clone, Debug)]
pub(crate) struct TrailCall {
    pub(crate) id: CallId,
    pub(crate) name: Text,
    pub(crate) args: Text,
    /// When it began to run; `None`: it never did.
    pub(crate) began: Option<Millis>,
    /// When its last try began.
    pub(crate) tried: Option<Millis>,
    pub(crate) ended: Option<Millis>,
    /// Number of failed tries before the last one.
    pub(crate) retries: u32,
    pub(crate) outcome: Option<CallOutcome>,
    /// The result that a verifier expected.
    pub(crate) expected: Option<Text>,
    pub(crate) result_by: By,
}

impl TrailCall {
    pub(crate) fn ms(&self) -> u64 {
        self.began.zip(self.ended).map_or(0, |(began, ended)| ended.saturating_sub(began))
    }

    /// The last try alone.
    pub(crate) fn last_ms(&self) -> u64 {
        self.tried.zip(self.ended).map_or(0, |(began, ended)| ended.saturating_sub(began))
    }

    fn opened(call: &ToolCall) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            args: call.args.to_text(),
            began: None,
            tried: None,
            ended: None,
            retries: 0,
            outcome: None,
            expected: None,
            result_by: By::Agent,
        }
    }

    fn begins(&mut self, at: Millis) {
        self.began.get_or_insert(at);
        self.tried = Some(at);
    }

    /// Result as text.
    pub(crate) fn result(&self) -> Option<String> {
        self.outcome.as_ref()?.content().map(|content| content.text().into_owned())
    }

    /// Why it gave no result.
    pub(crate) fn error(&self) -> Option<String> {
        match self.outcome.as_ref()? {
            CallOutcome::Ok { .. } => None,
            CallOutcome::Error { message, .. }
            | CallOutcome::Malformed { message }
            | CallOutcome::Rejected { message } => Some(message.to_string()),
            CallOutcome::TimedOut { after_ms } => Some(format!("timed out after {after_ms} ms")),
            CallOutcome::UnknownTool { .. } => Some("unknown tool".to_owned()),
            CallOutcome::Denied { reason, .. } => Some(reason.as_deref().unwrap_or("denied").to_owned()),
            CallOutcome::Skipped { reason } => Some(format!("skipped: {reason}")),
            CallOutcome::Interrupted => Some("interrupted".to_owned()),
            CallOutcome::Abandoned => Some("abandoned".to_owned()),
            CallOutcome::Unknown => Some("unknown whether it happened".to_owned()),
        }
    }

    /// Whether the tool ran and failed: what its reliability counts. Calls that never reached it say nothing of it.
    pub(crate) fn verdict(&self) -> Option<bool> {
        match self.outcome.as_ref()? {
            CallOutcome::Ok { .. } => Some(self.result_by == By::Agent),
            CallOutcome::Error { .. } | CallOutcome::TimedOut { .. } => Some(false),
            CallOutcome::Malformed { .. }
            | CallOutcome::Rejected { .. }
            | CallOutcome::UnknownTool { .. }
            | CallOutcome::Denied { .. }
            | CallOutcome::Skipped { .. }
            | CallOutcome::Interrupted
            | CallOutcome::Abandoned
            | CallOutcome::Unknown => None,
        }
    }
}

impl Trail {
    /// Reads a run.
    pub(crate) async fn of(log: &dyn Log, run: RunId) -> Result<Self, Error> {
        let start = start_of(log, run).await?;
        let mut trail = Self {
            run,
            start,
            began: 0,
            last: 0,
            steps: Vec::new(),
            models: Vec::new(),
            warnings: Vec::new(),
            ending: By::Agent,
            end: None,
            perception: None,
            plan: None,
            codes: Vec::new(),
        };
        let (mut reader, mut pages) = (Reader::default(), RunPages::new(log, run));
        reader.router.models(&mut trail.models, &trail.start.models);
        while let Some(batches) = pages.next().await? {
            for event in batches.iter().flat_map(|batch| batch.events.iter()) {
                reader.read(&mut trail, event);
            }
        }
        Ok(trail)
    }

    /// The run's input: the last message that a person or another agent gave.
    pub(crate) fn query(&self) -> String {
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
    pub(crate) fn answer(&self) -> Option<String> {
        let end = self.end.as_ref()?;
        let output = end.output.as_ref().map(ToString::to_string);
        output.or_else(|| end.text.as_ref().map(ToString::to_string))
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &TrailCall> {
        self.steps.iter().flat_map(|step| step.calls.iter())
    }

    pub(crate) fn ms(&self) -> u64 {
        self.last.saturating_sub(self.began)
    }

    /// The call that ran the code of a step of a plan.
    pub(crate) fn code(&self, id: &CallId) -> Option<&TrailCall> {
        self.codes.iter().find(|call| call.id == *id)
    }

    /// Takes in what an event says of a plan.
    fn plans(&mut self, event: &Event) {
        if let Fact::Perceived(perceived) = &event.fact {
            self.perception.get_or_insert_with(|| perceived.perception.clone());
        } else if let Fact::PlanMade(made) = &event.fact {
            if let Some(id) = &made.call {
                let call = ToolCall { id: id.clone(), ..ToolCall::default() };
                self.codes.push(TrailCall::opened(&call));
            }
            self.plan = Some(made.clone());
        } else if let Fact::CodeStarted(started) = &event.fact {
            if let Some(code) = self.codes.iter_mut().find(|code| code.id == started.call) {
                code.begins(event.at);
            }
        } else if let Fact::CallRetried(retried) = &event.fact {
            if let Some(code) = self.codes.iter_mut().find(|code| code.id == retried.call) {
                code.retries += 1;
            }
        } else if let Fact::CodeFinished(finished) = &event.fact
            && let Some(code) = self.codes.iter_mut().find(|code| code.id == finished.call)
        {
            (code.ended, code.outcome) = (Some(event.at), Some(finished.outcome.clone()));
        }
    }

    /// Whether the agent itself reached the goal. An answer that a person gave is a failure of the agent.
    pub(crate) fn succeeded(&self) -> bool {
        let reached = |status| matches!(status, Status::Answered | Status::Concluded);
        self.ending == By::Agent && self.end.as_ref().is_some_and(|end| reached(end.status))
    }

    pub(crate) fn status(&self) -> String {
        self.end.as_ref().map_or_else(|| "not ended".to_owned(), |end| end.status.to_string())
    }
}

#[derive(Default)]
struct Reader {
    /// Questions about calls.
    asked: Vec<(QuestionId, Option<CallId>)>,
    router: Router,
}

/// Whether an event begins a step of the run.
fn begins_step(fact: &Fact) -> bool {
    matches!(fact, Fact::IterationStarted(_))
}

impl Reader {
    fn read(&mut self, trail: &mut Trail, event: &Event) {
        if trail.began == 0 {
            trail.began = event.at;
        }
        trail.last = trail.last.max(event.at);
        trail.plans(event);
        if begins_step(&event.fact) || trail.steps.is_empty() {
            trail.steps.push(TrailStep { began: event.at, ..TrailStep::default() });
        }
        self.router.learn(&mut trail.models, &event.fact);
        let Some(step) = trail.steps.last_mut() else { return };
        step.ended = step.ended.max(event.at);
        match &event.fact {
            Fact::TurnCompleted(turn) => step.turn(turn),
            Fact::TurnFailed(failed) => step.failed(failed),
            Fact::ProbeAnswered(probe) => step.tokens += probe.usage.total(),
            Fact::CallStarted(started) => step.begins(&started.call, event.at),
            Fact::DelegationStarted(started) => step.begins(&started.call, event.at),
            Fact::CodeStarted(started) => step.begins(&started.call, event.at),
            Fact::CodeCalled(called) => step.opens(&called.calls),
            Fact::CodeFinished(finished) => step.ends(&finished.call, &finished.outcome, event.at),
            Fact::CallVerified(verified) => step.expects(verified),
            Fact::CallRetried(retried) => step.retried(&retried.call),
            Fact::CallFinished(finished) => step.ends(&finished.call, &finished.outcome, event.at),
            Fact::DelegationFinished(finished) => {
                step.tokens += finished.usage.total();
                step.ends(&finished.call, &finished.outcome, event.at);
            }
            Fact::InputRequested(asked) => self.asked.push((asked.question.clone(), asked.call.clone())),
            Fact::InputReceived(received) => self.answered(trail, received),
            Fact::OutputRejected(rejected) => step.rejected(rejected.reason),
            Fact::LimitReached(reached) => {
                let amount = reached.limit.amount(reached.max);
                trail.warnings.push(format!("the limit of {amount} was reached"));
            }
            Fact::RunEnded(end) => trail.end = Some(end.clone()),
            Fact::RunStarted(_)
            | Fact::RunResumed(_)
            | Fact::TurnStarted(_)
            | Fact::TurnHedged(_)
            | Fact::HedgeSkipped(_)
            | Fact::Adjusted(_)
            | Fact::IterationStarted(_)
            | Fact::Judged(_)
            | Fact::BoardSaved(_)
            | Fact::BoardRestored(_)
            | Fact::Perceived(_)
            | Fact::PlanProposed(_)
            | Fact::PlanMade(_)
            | Fact::StepFinished(_)
            | Fact::ResultSummarised(_)
            | Fact::ContextMeasured(_)
            | Fact::ContextWarned(_)
            | Fact::Compacted(_)
            | Fact::CompactionSkipped(_)
            | Fact::CallHeld(_)
            | Fact::CallDecided(_)
            | Fact::ToolAllowed(_)
            | Fact::CallDoubted(_)
            | Fact::DelegationWaits(_)
            | Fact::Steered(_)
            | Fact::RunPaused(_)
            | Fact::MessageQueued(_)
            | Fact::HistoryEdited(_)
            | Fact::StepBranched(_)
            | Fact::LimitRaised(_)
            | Fact::CancelRequested(_) => {}
        }
    }

    /// A person has answered: what they gave is theirs.
    fn answered(&self, trail: &mut Trail, received: &InputReceived) {
        match &received.answer {
            Answer::Conclude(_) | Answer::Final { .. } => trail.ending = By::Person,
            // A conclusion that a person gave as the plan's next step.
            Answer::Plan { step: Some(step), .. } => {
                let kind = step.get("type").and_then(serde_json::Value::as_str).unwrap_or_default();
                if kind.eq_ignore_ascii_case("conclude") {
                    trail.ending = By::Person;
                }
            }
            Answer::Result(_) => {
                let asked = self.asked.iter().find(|(question, _)| *question == received.question);
                let step = trail.steps.last_mut();
                let call = asked
                    .and_then(|(_, call)| call.as_ref())
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
}

impl TrailStep {
    /// A model call failed.
    fn failed(&mut self, failed: &TurnFailed) {
        self.tokens += failed.failure.usage.total();
        // The slower of two models is no error.
        if failed.beside.is_none() || failed.failure.kind != FailureKind::Cancelled {
            self.errors.push(failed.failure.message.to_string());
        }
    }

    fn turn(&mut self, turn: &TurnCompleted) {
        self.tokens += turn.usage.total();
        self.opens(&turn.calls);
    }

    fn opens(&mut self, calls: &[ToolCall]) {
        self.calls.extend(calls.iter().map(TrailCall::opened));
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

    fn call(&mut self, id: &CallId) -> Option<&mut TrailCall> {
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
