//! People, who answer the questions of a run while it is driven here.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::event::{AnswerSource, AnsweredBy};
use windlass_core::message::ToolCall;
use windlass_core::run::OpenQuestion;
use windlass_core::{Answer, RunId, State};

/// Answers questions while a run is driven: a terminal, a chat window, a test.
///
/// Most programs give a closure to [`AgentBuilder::people`](crate::AgentBuilder::people) instead. Without people a run with open
/// questions is suspended: it costs nothing, and an answer from anywhere ([`Agent::answer`](crate::Agent::answer)) lets it go on.
pub trait People: Send + Sync + std::fmt::Debug {
    /// Whether these people answer that question at all. Default: they do.
    fn answers(&self, _state: &State, _question: &OpenQuestion) -> bool {
        true
    }

    /// The name of these people, and the place that they answer from: both are recorded with each answer. Default: nobody says so.
    fn by(&self) -> Option<AnsweredBy> {
        None
    }

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

/// A question that is put to a closure ([`AgentBuilder::people`](crate::AgentBuilder::people)). Its kind, text and suggestions are
/// those of the [`OpenQuestion`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Asked {
    /// The run that asks.
    pub run: RunId,
    /// The question.
    pub question: OpenQuestion,
    /// The call that it is about, as the model made it.
    pub call: Option<ToolCall>,
}

impl Asked {
    fn new(state: &State, question: &OpenQuestion) -> Self {
        let open = question.call.as_ref().and_then(|call| state.open_call(call));
        let call = open.map(|open| open.call.clone());
        Self { run: state.run(), question: question.clone(), call }
    }

    /// Name of the tool that the question is about; for a question of another agent, the name of that agent.
    pub fn tool(&self) -> Option<&str> {
        self.call.as_ref().map(|call| &*call.name)
    }

    /// The arguments of the call that the question is about.
    pub fn args(&self) -> Option<Value> {
        self.call.as_ref().and_then(|call| serde_json::from_str(&call.args).ok())
    }
}

impl Deref for Asked {
    type Target = OpenQuestion;

    fn deref(&self) -> &OpenQuestion {
        &self.question
    }
}

/// A closure as people.
pub(crate) fn asking<A, F>(ask: A) -> Arc<dyn People>
where
    A: Fn(Asked) -> F + Send + Sync + 'static,
    F: Future<Output: Into<Option<Answer>>> + Send + 'static,
{
    Arc::new(FnPeople(ask))
}

struct FnPeople<A>(A);

impl<A> fmt::Debug for FnPeople<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FnPeople")
    }
}

impl<A, F> People for FnPeople<A>
where
    A: Fn(Asked) -> F + Send + Sync,
    F: Future<Output: Into<Option<Answer>>> + Send + 'static,
{
    fn by(&self) -> Option<AnsweredBy> {
        Some(AnswerSource::Program.into())
    }

    fn ask<'p>(&'p self, state: &'p State, question: &'p OpenQuestion) -> BoxFuture<'p, Answer> {
        Box::pin(async move {
            match self.ask_or_leave(state, question).await {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }

    fn ask_or_leave<'p>(
        &'p self,
        state: &'p State,
        question: &'p OpenQuestion,
    ) -> BoxFuture<'p, Option<Answer>> {
        let asked = (self.0)(Asked::new(state, question));
        Box::pin(async { asked.await.into() })
    }
}
