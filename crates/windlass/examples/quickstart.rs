//! An agent with one tool, and an answer: `cargo run -p windlass --example quickstart`.
//!
//! The model is the offline tour, so that this runs without a key: write `openai/…` in its place for a language model.

use windlass::{Agent, tool};

/// Evaluates an arithmetic expression of whole numbers and one operator, such as `6 * 7`.
#[tool]
fn calculate(
    /// The expression.
    expression: &str,
) -> Result<String, String> {
    let parts: Vec<&str> = expression.split_whitespace().collect();
    let number = |text: &str| text.parse::<i64>().map_err(|error| format!("{text}: {error}"));
    match parts.as_slice() {
        [a, "+", b] => Ok((number(a)? + number(b)?).to_string()),
        [a, "-", b] => Ok((number(a)? - number(b)?).to_string()),
        [a, "*", b] => Ok((number(a)? * number(b)?).to_string()),
        _ => Err(format!("expected `a + b`, `a - b` or `a * b`, found `{expression}`")),
    }
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "the example shows what came of it")]
async fn main() -> Result<(), windlass::Error> {
    let agent = Agent::builder("calculator")
        .instructions("Use the tools for sums.")
        .model("tour")
        .tool(calculate)
        .build()?;
    let run = agent.run("What is 6 * 7?").await?;
    println!("{}", run.text().unwrap_or_default());
    for message in run.messages() {
        eprintln!("  {}: {} bytes", message.role(), message.bytes());
    }
    Ok(())
}
