//! JSON Schemas: what is taken in ([`Checker`]), how a value is checked, and how models are shown one.
//!
//! A schema and the value that it describes both come from outside. [`Checker::new`] bounds the schema, and
//! [`Checker::check`] counts what a check would cost at most before it begins, so that neither can hang the process.

pub use crate::args::{check_args, check_value};
mod bounds;
mod checker;
mod common;
mod cost;
mod document;
mod fault;
mod graph;
mod lenient;
mod misplaced;
mod modern;
mod pattern;
mod plain;

#[cfg(test)]
mod tests;

pub(crate) use checker::Checks;
pub use checker::{Checker, MAX_CHECK_STEPS, Misfit};
pub use fault::{SchemaFault, UncheckedPattern};
pub use misplaced::{Misplaced, misplaced_parts};
pub use modern::modern;
pub(crate) use plain::resolved;
pub use plain::{MAX_PLAIN_VALUES, plain_schema};
