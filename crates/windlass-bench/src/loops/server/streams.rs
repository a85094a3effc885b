//! The memory of open streams: each reader follows a waiting run of its own.

use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use windlass_client::Client;
use windlass_core::RunId;

use super::child::{Serving, keep_off};
use super::start;
use crate::log::{Options, Outcome};

/// How many requests are on their way at once.
const AT_ONCE: usize = 32;
/// A heartbeat, as a chunk.
const HEARTBEAT: &[u8] = b"3\r\n:\n\n\r\n";
/// Readers before those that are measured.
const WARMUP: usize = 16;
/// Heartbeats that each stream sees before memory is read.
const HEARTBEATS: usize = 3;

pub(super) async fn streams(options: &Options) -> Outcome<Value> {
    let count = options.number("--streams", 2_000);
    let place = options.place()?;
    let kept = place.file("log.db").display().to_string();
    keep_off()?;
    let mut serving = Serving::start(&["--log", &kept], &place.file("lines"))?;
    let client = serving.client()?;
    let runs: Vec<RunId> =
        stream::iter(0..count).map(|_| waiting(&client)).buffer_unordered(AT_ONCE).try_collect().await?;
    // The first readers bring in code that stays.
    one_round(&serving, runs.get(..WARMUP).unwrap_or(&runs), 1).await?;
    let before = serving.used()?;
    let begun = Instant::now();
    let open = one_round(&serving, &runs, HEARTBEATS).await?;
    let (during, lasted) = (serving.used()?, begun.elapsed().as_secs_f64());
    drop(open);
    Ok(json!({
        "streams": count, "before_kb": before.rss_kb, "open_kb": during.rss_kb,
        "kb_a_stream": during.rss_kb.saturating_sub(before.rss_kb) as f64 / count as f64,
        "cpu_us_a_stream_and_second": (during.cpu_s - before.cpu_s) * 1e6 / count as f64 / lasted,
    }))
}

/// A run that waits for a person.
async fn waiting(client: &Client) -> Outcome<RunId> {
    let started = client.start(&start("parked", "Paint the shed, please.", 10_000), None).await?;
    match started.status.as_deref() {
        Some("suspended") => Ok(started.run),
        _ => Err(format!("unexpected state: {started:?}").into()),
    }
}

/// A stream of each run, once each has seen so many heartbeats.
async fn one_round(serving: &Serving, runs: &[RunId], heartbeats: usize) -> Outcome<Vec<TcpStream>> {
    let mut open: Vec<TcpStream> =
        stream::iter(runs).map(|run| opened(serving, *run)).buffered(AT_ONCE).try_collect().await?;
    let seen = open.iter_mut().map(|stream| async move {
        let mut data = Vec::new();
        while memchr::memmem::find_iter(&data, HEARTBEAT).count() < heartbeats {
            if tokio::time::timeout(Duration::from_secs(30), stream.read_buf(&mut data)).await?? == 0 {
                return Err(format!("a stream has ended: {}", String::from_utf8_lossy(&data)).into());
            }
        }
        Ok::<_, Box<dyn std::error::Error>>(())
    });
    futures_util::future::try_join_all(seen).await?;
    Ok(open)
}

async fn opened(serving: &Serving, run: RunId) -> Outcome<TcpStream> {
    let mut stream = TcpStream::connect(&serving.address).await?;
    let request = format!(
        "GET /v1/runs/{run}/stream HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\r\n",
        serving.address, serving.token
    );
    stream.write_all(request.as_bytes()).await?;
    Ok(stream)
}
