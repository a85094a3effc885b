//! Tool sources: servers whose tools may change while an agent lives.

use std::sync::Arc;

use tokio::sync::watch;
#[cfg(feature = "mcp")]
use windlass_tools::mcp::McpServer;
use windlass_tools::{Bound, ServiceError, Tool, ToolSet};

/// Something that offers tools and may offer others later.
pub trait ToolSource: Send + Sync + std::fmt::Debug {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// The tools that it offers now.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// Binding of the source, independent of the tools that it offers: part of the agent's digest. Default: only its name.
    fn binding(&self) -> Vec<Bound> {
        Vec::new()
    }

    /// Whether the source is available now. Default: yes.
    ///
    /// # Errors
    /// It cannot, for this reason.
    fn health(&self) -> Result<(), ServiceError> {
        Ok(())
    }

    /// Changes its number whenever the tools have changed.
    fn changes(&self) -> watch::Receiver<u64>;

    /// A run begins: what was not there before may be looked for again. Must not wait. Default: nothing.
    fn seek(&self) {}
}

#[cfg(feature = "mcp")]
impl ToolSource for McpServer {
    fn name(&self) -> &str {
        self.name()
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools()
    }

    fn binding(&self) -> Vec<Bound> {
        self.binding()
    }

    fn health(&self) -> Result<(), ServiceError> {
        if self.is_alive() {
            return Ok(());
        }
        Err(ServiceError::new("the tool server has exited; the next call restarts it"))
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes()
    }

    fn seek(&self) {
        self.seek();
    }
}

/// Merges an agent's own tools with those that its sources offer now. A new tool whose name is taken is left out and logged.
pub(crate) fn together(own: &ToolSet, sources: &[Arc<dyn ToolSource>]) -> ToolSet {
    let mut all = own.clone();
    for source in sources {
        for tool in source.tools() {
            if let Err(error) = all.add(tool) {
                tracing::warn!(source = source.name(), "a new tool is left out: {error}");
            }
        }
    }
    all
}

/// Ends when one of the sources has changed.
pub(crate) async fn changed(mut watches: Vec<watch::Receiver<u64>>) -> Vec<watch::Receiver<u64>> {
    let any = futures_util::future::select_all(watches.iter_mut().map(|watch| Box::pin(watch.changed())));
    if any.await.0.is_err() {
        // A source that is gone never changes again.
        watches.retain(|watch| watch.has_changed().is_ok());
        if watches.is_empty() {
            std::future::pending::<()>().await;
        }
    }
    watches
}
