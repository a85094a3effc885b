//! Texts of others: patterns and near names, base64, JSON and XML within bounds, characters that cannot be seen, values as people are
//! shown them, and [secrets](secret) that are kept out of all of them.
//!
//! A leaf: it knows nothing of runs, tools or models. Text comes from outside, so each reader is linear in its input and counts
//! its [`steps`], which tests compare.

pub mod display;
pub mod find;
pub mod json;
pub mod python;
pub mod secret;
pub mod steps;
pub mod xml;
