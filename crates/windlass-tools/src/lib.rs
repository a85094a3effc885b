//! Tools for Windlass.
mod error;
mod overrides;
mod set;
mod tool;

pub use error::ToolSetError;
pub use overrides::ToolOverrides;
pub use set::{MAX_NAME, RESERVED, ToolSet, valid_name};
pub use tool::*;
