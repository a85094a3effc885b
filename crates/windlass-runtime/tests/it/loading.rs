//! From the log to a state: a long run is read in pieces, whatever a log gives at a time.

use std::sync::Arc;

use windlass_core::policy::LimitKind;
use windlass_core::{Event, RunId, State, evolve};
use windlass_read::{load, load_until};
use windlass_runtime::Agent;
use windlass_store::{Answer, Batch, Log, MemoryLog, SqliteLog, Store, forward_store};
use windlass_testing::{FnModel, FnTool, called, text_reply};

/// How many messages the run comes to.
const MESSAGES: usize = 1_200;

/// A log that gives one append at a time, as little as a log may.
#[derive(Debug)]
struct Stingy(Arc<MemoryLog>);

impl Log for Stingy {
    fn read(&self, run: RunId, from: u64, _: usize) -> Answer<'_, Vec<Batch>> {
        self.0.read(run, from, 1)
    }

    forward_store!(0: append, used, follow);
}

forward_store!(Inbox, Leases, Payloads, Index for Stingy => 0);

async fn long_run(log: Arc<dyn Store>) -> RunId {
    let model = FnModel::new(|request| match request.messages.len() {
        // One call or two, so that pieces of the log end within appends too.
        length if length < MESSAGES => {
            let args = format!("{{\"n\": {length}}}");
            let both = [("count", args.as_str()), ("count", "{}")];
            called(&both[length / 5 % 2..])
        }
        _ => text_reply("done"),
    });
    let agent = Agent::builder("long")
        .model(("m", Arc::new(model)))
        .tool(FnTool::new("count", |_, _| async { Ok("ok".into()) }))
        .limit(LimitKind::ModelCalls, 1_000.0)
        .log(log)
        .build()
        .unwrap();
    agent.run("Go").await.unwrap().id()
}

async fn events(log: &dyn Store, run: RunId) -> Vec<Event> {
    let batches = log.read(run, 1, usize::MAX).await.unwrap();
    batches.iter().flat_map(|batch| batch.events.iter().cloned()).collect()
}

async fn loads_as_it_was(log: &dyn Store, run: RunId, events: &[Event]) {
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
