//! Inputs from outside: those sent in this process, and posts of the durable inbox.

use futures_core::future::BoxFuture;
use windlass_core::event::ResumedBy;
use windlass_core::run::rebuild;
use windlass_core::{Answer, InputKind, InvalidInput};
use windlass_store::{Batch, Fence, PostId, Posted, StoreError};

use super::work::Work;
use super::{Driver, Sent};
use crate::driver::options::Unpause;
use crate::platform::error::Error;
use crate::platform::retry::again;

/// Puts an abort before everything that came with it: however much that is, it does not delay the abort, and frees no work
/// that would be begun to be stopped. All else keeps its order.
fn abort_first<T>(inputs: &mut [T], what: impl Fn(&T) -> &InputKind) {
    inputs.sort_by_key(|input| !matches!(what(input), InputKind::Cancel { .. }));
}

impl<W: Work> Driver<W> {
    /// Takes an input of this process, and those that have come with it.
    pub(super) async fn sent(&mut self, first: Box<Sent>) -> Result<(), Error> {
        let mut all = vec![first];
        while let Some(sent) = self.inbox.try_recv() {
            all.push(sent);
        }
        abort_first(&mut all, |sent| &sent.what);
        for sent in all {
            let Sent { what, reply } = *sent;
            let taken = self.take(what, None).await?;
            if let Some(reply) = reply {
                // An error means that the sender no longer cares.
                let _uncared = reply.send(taken);
            }
        }
        Ok(())
    }

    pub(super) async fn posted(&mut self, posts: Vec<Posted>) -> Result<(), Error> {
        if posts.iter().any(|post| matches!(post.what, InputKind::Cancel { .. })) {
            // Work that a take-over has just begun again must be there to be stopped, or its end never comes.
            self.reconcile();
        }
        self.take_posts(posts).await
    }

    /// Posts came before this append, which ends the run: they are taken first, then its input once more (E21).
    pub(super) fn hear_first(
        &mut self,
        append: Batch,
        uses: Option<PostId>,
    ) -> BoxFuture<'_, Result<Result<(), InvalidInput>, Error>> {
        Box::pin(async move {
            let unheard = StoreError::Unheard { run: self.state.run() };
            let input = rebuild(&self.state, &append.cause, &append.events).ok_or(unheard)?;
            let posts = self.durable_inbox.hear().await?;
            // No work is begun here: what has brought the input has ended, although the state does not say so yet.
            self.take_posts(posts).await?;
            self.take_now(input.what, uses).await
        })
    }

    async fn take_posts(&mut self, mut posts: Vec<Posted>) -> Result<(), Error> {
        let Some(newest) = posts.last().map(|post| post.id) else { return Ok(()) };
        let ids: Vec<PostId> = posts.iter().map(|post| post.id).collect();
        // After a crash, the inbox of some stores still lists what the last append has used.
        let used = self.agent.log().used(self.state.run(), &ids).await?;
        // An error ends the driver, and the next holder reads all that is left.
        self.durable_inbox.seen(newest);
        abort_first(&mut posts, |post| &post.what);
        for post in posts {
            // A request to resume that waits here was left by a process that died before it took the run over, and somebody has by now.
            let is_over = used.contains(&post.id) || matches!(post.what, InputKind::Resumed { .. });
            let done = is_over || self.take(post.what, Some(post.id)).await?.is_err();
            if done && !self.state.is_finished() {
                // A refused post stays refused: it must not wait there for ever (E28).
                let discard = || self.agent.log().discard(self.state.run(), post.id, self.lease.fence());
                Box::pin(again(&**self.agent.environment(), discard)).await?;
            }
        }
        Ok(())
    }

    /// Ends the pause, also one that has just been taken from the inbox.
    pub(super) async fn unpause(&mut self) -> Result<(), Error> {
        let paused = self.state.pause().map(|open| open.id.clone());
        if let (Some(Unpause { text }), Some(question)) = (self.unpause.take(), paused) {
            let answer = Answer::Resume { text };
            self.take(InputKind::Answered { question, answer, by: None }, None)
                .await?
                .map_err(Error::Refused)?;
        }
        Ok(())
    }

    /// Gives up the lease, unless something has come in. Says whether it is given up.
    pub(super) async fn park(&mut self) -> Result<bool, Error> {
        // What is sent from here on goes to the durable inbox.
        self.inbox.close();
        let mut came = false;
        while let Some(sent) = self.inbox.try_recv() {
            came = true;
            self.sent(sent).await?;
        }
        let posts = self.durable_inbox.now().await?;
        if came || !posts.is_empty() {
            self.posted(posts).await?;
            return Ok(false);
        }
        let wake = self.slots.next_timer().map(|at| self.clock.wake(at, &**self.agent.environment()));
        Box::pin(self.lease.park(&**self.agent.environment(), wake)).await?;
        // The senders of these posts may have seen that the run has a holder, and rely on it.
        if self.durable_inbox.now().await?.is_empty() {
            return Ok(true);
        }
        let (environment, holder) = (&**self.agent.environment(), self.agent.holder());
        if !Box::pin(self.lease.take_again(environment, holder)).await? {
            return Ok(true);
        }
        let Fence { holder, epoch } = self.lease.fence().clone();
        self.take(
            InputKind::Resumed { holder: holder.0, epoch, by: ResumedBy::Runtime, adjusted: None },
            None,
        )
        .await?
        .map_err(Error::Refused)?;
        Ok(false)
    }
}
