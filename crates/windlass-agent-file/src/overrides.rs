//! Settings that an entry applies to all its tools, beside or inside the key for its kind.

use windlass_core::tool::Effect;
use windlass_tools::ToolOverrides;

/// Settings that an entry applies to its tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Overrides {
    pub(super) timeout_ms: Option<u64>,
    pub(super) effect: Option<Effect>,
    pub(super) approve: Option<bool>,
    pub(super) retries: Option<u32>,
    pub(super) summary_above: Option<u64>,
    pub(super) poll: Option<bool>,
    pub(super) strict: Option<bool>,
    pub(super) defer: Option<bool>,
    pub(super) prefix: Option<String>,
}

impl Overrides {
    /// These, and where they say nothing, the others.
    pub(super) fn or(self, outer: &Self) -> Self {
        Self {
            timeout_ms: self.timeout_ms.or(outer.timeout_ms),
            effect: self.effect.or(outer.effect),
            approve: self.approve.or(outer.approve),
            retries: self.retries.or(outer.retries),
            summary_above: self.summary_above.or(outer.summary_above),
            poll: self.poll.or(outer.poll),
            strict: self.strict.or(outer.strict),
            defer: self.defer.or(outer.defer),
            prefix: self.prefix.or_else(|| outer.prefix.clone()),
        }
    }

    /// Whether nothing is set.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn finish(self) -> ToolOverrides {
        ToolOverrides {
            timeout_ms: self.timeout_ms,
            effect: self.effect,
            approve: self.approve,
            retries: self.retries,
            summary_above: self.summary_above,
            poll: self.poll,
            strict: self.strict,
            defer: self.defer,
            prefix: self.prefix.map(Into::into),
        }
    }
}

/// A closed map with the keys that every tool entry takes, beside its own.
macro_rules! with_overrides {
    ($(#[$about:meta])* $Name:ident { $($(#[$doc:meta])* $key:ident: $Type:ty,)* }) => {
        #[derive(Clone, Debug, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$about])*
        pub(super) struct $Name {
            $($(#[$doc])* pub(super) $key: $Type,)*
            /// Timeout of one attempt, in milliseconds. Default: the agent's `timeouts.tool_ms`.
            timeout_ms: Option<windlass_core::settings::Whole<1>>,
            /// Effect of running a call twice. Windlass believes it. Commands, and tools of servers without `trust`, are `once` without it.
            effect: Option<windlass_core::tool::Effect>,
            /// Whether a person must allow each call.
            approve: Option<bool>,
            /// Maximum number of retries of a failed call. Default: the loop's `retries`.
            retries: Option<u32>,
            /// A result above this many bytes enters the conversation as a model's summary of it; `read_result` reads the
            /// whole. Default: results enter as they are.
            summary_above: Option<windlass_core::settings::Whole<0>>,
            /// Whether equal calls in a row are legitimate.
            poll: Option<bool>,
            /// Whether the provider holds calls to the schema. Default: as the model's `strict` says.
            strict: Option<bool>,
            /// Whether the provider shows the tool only once its tool search (`hosted: tool_search`) has found it.
            defer: Option<bool>,
            /// Put before the tool's name. For an MCP server: put before its tools' names, with `__` between; default: the
            /// server's name.
            prefix: Option<String>,
        }

        impl $Name {
            pub(super) fn overrides(&self) -> $crate::overrides::Overrides {
                $crate::overrides::Overrides {
                    timeout_ms: self.timeout_ms.map(windlass_core::settings::Whole::get),
                    effect: self.effect,
                    approve: self.approve,
                    retries: self.retries,
                    summary_above: self.summary_above.map(windlass_core::settings::Whole::get),
                    poll: self.poll,
                    strict: self.strict,
                    defer: self.defer,
                    prefix: self.prefix.clone(),
                }
            }
        }
    };
}
pub(super) use with_overrides;
