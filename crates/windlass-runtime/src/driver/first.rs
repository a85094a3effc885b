//! The first input of a driver: the start of a run, or taking one over.

use futures_core::future::BoxFuture;
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;
use windlass_core::InputKind;
use windlass_core::run::OpenCall;
use windlass_store::RunNumber;

use super::Driver;
use crate::above::settled;
use crate::clock::RunClock;
use crate::error::Error;
use crate::telemetry::RunTrace;
use crate::work;

impl Driver {
    pub(super) fn open_trace(&mut self) {
        if !self.begun {
            self.trace = RunTrace::begin(&self.agent, &self.state, &mut self.first).map(Box::new);
        }
    }

    /// Makes the run's first events durable before it is driven, as the next run of its session.
    ///
    /// # Errors
    /// Another run of the session has begun after `follows`, the run has begun elsewhere, or the log failed.
    pub(crate) async fn begin_after(&mut self, follows: RunNumber) -> Result<(), Error> {
        self.follows = Some(follows);
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
        let resumed = matches!(
            first,
            Some(InputKind::Resumed { .. } | InputKind::ResumedWithTools { .. } | InputKind::Adopted { .. })
        );
        if resumed {
            self.stop_left_behind().await;
        }
        if let Some(first) = first {
            self.take(first, None).await?.map_err(Error::Refused)?;
        }
        self.clock = RunClock::after(self.state.clock(), &**self.agent.environment());
        self.adjust().await?;
        self.settle().await?;
        if resumed {
            // A question whose answer waits in the inbox is not put to people again.
            let posts = self.posts.now().await?;
            self.posted(posts).await?;
            self.unpause().await?;
        }
        Ok(())
    }

    /// Answers the questions that child runs no longer ask: a run must not wait for a child that has ended or was answered.
    async fn settle(&mut self) -> Result<(), Error> {
        for (question, answer) in settled(&**self.agent.log(), &self.state).await? {
            // An answer that does not fit leaves the question to people.
            drop(self.take(InputKind::Answered { question, answer, by: None }, None).await?);
        }
        Ok(())
    }

    /// Stops work left over from the previous process, so that it has no effect after its outcome was settled.
    fn stop_left_behind(&self) -> BoxFuture<'static, Vec<()>> {
        let stop = |open: &OpenCall| {
            let tool = self.agent.tool_of(&self.state, open)?;
            let context = work::context(&self.state, &open.call.id, 1, CancellationToken::new())?;
            Some(async move { tool.stop_left_behind(context).await })
        };
        Box::pin(join_all(self.state.started_calls().filter_map(stop)))
    }
}
