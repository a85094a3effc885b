//! Facts, causes, inputs and actions: all that goes between the machine, its log and its driver.

pub(crate) mod action;
pub(crate) mod cause;
pub(crate) mod fact;
pub(crate) mod input;
pub(crate) mod invalid_input;
pub(crate) mod size;
pub(crate) mod stored_events;
pub(crate) mod stored_reply;
pub(crate) mod upcast;
