//! Reads what runs did from their logs: it needs the log and the index alone, and changes nothing but for an import.
//!
//! The command line, servers and consoles print what these functions give, so that a run reads the same everywhere.
//!
//! | question | function |
//! |---|---|
//! | What state is a run in? | [`load`], [`load_until`], [`catch_up`], [`start_of`] |
//! | What did it do, all in all? | [`Timeline`]: steps, calls, model calls, tasks, questions, waits |
//! | What does it wait for now? | [`Waits`], fed with its events |
//! | Which events does it have, which runs are there? | [`RunPages`], [`ListPages`] |
//! | What did the server send when a model call failed? | [`failed_reply`] |
//! | What did it do, in words? | [`words`]: a sentence for each event, and [`words::progress`]: the line of somebody who follows it |
//! | What did it do, as JSON? | [`json`]: events, states, questions, summaries, reports |
//! | Which side effects did it have, what did it cost, where do two runs differ? | [`reports`] |
//! | How does a run move to another log, or to a log collector? | [`exchange`] |
//! | What does it look like to KAOS, PromptChain and Session 10? | [`compat`] |
//!
//! Reports are made of one pass over a run's events, its [`Timeline`]. These folds read events by themselves, for a reason:
//!
//! | fold | reason |
//! |---|---|
//! | [`load`] | the state is the core's own fold |
//! | [`reports::effects()`] | a call's key and declared effect stand in the state before its event |
//! | [`reports::compare_runs`], [`exchange::Export`], [`exchange::RunLog`] | every event is shown as it is, in its place |
//! | [`reports::replay_run`] | it decides anew, append by append |
//! | [`compat::kaos::session_events`] | KAOS keeps the last events of a session, each with its number |
//! | [`words::Calls`], [`Waits`] | a sentence about an event knows the events before it only; the timeline feeds its own [`Waits`] |
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
pub use json::question_digest;
pub use load::failed_reply::{FailedReply, failed_reply};
pub use load::pages::{ListPages, RunPages, headline, numbered, with_bases};
pub use load::{catch_up, is_known, load, load_until, start_of};
pub use timeline::{
    BreakCause, By, HostedUse, ModelAsk, ModelCall, ModelCallEnd, ModelTurns, PrefixBreak, Question, Task,
    Timeline, TimelineCall, TimelineStep, Wait, WaitKind, WaitOn, Waits,
};
