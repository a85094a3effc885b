//! HTTP/1.1 for all of Windlass: models, the tool `fetch`, tool servers and exporters.
//!
//! [`HttpClient`] asks an address once. It is hyper's connection with a pool that all clients of the process share. A call drives
//! its own connection: no other task is woken for it, and dropping the call closes the connection. A [`Route`] is the same
//! for many calls to one server.

mod addresses;
mod body;
mod client;
mod connect;
mod connection;
mod pool;
mod proxy;
mod tls;
mod user_agent;

pub use self::addresses::{Reach, Refused};
pub use self::body::Body;
pub use self::client::{Answer, HttpClient, HttpError, Route};
pub use self::connection::Outgoing;
