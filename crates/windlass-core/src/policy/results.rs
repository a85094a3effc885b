//! The wording of results: templates for how the end of a call is put to the model.

use std::fmt;

use schemars::json_schema;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use words::{DENIED, DENIED_BY_PERSON, NOT_VERIFIED, TIMED_OUT, UNKNOWN, UNNAMED};

use crate::policy::Put;
use crate::policy::presets::Preset;
use crate::policy::texts::{filled, templates};
use crate::vocabulary::ids::Text;

templates! {
    /// Form of results for the model.
    ///
    /// Places: `{tool}` is the call's name, of an unknown tool at most 200 bytes of it. A result has `{result}`, the result as it is, `{text}`, its text, and `{json}`,
    /// one line of JSON: structured content, or the text as the field `result`. A failure has `{error}`, what went wrong,
    /// `{kind}`, the kind of failure with a colon where it is known, and `{who}`, the agent with a colon where it failed
    /// itself and the error does not name it.
    Results {
        /// A tool's result.
        tool: "{result}",
        /// Another agent's answer.
        agent: "{result}",
        /// A call that failed.
        failed: "Error: {error}",
        /// A call that could not be read.
        unreadable: "Error: {error}",
        /// A call whose arguments do not fit the tool's schema.
        misfit: "Error: {error}",
        /// A call of an unknown tool; `{nearest}` names the nearest ones, after a full stop.
        unknown: framed("Error: {error}", UNKNOWN),
        /// A call without a name.
        unnamed: framed("Error: {error}", UNNAMED),
        /// A call that took longer than `{seconds}`.
        timed_out: framed("Error: {error}", TIMED_OUT),
        /// A call that a rule of `deny` forbids; `{rule}` is the rule, in brackets, if it is a pattern.
        denied: framed("Error: {error}", DENIED),
        /// A call that a person denied; `{reason}` is the reason after a colon, else a full stop.
        denied_by_person: framed("Error: {error}", DENIED_BY_PERSON),
        /// A call that its verifier refused; `{reason}` is the reason after a colon, else a full stop.
        not_verified: framed("Error: {error}", NOT_VERIFIED),
        /// A call that was skipped or stopped, or whose outcome is unknown.
        undone: "{error}",
        /// An output that does not fit its schema.
        rejected: "Error: Output validation failed: {error}\nPlease call {tool} again with valid arguments.",
        /// A task that another agent could not do.
        agent_failed: "Error: {error}",
        /// A task that was skipped or stopped, or whose outcome is unknown.
        agent_undone: "{error}",
        /// A task for an unknown agent; `{agents}` lists the known ones, in quotes.
        agent_unknown: "Error: {error}",
        /// Prefix of a result where results are user messages (`wire: fenced`).
        prefix: "Tool result: ",
        /// Prefix of a failure there.
        failed_prefix: "Tool execution failed: ",
    }
}

impl Results {
    /// Results with a frame around them, and the way on.
    pub fn announced() -> Self {
        let failed: Text = "Error Executing Tool: {tool}\nError: {error}".into();
        let result = "Successfully Executed Tool: {tool}\n-- Start Tool Result ---\n{result}\n-- End Tool Result ---\n\n\
                      You can now continue with the next step in the conversation.";
        Self { tool: result.into(), agent: result.into(), ..Self::failing(failed) }
    }

    /// Results as they are, and one frame for all failures.
    pub fn failing(failed: Text) -> Self {
        Self {
            unknown: framed(&failed, UNKNOWN),
            unnamed: framed(&failed, UNNAMED),
            timed_out: framed(&failed, TIMED_OUT),
            denied: framed(&failed, DENIED),
            denied_by_person: framed(&failed, DENIED_BY_PERSON),
            not_verified: framed(&failed, NOT_VERIFIED),
            misfit: framed(&failed, "{error}"),
            unreadable: failed.clone(),
            agent_failed: failed.clone(),
            agent_unknown: failed.clone(),
            failed,
            ..Self::default()
        }
    }

    /// The names of wordings: two of their own, and those of the presets.
    pub fn names() -> impl Iterator<Item = &'static str> {
        [PLAIN, ANNOUNCED].into_iter().chain(Preset::ALL.iter().flat_map(Preset::names))
    }

    /// The wording of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            PLAIN => Some(Self::default()),
            ANNOUNCED => Some(Self::announced()),
            preset => Preset::named(preset).map(|preset| preset.policy().wording.results),
        }
    }

    /// The first name of this wording, if it has one.
    pub fn name(&self) -> Option<&'static str> {
        Self::names().find(|name| Self::named(name).as_ref() == Some(self))
    }
}

/// The usual words for failures, without a frame.
pub(crate) mod words {
    pub(crate) const UNKNOWN: &str = "Tool '{tool}' not found{nearest}";
    pub(crate) const UNNAMED: &str = "The call names no tool{nearest}";
    pub(crate) const TIMED_OUT: &str = "Tool call timed out after {seconds} second(s) (tool: {tool}).";
    pub(crate) const DENIED: &str = "Tool denied by policy: {tool}{rule}";
    pub(crate) const DENIED_BY_PERSON: &str = "The call of {tool} was denied{reason}";
    pub(crate) const NOT_VERIFIED: &str = "The call of {tool} was not run{reason}";
}

/// Words in the frame of a failure without a kind.
fn framed(frame: &str, words: &str) -> Text {
    filled(frame, &[("error", words), ("kind", "")]).into()
}

const PLAIN: &str = "plain";
const ANNOUNCED: &str = "announced";

/// The name of a wording, as agent files say it.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultsKey(Results);

impl Put<Results> for ResultsKey {
    fn put(self, place: &mut Results) {
        *place = self.0;
    }
}

impl<'de> Deserialize<'de> for ResultsKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Name).map(Self)
    }
}

struct Name;

impl Visitor<'_> for Name {
    type Value = Results;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Results::names().collect();
        write!(f, "one of {}", names.join(", "))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Results, E> {
        Results::named(name).ok_or_else(|| E::invalid_value(Unexpected::Str(name), &self))
    }
}

crate::schema_as!(inline [] ResultsKey, "results", |_| {
    json_schema!({ "enum": Results::names().collect::<Vec<_>>() })
});
