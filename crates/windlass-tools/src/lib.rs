//! Tools for Windlass.
pub mod builtin;
pub mod command;
mod error;
mod function;
pub mod mcp;
mod overrides;
mod set;
mod tool;

pub use error::ToolSetError;
pub use overrides::ToolOverrides;
/// Types of parameters derive its `JsonSchema`.
pub use schemars;
pub use set::{MAX_NAME, RESERVED, ToolSet, valid_name};
pub use tool::*;
pub use windlass_macros::tool;

/// For the code that [`macro@tool`] emits; no part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::function::*;
}
