//! Messages to a running agent, and its pause.

use serde::{Deserialize, Serialize};

use crate::protocol::fact::turns::TurnStarted;
use crate::vocabulary::ids::{RunId, Text};
use crate::vocabulary::message::{Content, Part, SteerKind};

/// See [`PeopleFact::Steered`](super::PeopleFact::Steered). It is also what one says: a text is a message of the kind `steering`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steered {
    /// The message.
    pub text: Text,
    /// Images, files and further texts that go with it, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Its kind: how it is worded for the model, and what else follows from it.
    #[serde(default, skip_serializing_if = "SteerKind::is_default")]
    pub kind: SteerKind,
    /// Whether no compaction may remove it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// The system message that the agent's prompt builder made of a new objective. The driver adds it; `None`: the objective
    /// itself is the system message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Text>,
    /// The run that answers the message if this one ends before it hears it. The driver adds it where the session keeps messages
    /// (`while_running`); `None`: the message ends with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
}

/// The giver of an answer to a question, and the place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredBy {
    /// From where.
    pub from: AnswerSource,
    /// A name, if one was given: what the sender says, and no proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
}

/// The place from which a question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerSource {
    /// The terminal at which the run is driven.
    Terminal,
    /// A command, such as `windlass runs answer`.
    Command,
    /// A program that uses the library.
    Program,
    /// A client of a server: the name is its owner's, whose token the server has seen.
    Client,
}

impl From<AnswerSource> for AnsweredBy {
    fn from(from: AnswerSource) -> Self {
        Self { from, name: None }
    }
}

impl std::fmt::Display for AnsweredBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{name}, ")?;
        }
        f.write_str(match self.from {
            AnswerSource::Terminal => "at the terminal",
            AnswerSource::Command => "by a command",
            AnswerSource::Program => "by a program",
            AnswerSource::Client => "by a client",
        })
    }
}

impl Steered {
    /// A message of that kind.
    pub fn new(kind: SteerKind, text: impl Into<Text>) -> Self {
        Self { text: text.into(), parts: Vec::new(), kind, pinned: false, prompt: None, run: None }
    }

    /// The same with images and files behind the text.
    #[must_use]
    pub fn with_parts(self, parts: Vec<Part>) -> Self {
        Self { parts, ..self }
    }

    /// Its content in these words: they, and its parts behind them.
    pub fn content(&self, words: Text) -> Content {
        if self.parts.is_empty() {
            return Content::Text(words);
        }
        let words = std::iter::once(Part::Text { text: words });
        Content::Parts(words.chain(self.parts.iter().cloned()).collect())
    }

    /// The number of bytes of its text, images and files.
    pub(crate) fn bytes(&self) -> u64 {
        self.text.len() as u64 + self.parts.iter().map(Part::bytes).sum::<u64>()
    }

    /// The same, pinned: no compaction may remove it.
    #[must_use]
    pub fn pinned(self) -> Self {
        Self { pinned: true, ..self }
    }

    /// Something that the agent has got wrong.
    pub fn correction(text: impl Into<Text>) -> Self {
        Self::new(SteerKind::Correction, text)
    }

    /// The meaning of an earlier message.
    pub fn clarification(text: impl Into<Text>) -> Self {
        Self::new(SteerKind::Clarification, text)
    }

    /// Another objective in place of the instructions.
    pub fn objective(text: impl Into<Text>) -> Self {
        Self::new(SteerKind::Objective, text)
    }
}

impl From<Text> for Steered {
    fn from(text: Text) -> Self {
        Self::new(SteerKind::Steering, text)
    }
}

impl From<&str> for Steered {
    fn from(text: &str) -> Self {
        Self::from(Text::from(text))
    }
}

impl From<String> for Steered {
    fn from(text: String) -> Self {
        Self::from(Text::from(text))
    }
}

/// See [`PeopleFact::Paused`](super::PeopleFact::Paused).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPaused {
    /// The model call that would have begun; `None`: the loop's next turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<TurnStarted>,
}
