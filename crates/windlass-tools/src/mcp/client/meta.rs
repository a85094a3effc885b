//! The keys of a request's `_meta` (MCP 2025-11-25, Base Protocol, `_meta`) that are Windlass' own.

/// The key in a request's `_meta` for the idempotency key: the same for every try of a call, after a crash too.
pub const META_IDEMPOTENCY_KEY: &str = "windlass/idempotency_key";

/// The key in a request's `_meta` for the id of the run.
pub const META_RUN: &str = "windlass/run";

/// The key in a request's `_meta` for the id of the call.
pub const META_CALL: &str = "windlass/call";
