//! The memory service: entries with a key, a text and tags, which outlive runs, in an SQLite file (acorn's `Memory`).

mod store;
mod tool;

use std::path::PathBuf;
use std::sync::Arc;

use futures_core::future::BoxFuture;

use crate::service::{Service, ServiceError};
use crate::tool::Tool;
use store::Store;
use tool::{MemoryTool, Which};

/// The most bytes of an entry's key.
pub const MAX_KEY: usize = 256;
/// The most bytes of an entry's text (64 KiB).
pub const MAX_CONTENT: usize = 64 * 1024;
/// The most tags of an entry.
pub const MAX_TAGS: usize = 32;
/// The most bytes of a tag.
pub const MAX_TAG: usize = 64;
/// The most bytes of a query.
pub const MAX_QUERY: usize = 1_024;
/// The most entries of a memory.
pub const MAX_MEMORIES: i64 = 10_000;
/// The most entries that one call gives.
pub const MAX_FOUND: u32 = 100;
/// The most bytes of entries that one call gives (256 KiB).
pub const MAX_GIVEN: usize = 256 * 1024;

/// A memory, as a service with the tools `save`, `search`, `delete` and `list_all`.
///
/// `save` and `delete` are idempotent: an entry is known by its key. The file's table is acorn's, so that a memory that was
/// filled there can be used here. Several processes may use one file.
///
/// Limits: [`MAX_KEY`], [`MAX_CONTENT`], [`MAX_TAGS`], [`MAX_TAG`], [`MAX_QUERY`], [`MAX_MEMORIES`], [`MAX_FOUND`],
/// [`MAX_GIVEN`].
#[derive(Debug)]
pub struct Memory {
    store: Arc<Store>,
}

impl Memory {
    /// A memory in that file, which is made at the first set-up, with its folders, for its owner's eyes only.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { store: Arc::new(Store::new(Some(path.into()))) }
    }

    /// A memory that lives as long as this value: for tests.
    pub fn in_process() -> Self {
        Self { store: Arc::new(Store::new(None)) }
    }
}

impl Service for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tool = |which| Arc::new(MemoryTool::new(which, self.store.clone())) as Arc<dyn Tool>;
        [Which::Save, Which::Search, Which::Delete, Which::ListAll].map(tool).into()
    }

    fn set_up(&self) -> BoxFuture<'_, Result<(), ServiceError>> {
        Box::pin(async { self.store.run(Store::open).await.map_err(|why| ServiceError::new(why.message)) })
    }

    fn tear_down(&self) -> BoxFuture<'_, Result<(), ServiceError>> {
        Box::pin(async { self.store.run(Store::close).await.map_err(|why| ServiceError::new(why.message)) })
    }

    fn health(&self) -> BoxFuture<'_, Result<(), ServiceError>> {
        Box::pin(async { self.store.run(Store::look).await.map_err(|why| ServiceError::new(why.message)) })
    }
}
