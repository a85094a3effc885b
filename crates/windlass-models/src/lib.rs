//! Model providers for Windlass.
mod assemble;
mod model;

pub use assemble::{Assembler, MAX_CALLS, MAX_REPLY_BYTES, assemble};
pub use model::*;
