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
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::tool::ToolKind;

impl State {
    pub(crate) fn iteration_started(&mut self, started: &IterationStarted) {
        self.ledger.counters.iterations += 1;
        if let Some(note) = &started.note {
            self.conversation.history.push(Arc::new(Message::user(note.clone())));
        }
    }

    /// A judge's reply counts as unread until its verdict is on record.
    pub(crate) fn judge_said(&mut self, _: &TurnCompleted) {
        self.progress.unread += 1;
    }

    /// Messages of the conversation are replaced.
    pub(crate) fn edited(&mut self, splices: &[Splice]) {
        self.conversation.history.edit(splices);
        for splice in splices {
            self.progress.spliced(splice);
            self.conversation.spliced(splice);
        }
    }

    /// The last reply was in vain, with the results of its calls.
    pub(crate) fn reply_in_vain(&mut self) {
        let history = &self.conversation.history;
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
            self.progress.distil(&self.conversation.history);
        }
    }

    /// A call began: it is one more of its tool in a row. Calls that may well be repeated begin no row.
    pub(crate) fn count_consecutive(&mut self, call: &CallId) {
        let Some(open) = self.open_call(call) else { return };
        let (name, tool) = (open.call.name.clone(), self.target(open));
        if tool.is_some_and(|tool| tool.poll || tool.kind != ToolKind::Run) {
            return;
        }
        let before = self.progress.consecutive_tool.take().filter(|(last, _)| *last == name);
        self.progress.consecutive_tool = Some((name, before.map_or(1, |(_, times)| times + 1)));
    }

    pub(crate) fn blackboard_restored(&mut self, restored: &BlackboardRestored) {
        self.progress.blackboard.restore();
        self.progress.consecutive_tool = None;
        self.conversation.history.push(Arc::new(Message::user(restored.note.clone())));
    }

    /// The end of a call is noted on the blackboard, or is what was written there.
    pub(crate) fn note_on_blackboard(&mut self, finished: &CallFinished) {
        if self.setup.policy().request.view != View::Blackboard {
            return;
        }
        let Some(open) = self.open_call(&finished.call) else { return };
        let (name, args) = (open.call.name.clone(), open.args().to_owned());
        let written = self.target(open).is_some_and(|tool| tool.kind == ToolKind::Blackboard);
        let blackboard = &mut self.progress.blackboard;
        match &finished.outcome {
            CallOutcome::Ok { .. } if written => blackboard.update(&args),
            CallOutcome::Ok { content } => blackboard.add_result(&name, &content.text()),
            CallOutcome::Error { message, .. } | CallOutcome::Malformed { message } => {
                blackboard.add_error(&name, message);
            }
            CallOutcome::TimedOut { after_ms } => {
                blackboard.add_error(&name, &format!("timed out after {} seconds", *after_ms as f64 / 1e3));
            }
            CallOutcome::Denied { .. } => blackboard.add_error(&name, "denied"),
            CallOutcome::UnknownTool { .. } => blackboard.add_error(&name, "there is no such tool"),
            CallOutcome::Rejected { .. }
            | CallOutcome::Skipped { .. }
            | CallOutcome::Interrupted
            | CallOutcome::Abandoned
            | CallOutcome::Unknown => {}
        }
    }
}
