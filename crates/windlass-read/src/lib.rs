//! Reads what runs did from their logs: it needs the log and the index alone, and changes nothing but for an import.
//!
//! The command line, servers and consoles print what these functions give, so that a run reads the same everywhere.
//!
//! | question | function |
//! |---|---|
//! | What state is a run in? | [`load`], [`load_until`], [`start_of`] |
//! | Which events does it have, which runs are there? | [`RunPages`], [`ListPages`] |
//! | What did it do, in words? | [`words`]: a sentence for each event |
//! | What did it do, as JSON? | [`json`]: events, states, questions, summaries, reports |
//! | Which side effects did it have, what did it cost, where do two runs differ? | [`reports`] |
//! | How does a run move to another log, or to a log collector? | [`exchange`] |
//! | What does it look like to KAOS, PromptChain and Session 10? | [`compat`] |
//!
//! ```
//! use windlass_core::RunId;
//! use windlass_read::{Error, load};
//! use windlass_store::Log;
//!
//! async fn answer(log: &dyn Log, run: RunId) -> Result<Option<String>, Error> {
//!     let state = load(log, run).await?;
//!     Ok(state.ended().and_then(|end| end.text.as_ref()).map(ToString::to_string))
//! }
//! ```

pub mod compat;
mod error;
pub mod exchange;
pub mod json;
mod load;
pub mod reports;
mod timeline;
pub mod words;

pub use error::Error;
pub use load::pages::{ListPages, RunPages, headline, numbered, with_bases};
pub use load::{is_known, load, load_until, start_of};
pub use timeline::ModelTurns;
