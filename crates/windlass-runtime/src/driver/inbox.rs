//! The durable inbox of a run, as its driver sees it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::future::BoxFuture;
use windlass_core::RunId;
use windlass_store::{Inbox, PostId, Posted, StoreError};

/// How many consecutive times posts may put off the end of a run. What comes later is refused to its sender.
const HEARINGS: u32 = 8;

/// Watches the durable inbox of a run.
pub(crate) struct InboxReader {
    log: Arc<dyn Inbox>,
    run: RunId,
    after: Option<PostId>,
    /// How often the end of the run was put off since the last wait.
    hearings: u32,
    waiting: Option<BoxFuture<'static, Result<Vec<Posted>, StoreError>>>,
}

impl InboxReader {
    pub(crate) fn new(log: Arc<dyn Inbox>, run: RunId) -> Self {
        Self { log, run, after: None, hearings: 0, waiting: None }
    }

    /// Marks all posts up to `post` as read: each is used or refused next.
    pub(crate) fn seen(&mut self, post: PostId) {
        self.after = Some(post);
    }

    /// The last post that the run has heard, when it ends.
    pub(crate) fn heard(&self) -> Option<PostId> {
        if self.hearings < HEARINGS { self.after } else { Some(PostId(u64::MAX)) }
    }

    /// Reads the posts that have come before the run could end.
    pub(crate) async fn hear(&mut self) -> Result<Vec<Posted>, StoreError> {
        self.hearings += 1;
        self.now().await
    }

    /// Reads the posts that have not been seen.
    pub(crate) async fn now(&mut self) -> Result<Vec<Posted>, StoreError> {
        self.waiting = None;
        self.log.inbox(self.run, self.after).await
    }

    /// Waits for more.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Vec<Posted>, StoreError>> {
        self.hearings = 0;
        let waiting = self.waiting.get_or_insert_with(|| {
            let (log, run, after) = (self.log.clone(), self.run, self.after);
            Box::pin(async move {
                log.inbox_changed(run, after).await?;
                log.inbox(run, after).await
            })
        });
        let ready = Pin::new(waiting).poll(context);
        if ready.is_ready() {
            self.waiting = None;
        }
        ready
    }
}
