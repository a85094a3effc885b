//! Both stores keep every promise of the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use windlass_store::{MemoryLog, SqliteLog, Store, store_conformance};

fn in_memory() -> impl Fn() -> Arc<dyn Store> {
    || Arc::new(MemoryLog::new())
}

/// Fresh files in a folder that lives as long as the function.
fn on_disk() -> impl Fn() -> Arc<dyn Store> {
    let folder = tempfile::tempdir().unwrap();
    let number = AtomicU32::new(0);
    move || {
        let name = format!("{}.db", number.fetch_add(1, Ordering::Relaxed));
        Arc::new(SqliteLog::open(folder.path().join(name)).unwrap())
    }
}

store_conformance!(memory, in_memory());
store_conformance!(sqlite, on_disk());

#[tokio::test]
async fn all_promises_at_once_under_tokio() {
    windlass_store::conformance::all(in_memory()).await.unwrap();
    windlass_store::conformance::all(on_disk()).await.unwrap();
}
