//! The tools of a memory.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::ToolSpec;
use windlass_core::tool::Effect;

use super::store::Store;
use super::{MAX_CONTENT, MAX_FOUND, MAX_KEY, MAX_QUERY, MAX_TAG, MAX_TAGS};
use crate::binding::Bound;
use crate::function::{Args, Properties};
use crate::tool::{Tool, ToolContext, ToolError, ToolResult};

/// Default number of entries that `search` returns (acorn).
const SEARCH_USUAL: u32 = 5;
/// Default number of entries that `list_all` returns (acorn).
const LIST_USUAL: u32 = 20;

/// The tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Save,
    Search,
    Delete,
    ListAll,
}

/// A tool of a memory.
#[derive(Debug)]
pub(super) struct MemoryTool {
    spec: ToolSpec,
    which: Which,
    store: Arc<Store>,
}

impl MemoryTool {
    pub(super) fn new(which: Which, store: Arc<Store>) -> Self {
        let mut properties = Properties::new();
        let limit = |properties: &mut Properties, default: u32| {
            properties.with_default::<u32>("limit", "Maximum number of entries to return", default.into());
        };
        let (name, description, effect) = match which {
            Which::Save => {
                properties.required::<String>("key", "Unique identifier for the memory");
                properties.required::<String>("content", "The content to store");
                properties.optional::<Vec<String>>("tags", "Optional tags for categorization");
                ("save", "Save or update a memory entry.", Effect::Idempotent)
            }
            Which::Search => {
                properties.required::<String>("query", "Matches against key, content and tags");
                limit(&mut properties, SEARCH_USUAL);
                ("search", "Search memories by keyword matching on key, content, and tags.", Effect::ReadOnly)
            }
            Which::Delete => {
                properties.required::<String>("key", "The key of the memory to delete");
                ("delete", "Delete a memory entry.", Effect::Idempotent)
            }
            Which::ListAll => {
                limit(&mut properties, LIST_USUAL);
                ("list_all", "List all stored memories, the last ones first.", Effect::ReadOnly)
            }
        };
        let mut spec = ToolSpec::new(name, description, properties.finish());
        spec.effect = effect;
        Self { spec, which, store }
    }

    async fn run(&self, args: Value) -> ToolResult {
        let mut args = Args::new(args)?;
        let done = match self.which {
            Which::Save => {
                let key = key(&mut args)?;
                let content: String = args.required("content")?;
                let tags: Option<Vec<String>> = args.optional("tags")?;
                let tags = tags.unwrap_or_default();
                bound("content", content.len(), MAX_CONTENT, "bytes")?;
                bound("tags", tags.len(), MAX_TAGS, "tags")?;
                bound("a tag", tags.iter().map(String::len).max().unwrap_or(0), MAX_TAG, "bytes")?;
                self.store.run(move |store| store.save(&key, &content, &tags)).await
            }
            Which::Search => {
                let query: String = args.required("query")?;
                bound("query", query.len(), MAX_QUERY, "bytes")?;
                let limit = args.or_else("limit", || SEARCH_USUAL)?.min(MAX_FOUND);
                self.store.run(move |store| store.search(&query, limit)).await
            }
            Which::Delete => {
                let key = key(&mut args)?;
                self.store.run(move |store| store.delete(&key)).await
            }
            Which::ListAll => {
                let limit = args.or_else("limit", || LIST_USUAL)?.min(MAX_FOUND);
                self.store.run(move |store| store.list_all(limit)).await
            }
        };
        done.map(Into::into)
    }
}

fn key(args: &mut Args) -> Result<String, ToolError> {
    let key: String = args.required("key")?;
    if key.is_empty() {
        return Err(ToolError::new("`key` is empty, expected a name"));
    }
    bound("key", key.len(), MAX_KEY, "bytes")?;
    Ok(key)
}

fn bound(what: &str, found: usize, most: usize, unit: &str) -> Result<(), ToolError> {
    if found <= most {
        return Ok(());
    }
    Err(ToolError::new(format!("`{what}` has {found} {unit}, expected at most {most}")))
}

impl Tool for MemoryTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn binding(&self) -> Vec<Bound> {
        self.store.path().map(|path| Bound::place("file", path)).into_iter().collect()
    }

    fn call(&self, _: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(self.run(args))
    }
}
