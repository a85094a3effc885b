//! Routing: which of the run's models is asked.
//!
//! A model with a role is one entry of the run's models, so that its price, admission and retries are those of any model.
//! Once it has failed for good, the main model and its fallbacks are asked in its place.

use crate::protocol::fact::turns::TurnFailed;
use crate::state::State;
use crate::vocabulary::ids::Text;
use crate::vocabulary::message::{Content, Message};
use crate::vocabulary::model::{ModelChoice, Role};
use crate::vocabulary::purpose::{Purpose, ToolChoice};

/// Texts of results that found nothing.
const NOTHING: [&str; 5] = ["", "null", "[]", "{}", "\"\""];

impl State {
    /// The model that the next turn asks, unless it is told or forced to do something.
    pub(crate) fn next_model(&self) -> u32 {
        self.model_of_turn(&ToolChoice::Auto, None)
    }

    /// The model that a turn asks which begins now.
    pub(crate) fn model_of_turn(&self, choice: &ToolChoice, note: Option<&str>) -> u32 {
        let follows = self.setup.policy().request.purpose == Purpose::Act
            && *choice == ToolChoice::Auto
            && note.is_none()
            && self.turn.consecutive().simple_failed() == 0;
        let simple = if follows { self.model_with(Role::Simple) } else { None };
        simple.filter(|_| self.follows_up()).unwrap_or(0)
    }

    /// The model that makes a summary.
    pub(crate) fn summariser(&self) -> u32 {
        let named = self.setup.policy().past.context.model.as_ref();
        let makes = |model: &ModelChoice| {
            model.role == Role::Summarise && named.is_none_or(|named| *named == model.name)
        };
        self.setup.models().iter().position(makes).map_or(0, |at| at as u32)
    }

    /// The model that stands in for one that has failed for good.
    pub(crate) fn stands_in_for(&self, failed: u32) -> Option<u32> {
        let main = |at: &u32| self.role_of(*at) == Role::Main;
        let from = if self.role_of(failed) == Role::Main { failed.saturating_add(1) } else { 0 };
        (from..self.setup.models().len() as u32).find(main)
    }

    /// The role of a model of the run.
    pub(crate) fn role_of(&self, model: u32) -> Role {
        self.setup.models().get(model as usize).map_or(Role::Main, |model| model.role)
    }

    /// The name of a model of the run.
    pub(crate) fn model_name(&self, model: u32) -> Text {
        self.setup.models().get(model as usize).map(|model| model.name.clone()).unwrap_or_default()
    }

    fn model_with(&self, role: Role) -> Option<u32> {
        self.setup.models().iter().position(|model| model.role == role).map(|at| at as u32)
    }

    /// Whether the next turn only follows up on results: each call of the turn before has succeeded, some result says
    /// something, and nobody has said anything since.
    fn follows_up(&self) -> bool {
        let results =
            matches!(self.conversation.history().last().map(|last| &**last), Some(Message::Tool(_)));
        results && self.turn.failed() == 0 && self.turn.found() > 0 && self.conversation.steering().is_empty()
    }

    /// The simple model failed for good: no further turn of the run waits for it.
    pub(crate) fn note_failed_model(&mut self, failed: &TurnFailed, model: u32) {
        if failed.next_model.is_some() && self.role_of(model) == Role::Simple {
            self.turn.simple_model_failed();
        }
    }
}

/// Whether a result says something.
pub(crate) fn says_something(content: &Content) -> bool {
    match content {
        Content::Text(text) => !NOTHING.contains(&text.trim()),
        Content::Parts(parts) => !parts.is_empty(),
    }
}
