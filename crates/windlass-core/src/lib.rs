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
//! | facts, and the start of a run | [`Fact`], [`RunStarted`](event::RunStarted): [`mod@event`] | `protocol/fact.rs`, `protocol/fact/` |
//! | work and inputs | [`ActionKind`], [`InputKind`] | `protocol/action.rs`, `protocol/input.rs` |
//! | the state of a run | [`State`], and its parts: [`mod@run`] | `state.rs`, one file a part in `state/` |
//! | decisions | [`accept()`], [`decide()`] | `machine/decide/`, first `turns.rs` |
//! | the fold, and replay | [`evolve()`], [`rebuild()`](run::rebuild), [`replay()`] | `machine/evolve.rs`, `machine/rebuild.rs` |
//! | conversations | [`Message`]: [`mod@message`] | `vocabulary/message.rs`, `vocabulary/history.rs` |
//! | model calls by purpose, and what is sent | [`Purpose`](model::Purpose), [`RequestView`](model::RequestView): [`mod@model`] | `vocabulary/purpose.rs`, `machine/purposes/`, `view/` |
//! | tools, and the check of their arguments | [`ToolSpec`]: [`mod@tool`], [`mod@schema`] | `vocabulary/tool.rs`, `codec/args.rs` |
//! | the settings of a loop | [`Policy`], [`Preset`](policy::Preset): [`mod@policy`], [`mod@settings`] | `policy/` |
//! | limits, use and reservations | [`LimitKind`](policy::LimitKind), [`Counters`](budget::Counters): [`mod@budget`] | `state/ledger.rs`, `vocabulary/budget.rs`, `machine/decide/admission.rs` |
//! | secrets; text forms of calls | [`mod@secret`], [`mod@text`] | `codec/`, and the crate `windlass-text` |
//!
//! `ARCHITECTURE.md` has the invariants with the test that holds each.
mod codec;
mod machine;
pub mod policy;
mod protocol;
mod state;
mod view;
mod vocabulary;

#[doc = include_str!("../../../docs/driver.md")]
#[cfg(doctest)]
struct DriverGuide;

#[cfg(test)]
extern crate self as windlass_core;
#[cfg(test)]
mod tests;

pub use windlass_text::secret;

pub use crate::machine::decide::{accept, decide};
pub use crate::machine::evolve::evolve;
pub use crate::machine::pending::pending;
pub use crate::machine::rebuild::replay;
pub use crate::policy::Policy;
pub use crate::protocol::action::{Action, ActionKind};
pub use crate::protocol::fact::{Event, Fact};
pub use crate::protocol::input::{Input, InputKind};
pub use crate::protocol::invalid_input::InvalidInput;
pub use crate::state::{RunState, State};
pub use crate::vocabulary::ids::{ActionId, CallId, Owner, QuestionId, RunId, SessionId, Text};
pub use crate::vocabulary::message::Message;
pub use crate::vocabulary::outcome::{CallOutcome, Status};
pub use crate::vocabulary::question::Answer;
pub use crate::vocabulary::tool::ToolSpec;

/// Facts, and the start of a run: what a log holds.
pub mod event {
    pub use crate::protocol::cause::{Cause, CheckResult, StepEnd};
    pub use crate::protocol::fact::calls::*;
    pub use crate::protocol::fact::code::*;
    pub use crate::protocol::fact::context::*;
    pub use crate::protocol::fact::fork::*;
    pub use crate::protocol::fact::interrupts::*;
    pub use crate::protocol::fact::iterations::*;
    pub use crate::protocol::fact::limits::*;
    pub use crate::protocol::fact::plan::*;
    pub use crate::protocol::fact::refused::*;
    pub use crate::protocol::fact::run::*;
    pub use crate::protocol::fact::turns::*;
    pub use crate::protocol::fact::verdict::*;
    pub use crate::protocol::fact::*;
    pub use crate::protocol::stored_events::{read_events, write_events};
    pub use crate::vocabulary::binding::{BindingDigest, BindingDigests};
    pub use crate::vocabulary::history::Splice;
    pub use crate::vocabulary::ids::{CLOCK_JUMP_MS, Millis};
    pub use crate::vocabulary::message::SteerKind;
    pub use crate::vocabulary::outcome::{DeniedBy, FailKind};
    pub use crate::vocabulary::purpose::{Purpose, ToolChoice};
    pub use crate::vocabulary::question::QuestionKind;
}

/// Messages and conversations.
pub mod message {
    pub use crate::vocabulary::annotations::*;
    pub use crate::vocabulary::call_args::{CallArgs, Span};
    pub use crate::vocabulary::history::History;
    pub use crate::vocabulary::hosted::HostedTool;
    pub use crate::vocabulary::media_type::media_type;
    pub use crate::vocabulary::message::*;
    pub use crate::vocabulary::payload::{Ref, SPILL_BYTES, cut, shortened};
}

/// Descriptions of tools, as data. The runtime runs them.
pub mod tool {
    pub use crate::policy::own_tools::blackboard::UPDATE_BLACKBOARD;
    pub use crate::policy::own_tools::branch::{BRANCH_ERROR, BRANCH_TOOL, PARENT_TOOL};
    pub use crate::policy::own_tools::read_result::{READ_MOST, READ_USUAL, read_result};
    pub use crate::policy::own_tools::run_code::{CODE_FIELD, CODE_LIMIT, DIVERGED, RUN_CODE, functions};
    pub use crate::policy::own_tools::search::{SEARCH_TOOLS, SEARCH_USUAL, found_tools, search_tools};
    pub use crate::vocabulary::hosted::{Hosted, HostedTool};
    pub use crate::vocabulary::payload::READ_RESULT;
    pub use crate::vocabulary::tool::*;
}

/// Limits, use and reservations.
pub mod budget {
    pub use crate::state::ledger::LOST_ATTEMPTS;
    pub use crate::vocabulary::amount::{Amount, Counters, Spend};
    pub use crate::vocabulary::budget::*;
}

/// Building blocks of settings.
pub mod settings {
    pub use crate::vocabulary::settings::*;
}

/// Parts of a run's state, and what people are told of it.
pub mod run {
    pub use crate::machine::decide::turns::MAX_CALLS;
    pub use crate::machine::decide::{Accepted, Advance, Refusal, advance};
    pub use crate::machine::kind::StateKind;
    pub use crate::machine::log_lines::{LogLevel, LogLine, log_line, not_heard, overshot};
    pub use crate::machine::rebuild::{Difference, rebuild};
    pub use crate::policy::own_tools::branch::MAX_STEP_BRANCHES;
    pub use crate::protocol::input::{Found, HookEnd, HostCall, QuotaWait, StepEdits};
    pub use crate::state::Request;
    pub use crate::state::context::ContextUse;
    pub use crate::state::offer::offered;
    pub use crate::state::open_call::{OpenCall, Origin};
    pub use crate::state::plan::{DoneStep, FailedStep, Plan, PlanVersion};
    pub use crate::state::questions::OpenQuestion;
    pub use crate::state::remedies::QUOTA_WAITS;
    pub use crate::state::stalls::StallAlarm;
    pub use crate::state::status::RunStatus;
    pub use crate::state::turn::Branched;
}

/// Requests to models and their replies.
pub mod model {
    pub use crate::view::View as RequestView;
    pub use crate::view::result::SUMMED_BYTES;
    pub use crate::view::transcript::{SUMMARY_PROMPT, transcript};
    pub use crate::view::{Growth, Messages};
    pub use crate::vocabulary::hosted::HostedPrices;
    pub use crate::vocabulary::model::{Carried, MAX_REPLY_BYTES, ModelChoice, Prices, Role};
    pub use crate::vocabulary::options::{ModelOption, ModelOptions, OptionValue, ReasoningOptions};
    pub use crate::vocabulary::output::{OutputBy, is_any_object};
    pub use crate::vocabulary::purpose::{Purpose, ToolChoice};
    pub use crate::vocabulary::reply::{
        FailureDetail, FailureKind, KEPT_REPLY_BYTES, ModelFailure, Pico, Refusal, Reply, ReplyCall,
        StopReason, Usage,
    };
}

/// Forms of text: calls in XML and fences, names to compare and to show, steps that reading takes.
pub mod text {
    pub use crate::codec::by_schema::pieces::AnswerPieces;
    pub use crate::codec::fenced::{fenced_message, fenced_prompt};
    pub use crate::vocabulary::amount::estimated_tokens;
    pub use crate::vocabulary::reply::AnswerForm;
    pub use windlass_text::display::plain::{in_json, on_one_line, plain};
    pub use windlass_text::display::unseen::is_unseen;
    pub use windlass_text::display::{display_args, display_name, display_value};
    pub use windlass_text::find::glob::covers;
    pub use windlass_text::find::nearest::{did_you_mean, nearest};
    pub use windlass_text::json::{MAX_VALUES, without_halves};
    pub use windlass_text::steps::{self, Shape, doubling};
    pub use windlass_text::xml::{from_xml, to_xml, xml_form};
}

/// JSON Schemas, and the check of arguments.
pub mod schema {
    pub use crate::codec::args::check_args;
    pub use windlass_schema::*;
}
