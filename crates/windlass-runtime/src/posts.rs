//! The durable inbox of a run, as its driver sees it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::future::BoxFuture;
use windlass_core::RunId;
use windlass_store::{Inbox, PostId, Posted, StoreError};

/// Watches the durable inbox of a run.
pub(crate) struct Posts {
    log: Arc<dyn Inbox>,
    run: RunId,
    after: Option<PostId>,
    waiting: Option<BoxFuture<'static, Result<Vec<Posted>, StoreError>>>,
}

impl Posts {
    pub(crate) fn new(log: Arc<dyn Inbox>, run: RunId) -> Self {
        Self { log, run, after: None, waiting: None }
    }

    /// Marks all posts up to `post` as seen, used or refused.
    pub(crate) fn seen(&mut self, post: PostId) {
        self.after = Some(post);
    }

    /// Reads the posts that have not been seen.
    pub(crate) async fn now(&mut self) -> Result<Vec<Posted>, StoreError> {
        self.waiting = None;
        self.log.inbox(self.run, self.after).await
    }

    /// Waits for more.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Vec<Posted>, StoreError>> {
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
