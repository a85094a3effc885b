//! The layer that all doors share: who asks, what they may do, how errors and streams look, and how connections are served. A door
//! gives a table of routes ([`Route`]) and nothing else.

pub(crate) mod admission;
pub(crate) mod caller;
pub(crate) mod connections;
pub(crate) mod document;
pub(crate) mod encoded;
pub(crate) mod given_up;
pub(crate) mod hosts;
pub(crate) mod lines;
pub(crate) mod listening;
pub(crate) mod measured;
pub(crate) mod metrics;
pub(crate) mod paced;
pub(crate) mod peer;
pub(crate) mod quotas;
pub(crate) mod readiness;
pub(crate) mod refusal;
pub(crate) mod reply;
pub(crate) mod route;
pub(crate) mod server;
pub(crate) mod stream;
pub(crate) mod tokens;
pub(crate) mod trace;
pub(crate) mod verb;
