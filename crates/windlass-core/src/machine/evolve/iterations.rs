//! The fold of iterations: their boundaries, the judge's replies, and the places that views start at.

use std::sync::Arc;

use crate::policy::views::View;
use crate::protocol::fact::calls::CallFinished;
use crate::protocol::fact::iterations::{BlackboardRestored, IterationStarted};
use crate::protocol::fact::turns::TurnCompleted;
use crate::state::State;
use crate::vocabulary::history::Splice;
use crate::vocabulary::ids::CallId;
use crate::vocabulary::message::Message;
use crate::vocabulary::tool::ToolKind;

impl State {
    pub(crate) fn iteration_started(&mut self, started: &IterationStarted) {
        self.ledger.iteration_began();
        if let Some(note) = &started.note {
            self.conversation.push(Arc::new(Message::user(note.clone())));
        }
    }

    /// A judge's reply counts as unread until its verdict is on record.
    pub(crate) fn judge_reply_recorded(&mut self, _: &TurnCompleted) {
        self.progress.judge_reply_recorded();
    }

    /// Messages of the conversation are replaced.
    pub(crate) fn edited(&mut self, splices: &[Splice]) {
        self.conversation.replace(splices);
        for splice in splices {
            self.progress.spliced(splice);
        }
    }

    /// The last reply was in vain, with the results of its calls.
    pub(crate) fn reply_in_vain(&mut self) {
        let history = self.conversation.history();
        let results = (0..history.len()).rev().map_while(|at| history.get(at));
        let results = results.take_while(|message| matches!(***message, Message::Tool(_))).count();
        let end = history.len();
        if let Some(reply) = end.checked_sub(results + 1) {
            self.progress.in_vain(reply, end);
        }
    }

    /// A model is asked: its request is the conversation as it stands now.
    pub(crate) fn distil(&mut self) {
        if self.setup.policy().request.view == View::Progressive {
            self.progress.distil(self.conversation.history());
        }
    }

    /// A call began: it is one more of its tool in a row. Calls that may well be repeated begin no row.
    pub(crate) fn count_consecutive(&mut self, call: &CallId) {
        let Some(open) = self.open_call(call) else { return };
        let (name, tool) = (open.call.name.clone(), self.target(open));
        if tool.is_some_and(|tool| tool.poll || tool.kind != ToolKind::Run) {
            return;
        }
        self.progress.called(name);
    }

    pub(crate) fn blackboard_restored(&mut self, restored: &BlackboardRestored) {
        self.progress.restore_blackboard();
        self.conversation.push(Arc::new(Message::user(restored.note.clone())));
    }

    /// The end of a call is noted on the blackboard, or is what was written there.
    pub(crate) fn note_on_blackboard(&mut self, finished: &CallFinished) {
        if self.setup.policy().request.view != View::Blackboard {
            return;
        }
        let Some(open) = self.open_call(&finished.call) else { return };
        let writes = self.target(open).is_some_and(|tool| tool.kind == ToolKind::Blackboard);
        let (name, written) = (open.call.name.clone(), writes.then(|| open.args().to_owned()));
        self.progress.note_outcome(&name, &finished.outcome, written.as_deref());
    }
}
