//! Timeouts that the file gives. Where it gives none, the preset's hold.

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::settings::Whole;
use windlass_models::Timeouts;

/// The timeouts that a file or a model's entry gives, in milliseconds; `None`: the usual ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeoutSettings {
    /// To connect.
    pub connect_ms: Option<u64>,
    /// From the call to its first token.
    pub first_token_ms: Option<u64>,
    /// Between two tokens.
    pub idle_ms: Option<u64>,
    /// In place of both while a model reasons.
    pub thinking_ms: Option<u64>,
    /// From the call to its end.
    pub total_ms: Option<u64>,
    /// One try of a tool. Not in a model's entry.
    pub tool_ms: Option<u64>,
    /// A child run that brings nothing. Not in a model's entry.
    pub child_stall_ms: Option<u64>,
}

macro_rules! timeouts {
    ($(#[$about:meta])* $Name:ident $($(#[$doc:meta])* $key:ident)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        #[schemars(inline)]
        pub(super) struct $Name {
            /// To connect, in milliseconds. Default: 10000.
            connect_ms: Option<Whole<1>>,
            /// From the call to its first token, in milliseconds. Default: 60000.
            first_token_ms: Option<Whole<1>>,
            /// Between two tokens, in milliseconds. Default: 60000.
            idle_ms: Option<Whole<1>>,
            /// Where a model reasons (`reasoning`, or its provider's entry): from the head of its response to the first content,
            /// between two thoughts, and within an item of reasoning, in place of `first_token_ms` and `idle_ms`, in milliseconds.
            /// Default: 600000.
            thinking_ms: Option<Whole<1>>,
            /// A whole model call, in milliseconds. Default: the preset's.
            total_ms: Option<Whole<1>>,
            $($(#[$doc])* $key: Option<Whole<1>>,)*
        }

        impl From<$Name> for TimeoutSettings {
            fn from(keys: $Name) -> Self {
                Self {
                    connect_ms: keys.connect_ms.map(Whole::get),
                    first_token_ms: keys.first_token_ms.map(Whole::get),
                    idle_ms: keys.idle_ms.map(Whole::get),
                    thinking_ms: keys.thinking_ms.map(Whole::get),
                    total_ms: keys.total_ms.map(Whole::get),
                    tool_ms: None,
                    child_stall_ms: None,
                }
                $(.$key(keys.$key))*
            }
        }
    };
}

timeouts! {
    /// Timeouts of one model's calls.
    ModelTimeouts
}

timeouts! {
    /// Timeouts of model calls, tools and child runs.
    AgentTimeouts
    /// One try of a tool, in milliseconds. Default: the preset's.
    tool_ms
    /// A child run without content, a tool's result or usage, in milliseconds: it is ended, and its task gets an error.
    /// Default: none.
    child_stall_ms
}

impl TimeoutSettings {
    fn tool_ms(self, ms: Option<Whole<1>>) -> Self {
        Self { tool_ms: ms.map(Whole::get), ..self }
    }

    fn child_stall_ms(self, ms: Option<Whole<1>>) -> Self {
        Self { child_stall_ms: ms.map(Whole::get), ..self }
    }

    /// The timeouts of a model call: these over the given ones.
    pub fn over(&self, defaults: Timeouts) -> Timeouts {
        Timeouts {
            connect_ms: self.connect_ms.unwrap_or(defaults.connect_ms),
            first_token_ms: self.first_token_ms.unwrap_or(defaults.first_token_ms),
            idle_ms: self.idle_ms.unwrap_or(defaults.idle_ms),
            thinking_ms: self.thinking_ms.unwrap_or(defaults.thinking_ms),
            total_ms: self.total_ms.unwrap_or(defaults.total_ms),
        }
    }
}
