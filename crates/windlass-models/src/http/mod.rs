//! HTTP for all wires: connections, time limits, streams of events, and what failures mean.
//!
//! [`HttpModel`] drives a [`Wire`](crate::wires::Wire) over HTTP/1.1. The client below it is hyper's connection with a pool
//! that is shared by all adapters of the process. A call drives its own connection: no other task is woken for it, and
//! dropping the call closes the connection.

mod binding;
mod blaming;
mod body;
mod call;
mod client;
mod config;
mod connect;
mod connection;
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
mod pool;
mod proxy;
mod rate_limits;
mod received;
mod replay;
mod restoring;
mod server;
pub mod sse;
mod timeouts;
mod tls;
mod trouble;
mod user_agent;
mod writing;

pub use self::blaming::blamed;
pub use self::client::{HttpClient, HttpError};
pub use self::config::HttpModelConfig;
pub use self::failure::{ErrorWords, Report};
pub(crate) use self::failure::{cut, error_in, report, report_of};
pub use self::frames::{Framing, lines};
pub use self::keys::{KEY_COMMAND_MS, KeyCommand};
pub use self::limiters::rate::{MAX_PERMIT_WAIT_MS, Rate, RateScope};
pub use self::model::HttpModel;
pub use self::replay::{replay, replay_whole};
pub use self::timeouts::Timeouts;
