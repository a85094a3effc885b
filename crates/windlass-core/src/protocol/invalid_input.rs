//! Violations: inputs that do not fit. They go back to their sender; the run is not touched.

use std::borrow::Cow;

use thiserror::Error;
use windlass_error::Diagnostic;

use crate::vocabulary::ids::{ActionId, QuestionId, RunId};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::outcome::Status;
use crate::vocabulary::question::QuestionKind;

/// An input that is invalid in the run's state. The state is unchanged, and the run continues.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[non_exhaustive]
pub enum InvalidInput {
    /// The run has no events yet.
    #[error("run {run} has not begun")]
    #[diagnostic(kind = Conflict, code = "input.not_started")]
    NotStarted {
        /// The run.
        run: RunId,
    },
    /// The run has started already.
    #[error("run {run} has begun already and does not begin twice")]
    #[diagnostic(kind = Conflict, code = "input.already_started")]
    AlreadyStarted {
        /// The run.
        run: RunId,
    },
    /// The run has ended.
    #[error("run {run} has ended ({status}) and does not accept {found}")]
    #[diagnostic(kind = Conflict, code = "input.ended", help = go_on(*status))]
    Ended {
        /// The run.
        run: RunId,
        /// Final status of the run.
        status: Status,
        /// Kind of the input.
        found: &'static str,
    },
    /// The action is not going on: its result is late, came twice, or belongs to nothing.
    #[error("action {} of run {} is not in progress ({})", .found.seq, .found.run, open_actions(.expected))]
    #[diagnostic(kind = Conflict, code = "input.unknown_action")]
    UnknownAction {
        /// The action of the input.
        found: ActionId,
        /// The actions that are going on.
        expected: Vec<ActionId>,
    },
    /// The timer's time has not come.
    #[error("the timer is due at {due} ms, and the time is {found} ms")]
    #[diagnostic(kind = Conflict, code = "input.early_timer")]
    EarlyTimer {
        /// When it is due.
        due: u64,
        /// The input's time.
        found: u64,
    },
    /// The question is not open: it was answered, withdrawn, or never asked.
    #[error("question {found} is not open ({})", open_questions(.expected))]
    #[diagnostic(kind = Conflict, code = "input.unknown_question", help = OPEN_QUESTIONS)]
    UnknownQuestion {
        /// The question of the input.
        found: QuestionId,
        /// The open ones.
        expected: Vec<QuestionId>,
    },
    /// The answer does not fit the question.
    #[error("question {question} ({kind}) accepts {}, not {found}", .kind.expects())]
    #[diagnostic(kind = Invalid, code = "input.wrong_answer", help = OPEN_QUESTIONS)]
    WrongAnswer {
        /// The question.
        question: QuestionId,
        /// Its kind.
        kind: QuestionKind,
        /// Kind of the answer.
        found: &'static str,
    },
    /// The edited arguments do not fit the tool's schema.
    #[error("{message}")]
    #[diagnostic(kind = Invalid, code = "input.bad_arguments", help = OPEN_QUESTIONS)]
    BadArguments {
        /// Validation errors with their places.
        message: String,
    },
    /// The limit must be raised above what was reached.
    #[error("the limit {limit} must be raised above {reached}{}, not to {found}", in_whole(*.limit))]
    #[diagnostic(kind = Invalid, code = "input.not_raised", help = "name a higher number, or conclude")]
    NotRaised {
        /// The limit.
        limit: LimitKind,
        /// The value reached, as people write it.
        reached: String,
        /// The value given.
        found: String,
    },
    /// The limit is raised above what the run that handed over the task has lent.
    #[error(
        "the limit {limit} of this run must be at most {lent}, which its parent run has lent, and {found} is more"
    )]
    #[diagnostic(kind = Invalid, code = "input.beyond_budget", help = "conclude, or raise the limit of the parent run")]
    BeyondBudget {
        /// The limit.
        limit: LimitKind,
        /// The loan, formatted.
        lent: String,
        /// The value given.
        found: String,
    },
    /// The base holds nothing to continue.
    #[error("run {run} cannot be forked there: it has not begun, or it has ended")]
    #[diagnostic(
        kind = Conflict,
        code = "input.nothing_to_fork",
        help = "name an earlier event, or give an input to start anew after the end"
    )]
    NothingToFork {
        /// The base, or the run itself if it has none.
        run: RunId,
    },
    /// The run is paused already, or is about to be.
    #[error("run {run} is paused already; question {question} resumes it")]
    #[diagnostic(kind = Conflict, code = "input.already_paused", help = "resume the run to end its pause")]
    AlreadyPaused {
        /// The run.
        run: RunId,
        /// The question of its pause.
        question: QuestionId,
    },
    /// The plan that a person gave cannot be carried out.
    #[error("question {question} stays open, because its plan cannot be carried out: {message}")]
    #[diagnostic(kind = Invalid, code = "input.bad_plan")]
    BadPlan {
        /// The question.
        question: QuestionId,
        /// The fault.
        message: String,
    },
    /// The agent's prompt builder makes no prompt of the new objective.
    #[error("the objective of run {run} stays as it is: {reason}")]
    #[diagnostic(kind = Invalid, code = "input.bad_objective")]
    BadObjective {
        /// The run.
        run: RunId,
        /// Why.
        reason: String,
    },
    /// An image or a file of a message cannot be sent to the run's model.
    #[error("run {run} does not hear the message: {reason}")]
    #[diagnostic(kind = Invalid, code = "input.bad_attachment")]
    BadAttachment {
        /// The run.
        run: RunId,
        /// Why.
        reason: String,
    },
    /// The run is being stopped.
    #[error("run {run} is being stopped and does not accept {found}")]
    #[diagnostic(kind = Conflict, code = "input.stopping")]
    Stopping {
        /// The run.
        run: RunId,
        /// Kind of the input.
        found: &'static str,
    },
}

const OPEN_QUESTIONS: &str = "the run's state lists the open questions and their possible answers";

fn go_on(ended: Status) -> Cow<'static, str> {
    if let Status::Limit(limit) = ended
        && limit != LimitKind::Repetition
    {
        return format!("resume the run with a higher limit {limit}").into();
    }
    "fork the run at an earlier event; a new run of its session has its conversation, too".into()
}

fn in_whole(limit: LimitKind) -> &'static str {
    if limit.is_count() { " (a whole number)" } else { "" }
}

fn open_actions(open: &[ActionId]) -> String {
    let numbers: Vec<_> = open.iter().map(|action| action.seq.to_string()).collect();
    match open.first() {
        None => "no work is in progress".to_owned(),
        Some(first) => format!("in progress: {} of run {}", numbers.join(", "), first.run),
    }
}

fn open_questions(open: &[QuestionId]) -> String {
    if open.is_empty() {
        return "the run has no open question".to_owned();
    }
    let names: Vec<_> = open.iter().map(QuestionId::as_str).collect();
    format!("open: {}", names.join(", "))
}
