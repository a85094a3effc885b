//! Two tools, a typed output, a hook, streaming, an approval in code, and a run that outlives its process. To see that, let the
//! process die in the middle of a call, and start it again: `cargo run -p windlass --example desk -- crash`, then without `crash`.
#![expect(clippy::print_stdout, reason = "the example shows what came of it")]

use std::{env, error::Error, process, sync::Arc};

use windlass::policy::LimitKind;
use windlass::{Agent, Answer, SqliteLog, Update, tool};

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Report {
    answer: String,
}

/// Evaluates a product of whole numbers, such as `6 * 7`.
#[tool(effect = "read_only")]
fn calculate(expression: &str) -> Result<i64, std::num::ParseIntError> {
    if env::args().any(|arg| arg == "crash") {
        process::abort(); // as if the power failed
    }
    expression.split('*').map(|factor| factor.trim().parse::<i64>()).product()
}

/// Says what day it is today.
#[tool(effect = "read_only", approve)]
fn today() -> &'static str {
    "Friday"
}

fn agent() -> Result<Agent, Box<dyn Error>> {
    let builder = Agent::builder("desk").model("tour").tool(calculate).tool(today); // or "openai/gpt-5-mini"
    let people = builder.output::<Report>().limit(LimitKind::ModelCalls, 10).people(|ask| async move {
        println!("approved: {}", ask.text);
        Answer::Approve
    });
    let hooked = people.on_step(|mut step| {
        step.keep_last(40);
        Ok(step)
    });
    Ok(hooked.log(Arc::new(SqliteLog::open("desk.db")?)).build()?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let agent = agent()?;
    for left in agent.runs().interrupted().await? {
        let run = agent.resume(left.run).await?;
        println!("resumed: {:?}", run.output_as::<Report>()?.map(|report| report.answer));
    }
    let mut stream = agent.stream("What is 6 * 7, and what day is it?").await?;
    while let Some(update) = stream.next().await {
        if let Update::Partial { output, .. } = update {
            println!("so far: {output}");
        }
    }
    let run = stream.finish().await?;
    println!("{:?}: {:?}", run.status(), run.output_as::<Report>()?.map(|report| report.answer));
    Ok(())
}
