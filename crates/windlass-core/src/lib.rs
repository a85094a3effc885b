//! The loop of Windlass as a pure state machine over an append-only log.
mod action;
mod args;
mod choice;
mod decide;
mod event;
mod evolve;
mod fenced;
mod forking;
mod forms;
mod history;
mod ids;
mod message;
mod narrate;
mod nearest;
mod open_call;
mod outcome;
mod pending;
mod policy;
mod question;
mod rebuild;
mod reply;
mod results;
mod schema;
mod state;
mod tool;
mod violation;
mod xml;

#[cfg(test)]
extern crate self as windlass_core;
#[cfg(test)]
mod tests;

pub use action::*;
pub use args::{check_args, check_value};
pub use choice::{Carried, ModelChoice, Prices};
pub use decide::{accept, decide};
pub use event::*;
pub use evolve::evolve;
pub use fenced::{fenced_message, fenced_prompt};
pub use forking::{Fork, StartedCall};
pub use history::*;
pub use ids::*;
pub use message::*;
pub use narrate::{LogLine, narrate};
pub use nearest::nearest;
pub use open_call::OpenCall;
pub use outcome::*;
pub use pending::pending;
pub use policy::*;
pub use question::*;
pub use rebuild::{Difference, rebuild, replay};
pub use reply::*;
pub use schema::plain_schema;
pub use state::{Counters, OpenQuestion, Request, RunStanding, State};
pub use tool::*;
pub use violation::Violation;
pub use xml::{from_xml, to_xml, xml_form};
