//! Words that everything else is said in: ids, messages, tools, replies, amounts.

pub(crate) mod amount;
pub(crate) mod annotations;
pub(crate) mod binding;
pub(crate) mod budget;
pub(crate) mod call_args;
pub(crate) mod history;
pub(crate) mod hosted;
pub(crate) mod ids;
pub(crate) mod limit;
pub(crate) mod media_type;
pub(crate) mod merge;
pub(crate) mod message;
pub(crate) mod model;
pub(crate) mod notation;
pub(crate) mod options;
pub(crate) mod outcome;
pub(crate) mod output;
pub(crate) mod payload;
pub(crate) mod purpose;
pub(crate) mod question;
pub(crate) mod readings;
pub(crate) mod reply;
pub(crate) mod settings;
pub(crate) mod tool;
