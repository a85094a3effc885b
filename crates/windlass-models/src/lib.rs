//! Model providers for Windlass.
mod assemble;
mod error;
mod model;
pub mod openai;
pub mod resolve;
mod secret;
mod tour;

pub use assemble::{Assembler, MAX_CALLS, MAX_REPLY_BYTES, assemble};
pub use error::ModelError;
pub use model::*;
pub use openai::{OpenAiChat, OpenAiConfig, Timeouts};
pub use resolve::{Auto, ModelSettings, choose_auto, resolve};
pub use secret::Secret;
pub use tour::Tour;
