//! The plan loop: perception, decision, step, and again.

use crate::codec::forms::ReadCall;
use crate::machine::decide::limits::fill;
use crate::machine::decision::{Decision, RAW_OUTPUT};
use crate::policy::texts::filled;
use crate::policy::values::OnReplan;
use crate::protocol::fact::plan::{PlanMade, PlanProposed, PlanStep, StepFinished, StepStatus, StepWork};
use crate::protocol::fact::turns::{TurnFailed, TurnStarted};
use crate::protocol::fact::{InputRequested, OutputRejected, Rejection};
use crate::state::model_calls::ModelCall;
use crate::state::plan::{DoneStep, Plan, PlanStage};
use crate::view::contract;
use crate::vocabulary::ids::{CallId, QuestionId, Text};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::outcome::{FailKind, Status};
use crate::vocabulary::purpose::{Purpose, ToolChoice};
use crate::vocabulary::question::{Answer, QuestionKind};
use crate::vocabulary::reply::{ModelFailure, Reply, ReplyCall};

impl Decision {
    /// Goes on where the plan stands.
    pub(crate) fn plan_on(&mut self) {
        let Some(plan) = self.state.progress.plan().cloned() else {
            return self.fail(FailKind::Internal, "the run has no query to plan for".into());
        };
        match plan.stage() {
            PlanStage::Begun | PlanStage::StepDone => self.begin_planning(Purpose::Perceive),
            PlanStage::Perceived => self.after_perception(&plan),
            PlanStage::Proposed(proposed) => self.ask_about_plan(proposed),
            PlanStage::Made => self.carry_out(&plan),
        }
    }

    fn begin_planning(&mut self, purpose: Purpose) {
        let turn = self.state.turn.number() + 1;
        self.begin(TurnStarted::first(turn, purpose, ToolChoice::None));
    }

    /// Records a reply of a planner: its text, if the loop goes on with it.
    pub(crate) fn plan_reply(&mut self, model_call: &ModelCall, reply: Reply) -> Option<Text> {
        let (stop, text) = (reply.stop, reply.text.clone().unwrap_or_else(|| "".into()));
        let usage = reply.usage;
        self.record_read(model_call, reply);
        self.measure(model_call.sent(), &usage);
        if self.state.stopping() {
            self.after_stop();
            return None;
        }
        if let Some((reason, kind, note)) = self.cut(stop) {
            if self.is_concluded() {
                return None;
            }
            self.ask_again_after_cut(reason, kind, note);
            return None;
        }
        Some(text)
    }

    /// A reply that is not what the contract says: the model is told, a bounded number of times.
    pub(crate) fn reject_plan(&mut self, message: &str) {
        if self.is_concluded() {
            return;
        }
        let most = self.state.setup.policy().replies.parse_retries;
        if self.state.turn.consecutive().rejected() >= most {
            let raw = self.state.plan().map_or_else(|| "".into(), |plan| plan.last_reply().clone());
            let error = format!("Failed to validate output after {most} retries: {message}{RAW_OUTPUT}{raw}");
            return self.fail(FailKind::Parse, error.into());
        }
        let note = fill(&self.state.setup.policy().wording.texts.json_again, "{error}", message).into();
        self.record(OutputRejected { reason: Rejection::Invalid, note, call: None, run_only: false });
        self.plan_on();
    }

    /// No model could be asked: a step that does nothing says why (S).
    pub(crate) fn planner_away(&mut self, model_call: &ModelCall, failure: ModelFailure) {
        let words: Text = self.words_of(model_call, &failure).into();
        self.record(TurnFailed::last(model_call, failure));
        if self.is_concluded() {
            return;
        }
        let lines = self.state.plan().and_then(Plan::version).map(|version| version.text.clone());
        let work = StepWork::Nop;
        self.make_plan(contract::Decided { text: lines.unwrap_or_default(), description: words, work });
    }

    fn after_perception(&mut self, plan: &Plan) {
        if self.is_concluded() {
            return;
        }
        let quiet = self.state.conversation.steering().is_empty();
        let achieved = plan.perception.as_ref().filter(|found| found.original_goal_achieved);
        let achieved = achieved.map(|found| found.solution_summary.clone());
        if quiet && (achieved.is_some() || concluded(plan).is_some()) {
            match (self.unproven(), achieved) {
                // One that was sent back already waits for the next decision.
                (Some(note), _) if plan.rejected().is_none() => {
                    if !self.send_back(None, note) {
                        return;
                    }
                }
                (None, Some(answer)) => return self.end(Status::Answered, Some(answer), None),
                (Some(_) | None, _) => {}
            }
        }
        let reached = self.reached(LimitKind::PlanSteps);
        if self.state.setup.policy().limit(LimitKind::PlanSteps).is_some_and(|max| reached >= max) {
            return self.reach(LimitKind::PlanSteps, reached, 0);
        }
        self.begin_planning(Purpose::Decide);
    }

    /// Whether the plan has come to its conclusion: then that is the end. Its perception would change nothing.
    pub(crate) fn is_concluded(&mut self) -> bool {
        let stands = self.state.conversation.steering().is_empty() && self.unproven().is_none();
        let Some(text) = self.state.plan().and_then(concluded).filter(|_| stands) else { return false };
        self.end(Status::Concluded, Some(text), None);
        true
    }

    pub(crate) fn plan_decided(&mut self, decided: contract::Decided) {
        let failed = self.state.plan().is_some_and(|plan| {
            let step = plan.step().and_then(|step| step.perception.as_ref());
            // A version without a step is a person's plan, which was asked about already.
            let given = plan.version().is_some_and(|version| version.steps.is_empty());
            !given && step.is_some_and(|found| !found.local_goal_achieved)
        });
        if failed && self.state.setup.policy().replies.ask_on_replan == OnReplan::Ask {
            let step = self.step_of(&decided);
            self.record(PlanProposed { text: decided.text, step });
            return self.plan_on();
        }
        self.make_plan(decided);
    }

    fn step_of(&self, decided: &contract::Decided) -> PlanStep {
        let index = self.state.plan().map_or(0, |plan| plan.steps().count());
        PlanStep {
            index: u32::try_from(index).unwrap_or(u32::MAX),
            description: decided.description.clone(),
            work: decided.work.clone(),
        }
    }

    fn make_plan(&mut self, decided: contract::Decided) {
        let step = self.step_of(&decided);
        self.record_plan(decided.text, Some(step));
    }

    /// Records a plan and goes on with its step.
    fn record_plan(&mut self, text: Vec<Text>, step: Option<PlanStep>) {
        let plan = self.state.plan();
        let count = plan.map_or(0, |plan| plan.versions.len());
        let same = plan.and_then(Plan::version).is_some_and(|version| version.text == text);
        let version = u32::try_from(if same { count } else { count + 1 }).unwrap_or(u32::MAX);
        let code = step.as_ref().is_some_and(|step| matches!(step.work, StepWork::Code(_)));
        let call = code.then(|| self.step_call(step.as_ref()));
        self.record(PlanMade { version, text, step, call: call.clone() });
        match call {
            Some(call) => self.start_step(&call),
            None => self.plan_on(),
        }
    }

    fn step_call(&self, step: Option<&PlanStep>) -> CallId {
        let id = format!("step_{}", step.map_or(0, |step| step.index));
        let call = ReplyCall { id: Some(id.clone().into()), name: "".into(), args: "".into() };
        let known = self.identify(self.state.turn.number(), vec![ReadCall::from(call)]);
        known.into_iter().next().map_or_else(|| CallId::from(id), |call| call.id)
    }

    /// Starts the code of a step, if it may run.
    fn start_step(&mut self, call: &CallId) {
        if let Some((limit, reached)) = self.limit_after_usage() {
            let max = self.state.setup.policy().limit(limit).unwrap_or(0);
            self.skip_all(&format!("the limit of {} is reached", limit.amount(max)));
            return self.reach(limit, reached, 0);
        }
        if self.state.setup.policy().limit(LimitKind::ToolRounds) == Some(0) {
            self.skip(call.clone(), "no tool can be called any more", Some(LimitKind::ToolRounds));
        } else if let Some(open) = self.state.open_call(call).cloned() {
            self.admit(&open);
        }
        self.go_on();
    }

    /// The step that was decided on, once nothing of it runs.
    fn carry_out(&mut self, plan: &Plan) {
        let Some(step) = plan.step().filter(|step| step.status.is_none()) else {
            return self.begin_planning(Purpose::Decide);
        };
        let index = step.step.index;
        let done = |status| StepFinished { index, status, retries: step.retries, result: None };
        match &step.step.work {
            StepWork::Nop if self.state.conversation.steering().is_empty() => {
                let text = step.step.description.clone();
                return self.end(Status::Clarification, Some(text), None);
            }
            StepWork::Nop => self.record(done(StepStatus::Failed)),
            StepWork::Conclude(_) => self.record(done(StepStatus::Completed)),
            StepWork::Code(_) => match &step.outcome {
                // What a limit cut is no failure of the tool: the run comes to its limit.
                Some(outcome) if outcome.may_retry() && self.state.turn.cut().is_none() => {
                    return self.ask_result(step);
                }
                Some(outcome) if outcome.is_ok() => self.record(done(StepStatus::Completed)),
                Some(_) | None => self.record(done(StepStatus::Failed)),
            },
        }
        self.plan_on();
    }

    fn ask_result(&mut self, step: &DoneStep) {
        let retries = step.retries.to_string();
        let values = [("n", &*retries), ("step", &*step.step.description), ("error", &*step.outcome_text())];
        let policy = self.state.setup.policy();
        let texts = &policy.wording.texts;
        let doubtful = step.retries < policy.calls.retries;
        let text = filled(if doubtful { &texts.ask_doubtful } else { &texts.ask_result }, &values);
        self.ask_planner(QuestionKind::Result, text, Vec::new());
    }

    fn ask_about_plan(&mut self, proposed: &PlanProposed) {
        let lines = proposed.text.join("\n");
        let values = [("plan", &*lines), ("step", &*proposed.step.description)];
        let text = filled(&self.state.setup.policy().wording.texts.ask_plan, &values);
        self.ask_planner(QuestionKind::Plan, text, vec!["accept".into()]);
    }

    fn ask_planner(&mut self, kind: QuestionKind, text: String, suggestions: Vec<Text>) {
        let asked = self.state.questions.open().iter().any(|open| open.kind == kind && open.call.is_none());
        if asked {
            return;
        }
        let question = self.next_question();
        self.record(InputRequested {
            question,
            kind,
            call: None,
            text: text.into(),
            suggestions,
            child_question: None,
            next: None,
        });
    }

    /// A person's answer about a plan or the result of a step.
    pub(crate) fn plan_answered(&mut self, question: QuestionId, answer: Answer) {
        self.received(question, answer.clone());
        let Some(plan) = self.state.progress.plan().cloned() else { return };
        match (answer, plan.stage()) {
            (Answer::Result(text), _) => {
                let step = plan.step().map_or((0, 0), |step| (step.step.index, step.retries));
                let (index, retries) = step;
                let status = StepStatus::HumanProvided;
                self.record(StepFinished { index, status, retries, result: Some(text) });
                self.plan_on();
            }
            (Answer::Accept, PlanStage::Proposed(proposed)) => {
                self.record_plan(proposed.text.clone(), Some(proposed.step.clone()));
            }
            (Answer::Plan { plan: text, step }, _) => match step.as_ref().and_then(|step| step.as_object()) {
                Some(step) => self.make_plan(contract::given(&text, step)),
                None => self.record_plan(text, None),
            },
            (answer, _) => {
                if let Some(text) = answer.conclusion() {
                    self.conclude(text);
                }
            }
        }
    }
}

/// The conclusion of a plan that has come to it.
fn concluded(plan: &Plan) -> Option<Text> {
    let step = plan.step().filter(|step| step.status.is_some())?;
    if let StepWork::Conclude(text) = &step.step.work { Some(text.clone()) } else { None }
}
