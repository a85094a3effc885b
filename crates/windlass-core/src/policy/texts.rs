//! The fixed texts of a preset: what the model is told, and the lines that go to the log.

use serde::{Deserialize, Serialize};

use crate::ids::Text;

/// What the model is told at fixed places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Texts {
    /// `talk: {remind: n}` (acorn).
    pub reminder: Text,
    /// `talk: {clarify: n}` (PromptChain).
    pub clarification: Text,
    /// `talk: {correct: n}` (SwiftAgentKit's orchestrator).
    pub correction: Text,
    /// After a reply that the token limit cut off.
    pub truncated: Text,
    /// After a reply in which the model declined.
    pub refused: Text,
    /// After a reply that the provider's filter cut off.
    pub filtered: Text,
    /// After `note_at` equal calls in a row; `{n}` is their number, `{tool}` the tool.
    pub repeated: Text,
    /// Before the closing call of `wrap_up`; `{limit}` is the limit's name, `{n}` its value.
    pub wrap_up: Text,
    /// The preset's log lines.
    pub log: LogTexts,
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

impl Default for Texts {
    fn default() -> Self {
        Self {
            reminder: "You must respond by calling one of the available tools. Use the provided tools to take action, \
                       or call __finish__ with the appropriate arguments to complete the task."
                .into(),
            clarification: "Please either call a tool or provide the final answer.".into(),
            correction: "You must call a tool or indicate you are done.".into(),
            truncated: "Your last reply was cut off at the token limit and was not used. \
                        Reply again, and be brief enough to finish."
                .into(),
            refused: "Your last reply was a refusal and was not used. \
                      Answer as far as you can, or say plainly what you cannot do."
                .into(),
            filtered: "Your last reply was stopped by a content filter and was not used. Reply again in other words."
                .into(),
            repeated: "You have called `{tool}` {n} times in a row with the same arguments. \
                       The result will not change: use what you have, or do something else."
                .into(),
            wrap_up: "The limit of {n} {limit} is reached. No more tools can be called. \
                      Sum up what was done and found, and give the best answer that this allows."
                .into(),
            log: LogTexts {
                turn: Some("Agentic iteration {i}/{max}".into()),
                calls: Some("Executing {k} tool call(s)".into()),
                answer: Some("Final response received (no tool calls)".into()),
                limit: Some("Max agentic iterations reached without final response".into()),
            },
        }
    }
}
