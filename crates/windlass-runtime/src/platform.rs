//! The services of a process to runs: time and chance, threads, errors, limits that several runs share, detected model abilities.
//!
//! Nothing here knows of agents.

pub(crate) mod account;
pub mod capabilities;
pub(crate) mod child_runs;
pub(crate) mod clock;
pub(crate) mod environment;
pub(crate) mod error;
pub(crate) mod off_thread;
pub(crate) mod panics;
#[cfg(feature = "pdf")]
pub(crate) mod pdf;
#[cfg(not(feature = "pdf"))]
#[path = "platform/no_pdf.rs"]
pub(crate) mod pdf;
pub(crate) mod retry;
pub(crate) mod settings;
