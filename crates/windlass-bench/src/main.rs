//! The driver of the overhead benchmark (`shared/bench`): the public Rust API, with the log in memory or, with
//! `--log FILE`, in SQLite.

mod bounds;
mod log;
mod loops;
mod wires;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use windlass::models::wires::{Wire, openai_chat::OpenAiChat, wire};
use windlass::models::{HttpModel, HttpModelConfig};
use windlass::policy::LimitKind;
use windlass::runtime::DriveOptions;
use windlass::{Agent, MemoryLog, SqliteLog, tool};

use crate::log::Options;

/// The same allocator as in the binary `windlass`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SYSTEM: &str = "You are a helpful agent. Use the echo tool when asked.";
const USER: &str = "Call the echo tool as often as needed, then answer.";

static TOOL_CALLS: AtomicU64 = AtomicU64::new(0);
static EVENTS: AtomicU64 = AtomicU64::new(0);
static SLEEP_MS: AtomicU64 = AtomicU64::new(0);

/// Echo the text back.
#[tool]
async fn echo(text: String) -> String {
    TOOL_CALLS.fetch_add(1, Relaxed);
    let sleep = SLEEP_MS.load(Relaxed);
    if sleep > 0 {
        tokio::time::sleep(Duration::from_millis(sleep)).await;
    }
    format!("echo: {text}")
}

struct Args {
    wire: &'static dyn Wire,
    base_url: String,
    model: String,
    rounds: usize,
    concurrency: usize,
    runs: usize,
    warmup: usize,
    stream: bool,
    log: Option<String>,
}

impl Args {
    /// Runs against a scripted server, as the commands of `log` do them.
    fn scripted(base_url: &str, model: &str, log: Option<String>) -> Self {
        let (base_url, model) = (base_url.to_owned(), model.to_owned());
        Self {
            wire: &OpenAiChat,
            base_url,
            model,
            rounds: 1_000,
            concurrency: 1,
            runs: 1,
            warmup: 0,
            stream: false,
            log,
        }
    }
}

fn args() -> Result<Args, String> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let get = |name: &str, default: &str| {
        let place = given.iter().position(|item| item == name).and_then(|at| given.get(at + 1));
        place.cloned().unwrap_or_else(|| default.to_owned())
    };
    let number = |name: &str, default: usize| get(name, &default.to_string()).parse().unwrap_or(default);
    SLEEP_MS.store(number("--tool-sleep-ms", 0) as u64, Relaxed);
    let named = get("--wire", "openai_chat");
    Ok(Args {
        wire: wire(&named).ok_or_else(|| format!("no wire is called `{named}`"))?,
        base_url: get("--base-url", "http://127.0.0.1:8080/v1"),
        model: get("--model", "script-n1-k1-l0-c1"),
        rounds: number("--rounds", 1),
        concurrency: number("--concurrency", 1).max(1),
        runs: number("--runs", 1),
        warmup: number("--warmup", 1),
        stream: number("--stream", 0) == 1,
        log: Some(get("--log", "")).filter(|path| !path.is_empty()),
    })
}

fn agent(args: &Args) -> Result<Agent, Box<dyn std::error::Error>> {
    let log: Arc<dyn windlass::Store> = match &args.log {
        Some(path) => Arc::new(SqliteLog::open(path)?),
        // Ended runs are of no use to a benchmark: keep few, as a server would.
        None => Arc::new(MemoryLog::with_max_ended_runs(256)),
    };
    agent_on(args, log)
}

fn agent_on(args: &Args, log: Arc<dyn windlass::Store>) -> Result<Agent, Box<dyn std::error::Error>> {
    let mut config = HttpModelConfig::new(args.wire, "openai", &args.base_url);
    config.key = Some("benchmark".into());
    let agent = Agent::builder("bench")
        .instructions(SYSTEM)
        .model((args.model.as_str(), Arc::new(HttpModel::new(config)?)))
        .tool(echo)
        .limit(LimitKind::ModelCalls, args.rounds as f64 + 2.0)
        .log(log)
        .build()?;
    Ok(agent)
}

async fn one(agent: &Agent, stream: bool) -> Result<String, String> {
    let failed = |error: windlass::Error| format!("{error:?}");
    let prepared = agent.prepare(USER, DriveOptions::default()).await.map_err(failed)?;
    let run = if stream {
        let mut updates = prepared.updates();
        let count = async {
            while updates.next().await.is_some() {
                EVENTS.fetch_add(1, Relaxed);
            }
        };
        let (run, ()) = tokio::join!(prepared.drive(), count);
        run
    } else {
        prepared.drive().await
    };
    let run = run.map_err(failed)?;
    match run.text() {
        Some(text) if text.starts_with("done") => Ok(text.to_owned()),
        text => Err(format!("unexpected end: {:?} {text:?} {:?}", run.status(), run.error())),
    }
}

#[derive(Default)]
struct Seen {
    latencies: Mutex<Vec<f64>>,
    errors: Mutex<Vec<String>>,
}

impl Seen {
    fn first_error(&self) -> Option<String> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).first().cloned()
    }
}

async fn batch(agent: &Agent, stream: bool, runs: usize, concurrency: usize) -> Arc<Seen> {
    let seen = Arc::new(Seen::default());
    let next = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..concurrency.min(runs))
        .map(|_| {
            let (agent, seen, next) = (agent.clone(), seen.clone(), next.clone());
            tokio::spawn(async move {
                while next.fetch_add(1, Relaxed) < runs {
                    let begun = Instant::now();
                    match one(&agent, stream).await {
                        Ok(_) => {
                            let ms = begun.elapsed().as_secs_f64() * 1e3;
                            seen.latencies.lock().unwrap_or_else(PoisonError::into_inner).push(ms);
                        }
                        Err(error) => seen.errors.lock().unwrap_or_else(PoisonError::into_inner).push(error),
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        if let Err(error) = worker.await {
            seen.errors.lock().unwrap_or_else(PoisonError::into_inner).push(error.to_string());
        }
    }
    seen
}

fn cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The figure that this share of them is below; 0: there is none.
fn at_share(figures: &mut [f64], share: f64) -> f64 {
    figures.sort_by(f64::total_cmp);
    let place = (figures.len() as f64 * share) as usize;
    figures.get(place.min(figures.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

/// The middle one of some figures.
fn middle(mut figures: Vec<f64>) -> f64 {
    at_share(&mut figures, 0.5)
}

fn status_kb(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(key));
    line.and_then(|line| line.split_whitespace().nth(1)).and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    // The threads of a runtime are started where their process is.
    if let Some(core) = Options::new(given.clone()).text("--core") {
        loops::server::pin(core.parse()?)?;
    }
    // These have runtimes of their own.
    if let Some(("bounds", rest)) = given.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return bounds::run(rest);
    }
    if given.first().is_some_and(|first| first == "counts") {
        return counts();
    }
    if let ["server", "child", ..] = given.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return loops::server::serve(given);
    }
    if let ["wires", "serve", ..] = given.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return wires::serve();
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measure(given))
}

/// Hands over to the program that counts, which has an allocator of its own.
fn counts() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::current_exe()?.with_file_name("windlass-bench-counts");
    let failed = |error| format!("{}: {error} (`cargo build -p windlass-bench` makes it)", path.display());
    let output = std::process::Command::new(&path).output().map_err(failed)?;
    print!("{}", String::from_utf8_lossy(&output.stdout));
    // The counting allocator speaks there at each count: only of interest after a failure.
    let words = || String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(words().into()) }
}

async fn measure(given: Vec<String>) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(("log", rest)) = given.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return log::run(rest.to_vec()).await;
    }
    if let Some(("loops", rest)) = given.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return loops::run(rest.to_vec()).await;
    }
    if let Some(("server", rest)) = given.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return loops::server::run(rest.to_vec()).await;
    }
    if let Some(("wires", rest)) = given.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return wires::run(rest.to_vec()).await;
    }
    let args = args()?;
    let agent = agent(&args)?;
    if args.warmup > 0 {
        batch(&agent, args.stream, args.warmup, args.concurrency.min(args.warmup)).await;
    }
    TOOL_CALLS.store(0, Relaxed);
    EVENTS.store(0, Relaxed);
    let base_rss = status_kb("VmRSS:");
    let (cpu, begun) = (cpu_s(), Instant::now());
    let seen = batch(&agent, args.stream, args.runs, args.concurrency).await;
    let (wall, cpu) = (begun.elapsed().as_secs_f64(), cpu_s() - cpu);
    let mut latencies = seen.latencies.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let errors = seen.errors.lock().unwrap_or_else(PoisonError::into_inner);
    let steps = latencies.len() * (args.rounds + 1);
    println!(
        "{}",
        serde_json::json!({
            "peer": "windlass", "version": env!("CARGO_PKG_VERSION"), "runs": latencies.len(),
            "errors": errors.len(), "first_error": errors.first(),
            "wall_s": wall, "cpu_s": cpu, "base_rss_kb": base_rss, "peak_rss_kb": status_kb("VmHWM:"),
            "p50_ms": at_share(&mut latencies, 0.50), "p99_ms": at_share(&mut latencies, 0.99), "steps": steps, "steps_per_s": steps as f64 / wall,
            "tool_calls": TOOL_CALLS.load(Relaxed), "events": EVENTS.load(Relaxed),
        })
    );
    Ok(())
}
