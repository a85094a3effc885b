//! Proof of work: an answer is accepted only after tools matching each pattern of `require` have succeeded.

use windlass_text::find::glob::covers;

use crate::machine::decide::finish::Finish;
use crate::machine::decide::limits::fill;
use crate::machine::decision::Decision;
use crate::protocol::fact::{OutputRejected, Rejection};
use crate::state::open_call::OpenCall;
use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::outcome::FailKind;
use crate::vocabulary::tool::ToolSpec;

/// Maximum number of tools that a note names for one pattern.
const NAMED_TOOLS: usize = 5;

impl Decision {
    /// The note that sends an answer back; `None` if each required tool has succeeded.
    pub(crate) fn unproven(&self) -> Option<Text> {
        let missing = self.missing_tools();
        let template = &self.state.setup.policy().wording.texts.unproven;
        (!missing.is_empty()).then(|| fill(template, "{tools}", &missing.join("; ")).into())
    }

    /// Patterns of `require` that no succeeded tool matches, each as the names of the tools that would.
    fn missing_tools(&self) -> Vec<String> {
        let proof = self.state.ledger.proof();
        let missing = self.state.setup.policy().tools.require.iter().filter(|pattern| !proof.covers(pattern));
        missing.map(|pattern| self.tools_named(pattern)).collect()
    }

    fn tools_named(&self, pattern: &str) -> String {
        let fits = |tool: &&ToolSpec| tool.is_offered() && covers(pattern, &tool.name);
        let tools = self.state.toolbox.all().iter().filter(fits).take(NAMED_TOOLS);
        let names: Vec<String> = tools.map(|tool| format!("`{}`", tool.name)).collect();
        if names.is_empty() { format!("`{pattern}`") } else { names.join(" or ") }
    }

    /// Holds a finish call whose output is valid back if the run has not done the work that is required.
    pub(crate) fn held_to_proof(&self, finish: Finish) -> Finish {
        match (finish, self.unproven()) {
            (Finish::Valid(call, _), Some(note)) => Finish::Unproven(call, note),
            (finish, _) => finish,
        }
    }

    /// Sends an answer in text back, and lets the model go on.
    pub(crate) fn again_with(&mut self, note: Text) {
        if self.send_back(None, note) {
            self.next_turn();
        }
    }

    /// Sends an answer back. `false`: that was one too many, and the run has failed.
    pub(crate) fn send_back(&mut self, call: Option<CallId>, note: Text) -> bool {
        // A fork that begins within the append has counted it already.
        if call.as_ref().and_then(|id| self.state.open_call(id)).is_some_and(OpenCall::rejected) {
            return true;
        }
        let most = self.state.setup.policy().tools.require_retries;
        if self.state.ledger.proof().sent_back() >= most {
            let missing = self.missing_tools().join("; ");
            self.skip_all("the answer was not accepted");
            let error = format!(
                "the model answered before required tools had succeeded: {missing} (sent back {most} times)"
            );
            self.fail(FailKind::Unproven, error.into());
            return false;
        }
        self.record(OutputRejected { reason: Rejection::Unproven, note, call, run_only: false });
        true
    }
}
