//! The three functions: decide, evolve, pending; and the way back from a log.

pub(crate) mod decide;
pub(crate) mod decision;
pub(crate) mod evolve;
pub(crate) mod forking;
pub(crate) mod kind;
pub(crate) mod log_lines;
pub(crate) mod pending;
pub(crate) mod purposes;
pub(crate) mod rebuild;
