//! The fixed texts of a preset: what the model is told, and the lines that go to the log.

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};

use crate::ids::Text;

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident: $default:expr,)+) => {
        /// What the model is told at fixed places. Stored with a run are only those that are not the usual ones.
        #[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
        #[serde(default)]
        pub struct Texts {
            $($(#[$doc])* pub $name: Text,)+
            /// The preset's log lines.
            pub log: LogTexts,
        }

        impl Default for Texts {
            fn default() -> Self {
                Self { $($name: $default.into(),)+ log: LogTexts::swift() }
            }
        }

        impl Serialize for Texts {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let usual = Self::default();
                let mut map = serializer.serialize_map(None)?;
                $(if self.$name != usual.$name {
                    map.serialize_entry(stringify!($name), &self.$name)?;
                })+
                if self.log != usual.log {
                    map.serialize_entry("log", &self.log)?;
                }
                map.end()
            }
        }
    };
}

texts! {
    /// `talk: {remind: n}` (acorn).
    reminder: "You must respond by calling one of the available tools. Use the provided tools to take action, \
               or call __finish__ with the appropriate arguments to complete the task.",
    /// `talk: {clarify: n}` (PromptChain).
    clarification: "Please either call a tool or provide the final answer.",
    /// `talk: {correct: n}` (SwiftAgentKit's orchestrator).
    correction: "You must call a tool or indicate you are done.",
    /// The error of a run that ends because no prompt helped; `{n}` is how many there were.
    no_call: "the model neither called a tool nor answered after {n} prompts",
    /// The same of a run that ends after one accepted turn (`single_turn`).
    no_call_at_once: "the model neither called a tool nor answered after {n} prompts",
    /// After a reply that the token limit cut off.
    truncated: "Your last reply was cut off at the token limit and was not used. \
                Reply again, and be brief enough to finish.",
    /// After a reply in which the model declined.
    refused: "Your last reply was a refusal and was not used. \
              Answer as far as you can, or say plainly what you cannot do.",
    /// After a reply that the provider's filter cut off.
    filtered: "Your last reply was stopped by a content filter and was not used. Reply again in other words.",
    /// After `note_at` equal calls in a row; `{n}` is their number, `{tool}` the tool.
    repeated: "You have called `{tool}` {n} times in a row with the same arguments. \
               The result will not change: use what you have, or do something else.",
    /// Before the closing call of `wrap_up`; `{limit}` is the limit's name, `{n}` its value.
    wrap_up: "The limit of {n} {limit} is reached. No more tools can be called. \
              Sum up what was done and found, and give the best answer that this allows.",
    /// Where a forced call of the finish tool is not to be had (acorn's fallback); `{form}` is what to fill in.
    xml_form: "You must provide your final answer now. Respond with your answer in the following XML structure:\n\n\
               {form}\n\nFill in the values. Do not repeat the descriptions.",
    /// After such an answer that does not fit; `{error}` says why.
    xml_again: "Error: Output validation failed: {error}\n\n\
                Please respond again with the XML structure, filled in with valid values.",
    /// After an answer that is to be JSON and does not fit; `{error}` says why.
    json_again: "Error: Output validation failed: {error}\n\nReply again with JSON that fits the schema.",
}

/// Lines that a preset logs; `None`: nothing is logged there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogTexts {
    /// At each model call that acts: `{i}` is its number, `{max}` the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Text>,
    /// After a reply with calls: `{k}` is how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Text>,
    /// After a reply that is the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Text>,
    /// When the limit on model calls cut the loop: a warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Text>,
}

impl Texts {
    /// Whether these are the texts that every run has that names no others; such texts are not stored with the run.
    /// They may only change with [`Fact::SCHEMA`](crate::Fact::SCHEMA): old runs must fold to the same messages.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl LogTexts {
    /// SwiftAgentKit's four lines.
    fn swift() -> Self {
        Self {
            turn: Some("Agentic iteration {i}/{max}".into()),
            calls: Some("Executing {k} tool call(s)".into()),
            answer: Some("Final response received (no tool calls)".into()),
            limit: Some("Max agentic iterations reached without final response".into()),
        }
    }
}
