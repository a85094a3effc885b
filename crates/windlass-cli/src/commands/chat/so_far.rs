//! Where a conversation stands.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_core::model::Usage;
use windlass_core::{SessionId, State};
use windlass_runtime::Run;

/// Where a conversation stands.
#[derive(Default)]
pub(super) struct SoFar {
    pub(super) total: Total,
    /// The run that the next message goes on from, as it stood there; `None`: nothing was said yet.
    pub(super) state: Option<Arc<State>>,
    /// The session that has this run, where the next message begins another one with it.
    pub(super) left: Option<SessionId>,
    /// The last answer, as the model wrote it.
    pub(super) answer: Option<String>,
    /// The sessions that were listed last, by their numbers.
    pub(super) listed: Vec<SessionId>,
    /// Files that go with the next message.
    pub(super) attached: Vec<PathBuf>,
    /// Whether the last message was taken.
    pub(super) is_sent: bool,
}

/// Usage of the conversation so far.
#[derive(Debug, Default)]
pub(super) struct Total {
    pub(super) turns: u64,
    pub(super) usage: Usage,
    /// The cost of the turns whose prices are known.
    pub(super) cost_usd: f64,
    /// Whether some price is unknown.
    pub(super) unpriced: bool,
}

impl Total {
    pub(super) fn add(&mut self, run: &Run) {
        self.turns += 1;
        self.usage.add(run.usage());
        self.cost_usd += run.cost_usd().unwrap_or_default();
        self.unpriced |= run.cost_usd().is_none();
    }
}

impl SoFar {
    /// The session stands there now.
    pub(super) fn stands(&mut self, state: State) {
        // A turn that was cancelled leaves the answer before it.
        self.answer = answer(&state).or(self.answer.take());
        self.state = Some(Arc::new(state));
        self.left = None;
    }

    /// The next message goes on from there in another session than the one that has it.
    pub(super) fn branches(&mut self, from: Option<Arc<State>>, left: SessionId) {
        self.left = from.is_some().then_some(left);
        self.answer = from.as_deref().and_then(answer);
        self.state = from;
    }

    /// Nothing was said yet in the session.
    pub(super) fn begins(&mut self) {
        self.state = None;
        self.left = None;
        self.answer = None;
    }

    /// Whether `always` has allowed that tool in this session.
    pub(super) fn allows(&self, tool: &str) -> bool {
        // A session that begins elsewhere asks again.
        let state = self.state.as_ref().filter(|_| self.left.is_none());
        state.is_some_and(|state| state.allowed_tools().any(|allowed| **allowed == *tool))
    }
}

/// The answer of a run that has ended, as the model wrote it.
pub(super) fn answer(state: &State) -> Option<String> {
    let end = state.ended()?;
    let output = end.output.as_ref().map(|output| format!("{output:#}"));
    output.or_else(|| end.text.as_deref().map(str::to_owned)).filter(|text| !text.is_empty())
}
