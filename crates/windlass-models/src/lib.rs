//! Model providers for Windlass: from `provider/model` to a stream of pieces, and from pieces to a reply.
//!
//! A [`Model`] has one method: a [`ModelRequest`] goes in, a stream of [`Delta`]s comes out, or one typed
//! [`ModelFailure`]. A blocking call is a fold over that stream ([`assemble`]), so that
//! streaming and blocking cannot differ. A call is one HTTP request: retries, waits and fallbacks to other models are
//! decided by `windlass-core`, where they are recorded.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use windlass_models::{ModelSettings, conformance, resolve, assemble};
//!
//! let env = |name: &str| std::env::var(name).ok();
//! let model = resolve(&ModelSettings::named("ollama/qwen3:4b"), &env)?;
//! let request = conformance::request("ollama/qwen3:4b", "Say hello.");
//! match assemble(model.call(request), "ollama/qwen3:4b").await {
//!     Ok(reply) => println!("{}", reply.text.as_deref().unwrap_or_default()),
//!     Err(failure) => eprintln!("{:?}: {}", failure.kind, failure.message),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Models by name
//! | name | what | environment |
//! |---|---|---|
//! | `openai/NAME` | OpenAI | `OPENAI_API_KEY`, `OPENAI_BASE_URL` |
//! | `NAME/…` | the [providers] of `providers.yaml`, and those of a user's file | theirs |
//! | `ollama/NAME` | Ollama, by default on 127.0.0.1:11434 | `OLLAMA_HOST` |
//! | `llama/NAME` | llama-server, by default on 127.0.0.1:8080 | `LLAMA_BASE_URL` |
//! | any name with a `base_url` | a server that speaks OpenAI Chat Completions | |
//! | `tour` | [`Tour`]: offline, no language model | |
//! | none | [`mock::MockReplies`]: replies given beforehand | `DEBUG_MOCK_RESPONSES` |
//!
//! [`choose_auto`] takes the first that is there, and says why. A provider's key is read only for the provider's own
//! address: with a `base_url` in the settings the key stands beside it.
//!
//! # What an adapter promises
//! - **Byte-stable prefixes**: what was encoded for one turn stays in the run's [`PrefixCell`]; the next turn adds to
//!   it, and providers find their cache.
//! - **Streams cut anywhere** give the same reply (every byte boundary is tested), and calls whose pieces interleave,
//!   come whole, without index or before their name are put together ([`Assembler`]).
//! - **Reasoning that a model writes into its text** (`<think>…</think>` at its beginning) is reasoning ([`Thoughts`]).
//! - **Time limits** of a call, each with its own words: connecting, first token, between tokens, total
//!   ([`Timeouts`]).
//! - **Turns**: requests with one key keep to its limits a minute, set ([`Rate`]) or told by the provider, whatever run they are of.
//! - **Failures sorted** by what can be done about them, with the provider's own words and the wait that it asks for.
//! - **Secrets** are a type of their own ([`Secret`]) and masked in every failure.
//! - **Nothing unbounded**: [`max_reply_bytes`](windlass_core::model::ModelChoice::max_reply_bytes), [`MAX_CALLS`], events, error bodies.
//!
//! [`conformance`] holds these promises for adapters of your own.
mod assemble;
pub mod cassette;
pub mod conformance;
mod error;
pub mod http;
mod known;
pub mod mock;
mod model;
pub mod probe;
mod progress;
pub mod providers;
pub mod resolve;
mod thoughts;
mod tour;
mod trace;
pub mod wires;

pub use crate::http::{HttpModel, HttpModelConfig, Rate, RateScope, Timeouts, blamed};
pub use assemble::{Assembler, MAX_CALLS, assemble};
pub use error::ModelError;
pub use known::Known;
pub use model::*;
pub use progress::Progress;
pub use resolve::{Auto, ModelSettings, choose_auto, resolve};
pub use thoughts::Thoughts;
pub use tour::Tour;
/// Requests to models and their replies.
pub use windlass_core::model::{
    FailureKind, ModelChoice, ModelFailure, Prices, Reply, ReplyCall, StopReason, Usage,
};
pub use windlass_core::secret::Secret;
