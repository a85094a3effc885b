//! The loop of Windlass as a pure state machine over an append-only log.
mod action;
mod args;
mod asks;
pub mod budget;
mod call_args;
mod cause;
mod choice;
mod decide;
mod discovery;
mod event;
mod evolve;
mod fenced;
mod forking;
mod forms;
mod gate;
mod glob;
mod heft;
mod history;
mod ids;
mod invalid_input;
mod json;
mod kind;
mod ledger;
mod message;
mod narrate;
mod nearest;
mod open_call;
mod outcome;
mod pending;
mod policy;
mod question;
mod reach;
mod rebuild;
mod reply;
mod results;
mod said;
mod schema;
mod seals;
mod secret;
pub mod settings;
mod shown;
mod start;
mod state;
mod steps;
mod stored;
mod tool;
mod unseen;
mod upcast;
mod view;
mod xml;

#[cfg(test)]
extern crate self as windlass_core;
#[cfg(test)]
mod tests;

pub use action::*;
pub use args::{check_args, check_value};
pub use budget::Budget;
pub use call_args::{CallArgs, Span};
pub use cause::{Cause, CheckResult, StepEnd};
pub use choice::{Carried, MAX_REPLY_BYTES, ModelChoice, Prices};
pub use decide::{Accepted, MAX_CALLS, accept, decide};
pub use discovery::{SEARCH_TOOLS, SEARCH_USUAL, found_tools, search_tools};
pub use event::*;
pub use evolve::evolve;
pub use fenced::{fenced_message, fenced_prompt};
pub use forking::{Fork, StartedCall};
pub use glob::covers;
pub use history::*;
pub use ids::*;
pub use invalid_input::InvalidInput;
pub use json::MAX_VALUES;
pub use kind::StateKind;
pub use ledger::{Amount, Counters, LOST_ATTEMPTS};
pub use message::*;
pub use narrate::{LogLevel, LogLine, narrate, overshot};
pub use nearest::nearest;
pub use open_call::{OpenCall, Origin};
pub use outcome::*;
pub use pending::pending;
pub use policy::*;
pub use question::*;
pub use reach::{BRANCH_ERROR, BRANCH_TOOL, MAX_STEP_BRANCHES, Merge, PARENT_TOOL};
pub use rebuild::{Difference, rebuild, replay};
pub use reply::*;
pub use schema::{
    Checker, MAX_CHECK_STEPS, MAX_PLAIN_VALUES, Misfit, SchemaFault, UncheckedPattern, plain_schema,
};
pub use seals::{Sealed, Seals};
pub use secret::{
    Masker, SECRET_MARGIN, Secret, StreamMask, looks_like_a_key, mask, mask_and_cut, mask_json,
    mask_url_parts,
};
pub use shown::{shown_args, shown_name, shown_value};
pub use state::{Branched, OpenQuestion, Request, RunState, State};
pub use steps::{Shape, Steps, doubling};
pub use stored::{READ_MOST, READ_RESULT, READ_USUAL, Ref, SPILL_BYTES, read_result, shortened};
pub use tool::*;
pub use unseen::is_unseen;
pub use view::{Growth, Messages, SUMMARY_PROMPT, View as RequestView, transcript};
pub use xml::{from_xml, to_xml, xml_form};
