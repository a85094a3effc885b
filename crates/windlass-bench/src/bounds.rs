//! `windlass-bench bounds`: what the readers of foreign input cost at their bounds, as rows of a table for docs/speed.md.
//!
//! `pieces`: each reader by itself. `runs`: whole runs with such input, and how long another task of the same thread had to
//! wait meanwhile. Both, if nothing is said. None of it is a test.

mod peer;
mod pieces;
mod replies;
mod runs;
mod wait;

use std::hint::black_box;
use std::time::Instant;

use crate::log::Outcome;

/// How often a figure is taken; the best one counts.
const TIMES: usize = 3;

/// 16 MiB: the bound of a reply, and of a message of a tool server.
const REPLY: usize = 16 * 1024 * 1024;
/// 50 MB: the bound of what a command writes.
const OUTPUT: usize = 50 * 1000 * 1000;
/// So many secrets are known while texts are masked.
const SECRETS: usize = 64;

/// Carries out the command.
pub(crate) fn run(given: &[String]) -> Outcome<()> {
    match given.first().map(String::as_str) {
        Some("peer") => return peer::stdio(given.get(1).map_or("text", String::as_str)),
        Some("pieces") => pieces::all()?,
        Some("runs") => runs::all()?,
        None => {
            pieces::all()?;
            runs::all()?;
        }
        Some(_) => return Err("windlass-bench bounds [pieces | runs]".into()),
    }
    Ok(())
}

/// Measures one reader and prints its row. `make` makes its input each time, which does not count.
fn piece<I, O>(what: &str, bound: &str, mut make: impl FnMut() -> I, mut read: impl FnMut(I) -> O) {
    let mut best = f64::MAX;
    for _ in 0..TIMES {
        let input = make();
        let begun = Instant::now();
        let made = black_box(read(black_box(input)));
        // To free what was made is part of it.
        drop(made);
        best = best.min(begun.elapsed().as_secs_f64() * 1e3);
    }
    println!("| {what} | {bound} | {best:.1} |");
}

/// Has as many secrets masked as an agent with many servers has, the kinds that are found in the slowest ways among them.
fn secrets() -> Vec<windlass_core::secret::Secret> {
    let secret = |number: usize| match number % 4 {
        // As long as a signed token is.
        0 => format!("eyJhbGciOiJIUzI1NiJ9.{}{number:04}", "c2VjcmV0".repeat(60)),
        1 => format!("sk-proj-{}{number:04}", "Ab3dEf6h".repeat(8)),
        2 => format!("Bearer {}{number:04}", "tok9en8".repeat(5)),
        _ => format!("pass word/with+signs={number:04}"),
    };
    (0..SECRETS).map(|number| windlass_core::secret::Secret::new(secret(number))).collect()
}

/// Prose of that length, which JSON has as it stands.
fn prose(bytes: usize) -> String {
    let mut text = "The quick brown fox jumps over the lazy dog, and says so: I did. ".repeat(bytes / 60);
    text.truncate(bytes);
    text
}
