//! The memory of runs that wait: a server over very many, beside one over none.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_api::{ListQuestions, ListRuns};

use super::child::{Serving, keep_off};
use crate::log::{Options, Outcome, parked as runs};

/// How long the server looks for due runs before its memory is read.
const RESTS: Duration = Duration::from_secs(12);

pub(super) async fn parked(options: &Options) -> Outcome<Value> {
    let count = options.number("--runs", 100_000);
    let place = options.place()?;
    keep_off()?;
    let (none, many) = (place.file("none.db"), place.file("many.db"));
    runs::write(&none, 1).await?;
    runs::write(&many, count).await?;
    let mut found = Vec::new();
    for file in [none, many] {
        let mut serving = Serving::start(&["--log", &file.display().to_string()], &place.file("lines"))?;
        let client = serving.client()?;
        let begun = Instant::now();
        client.ready().await?;
        client.runs(&ListRuns::default()).await?;
        let listed = begun.elapsed();
        client.questions(&ListQuestions::default()).await?;
        let begun = Instant::now();
        client.metrics().await?;
        let measured = begun.elapsed();
        let before = serving.used()?.cpu_s;
        tokio::time::sleep(RESTS).await;
        let used = serving.used()?;
        found.push((used.rss_kb, (used.cpu_s - before) / RESTS.as_secs_f64(), listed, measured));
    }
    let [(alone, ..), (with, idle, listed, measured)] = found[..] else {
        return Err("two servers were asked".into());
    };
    Ok(json!({
        "runs": count, "rss_kb_of_one": alone, "rss_kb_of_all": with, "kb": with.saturating_sub(alone),
        "list_ms": listed.as_secs_f64() * 1e3, "metrics_ms": measured.as_secs_f64() * 1e3, "idle_share_of_a_core": idle,
    }))
}
