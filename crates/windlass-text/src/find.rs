//! What is found in texts, or by them: names by patterns, the nearest of some names, and base64.

pub mod base64;
pub mod glob;
pub mod nearest;
