//! Rules of a session: tools whose calls a person has allowed for the rest of the session.
//!
//! A rule is bound to everything that an approval is bound to but the arguments, so a tool that has changed is asked about anew.
//! The next run of the session begins with the rules of the run that it continues; forks, branches, delegates and imports do not.

use crate::protocol::fact::calls::ToolAllowed;
use crate::protocol::fact::run::{RunInput, RunStarted};
use crate::state::State;
use crate::state::open_call::OpenCall;
use crate::vocabulary::ids::Text;

/// The most rules of a session; the oldest one goes first, and its tool is asked about again.
const MAX_RULES: usize = 256;

/// A tool whose calls need no further approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    tool: Text,
    digest: Text,
}

impl State {
    /// The tools that a person has allowed for the rest of the session, in the order of the decisions.
    pub fn allowed_tools(&self) -> impl Iterator<Item = &Text> {
        self.questions.rules().iter().map(|rule| &rule.tool)
    }

    /// Whether a rule of the session allows the call.
    pub(crate) fn allows(&self, open: &OpenCall) -> bool {
        let mut rules =
            self.questions.rules().iter().filter(|rule| rule.tool == *open.target_name()).peekable();
        if rules.peek().is_none() {
            return false;
        }
        let digest = self.tool_gate(open);
        rules.any(|rule| rule.digest == digest)
    }

    /// The rule that allows the call's tool from here on.
    pub(crate) fn rule(&self, open: &OpenCall) -> ToolAllowed {
        let (call, tool) = (open.call.id.clone(), open.target_name().clone());
        ToolAllowed { call, tool, digest: self.tool_gate(open) }
    }

    /// Folds a rule. A tool has one rule for each way by which it is reached and for each of its forms: the last ones count.
    pub(crate) fn tool_allowed(&mut self, allowed: &ToolAllowed) {
        let rule = Rule { tool: allowed.tool.clone(), digest: allowed.digest.clone() };
        self.questions.allow(rule, MAX_RULES);
    }

    /// The rules that a run begins with: those of the run of the same session that it continues.
    pub(crate) fn inherit_rules(&mut self, start: &RunStarted, base: &Self) {
        let same = start.session.is_some()
            && start.session.as_ref() == base.setup.session()
            && start.parent.is_none();
        let imported = base.agent().is_some_and(crate::protocol::fact::run::AgentRef::is_imported);
        if same && !imported && !matches!(start.input, RunInput::Fork(_)) {
            self.questions.inherit_rules(&base.questions);
        }
    }
}
