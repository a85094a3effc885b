use std::sync::Arc;

use windlass_core::{Fact, RunId};
use windlass_store::{Batch, MemoryLog, Store};
use windlass_testing::{FnModel, FnTool, called, text_reply};

use super::{Ahead, Hub};
use crate::agent::Agent;
use crate::driver::updates::{Publisher, Update};

/// The appends of a run, and its log.
async fn appends() -> (Arc<dyn Store>, RunId, Vec<Batch>) {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let model = FnModel::new(|request| match request.messages.len() {
        ..3 => called(&[("look", "{}")]),
        _ => text_reply("Done."),
    });
    let look = FnTool::new("look", |_, _| async { Ok("nothing".into()) });
    let agent =
        Agent::builder("a").model(("m", Arc::new(model))).tool(look).log(log.clone()).build().unwrap();
    let run = agent.run("Go.").await.unwrap().id();
    let batches = log.read(run, 1, usize::MAX).await.unwrap();
    assert!(batches.len() > 2, "{batches:?}");
    (log, run, batches)
}

fn facts(ahead: Ahead) -> Option<Vec<Fact>> {
    match ahead {
        Ahead::Recent(batch) => Some(batch.events.iter().map(|event| event.fact.clone()).collect()),
        _ => None,
    }
}

#[tokio::test]
async fn what_was_not_heard_is_read_from_the_log() {
    let (log, run, batches) = appends().await;
    let [first, .., last] = &batches[..] else { panic!() };
    let hub = Hub::new(log, run, 0, false);
    let publisher = Publisher::default();
    hub.feed_from(&publisher);
    publisher.send(Update::Events(first.clone()));
    assert!(facts(hub.ahead(0)).is_some());
    // It has missed all that lies between.
    publisher.send(Update::Events(last.clone()));
    assert!(matches!(hub.ahead(0), Ahead::Page));
    assert!(matches!(hub.ahead(first.last()), Ahead::Page), "nobody is led over the gap");
    assert!(facts(hub.ahead(last.first - 1)).is_some());
    assert!(matches!(hub.ahead(last.last()), Ahead::Ended));
}

#[tokio::test]
async fn what_the_log_has_already_is_not_waited_for() {
    let (log, run, batches) = appends().await;
    let [first, .., last] = &batches[..] else { panic!() };
    let hub = Hub::new(log, run, first.last(), false);
    hub.feed_from(&Publisher::default());
    assert!(matches!(hub.ahead(first.last()), Ahead::Nothing));
    let mut changes = hub.changes();
    hub.is_logged(last.first - 1);
    assert!(changes.has_changed().unwrap(), "a follower that waits looks again");
    changes.borrow_and_update();
    assert!(matches!(hub.ahead(first.last()), Ahead::Page));
    assert!(matches!(hub.ahead(last.first - 1), Ahead::Nothing));
    hub.is_logged(first.last());
    assert!(!changes.has_changed().unwrap(), "it is known");
}

#[tokio::test]
async fn one_listener_hears_a_run_and_makes_no_queue() {
    let (log, run, batches) = appends().await;
    let publisher = Publisher::default();
    assert!(!publisher.shows_pieces());
    let (former, hub) = (Hub::new(log.clone(), run, 0, false), Hub::new(log, run, 0, false));
    former.feed_from(&publisher);
    hub.feed_from(&publisher);
    publisher.send(Update::Events(batches[0].clone()));
    assert_eq!((former.version(), hub.version()), (0, batches[0].last()));
    assert!(publisher.shows_pieces() && !publisher.heard(), "lines for people are not made");
    drop(hub);
    assert!(!publisher.shows_pieces(), "nobody is there any more");
}
