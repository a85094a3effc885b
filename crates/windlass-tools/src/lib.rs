//! Tools of Windlass: everything that a model can call.
//!
//! - [`Tool`] is the one trait, and [`macro@tool`] makes one of a function.
//! - [`builtin`] are the tools that come with Windlass, [`command`] are programs, [`mcp`] are servers of tools.
//! - [`skills`] are folders with instructions, which a model takes up when it needs them.
//! - A [`Service`] is tools that share something which is set up and torn down around the runs that use it.
//! - [`ToolSet`] collects an agent's tools and refuses what would clash; [`ToolOverrides`] changes what a tool says of
//!   itself.
//! - [`conformance`] checks what every tool owes its callers.
//!
//! Running a tool at the right time, its time-outs, retries and approvals are the work of windlass-runtime.
mod binding;
pub mod builtin;
pub mod command;
pub mod conformance;
mod error;
mod function;
mod lease;
pub mod mcp;
#[cfg(feature = "sqlite")]
pub mod memory;
mod overrides;
pub mod sandbox;
mod service;
mod set;
mod tool;
mod trace;
mod warning;

pub use binding::Bound;
pub use builtin::skills;
pub use error::ToolSetError;
pub use lease::Lease;
pub use overrides::ToolOverrides;
/// Types of parameters derive its `JsonSchema`.
pub use schemars;
pub use service::{Service, ServiceError, ServiceUse, SharedService};
pub use set::{MAX_NAME, RESERVED, ToolSet, valid_name};
pub use tool::*;
pub use warning::ToolWarning;
/// Description of a tool.
pub use windlass_core::ToolSpec;
pub use windlass_core::tool::{Effect, ToolKind};
pub use windlass_macros::tool;

/// For the code that [`macro@tool`] emits; no part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::function::*;
}
