//! What the log knows, over the API: the same as in process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use windlass_core::RunId;
use windlass_read::{json as forms, load};
use windlass_store::{Answer, Batch, Log, MemoryLog, forward_store};

use crate::ground::{Ground, settings, start, until};

#[tokio::test]
async fn a_run_reads_as_it_does_in_process() {
    let ground = Ground::new().await;
    let run = ground.run("hello").await;
    let read = until(&ground.client, &run, "answered").await;
    let id: RunId = run.parse().unwrap();
    let here = forms::run(&load(&*ground.log, id).await.unwrap());
    assert_eq!(read["given_up_after"], json!(null));
    for (field, value) in here.as_object().unwrap() {
        assert_eq!(read[field], *value, "{field}");
    }
    let events = ground.client.get(&format!("/v1/runs/{run}/events")).await.good().json();
    let batches = ground.log.read(id, 1, 1_000).await.unwrap();
    let flat: Vec<_> = batches
        .iter()
        .flat_map(windlass_read::numbered)
        .map(|(seq, event)| forms::event(seq, event))
        .collect();
    for (listed, here) in events["items"].as_array().unwrap().iter().zip(&flat) {
        for field in ["seq", "at", "event", "data"] {
            assert_eq!(listed[field], here[field]);
        }
    }
    assert_eq!(events["items"].as_array().unwrap().len(), flat.len());
    assert_eq!(events["next"], json!(null));
    let causes =
        events["items"].as_array().unwrap().iter().filter(|event| event.get("cause").is_some()).count();
    assert_eq!(causes, batches.len(), "each append has its cause");
}

#[tokio::test]
async fn events_and_listings_come_a_page_at_a_time() {
    let ground = Ground::new().await;
    let mut runs = Vec::new();
    for number in 0..5 {
        let run = ground.run(&format!("number {number}")).await;
        until(&ground.client, &run, "answered").await;
        runs.push(run);
    }
    runs.reverse();
    let (mut listed, mut after) = (Vec::new(), String::new());
    loop {
        let page = ground.client.get(&format!("/v1/runs?limit=2{after}")).await.good().json();
        listed.extend(
            page["items"].as_array().unwrap().iter().map(|line| line["run"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(listed, runs);
    let run = &runs[0];
    let (mut seqs, mut from) = (Vec::new(), 1);
    loop {
        let page =
            ground.client.get(&format!("/v1/runs/{run}/events?from={from}&limit=1")).await.good().json();
        seqs.extend(page["items"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()));
        let Some(next) = page["next"].as_u64() else { break };
        from = next;
    }
    assert_eq!(seqs, (1..=*seqs.last().unwrap()).collect::<Vec<_>>());
    assert_eq!(
        ground.client.get("/v1/runs?after=nonsense").await.refusal(),
        (400, "store.bad_cursor".to_owned())
    );
    assert_eq!(
        ground.client.get("/v1/runs?status=asleep").await.refusal(),
        (400, "request.value".to_owned())
    );
    let answered = ground.client.get("/v1/runs?status=answered&agent=clerk").await.good().json();
    assert_eq!(answered["items"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn the_inbox_has_the_open_questions_of_all_runs() {
    let ground = Ground::new().await;
    let (one, other) = (start(&ground.client, "pay").await, start(&ground.owner("ada"), "pay").await);
    until(&ground.client, &one, "suspended").await;
    until(&ground.client, &other, "suspended").await;
    ground.run("hi").await;
    let inbox = ground.client.get("/v1/questions").await.good().json();
    let asked: Vec<_> =
        inbox["items"].as_array().unwrap().iter().map(|item| item["run"]["run"].as_str().unwrap()).collect();
    assert_eq!(asked, [&*other, &*one], "local sees all, the newest first");
    assert_eq!(inbox["items"][0]["question"]["kind"], "approval");
}

#[tokio::test]
async fn reports_export_and_artifacts_are_there() {
    let ground = Ground::new().await;
    let run = ground.run("long").await;
    until(&ground.client, &run, "answered").await;
    let path = |rest: &str| format!("/v1/runs/{run}/{rest}");
    for (rest, kind) in [("costs", "costs"), ("effects", "effects"), ("replay", "replay")] {
        assert_eq!(ground.client.get(&path(rest)).await.good().json()["type"], kind);
    }
    assert_eq!(ground.client.get(&path("replay")).await.good().json()["same"], true);
    let compared = ground.client.get(&path(&format!("compare?with={run}"))).await.good().json();
    assert_eq!(compared["a"]["events"], json!([]), "a run does not differ from itself");
    let export = ground.client.get(&path("export")).await.good();
    let lines = String::from_utf8(export.body.to_vec()).unwrap();
    assert!(
        lines.lines().count() > 3
            && lines.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
    );
    let artifacts = ground.client.get(&path("artifacts")).await.good().json();
    let first = &artifacts["items"][0];
    let sha256 = first["sha256"].as_str().unwrap();
    let whole = ground.client.get(&path(&format!("artifacts/{sha256}"))).await.good();
    assert_eq!(whole.body.len() as u64, first["bytes"].as_u64().unwrap());
    assert_eq!(windlass_store::payload_name(&whole.body).as_ref(), sha256);
    let part = ground.client.get(&path(&format!("artifacts/{sha256}?from=10&max=5"))).await.good();
    assert_eq!(part.body, whole.body.slice(10..15));
    let other = ground.run("hi").await;
    let foreign = ground.client.get(&format!("/v1/runs/{other}/artifacts/{sha256}")).await;
    assert_eq!(
        foreign.refusal(),
        (404, "run.unknown_artifact".to_owned()),
        "only a run that refers to it gives it"
    );
}

/// A log that counts how often events are read.
#[derive(Debug, Default)]
struct CountedReads {
    inner: MemoryLog,
    reads: AtomicUsize,
}

impl Log for CountedReads {
    fn read(&self, run: RunId, from: u64, max: usize) -> Answer<'_, Vec<Batch>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.inner.read(run, from, max)
    }

    forward_store!(inner: append, used, follow);
}

forward_store!(Inbox, Leases, Payloads, Index for CountedReads => inner);

#[tokio::test]
async fn an_artifact_is_read_without_the_events_of_its_run_and_only_with_a_run_of_the_owner() {
    let log = Arc::new(CountedReads::default());
    let ground = Ground::with(settings(), log.clone()).await;
    let (ada, bob) = (ground.owner("ada"), ground.owner("bob"));
    let run = start(&ada, "long").await;
    until(&ada, &run, "answered").await;
    let theirs = start(&bob, "hi").await;
    until(&bob, &theirs, "answered").await;
    let artifacts = ada.get(&format!("/v1/runs/{run}/artifacts")).await.good().json();
    let sha256 = artifacts["items"][0]["sha256"].as_str().unwrap();
    let path = |run: &str| format!("/v1/runs/{run}/artifacts/{sha256}");
    let before = log.reads.load(Ordering::SeqCst);
    assert!(before > 0);
    let whole = ada.get(&path(&run)).await.good();
    let part = ada.get(&format!("{}?from=100&max=50", path(&run))).await.good();
    assert_eq!(part.body, whole.body.slice(100..150));
    assert_eq!(log.reads.load(Ordering::SeqCst), before, "no event was read");
    assert_eq!(bob.get(&path(&run)).await.refusal(), (404, "store.unknown_run".to_owned()));
    assert_eq!(bob.get(&path(&theirs)).await.refusal(), (404, "run.unknown_artifact".to_owned()));
}
