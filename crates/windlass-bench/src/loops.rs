//! `windlass-bench loops ...`: what views and compactions cost. Each command prints one JSON object; none is a test.
//!
//! `views --base-url URL`: a turn under each view at the same number of bytes sent, against the mock of `shared/bench`.
//! `compaction`: what making 1,000 messages smaller adds to a run, with a model within the process.

mod compaction;
pub(crate) mod server;
mod views;

use serde_json::json;

use crate::log::{Options, Outcome};

/// The commands, for people.
const USAGE: &str = "windlass-bench loops views --base-url URL [--rounds N] [--input BYTES] [--times N] \
     | compaction [--rounds N] [--times N]";

/// Carries out one of the commands.
pub(crate) async fn run(given: Vec<String>) -> Outcome<()> {
    let command = given.first().cloned().unwrap_or_default();
    let options = Options::new(given);
    let found = match command.as_str() {
        "views" => views::measure(&options).await?,
        "compaction" => compaction::measure(&options).await?,
        _ => return Err(USAGE.into()),
    };
    println!("{}", json!({ "loops": command, "found": found }));
    Ok(())
}

/// The middle one of some figures.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}
