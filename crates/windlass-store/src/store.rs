//! The store: all parts together.

use crate::inbox::Inbox;
use crate::index::Index;
use crate::leases::Leases;
use crate::log::Log;
use crate::payload::Payloads;

/// A store of runs: everything that an agent needs. All methods may be called from any thread and any process that shares
/// the store.
///
/// Every type with the five parts is a store. No part has a default method: a store implements each promise, or says in its
/// type that it cannot ([`Index::pruning`]). The suite in [`conformance`](crate::conformance) checks the promises.
pub trait Store: Log + Inbox + Leases + Payloads + Index {}

impl<T: Log + Inbox + Leases + Payloads + Index + ?Sized> Store for T {}
