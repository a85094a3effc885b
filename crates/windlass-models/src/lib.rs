//! Model providers for Windlass.
mod model;

pub use model::*;
