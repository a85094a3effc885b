//! Model providers for Windlass.
mod assemble;
mod error;
mod model;
pub mod openai;
mod secret;

pub use assemble::{Assembler, MAX_CALLS, MAX_REPLY_BYTES, assemble};
pub use error::ModelError;
pub use model::*;
pub use openai::{OpenAiChat, OpenAiConfig, Timeouts};
pub use secret::Secret;
