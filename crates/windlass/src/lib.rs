//! An agent-loop runtime: a language model calls tools, sees their results, and goes on until there is an answer.
//! Every turn that was taken is kept.
//!
//! ```
//! use windlass::{Agent, Tour, tool};
//!
//! /// Adds two numbers.
//! #[tool]
//! async fn calculate(
//!     /// Such as `2 + 5`.
//!     expression: String,
//! ) -> Result<String, std::num::ParseIntError> {
//!     let sum = expression.split('+').map(|number| number.trim().parse::<i64>()).sum::<Result<i64, _>>()?;
//!     Ok(sum.to_string())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), windlass::Error> {
//! // The tour is no language model: it shows the loop without a key or a network.
//! let agent = Agent::builder("adder").model("tour", std::sync::Arc::new(Tour)).tool(calculate).build()?;
//! let run = agent.run("What is 2 + 5?").await?;
//! assert!(run.text().unwrap_or_default().contains('7'), "{:?}", run.text());
//! # Ok(())
//! # }
//! ```
//!
//! [`docs/rust.md`](https://github.com/windlass-rs/windlass/blob/main/docs/rust.md) goes on from here.
//!
//! The parts are in modules: [`core`] is the pure loop, [`models`], [`tools`] and [`store`] are its edges, [`runtime`]
//! drives it. A program needs little more than the names at the top.

pub use windlass_core as core;
pub use windlass_models as models;
pub use windlass_runtime as runtime;
pub use windlass_store as store;
pub use windlass_tools as tools;

pub use windlass_core::{LimitKind, Message, Status};
pub use windlass_models::{Model, ModelError, Tour};
pub use windlass_runtime::{Agent, Error, Partial, Run, Update};
pub use windlass_store::{EventLog, MemoryLog, SqliteLog};
pub use windlass_tools::{Tool, tool};

/// The model of that name, such as `openai/gpt-5-mini`, `ollama/qwen3` or `tour`, with its provider's usual environment
/// variables. [`models::resolve::resolve`] takes a base URL, a key, headers and timeouts as well.
///
/// # Errors
/// The provider is unknown, or its key is missing: the error names the variable.
pub fn model(name: &str) -> Result<std::sync::Arc<dyn Model>, ModelError> {
    models::resolve::resolve(&models::ModelSettings::named(name), &|variable| std::env::var(variable).ok())
}

#[doc = include_str!("../../../docs/typed.md")]
#[cfg(doctest)]
struct TypedGuide;

#[doc = include_str!("../../../docs/security.md")]
#[cfg(doctest)]
struct SecurityPage;

#[doc = include_str!("../../../docs/rust.md")]
#[cfg(doctest)]
struct RustGuide;
