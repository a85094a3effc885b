//! From the log to a state: a long run is read in pieces, whatever a log gives at a time.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use windlass_core::{Event, InputKind, LimitKind, Millis, RunId, State, evolve};
use windlass_runtime::{Agent, load, load_until};
use windlass_store::{
    Append, Batch, Batches, EventLog, Fence, Holder, MemoryLog, PostId, Posted, RunFilter, RunSummary,
    SqliteLog, StoreError,
};
use windlass_testing::{FnModel, FnTool, called, said};

/// How many messages the run comes to.
const MESSAGES: usize = 1_200;

/// A log that gives one append at a time, as little as a log may.
#[derive(Debug)]
struct Stingy(Arc<MemoryLog>);

impl EventLog for Stingy {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.append(append)
    }

    fn read(&self, run: RunId, from: u64, _: usize) -> BoxFuture<'_, Result<Vec<Batch>, StoreError>> {
        self.0.read(run, from, 1)
    }

    fn follow(&self, run: RunId, from: u64) -> Batches {
        self.0.follow(run, from)
    }

    fn post(&self, run: RunId, at: Millis, what: InputKind) -> BoxFuture<'_, Result<PostId, StoreError>> {
        self.0.post(run, at, what)
    }

    fn inbox(&self, run: RunId, after: Option<PostId>) -> BoxFuture<'_, Result<Vec<Posted>, StoreError>> {
        self.0.inbox(run, after)
    }

    fn inbox_changed(&self, run: RunId, after: Option<PostId>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.inbox_changed(run, after)
    }

    fn hold(&self, run: RunId, holder: &Holder) -> BoxFuture<'_, Result<Fence, StoreError>> {
        self.0.hold(run, holder)
    }

    fn release(&self, run: RunId, fence: &Fence) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.release(run, fence)
    }

    fn list(&self, filter: RunFilter) -> BoxFuture<'_, Result<Vec<RunSummary>, StoreError>> {
        self.0.list(filter)
    }

    fn summary(&self, run: RunId) -> BoxFuture<'_, Result<RunSummary, StoreError>> {
        self.0.summary(run)
    }
}

async fn long_run(log: Arc<dyn EventLog>) -> RunId {
    let model = FnModel::new(|request| match request.history.len() {
        // One call or two, so that pieces of the log end within appends too.
        length if length < MESSAGES => {
            let args = format!("{{\"n\": {length}}}");
            let both = [("count", args.as_str()), ("count", "{}")];
            called(&both[length / 5 % 2..])
        }
        _ => said("done"),
    });
    let agent = Agent::builder("long")
        .model("m", Arc::new(model))
        .tool(FnTool::new("count", |_, _| async { Ok("ok".into()) }))
        .limit(LimitKind::ModelCalls, 1_000.0)
        .log(log)
        .build()
        .unwrap();
    agent.run("Go").await.unwrap().id()
}

async fn events(log: &dyn EventLog, run: RunId) -> Vec<Event> {
    let batches = log.read(run, 1, usize::MAX).await.unwrap();
    batches.iter().flat_map(|batch| batch.events.iter().cloned()).collect()
}

async fn loads_as_it_was(log: &dyn EventLog, run: RunId, events: &[Event]) {
    let mut state = State::new(run);
    for (place, event) in events.iter().enumerate() {
        state = evolve(state, event);
        // Around the edges of pieces, and now and then between them.
        if place % 1_000 < 3 || place % 1_000 > 997 || place % 97 == 0 {
            assert_eq!(load_until(log, run, place as u64 + 1).await.unwrap(), state, "{} events", place + 1);
        }
    }
    assert_eq!(load(log, run).await.unwrap(), state);
}

#[tokio::test]
async fn a_long_run_loads_as_its_events_say_from_memory_from_sqlite_and_from_a_log_that_gives_little() {
    let memory = Arc::new(MemoryLog::new());
    let run = long_run(memory.clone()).await;
    let all = events(&*memory, run).await;
    assert!(all.len() > 1_500, "{}", all.len());
    loads_as_it_was(&*memory, run, &all).await;
    loads_as_it_was(&Stingy(memory), run, &all).await;
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Arc::new(SqliteLog::open(folder.path().join("log.db")).unwrap());
    let run = long_run(sqlite.clone()).await;
    loads_as_it_was(&*sqlite, run, &events(&*sqlite, run).await).await;
}
