//! The loop of Windlass as a pure state machine over an append-only log.
//!
//! A run is a list of [`Event`]s. Three functions are the whole machine. None of them reads a clock, a file or the network:
//!
//! - [`accept()`] says which events follow from an [`Input`]: a reply, a result, an answer, a timer;
//! - [`evolve()`] folds one event into the [`State`];
//! - [`pending()`] gives the whole set of [`Action`]s that should be going on in that state.
//!
//! These three functions form the loop. A driver adds the log and the work: it appends the events before they take effect
//! outside, starts new actions, stops removed ones, and passes the end of each action back as the next input.
//! [`docs/driver.md`](https://github.com/windlass-rs/windlass/blob/main/docs/driver.md) is its contract, step by step.
//!
//! ```
//! # use std::sync::Arc;
//! # use windlass_core::event::{AgentRef, RunInput, RunStarted};
//! # use windlass_core::model::ModelChoice;
//! # use windlass_core::{Message, RunId};
//! use windlass_core::model::Reply;
//! use windlass_core::{Action, Input, InputKind, State, Status, accept, evolve, pending};
//!
//! # let input = RunInput::Messages(vec![Arc::new(Message::user("What is 2 + 2?"))]);
//! # let agent = AgentRef { name: "adder".into(), digest: "0".into() };
//! # let models = Arc::new(vec![ModelChoice { name: "m1".into(), ..ModelChoice::default() }]);
//! # let start = RunStarted { models, ..RunStarted::new(RunId::from_number(1), agent, input) };
//! // Carries out an action. This model answers at once.
//! fn carry_out(action: Action) -> InputKind {
//!     let reply = Reply { text: Some("4".into()), ..Reply::default() };
//!     InputKind::replied(action.id, reply)
//! }
//!
//! # fn run(start: RunStarted) -> Result<(), windlass_core::InvalidInput> {
//! let mut state = State::new(start.run);
//! let mut inputs = vec![InputKind::Start(Box::new(start))];
//! while let Some(what) = inputs.pop() {
//!     let events = accept(&state, Input { at: 1_000, what })?; // a driver appends them to its log
//!     state = events.iter().fold(state, evolve);
//!     inputs.extend(pending(&state).into_iter().map(carry_out));
//! }
//! assert_eq!(state.ended().map(|end| end.status), Some(Status::Answered));
//! # Ok(())
//! # }
//! # run(start).unwrap();
//! ```
//!
//! # The states of a run
//! The names are those of [`StateKind`](run::StateKind); each arrow names the [`InputKind`] that leads along it.
//!
//! ```text
//!                 ┌────────────────── the next turn ◀──────────────────┐
//!    Start        ▼                                                    │ HookEnded
//!  NotStarted ─▶ Calling ── Replied: calls ──▶ Running ── all end ──▶ Hook (if the agent has one)
//!                 │ ▲  │                        │ ▲  │ ▲
//!     ModelFailed │ │  │ Replied:    CallEnded: │ │  │ │ Answered
//!                 │ │  │ an answer   try again  │ │  │ │
//!                 ▼ │  ▼                        ▼ │  ▼ │
//!              Waiting Ended             Retrying    RunningAsked (calls run as well), Asked
//!
//!  Waiting, Retrying ── TimerFired ──▶ where they came from
//!  Asked             ── Answered, and no other call is open ──▶ Hook, or the next turn
//!  Running           ── Resumed, where a call may have happened before a crash ──▶ Checking or Asked
//!  Checking          ── Checked ──▶ Running, Asked, Hook, or the next turn
//!  Calling, Running  ── a limit on turns is reached ──▶ Closing, LimitAsked or Ended
//!
//!  any state         ── Cancel ──▶ Cancelling ── all work has stopped ──▶ Ended
//!  any state         ── the deadline ──▶ Cutting ── all work has stopped ──▶ Closing, LimitAsked or Ended
//!  Closing           ── Replied, ModelFailed or TimerFired ──▶ Ended
//!  LimitAsked        ── Answered ──▶ Calling (the limit is raised) or Ended
//! ```
//!
//! [`InputKind::Steer`] is accepted in every state in which the loop runs, and does not change it. An input that does not
//! fit its state is an [`InvalidInput`]: its sender gets it, and the run stays as it is.
//!
//! # Where to read on
//! The root has the machine. Everything else is in modules, in the order in which a reader needs them:
//!
//! | subject | names | source |
//! |---|---|---|
//! | facts, and the start of a run | [`Fact`], [`RunStarted`](event::RunStarted): [`mod@event`] | `event.rs`, `start.rs` |
//! | work and inputs | [`ActionKind`], [`InputKind`] | `action.rs` |
//! | the state of a run | [`State`], and its parts: [`mod@run`] | `state.rs`, one file a part in `state/` |
//! | decisions | [`accept()`], [`decide()`] | `decide/`, first `turns.rs` |
//! | the fold, and replay | [`evolve()`], [`rebuild()`](run::rebuild), [`replay()`] | `evolve.rs`, `rebuild.rs` |
//! | conversations | [`Message`]: [`mod@message`] | `message.rs`, `history.rs` |
//! | model calls by purpose, and what is sent | [`Purpose`](model::Purpose), [`RequestView`](model::RequestView): [`mod@model`] | `asks/`, `view/` |
//! | tools, and the check of their arguments | [`ToolSpec`]: [`mod@tool`], [`mod@schema`] | `tool.rs`, `schema/` |
//! | the settings of a loop | [`Policy`], [`Preset`](policy::Preset): [`mod@policy`], [`mod@settings`] | `policy/` |
//! | limits, use and reservations | [`LimitKind`](policy::LimitKind), [`Counters`](budget::Counters): [`mod@budget`] | `ledger.rs`, `budget.rs`, `decide/admission.rs` |
//! | secrets; text forms of calls | [`mod@secret`], [`mod@text`] | `secret/`, `forms.rs`, `fenced.rs` |
//!
//! `ARCHITECTURE.md` has the invariants with the test that holds each.
mod action;
mod args;
mod asks;
mod binding;
pub mod budget;
mod by_schema;
mod call_args;
mod cause;
mod choice;
mod code;
mod decide;
mod discovery;
pub mod event;
mod evolve;
mod fenced;
mod forking;
mod forms;
mod gate;
mod halving;
mod hedging;
mod heft;
mod history;
mod ids;
mod invalid_input;
mod kind;
mod ledger;
pub mod message;
mod narrate;
mod open_call;
mod outcome;
mod pending;
mod phases;
pub mod policy;
mod question;
mod reach;
mod rebuild;
mod reply;
mod results;
mod routing;
mod rules;
mod said;
pub mod settings;
mod stalls;
mod start;
mod state;
mod stored;
mod suspects;
pub mod tool;
mod upcast;
mod view;

#[doc = include_str!("../../../docs/driver.md")]
#[cfg(doctest)]
struct DriverGuide;

#[cfg(test)]
extern crate self as windlass_core;
#[cfg(test)]
mod tests;

pub use windlass_text::secret;

pub use action::{Action, ActionKind, Input, InputKind};
pub use decide::{accept, decide};
pub use event::{Event, Fact};
pub use evolve::evolve;
pub use ids::{ActionId, CallId, Owner, QuestionId, RunId, SessionId, Text};
pub use invalid_input::InvalidInput;
pub use message::Message;
pub use outcome::{CallOutcome, Status};
pub use pending::pending;
pub use policy::Policy;
pub use question::Answer;
pub use rebuild::replay;
pub use state::{RunState, State};
pub use tool::ToolSpec;

/// Parts of a run's state, and what people are told of it.
pub mod run {
    pub use crate::action::{Found, HookEnd, HostCall, StepEdits};
    pub use crate::decide::{Accepted, MAX_CALLS};
    pub use crate::discovery::offered;
    pub use crate::kind::StateKind;
    pub use crate::narrate::{LogLevel, LogLine, narrate, not_heard, overshot};
    pub use crate::open_call::{OpenCall, Origin};
    pub use crate::reach::MAX_STEP_BRANCHES;
    pub use crate::rebuild::{Difference, rebuild};
    pub use crate::stalls::StallAlarm;
    pub use crate::state::{
        Branched, ContextUse, DoneStep, FailedStep, OpenQuestion, Plan, PlanVersion, QUOTA_WAITS, QuotaWait,
        Request, RunStatus,
    };
}

/// Requests to models and their replies.
pub mod model {
    pub use crate::choice::{Carried, MAX_REPLY_BYTES, ModelChoice, Prices, Role};
    pub use crate::event::{Purpose, ToolChoice};
    pub use crate::reply::{
        FailureDetail, FailureKind, KEPT_REPLY_BYTES, ModelFailure, Pico, Refusal, Reply, ReplyCall,
        StopReason, Usage,
    };
    pub use crate::view::{Growth, Messages, SUMMARY_PROMPT, SUMMED_BYTES, View as RequestView, transcript};
}

/// Forms of text: calls in XML and fences, names to compare and to show, steps that reading takes.
pub mod text {
    pub use crate::by_schema::{AnswerForm, AnswerPieces};
    pub use crate::fenced::{fenced_message, fenced_prompt};
    pub use crate::ledger::estimated_tokens;
    pub use windlass_text::glob::covers;
    pub use windlass_text::json::{MAX_VALUES, without_halves};
    pub use windlass_text::nearest::{did_you_mean, nearest};
    pub use windlass_text::shown::{shown_args, shown_name, shown_value};
    pub use windlass_text::steps::{Shape, Steps, doubling};
    pub use windlass_text::unseen::is_unseen;
    pub use windlass_text::xml::{from_xml, to_xml, xml_form};
}

/// JSON Schemas, and the check of arguments.
pub mod schema {
    pub use crate::args::check_args;
    pub use windlass_schema::*;
}
