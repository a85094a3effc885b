//! Tools of Windlass's own, as models are told of them.

pub(crate) mod blackboard;
pub(crate) mod branch;
pub(crate) mod read_result;
pub(crate) mod run_code;
pub(crate) mod search;
