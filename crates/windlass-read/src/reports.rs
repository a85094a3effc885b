//! Reports on what runs did: effects, receipts, costs, statistics, sessions, comparisons, replays.
//!
//! | question | report |
//! |---|---|
//! | Which conversations are there? | [`sessions()`], [`session_runs`] |
//! | Which side effects did a run have? | [`effects()`]; as its result, with its child runs: [`receipts()`] |
//! | Which files and long texts does a run keep, and what did its models make? | [`artifacts()`], [`artifact_bytes`] |
//! | What did a run, its tasks or a session cost, call by call? | [`run_costs`], [`session_costs`] |
//! | Which runs stand below a run? | [`family()`] |
//! | What did agents, models and tools use, and how long did they take? | [`UsageReport`] |
//! | How reliable are tools, how did queries go? | [`statistics()`] |
//! | Would this version decide the same? | [`replay_run`] |
//! | Where do two runs part? | [`compare_runs`] |
//! | Which runs can no longer be read? | [`damaged_runs`] |

mod artifacts;
mod comparison;
mod costs;
mod damage;
mod differences;
mod digest;
mod effects;
mod family;
pub(crate) mod receipts;
mod replays;
mod sessions;
mod statistics;
mod usage;

pub use artifacts::{Artifact, artifact_bytes, artifacts};
pub use comparison::{ComparedRun, Comparison, PlacedEvent, comparable, compare_runs};
pub use costs::{CallCost, Cost, RunCosts, TaskCost, run_costs, session_costs, total_cost};
pub use damage::{DamagedRun, damaged_runs};
pub use differences::{ValueChange, value_changes};
pub use effects::{CallEffects, EffectEntry, EffectStep, Settlement, effects};
pub use family::{FamilyRun, Member, family};
pub use receipts::{Hashed, Receipt, ReceiptOutcome, ResultFrom, receipts, with_delegates};
pub use replays::{Replayed, replay_run};
pub use sessions::{Session, session_runs, sessions};
pub use statistics::{
    QueryStatistics, RELIABILITY_RUNS, Reliability, Statistics, ToolStatistics, newest_runs, statistics,
};
pub use usage::{UsageReport, Used};
