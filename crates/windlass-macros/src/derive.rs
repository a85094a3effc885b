//! The derives.

pub(crate) mod diagnostic;
pub(crate) mod partial;
