//! A run that waits for a person, in a log that survives the process: `cargo run -p windlass --example durable`.
//!
//! The first half starts a run that needs an approval and lets go of it. The second half, which could be another process
//! on another day, finds it in the log, answers, and goes on.

use std::sync::Arc;

use windlass::runtime::RunStatus;
use windlass::{Agent, Answer, SqliteLog, Store, tool};

/// Calculates an arithmetic expression; pretend that each call costs money.
#[tool(effect = "once", approve)]
fn calculate(expression: &str) -> String {
    format!("{expression} = 42 (paid)")
}

fn agent(log: Arc<dyn Store>) -> Result<Agent, windlass::Error> {
    Agent::builder("careful").model("tour").tool(calculate).log(log).build()
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the example shows what came of it")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("windlass-durable-{}", std::process::id()));
    let path = folder.join("log.db");
    {
        let log = Arc::new(SqliteLog::open(&path)?);
        let run = agent(log)?.run("What is 6 * 7?").await?;
        println!("run {} waits: {}", run.id(), run.questions().first().map_or("", |open| &open.text));
    }
    let agent = agent(Arc::new(SqliteLog::open(&path)?))?;
    for waiting in agent.runs().status(RunStatus::Suspended).await? {
        agent.answer(waiting.run, "q1", Answer::Approve).await?;
        let run = agent.resume(waiting.run).await?;
        println!("run {} answered: {}", run.id(), run.text().unwrap_or_default());
    }
    drop(agent);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
