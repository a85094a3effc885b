//! JSON Schemas: what is taken in ([`Checker`]), how a value is checked ([`check_value`]), and how models are shown one
//! ([`plain_schema`]).
//!
//! A leaf: it knows nothing of runs, tools or models. A schema and the value that it describes both come from outside.
//! [`Checker::new`] bounds the schema, and [`Checker::check`] counts what a check would cost at most before it begins, so that
//! neither can hang the process.

mod bounds;
mod checker;
mod common;
mod cost;
mod document;
mod fault;
mod graph;
mod keywords;
mod lenient;
mod limits;
mod misplaced;
mod modern;
mod pattern;
mod plain;

#[cfg(test)]
mod tests;

pub use checker::{Checker, Checks, MAX_CHECK_STEPS, Misfit, check_value};
pub use fault::{SchemaFault, UncheckedPattern};
pub use misplaced::{Misplaced, misplaced_parts};
pub use modern::modern;
pub use plain::{MAX_PLAIN_VALUES, plain_schema};
