//! The client against a real server on the loopback address.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what is shared by tests fails them as they would fail themselves"
)]

mod kit;
mod store;
mod streams;
mod verbs;
