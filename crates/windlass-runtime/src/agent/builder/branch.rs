//! A branch of an agent in the making.

use windlass_core::policy::Merge;

use super::AgentBuilder;

/// A branch of an agent in the making: an agent that begins with its parent's conversation, and may call its parent's
/// tools through `call_parent_tool`.
///
/// Settings that it leaves out come from its parent: its models, log and world. It can do nothing that its parent
/// may not: the parent's lists of tools to approve or deny hold for it, too.
#[derive(Debug)]
pub struct Branch {
    pub(crate) agent: AgentBuilder,
    pub(crate) merge: Merge,
}

impl Branch {
    /// A branch that comes back with its output.
    pub fn new(agent: AgentBuilder) -> Self {
        Self { agent, merge: Merge::default() }
    }

    /// Sets the default merge mode, for calls that name none. Default: [`Merge::EndResult`].
    #[must_use]
    pub fn merge(mut self, merge: Merge) -> Self {
        self.merge = merge;
        self
    }
}

impl From<AgentBuilder> for Branch {
    fn from(agent: AgentBuilder) -> Self {
        Self::new(agent)
    }
}
