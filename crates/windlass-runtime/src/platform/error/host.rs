//! The refusals of a host, and their reasons.

use thiserror::Error;
use windlass_core::{QuestionId, RunId, Text};
use windlass_error::{AnyDiagnostic, Diagnostic};

/// The refusals of a host.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum HostError {
    /// The run is not paused.
    #[error("run {run} is not paused")]
    #[diagnostic(kind = Conflict, code = "run.not_paused", help = "to say something to a run that goes on is to steer it")]
    NotPaused {
        /// The run.
        run: RunId,
    },
    /// The process is about to end.
    #[error("this process is about to end and begins nothing any more")]
    #[diagnostic(kind = Unavailable, code = "host.closing", help = "send it again")]
    Closing,
    /// All places are taken, and too many runs wait for one. Nothing was begun.
    #[error("{waiting} runs wait for a place already")]
    #[diagnostic(kind = Exhausted, code = "host.full", help = "send it again later")]
    Full {
        /// The runs that wait.
        waiting: usize,
    },
    /// The agent that a run began with cannot be made of its files any more.
    #[error("agent `{agent}` of run {run} cannot be used")]
    #[diagnostic(transparent, code = "run.agent_unusable")]
    Agent {
        /// The run.
        run: RunId,
        /// The agent's name.
        agent: Text,
        /// Why.
        #[source]
        source: AnyDiagnostic,
    },
    /// The run has gone on since its sender saw it (E75).
    #[error("run {run} has gone on from event {seen} to {version}: {}", changes.join("; "))]
    #[diagnostic(kind = Conflict, code = "run.moved_on", help = "look at the run, and send it again with the version that it has now")]
    MovedOn {
        /// The run.
        run: RunId,
        /// The version that the sender saw.
        seen: u64,
        /// The version that it has.
        version: u64,
        /// The events since, in words.
        changes: Vec<String>,
    },
    /// The question is another one than its sender saw (E75).
    #[error("question {question} of run {run} is another one than was answered: {text}")]
    #[diagnostic(kind = Conflict, code = "run.question_changed", help = "read the question, and answer it with its digest")]
    QuestionChanged {
        /// The run.
        run: RunId,
        /// The question.
        question: QuestionId,
        /// Its words now.
        text: Text,
    },
}
