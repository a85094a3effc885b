//! People: who answers the questions of a run while it is driven here.

use futures_core::future::BoxFuture;
use windlass_core::run::OpenQuestion;
use windlass_core::{Answer, State};

/// Somebody who can be asked: a terminal, a chat window, a test.
///
/// Without such a person at hand a run with open questions is suspended: it costs nothing, and goes on when an answer
/// comes from anywhere ([`Agent::answer`](crate::Agent::answer)).
pub trait People: Send + Sync + std::fmt::Debug {
    /// Whether this person would answer that question at all.
    fn answers(&self, state: &State, question: &OpenQuestion) -> bool;

    /// Asks. May take for ever; dropping the future withdraws the question.
    /// An answer that does not fit is refused, and the question is asked again.
    fn ask<'p>(&'p self, state: &'p State, question: &'p OpenQuestion) -> BoxFuture<'p, Answer>;

    /// As [`ask`](Self::ask), for somebody who may go away without an answer: `None` leaves this and all later
    /// questions open, so that the run is suspended once nothing else goes on. Default: nobody goes away.
    fn ask_or_leave<'p>(
        &'p self,
        state: &'p State,
        question: &'p OpenQuestion,
    ) -> BoxFuture<'p, Option<Answer>> {
        Box::pin(async { Some(self.ask(state, question).await) })
    }
}
