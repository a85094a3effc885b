//! Runs in the shapes of the agents that Windlass stands in for. These shapes are kept here alone.

pub mod kaos;
pub mod promptchain;
pub mod session10;
