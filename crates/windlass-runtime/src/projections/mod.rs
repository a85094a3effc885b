//! Projections of a log: JSON forms, listings, sessions, effects, replays and comparisons.
//!
//! A projection only reads. The command line prints them with `--json`, and servers send them; each one is a function of
//! the log, so the same run looks the same everywhere.
//!
//! | question | projection |
//! |---|---|
//! | What did a run do, as JSON? | [`json`]: events, updates, runs, questions, summaries |
//! | Which conversations are there, and what was said? | [`sessions()`], [`session_events`], [`session_stats`] |
//! | Which side effects did a run have? | [`effects()`]; as its result, with its child runs: [`receipts()`] |
//! | What did a run, its tasks or a session cost, call by call? | [`run_costs`], [`session_costs`] |
//! | What did a run take, in PromptChain's words? | [`run_metadata`] |
//! | How reliable are tools, how did queries go? | [`statistics()`]; as Session 10 logs them: [`session10`] |
//! | What happened, for a log collector? | [`RunLog`] |
//! | Would this version decide the same? | [`replay_run`] |
//! | Where do two runs part? | [`compare_runs`] |
//! | Which runs can no longer be read? | [`damaged_runs`] |

mod accuracy;
mod comparison;
mod costs;
mod damage;
mod differences;
mod effects;
pub mod json;
mod metadata;
pub(crate) mod receipts;
mod replays;
mod routes;
mod run_log;
pub mod session10;
mod session_events;
mod sessions;
mod statistics;
mod trail;

pub use accuracy::similarity;
pub use comparison::{ComparedRun, Comparison, PlacedEvent, comparable, compare_runs};
pub use costs::{CallCost, Cost, RunCosts, TaskCost, run_costs, session_costs, total_cost};
pub use damage::{DamagedRun, damaged_runs};
pub use differences::{ValueChange, value_changes};
pub use effects::{CallEffects, EffectEntry, EffectStep, Settlement, effects};
pub use metadata::{ContextSize, RunMetadata, StepMetadata, ToolCallMetadata, run_metadata};
pub use receipts::{Hashed, Receipt, ReceiptOutcome, ResultFrom, receipts, with_delegates};
pub use replays::{Replayed, replay_run};
pub use routes::ModelTurns;
pub use run_log::RunLog;
pub use session_events::session_events;
pub use sessions::{Session, SessionStats, session_runs, session_stats, sessions};
pub use statistics::{
    QueryStatistics, RELIABILITY_RUNS, Reliability, Statistics, ToolStatistics, newest_runs, statistics,
};
