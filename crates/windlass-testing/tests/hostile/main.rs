//! The Chat wire and the MCP client under every attack of the hostile servers: each call ends within its limits with a
//! reply or a clear error, nothing panics, no secret is said, and memory stays bounded.

#![expect(clippy::unwrap_used, clippy::panic, reason = "functions that only tests call may fail like tests")]

mod chat;
mod mcp;
mod servers;

use std::sync::Mutex;
use std::time::Duration;

/// Within what time each attack must have ended: far more than the limits of the clients under test.
const BOUND: Duration = Duration::from_mins(1);
/// The most memory that this process may have had at once, in KiB: 1 GiB. The doubles' own 60 MB are within.
const MEMORY_KIB: u64 = 1024 * 1024;
/// The longest text of an error, in bytes.
const LONGEST: usize = 16 * 1024;
/// The key and the header of the clients under test.
const SECRET: &str = "sk-hostile-4711-0815-keep-me";

/// What panicked, on any thread.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Held by the test that runs: the most memory is that of a process, so attacks of two tests at once would be added up.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Notes every panic, those of tasks and threads too. The test runs alone as long as it keeps the guard.
async fn note_panics() -> tokio::sync::MutexGuard<'static, ()> {
    let alone = ALONE.lock().await;
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.lock().unwrap().push(panic.to_string());
        usual(panic);
    }));
    alone
}

/// What must hold of the words that an attack was told with.
fn hold(attack: &str, said: &str) {
    assert!(!said.contains(SECRET), "{attack}: a secret in {said}");
    assert!(said.len() <= LONGEST, "{attack}: {} bytes", said.len());
    assert!(said.chars().any(char::is_alphabetic), "{attack}: no words: {said:?}");
}

/// What must hold after all attacks.
fn hold_of_the_process() {
    // A panic that holds the lock would wait for itself in the hook.
    let panics = PANICS.lock().unwrap().clone();
    assert_eq!(panics, Vec::<String>::new());
    // Linux tells the most memory that a process had.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    if let Some(peak) = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok()) {
        assert!(peak < MEMORY_KIB, "{peak} KiB at once");
    }
}

/// Shortens what is printed of an attack.
fn name(attack: &impl std::fmt::Debug) -> String {
    format!("{attack:?}").chars().take(100).collect()
}

/// The future's output within [`BOUND`].
async fn soon<F: Future>(attack: &str, future: F) -> F::Output {
    let done = tokio::time::timeout(BOUND, future).await;
    done.unwrap_or_else(|late| panic!("{attack}: no end within {BOUND:?}: {late}"))
}
