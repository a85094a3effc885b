//! Names by patterns, the nearest of some names, and base64 within texts.

pub mod base64;
pub mod glob;
pub mod nearest;
