//! Inputs from outside: those sent in this process, and posts of the durable inbox.

use windlass_core::InputKind;
use windlass_core::event::ResumedBy;
use windlass_store::{Fence, PostId, Posted};

use super::{Driver, Sent};
use crate::error::Error;

impl Driver {
    pub(super) async fn sent(&mut self, sent: Box<Sent>) -> Result<(), Error> {
        let Sent { what, reply } = *sent;
        let taken = self.take(what, None).await?;
        if let Some(reply) = reply {
            // An error means that the sender no longer cares.
            let _uncared = reply.send(taken);
        }
        Ok(())
    }

    pub(super) async fn posted(&mut self, posts: Vec<Posted>) -> Result<(), Error> {
        if posts.is_empty() {
            return Ok(());
        }
        let ids: Vec<PostId> = posts.iter().map(|post| post.id).collect();
        // After a crash, the inbox of some stores still lists what the last append has used.
        let used = self.agent.log().used(self.state.run(), &ids).await?;
        for post in posts {
            self.posts.seen(post.id);
            let done = used.contains(&post.id) || self.take(post.what, Some(post.id)).await?.is_err();
            if done && !self.state.is_finished() {
                // A refused post stays refused: it must not wait there for ever (E28).
                self.agent.log().discard(self.state.run(), post.id, self.lease.fence()).await?;
            }
        }
        Ok(())
    }

    /// Gives up the lease, unless something has come in. Says whether it is given up.
    pub(super) async fn leave(&mut self) -> Result<bool, Error> {
        // What is sent from here on goes to the durable inbox.
        self.inbox.close();
        let mut came = false;
        while let Ok(sent) = self.inbox.try_recv() {
            came = true;
            self.sent(sent).await?;
        }
        let posts = self.posts.now().await?;
        if came || !posts.is_empty() {
            self.posted(posts).await?;
            return Ok(false);
        }
        let wake = self.slots.next_timer().map(|at| self.clock.wake(at, &**self.agent.environment()));
        self.lease.park(wake).await?;
        // The senders of these posts may have seen that the run has a holder, and rely on it.
        if self.posts.now().await?.is_empty() || !self.lease.take_again(self.agent.holder()).await? {
            return Ok(true);
        }
        let Fence { holder, epoch } = self.lease.fence().clone();
        self.take(InputKind::Resumed { holder: holder.0, epoch, by: ResumedBy::Runtime }, None)
            .await?
            .map_err(Error::Refused)?;
        Ok(false)
    }
}
