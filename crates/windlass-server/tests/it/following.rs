//! E17, E64: following a run.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_api::{EndReason, StreamEnd, Update};
use windlass_server::Settings;
use windlass_store::MemoryLog;

use crate::client::{Client, Event};
use crate::ground::{Ground, settings, start, until};

/// Facts and pieces of a stream, without what differs between readers.
fn facts(events: &[Event]) -> (Vec<u64>, String) {
    let (mut seqs, mut text) = (Vec::new(), String::new());
    for event in events.iter().filter(|event| event.name != "end") {
        match event.update() {
            Update::Events { events } => seqs.extend(events.iter().map(|event| event.seq)),
            Update::Text { text: piece, .. } => text.push_str(&piece),
            Update::Void { .. } => text.clear(),
            _ => {}
        }
    }
    (seqs, text)
}

fn end(events: &[Event]) -> StreamEnd {
    let last = events.last().unwrap();
    assert_eq!(last.name, "end", "{events:?}");
    serde_json::from_str(&last.data).unwrap()
}

#[tokio::test]
async fn e17_a_reader_that_comes_back_at_any_event_sees_what_one_sees_who_has_stayed() {
    let ground = Ground::new().await;
    let run = ground.run("hello").await;
    until(&ground.client, &run, "answered").await;
    let whole = ground.client.follow(&run, None).await.rest().await;
    let (seqs, text) = facts(&whole);
    assert_eq!(seqs, (1..=*seqs.last().unwrap()).collect::<Vec<_>>());
    assert_eq!(text, "You said: hello");
    assert_eq!(end(&whole).reason, EndReason::Finished);
    for cut in 0..whole.len() {
        let from = whole[..cut].last().map(|event| event.id.as_str());
        let rest = ground.client.follow(&run, from).await.rest().await;
        assert_eq!(rest, whole[cut..], "from {from:?}");
    }
}

#[tokio::test]
async fn e64_a_stream_is_never_silent_and_tells_proxies_to_leave_it_alone() {
    let settings = Settings { heartbeat_ms: 100, ..settings() };
    let ground = Ground::with(settings, Arc::new(MemoryLog::new())).await;
    let run = ground.run("wait").await;
    let reply = ground.client.open("GET", &format!("/v1/runs/{run}/stream"), &[], "").await;
    assert_eq!(reply.headers()["content-type"], "text/event-stream");
    assert!(reply.headers()["cache-control"].to_str().unwrap().contains("no-transform"));
    assert_eq!(reply.headers()["x-accel-buffering"], "no");
    drop(reply);
    let mut stream = ground.client.follow(&run, None).await;
    while !matches!(stream.next().await.map(|event| event.update()), Some(Update::Events { events }) if events.iter().any(|event| event.event == "CallStarted"))
    {
    }
    // While the tool works.
    stream.heartbeat().await;
    stream.heartbeat().await;
    ground.go_on.notify_one();
    assert_eq!(end(&stream.rest().await).reason, EndReason::Finished);
    let metrics = ground.client.get("/metrics").await.good();
    assert!(String::from_utf8_lossy(&metrics.body).contains("windlass_streams"));
}

#[tokio::test]
async fn e64_a_position_that_is_unknown_is_gone_and_the_error_names_those_that_are_there() {
    let ground = Ground::new().await;
    let run = ground.run("hi").await;
    until(&ground.client, &run, "answered").await;
    for path in ["stream?from=99", "updates?from=99", "events?from=99"] {
        let reply = ground.client.get(&format!("/v1/runs/{run}/{path}")).await;
        assert_eq!(reply.refusal(), (410, "run.no_such_event".to_owned()), "{path}");
        let details = &reply.json()["error"]["details"];
        assert_eq!((details["earliest"].as_str(), details["latest"].is_string()), (Some("0"), true));
    }
    for path in ["stream?from=abc", "updates?from=1.2", "updates?wait_ms=10001"] {
        assert_eq!(ground.client.get(&format!("/v1/runs/{run}/{path}")).await.refusal().0, 400, "{path}");
    }
}

#[tokio::test]
async fn a_stream_may_end_where_its_run_waits() {
    let ground = Ground::new().await;
    let run = start(&ground.client, "pay").await;
    let path = format!("/v1/runs/{run}/stream?until_waiting=true");
    let reply = ground.client.get(&path).await.good();
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    assert!(text.contains("InputRequested") && text.ends_with("\n\n"), "{text}");
    let last = text.trim_end().rsplit("\n\n").next().unwrap();
    assert!(last.contains("event: end") && last.contains(r#""reason":"waiting""#), "{last}");
    // Who comes later is told at once.
    let again = ground.client.get(&path).await.good();
    assert!(String::from_utf8_lossy(&again.body).contains(r#""reason":"waiting""#));
}

#[tokio::test]
async fn a_long_poll_gives_what_is_new_and_where_to_go_on() {
    let ground = Ground::new().await;
    let run = ground.run("wait").await;
    let (mut from, mut seqs) = ("0".to_owned(), Vec::new());
    loop {
        let path = format!("/v1/runs/{run}/updates?from={from}&wait_ms=5000");
        let polled = ground.client.get(&path).await.good().json();
        for update in polled["updates"].as_array().unwrap() {
            for event in update["update"]["events"].as_array().into_iter().flatten() {
                seqs.push(event["seq"].as_u64().unwrap());
                if event["event"] == "CallStarted" {
                    ground.go_on.notify_one();
                }
            }
        }
        from = polled["position"].as_str().unwrap().to_owned();
        if polled["end"] == "finished" {
            break;
        }
        assert_eq!(polled["end"], Value::Null);
    }
    assert_eq!(seqs, (1..=*seqs.last().unwrap()).collect::<Vec<_>>());
    let over = ground.client.get(&format!("/v1/runs/{run}/updates?from={from}")).await.good().json();
    assert_eq!((&over["updates"], &over["end"]), (&json!([]), &json!("finished")));
    let idle = start(&ground.client, "pay").await;
    let waiting = until(&ground.client, &idle, "suspended").await;
    let path = format!("/v1/runs/{idle}/updates?from={}&wait_ms=1", waiting["position"].as_str().unwrap());
    let silent = ground.client.get(&path).await.good().json();
    assert_eq!(
        (&silent["updates"], &silent["end"], &silent["position"]),
        (&json!([]), &Value::Null, &waiting["position"])
    );
}

/// E50: no socket is the life of a run.
#[tokio::test]
async fn e50_a_reader_that_leaves_leaves_the_run_as_it_is() {
    let ground = Ground::new().await;
    let run = ground.run("wait").await;
    let mut stream = ground.client.follow(&run, None).await;
    let first = stream.next().await.unwrap();
    drop(stream);
    ground.go_on.notify_one();
    until(&ground.client, &run, "answered").await;
    let rest = ground.client.follow(&run, Some(&first.id)).await.rest().await;
    let whole = ground.client.follow(&run, None).await.rest().await;
    assert_eq!(rest, whole[1..]);
    let stranger = Client { token: None, ..ground.client.clone() };
    assert_eq!(stranger.get(&format!("/v1/runs/{run}/stream")).await.refusal().0, 401);
}
