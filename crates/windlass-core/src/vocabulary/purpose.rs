//! Purposes of model calls, and the calls that a request allows.
//!
//! To add a purpose: its line in the table, its file in `machine/purposes/`, and its arm in `machine/purposes.rs`.

use serde::{Deserialize, Serialize};

use crate::vocabulary::ids::Text;

macro_rules! purposes {
    ($($(#[$attribute:meta])* $purpose:ident = $name:literal, $place:ident, $speech:ident, $counts:ident, $about:literal;)+) => {
        /// The purpose of a model call.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Purpose {
            $(#[doc = $about] #[serde(rename = $name)] $(#[$attribute])* $purpose,)+
        }

        impl Purpose {
            /// The purpose's name, as it is stored and shown.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$purpose => $name,)+
                }
            }

            /// Whether the loop waits for such a call.
            pub(crate) fn place(self) -> Place {
                match self {
                    $(Self::$purpose => Place::$place,)+
                }
            }

            /// Whether such a call is a part of the conversation.
            fn speech(self) -> Speech {
                match self {
                    $(Self::$purpose => Speech::$speech,)+
                }
            }

            /// Whether its replies count against the limit on model calls. Tokens, cost and seconds count for every purpose.
            pub(crate) fn counts(self) -> Counts {
                match self {
                    $(Self::$purpose => Counts::$counts,)+
                }
            }
        }
    };
}

purposes! {
    #[default]
    Act = "act", Turn, Conversation, AsModelCall, "Answer or call tools.";
    Perceive = "perceive", Turn, Listens, AsModelCall, "Judge the query, or the result of a step of a plan.";
    Decide = "decide", Turn, Listens, AsModelCall, "Make a plan, and decide on its next step.";
    Merge = "merge", Turn, Conversation, AsModelCall, "Merge a branch's end into its parent.";
    Summarise = "summarise", Background, Apart, Not, "Sum up messages, or a long tool result, that the conversation holds no longer.";
    Verify = "verify", Background, Apart, Not, "Judge a tool call before it runs.";
    Judge = "judge", Turn, Apart, Not, "Judge whether an answer does what was asked.";
}

impl Purpose {
    /// Whether the reply is the run's own voice: it enters the conversation, and people see it as it comes. All others are
    /// only read by the loop.
    pub fn speaks(self) -> bool {
        self.speech() == Speech::Conversation
    }

    /// Whether messages of people enter the conversation as such a call begins.
    pub(crate) fn hears(self) -> bool {
        self.speech() != Speech::Apart
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
    pub(crate) fn is_act(&self) -> bool {
        *self == Self::Act
    }
}

/// Calls that a request allows the model to make.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model chooses.
    #[default]
    Auto,
    /// No call; no tools are offered either.
    None,
    /// Some call.
    Required,
    /// A call of this tool.
    Named(Text),
    /// A call of one of these tools.
    OneOf(Vec<Text>),
}

impl ToolChoice {
    /// The tools that it names.
    pub fn tools(&self) -> &[Text] {
        match self {
            Self::Auto | Self::None | Self::Required => &[],
            Self::Named(name) => std::slice::from_ref(name),
            Self::OneOf(names) => names,
        }
    }

    /// Whether some call must be made.
    pub fn is_forced(&self) -> bool {
        match self {
            Self::Auto | Self::None => false,
            Self::Required | Self::Named(_) | Self::OneOf(_) => true,
        }
    }

    /// Whether it allows a call of this tool.
    pub fn allows(&self, tool: &str) -> bool {
        match self {
            Self::Auto | Self::Required => true,
            Self::None => false,
            Self::Named(_) | Self::OneOf(_) => self.tools().iter().any(|name| **name == *tool),
        }
    }

    /// The same where that tool is not offered.
    pub(crate) fn without(self, tool: &str) -> Self {
        match self {
            Self::Named(ref name) if **name == *tool => Self::None,
            Self::OneOf(mut names) => {
                names.retain(|name| **name != *tool);
                if names.is_empty() { Self::None } else { Self::OneOf(names) }
            }
            Self::Auto | Self::None | Self::Required | Self::Named(_) => self,
        }
    }

    /// Whether a reply that calls these tools keeps to it.
    pub(crate) fn is_kept_by<'n>(&self, mut calls: impl Iterator<Item = &'n str>) -> bool {
        match self {
            Self::Auto => true,
            Self::None => calls.next().is_none(),
            Self::Required | Self::Named(_) | Self::OneOf(_) => calls.any(|name| self.allows(name)),
        }
    }
}

/// Role of a call in the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A step of it: nothing else is decided until it has ended, and a new one begins a turn.
    Turn,
    /// It runs concurrently with the loop's other work.
    Background,
}

/// Whether a call is a part of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speech {
    /// It hears what people said, and its reply is a message.
    Conversation,
    /// It hears what people said, and its reply is none.
    Listens,
    /// It leaves the conversation as it is.
    Apart,
}

/// Whether the replies of a purpose count against the limit on model calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// They are steps of the loop.
    AsModelCall,
    /// They serve a step of the loop.
    Not,
}
