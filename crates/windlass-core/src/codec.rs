//! Text forms of calls and answers, for models and servers without calls of their own.

pub(crate) mod args;
pub(crate) mod by_schema;
pub(crate) mod fenced;
pub(crate) mod forms;
pub(crate) mod phases;
