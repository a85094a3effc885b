//! How soon a reader sees the event with which it joins a long run.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_api::Update;
use windlass_client::{Client, Follow};
use windlass_core::RunId;

use super::child::{LONG_TURNS, Serving, keep_off};
use super::start;
use crate::at_share;
use crate::log::{Options, Outcome};

/// The event with which readers join.
const JOINED: u64 = 100_000;
/// The time between two looks whether the run has come so far.
const LOOK: Duration = Duration::from_millis(500);
/// How often one joins.
const TIMES: u64 = 30;

/// A run of more than 100,000 events: joined while it runs, after its end, and on a server that was just started.
pub(super) async fn join(options: &Options) -> Outcome<Value> {
    let place = options.place()?;
    let kept = place.file("log.db").display().to_string();
    keep_off()?;
    let serving = Serving::start(&["--log", &kept], &place.file("lines"))?;
    let client = serving.client()?;
    let run = client.start(&start("long", "Go", 0), None).await?.run;
    let begun = Instant::now();
    while client.summary(run).await?.events < JOINED {
        tokio::time::sleep(LOOK).await;
    }
    let waited = begun.elapsed().as_secs_f64();
    let (mut running, mut ended) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let goes_on = client.summary(run).await?.status == "running";
        let ms = joined(&client, run).await?;
        if goes_on { running.push(ms) } else { ended.push(ms) }
    }
    let mut rest = client.follow(run, Follow { from_event: Some(JOINED), ..Follow::default() });
    while rest.next().await?.is_some() {}
    for _ in 0..TIMES {
        ended.push(joined(&client, run).await?);
    }
    let events = client.summary(run).await?.events;
    drop(serving);
    let again = Serving::start(&["--log", &kept], &place.file("lines"))?;
    let after_start = joined(&again.client()?, run).await?;
    let row = |figures: &mut Vec<f64>| json!({ "times": figures.len(), "p50": at_share(figures, 0.5), "most": at_share(figures, 1.0) });
    Ok(json!({
        "turns": LONG_TURNS, "events": events, "waited_for_it_s": waited, "while_it_runs_ms": row(&mut running),
        "after_its_end_ms": row(&mut ended), "after_a_start_ms": after_start,
    }))
}

/// Milliseconds until the event is there.
async fn joined(client: &Client, run: RunId) -> Outcome<f64> {
    let begun = Instant::now();
    let mut following = client.follow(run, Follow { from_event: Some(JOINED), ..Follow::default() });
    while let Some(update) = following.next().await? {
        if let Update::Events { .. } = &update.update {
            return Ok(begun.elapsed().as_secs_f64() * 1e3);
        }
    }
    Err("the run has ended before that event".into())
}
