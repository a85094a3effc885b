//! The derives.

pub(crate) mod diagnostic;
pub(crate) mod named;
pub(crate) mod partial;
