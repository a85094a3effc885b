//! HTTP for all wires: time limits, streams of events, and what failures mean.
//!
//! [`HttpModel`] drives a [`Wire`](crate::wires::Wire) over the connections of `windlass-http`.

mod betas;
mod binding;
mod blaming;
mod call;
mod config;
mod directory;
mod endpoint;
mod events;
mod failure;
mod frames;
mod hints;
mod keys;
mod limiters;
mod mending;
mod model;
mod rate_limits;
mod received;
mod replay;
mod restoring;
mod server;
pub mod sse;
mod timeouts;
mod trouble;
mod writing;

pub use self::blaming::blamed;
pub use self::config::HttpModelConfig;
pub use self::failure::{ErrorWords, Report};
pub(crate) use self::failure::{cut, error_in, report, report_of};
pub use self::frames::{Framing, lines};
pub use self::keys::{KEY_COMMAND_MS, KeyCommand};
pub use self::limiters::rate::{MAX_PERMIT_WAIT_MS, Rate, RateScope};
pub use self::model::HttpModel;
pub use self::replay::{replay, replay_whole};
pub use self::timeouts::Timeouts;
