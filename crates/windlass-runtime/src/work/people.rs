//! Questions that are put to people.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt;
use windlass_core::run::OpenQuestion;
use windlass_core::{InputKind, State};

use crate::agent::people::People;
use crate::platform::panics::panic_message;

/// Asks the interactive user a question. `None`: the user left or the code panicked; the question stays open.
pub(crate) async fn ask(
    people: Arc<dyn People>,
    state: Arc<State>,
    question: OpenQuestion,
) -> Option<InputKind> {
    let id = question.id.clone();
    let answer = AssertUnwindSafe(async {
        let answer = people.ask_or_leave(&state, &question).await?;
        Some((answer, people.by()))
    })
    .catch_unwind()
    .await;
    match answer {
        Ok(answer) => answer.map(|(answer, by)| InputKind::Answered { question: id, answer, by }),
        Err(panic) => {
            tracing::error!(run = %state.run(), "the code that answers questions panicked: {}", panic_message(&*panic));
            None
        }
    }
}

/// Whether the interactive user would answer that question; a panic counts as no.
pub(crate) fn answers(people: &dyn People, state: &State, question: &OpenQuestion) -> bool {
    catch_unwind(AssertUnwindSafe(|| people.answers(state, question))).unwrap_or(false)
}
