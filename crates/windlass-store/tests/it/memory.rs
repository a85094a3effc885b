//! What the log in memory promises beyond the suite: it stays small, and deaths can be played.

use windlass_store::{Holder, Index, Leases, Log, MemoryLog, RunFilter, StoreError};

use crate::sample::{append, begin, end, fence, id, said, started};

async fn a_whole_run(log: &MemoryLog, number: u128) {
    begin(log, number).await;
    log.append(end(id(number), 1)).await.unwrap();
}

#[tokio::test]
async fn the_oldest_ended_runs_go_first() {
    let log = MemoryLog::with_max_ended_runs(3);
    begin(&log, 100).await;
    for number in 1..=10 {
        a_whole_run(&log, number).await;
    }
    let left: Vec<_> =
        log.list(RunFilter::default()).await.unwrap().into_iter().map(|summary| summary.run).collect();
    assert_eq!(left, [id(10), id(9), id(8), id(100)], "running runs stay, ended ones go from the oldest on");
    assert!(matches!(log.read(id(7), 1, 10).await, Err(StoreError::UnknownRun { .. })));
}

#[tokio::test]
async fn a_base_stays_as_long_as_a_run_needs_it() {
    let log = MemoryLog::with_max_ended_runs(1);
    a_whole_run(&log, 1).await;
    log.append(append(id(2), 0, started(id(2), Some(id(1))))).await.unwrap();
    for number in 3..=6 {
        a_whole_run(&log, number).await;
    }
    assert!(log.summary(id(1)).await.is_ok(), "the base of a running run was dropped");
    log.append(end(id(2), 1)).await.unwrap();
    assert!(log.summary(id(1)).await.is_ok(), "the base of an ended run that is kept was dropped");
    a_whole_run(&log, 7).await;
    assert_eq!(log.len(), 1, "the run and its base went together: {log:?}");
    assert!(log.summary(id(7)).await.is_ok());
}

#[tokio::test]
async fn a_run_is_removed_unless_it_is_held_or_a_base() {
    let log = MemoryLog::new();
    a_whole_run(&log, 1).await;
    log.append(append(id(2), 0, started(id(2), Some(id(1))))).await.unwrap();
    assert!(!log.remove(id(1)), "a base was removed");
    assert!(!log.remove(id(2)), "a held run was removed");
    assert!(!log.remove(id(3)), "a run that never was was removed");
    log.append(end(id(2), 1)).await.unwrap();
    assert!(log.remove(id(2)));
    assert!(log.remove(id(1)));
    assert!(log.is_empty());
}

#[tokio::test]
async fn e32_the_runs_of_a_dead_holder_are_taken_over_and_a_waking_one_is_fenced() {
    let log = MemoryLog::new();
    let run = begin(&log, 1).await;
    let other = Holder("other".into());
    assert!(matches!(log.acquire(run, &other, windlass_store::Claim(1)).await, Err(StoreError::Held { .. })));
    log.forget_holder(&fence("maker", 1).holder);
    assert_eq!(log.summary(run).await.unwrap().holder, None);
    // Until somebody takes over, it may only have been slow.
    log.append(append(run, 1, said("still here"))).await.unwrap();
    assert_eq!(log.acquire(run, &other, windlass_store::Claim(1)).await.unwrap(), fence("other", 2));
    let late = log.append(append(run, 2, said("too late"))).await;
    assert!(matches!(late, Err(StoreError::Fenced { ours: 1, current: 2, .. })), "{late:?}");
}
