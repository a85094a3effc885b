//! The people of an agent in the making.

use std::sync::Arc;

use windlass_core::Answer;

use super::AgentBuilder;
use crate::agent::people::{Asked, People, asking};

impl AgentBuilder {
    /// Answers the questions of its runs at once, such as whether a call may run ([`Asked`]). `None` leaves this and all later
    /// questions open: the run is suspended, and anybody may answer it later. Without people every question is left open.
    ///
    /// ```
    /// use windlass_core::Answer;
    /// use windlass_models::Tour;
    /// use windlass_runtime::Agent;
    ///
    /// let agent = Agent::builder("careful").model(Tour).people(|ask| async move {
    ///     if ask.tool() == Some("delete") {
    ///         return Some(Answer::Deny { reason: Some("nothing is deleted here".into()) });
    ///     }
    ///     println!("{}", ask.text); // names the tool, and shows its arguments
    ///     Some(Answer::Approve)
    /// });
    /// # agent.build().unwrap();
    /// ```
    pub fn people<A, F>(self, ask: A) -> Self
    where
        A: Fn(Asked) -> F + Send + Sync + 'static,
        F: Future<Output: Into<Option<Answer>>> + Send + 'static,
    {
        self.shared_people(asking(ask))
    }

    /// People as a type ([`People`]), where the closure of [`people`](Self::people) is not enough.
    pub fn shared_people(mut self, people: Arc<dyn People>) -> Self {
        self.people = Some(people);
        self
    }
}
