//! Peers: where requests come from.

use std::net::IpAddr;

/// From where a request came: set by the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A TCP connection.
    Address(IpAddr),
    /// The Unix socket; whether the peer has the user id of the server.
    Socket {
        /// Whether it has.
        is_ours: bool,
    },
}
