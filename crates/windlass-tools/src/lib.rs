//! Tools for Windlass.
mod tool;

pub use tool::*;
