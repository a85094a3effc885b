//! The first input of a driver: the start of a run, or taking one over.

use futures_core::future::BoxFuture;
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;
use windlass_core::event::RunInput;
use windlass_core::policy::WhileRunning;
use windlass_core::run::OpenCall;
use windlass_core::{InputKind, SessionId};
use windlass_store::{Head, Post, PostKey, StoreError};

use super::Driver;
use super::work::Work;
use crate::agent::calls::{context, tool_of};
use crate::driver::parents::settled;
use crate::driver::telemetry::RunTrace;
use crate::platform::clock::RunClock;
use crate::platform::error::Error;
use crate::platform::retry::again;

impl<W: Work> Driver<W> {
    pub(super) fn open_trace(&mut self) {
        if !self.begun {
            self.trace = RunTrace::begin(&self.agent, &self.state, &mut self.first).map(Box::new);
        }
    }

    /// The run's first append moves the head of its session so.
    pub(crate) fn move_head(&mut self, head: Head) {
        self.head = head;
    }

    /// Posts the first input under the key of a request, for the first append to use: from then on the key is known as that of a request
    /// that was done.
    ///
    /// # Errors
    /// It was done before ([`Error::Repeated`]), another request has the key, or the log failed.
    pub(crate) async fn take_over_under(&mut self, key: PostKey) -> Result<(), Error> {
        let Some(what) = self.first.clone() else { return Ok(()) };
        let (run, log, environment) = (self.state.run(), self.agent.log(), &**self.agent.environment());
        let post = Post { at: environment.now(), what, key: Some(key) };
        let post = again(environment, || log.post(run, post.clone())).await?;
        if log.used(run, &[post]).await?.contains(&post) {
            return Err(Error::Repeated { run });
        }
        self.first_uses = Some(post);
        Ok(())
    }

    /// Makes the run's first events durable before it is driven.
    ///
    /// # Errors
    /// Another run of the session has begun meanwhile, the run has begun elsewhere, or the log failed.
    pub(crate) async fn begin_now(&mut self) -> Result<(), Error> {
        self.open_trace();
        if let Some(first) = self.first.take() {
            self.take(first, None).await?.map_err(Error::Refused)?;
            self.begun = true;
        }
        Ok(())
    }

    pub(super) async fn take_first(&mut self) -> Result<(), Error> {
        let first = self.first.take();
        if first.is_none() && !self.begun {
            return Ok(());
        }
        let resumed = matches!(first, Some(InputKind::Resumed { .. }));
        if resumed {
            self.stop_left_behind().await;
        }
        if let Some(first) = first {
            let session = refusing(&first);
            let uses = self.first_uses.take();
            self.take(first, uses).await.map_err(|error| busy(error, session))?.map_err(Error::Refused)?;
        }
        self.clock = RunClock::after(self.state.clock(), &**self.agent.environment());
        self.adjust().await?;
        self.settle().await?;
        if resumed {
            // A question whose answer waits in the inbox is not put to people again.
            let posts = self.durable_inbox.now().await?;
            Box::pin(self.posted(posts)).await?;
            self.unpause().await?;
        }
        Ok(())
    }

    /// Answers the questions that child runs no longer ask: a run must not wait for a child that has ended or was answered.
    async fn settle(&mut self) -> Result<(), Error> {
        if self.state.questions().is_empty() {
            return Ok(());
        }
        let answers = Box::pin(settled(&**self.agent.log(), &self.state)).await?;
        for (question, answer) in answers {
            // An answer that does not fit leaves the question to people.
            drop(self.take(InputKind::Answered { question, answer, by: None }, None).await?);
        }
        Ok(())
    }

    /// Stops work left over from the previous process, so that it has no effect after its outcome was settled.
    fn stop_left_behind(&self) -> BoxFuture<'static, Vec<()>> {
        let stop = |open: &OpenCall| {
            let tool = tool_of(&self.agent, &self.state, open)?;
            let context = context(&self.state, &open.call.id, 1, CancellationToken::new())?;
            Some(async move { tool.stop_left_behind(context).await })
        };
        Box::pin(join_all(self.state.started_calls().filter_map(stop)))
    }
}

/// The session to which this start is a message, where a further message is refused: such a run begins when it is driven, and
/// another one may have begun since it was prepared.
fn refusing(first: &InputKind) -> Option<SessionId> {
    let InputKind::Start(start) = first else { return None };
    let refuses = start.policy.past.while_running == WhileRunning::Refuse;
    let says = refuses && matches!(start.input, RunInput::Messages(_));
    start.session.clone().filter(|_| says)
}

/// A message that another one has overtaken finds its session busy.
pub(crate) fn busy(error: Error, session: Option<SessionId>) -> Error {
    match (error, session) {
        (Error::Log(StoreError::HeadMoved { head: Some(run), .. }), Some(session)) => {
            Error::SessionBusy { session, run }
        }
        (error, _) => error,
    }
}
