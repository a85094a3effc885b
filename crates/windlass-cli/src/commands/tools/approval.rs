//! Whether a call of a tool runs at once, waits for a person's approval or is denied, and why.

use windlass_core::policy::EFFECTS;
use windlass_core::tool::ToolKind;
use windlass_core::{Policy, ToolSpec};

use windlass_read::words::name;

/// The outcome of an agent's rules for a call of one of its tools.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Approval {
    /// The call runs.
    Unneeded,
    /// A person must allow the call, for these reasons.
    Needed(Vec<String>),
    /// The call is denied by this pattern.
    Denied(String),
}

impl Approval {
    pub(super) fn of(tool: &ToolSpec, policy: &Policy) -> Self {
        if let Some(pattern) = policy.denied(&tool.name) {
            return Self::Denied(pattern.to_string());
        }
        // A question to a person is asked and not approved.
        if tool.kind == ToolKind::Ask {
            return Self::Unneeded;
        }
        let own = tool.approve.then(|| "`approve: true` of the tool".to_owned());
        let pattern = policy.approval_pattern(&tool.name);
        let listed = pattern.map(|pattern| format!("`{}` in `loop.approve`", name(pattern)));
        let effect = policy.approves_effect_of(tool).then(|| format!("`{EFFECTS}` in `loop.approve`"));
        let reasons: Vec<String> = own.into_iter().chain(listed).chain(effect).collect();
        if reasons.is_empty() { Self::Unneeded } else { Self::Needed(reasons) }
    }

    /// Continues the line about the tool.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Unneeded => String::new(),
            Self::Needed(reasons) => format!("; needs approval: {}", reasons.join(" and ")),
            Self::Denied(pattern) => format!("; denied: `{}` in `loop.deny`", name(pattern)),
        }
    }

    /// Whether a call waits for a person.
    pub(super) fn asks(&self) -> bool {
        matches!(self, Self::Needed(_))
    }

    /// Why a call waits for a person.
    pub(super) fn reasons(&self) -> &[String] {
        match self {
            Self::Needed(reasons) => reasons,
            Self::Unneeded | Self::Denied(_) => &[],
        }
    }

    /// The pattern that denies it.
    pub(super) fn denied_by(&self) -> Option<&str> {
        match self {
            Self::Denied(pattern) => Some(pattern),
            Self::Unneeded | Self::Needed(_) => None,
        }
    }
}
