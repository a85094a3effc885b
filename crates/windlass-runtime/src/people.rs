//! People, who answer the questions of a run while it is driven here.

use futures_core::future::BoxFuture;
use windlass_core::run::OpenQuestion;
use windlass_core::{Answer, State};

/// Answers questions while a run is driven: a terminal, a chat window, a test.
///
/// Without people a run with open questions is suspended: it costs nothing, and an answer from anywhere
/// ([`Agent::answer`](crate::Agent::answer)) lets it go on.
pub trait People: Send + Sync + std::fmt::Debug {
    /// Whether these people answer that question at all.
    fn answers(&self, state: &State, question: &OpenQuestion) -> bool;

    /// Asks the question. The future may wait for ever; dropping it withdraws the question. An answer that does not fit is refused,
    /// and the question is asked again.
    fn ask<'p>(&'p self, state: &'p State, question: &'p OpenQuestion) -> BoxFuture<'p, Answer>;

    /// As [`ask`](Self::ask), for a user who may leave without an answer: `None` leaves this and all later questions open, so
    /// the run is suspended once no other work is in progress. Default: the user always answers.
    fn ask_or_leave<'p>(
        &'p self,
        state: &'p State,
        question: &'p OpenQuestion,
    ) -> BoxFuture<'p, Option<Answer>> {
        Box::pin(async { Some(self.ask(state, question).await) })
    }
}
