//! CPU of a run of three turns: the server's, beside that of the same runs in process.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde_json::{Value, json};
use windlass_client::Client;

use super::child::{Serving, keep_off};
use super::{MEASURED, start};
use crate::log::{Options, Outcome};
use crate::middle;

const MODEL: &str = "script-n2-k1-l0-c1";
/// How long a reply is held back for its run to end.
const WAIT_MS: u64 = 10_000;
/// Runs before those that are measured.
const WARMUP: u64 = 200;

/// Where runs are kept.
#[derive(Clone, Copy)]
enum Kept {
    InMemory,
    OnDisk,
}

/// Both ways in turn, so often, against the mock model of `shared/bench`.
pub(super) async fn runs(options: &Options) -> Outcome<Value> {
    let url = options.text("--base-url").ok_or("`--base-url` says where the mock model server is")?;
    let times = options.number("--times", 7);
    let place = options.place()?;
    keep_off()?;
    let mut rows = serde_json::Map::new();
    for (kept, name) in [(Kept::InMemory, "memory"), (Kept::OnDisk, "sqlite")] {
        for (at_once, runs) in [(1, options.number("--runs", 1_500)), (64, options.number("--runs", 6_000))] {
            let (mut alone, mut served) = (Vec::new(), Vec::new());
            for time in 0..times {
                let file = place.file(&format!("{name}-{at_once}-{time}"));
                alone.push(in_process(url, kept, &file.with_extension("direct.db"), runs, at_once)?);
                served.push(by_server(url, kept, &file.with_extension("served.db"), runs, at_once).await?);
            }
            let ratios = served.iter().zip(&alone).map(|(served, alone)| served / alone).collect();
            let row = json!({ "in_process_us": middle(alone), "server_us": middle(served), "ratio": middle(ratios) });
            eprintln!("{name}, {at_once} at once: {row}");
            rows.insert(format!("{name}_{at_once}"), row);
        }
    }
    Ok(Value::Object(rows))
}

/// CPU of a run in microseconds, where the driver is this program.
fn in_process(url: &str, kept: Kept, file: &std::path::Path, runs: u64, at_once: u64) -> Outcome<f64> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--core", &MEASURED.to_string(), "--base-url", url, "--model", MODEL, "--rounds", "2"]);
    command.args([
        "--runs",
        &runs.to_string(),
        "--concurrency",
        &at_once.to_string(),
        "--warmup",
        &WARMUP.to_string(),
    ]);
    if matches!(kept, Kept::OnDisk) {
        command.arg("--log").arg(file);
    }
    let output = command.stdin(Stdio::null()).output()?;
    let found: Value = serde_json::from_slice(&output.stdout)?;
    let number = |name: &str| found.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    if number("runs") != runs as f64 {
        return Err(format!("not all runs in process were good: {found}").into());
    }
    Ok(number("cpu_s") * 1e6 / runs as f64)
}

async fn by_server(url: &str, kept: Kept, file: &std::path::Path, runs: u64, at_once: u64) -> Outcome<f64> {
    let path = file.display().to_string();
    let mut arguments = vec!["--base-url", url, "--model", MODEL];
    if matches!(kept, Kept::OnDisk) {
        arguments.extend(["--log", &path]);
    }
    let mut serving = Serving::start(&arguments, &file.with_extension("lines"))?;
    let client = serving.client()?;
    some(&client, WARMUP, at_once).await?;
    let before = serving.used()?.cpu_s;
    some(&client, runs, at_once).await?;
    Ok((serving.used()?.cpu_s - before) * 1e6 / runs as f64)
}

/// So many runs, each begun by a request whose reply has its answer.
async fn some(client: &Client, runs: u64, at_once: u64) -> Outcome<()> {
    let next = Arc::new(AtomicU64::new(0));
    let workers: Vec<_> = (0..at_once.min(runs))
        .map(|_| {
            let (client, next) = (client.clone(), next.clone());
            tokio::spawn(async move {
                while next.fetch_add(1, Relaxed) < runs {
                    one(&client).await?;
                }
                Ok::<_, String>(())
            })
        })
        .collect();
    for worker in workers {
        worker.await??;
    }
    Ok(())
}

async fn one(client: &Client) -> Result<(), String> {
    let started =
        client.start(&start("bench", crate::USER, WAIT_MS), None).await.map_err(|error| error.to_string())?;
    match &started.text {
        Some(text) if text.starts_with("done") => Ok(()),
        _ => Err(format!("unexpected end: {started:?}")),
    }
}
