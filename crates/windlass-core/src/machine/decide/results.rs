//! Summaries of long results: asked for when a call ends, and awaited by its round.

use crate::machine::decision::Decision;
use crate::protocol::fact::calls::ResultSummarised;
use crate::protocol::fact::turns::TurnStarted;
use crate::state::context::result_handle;
use crate::state::model_calls::ModelCall;
use crate::state::open_call::{OpenCall, Stage};
use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::message::{Content, Part};
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::payload::READ_RESULT;
use crate::vocabulary::purpose::{Purpose, ToolChoice};
use crate::vocabulary::reply::{Reply, StopReason};

impl Decision {
    /// Begins the summaries that results wait for. Where limits leave too little for one, the result enters as it is.
    pub(crate) fn sum_up_results(&mut self) {
        for call in self.unsummed() {
            let turn = self.state.turn.number();
            let next = TurnStarted {
                about: Some(call.clone()),
                model: self.state.summariser(),
                ..TurnStarted::first(turn, Purpose::Summarise, ToolChoice::None)
            };
            // Where no turn may follow, nobody would read the summary.
            let (purpose, model) = (self.state.setup.policy().request.purpose, self.state.next_model());
            let act = TurnStarted { turn: turn + 1, purpose, model, about: None, ..next.clone() };
            if self.is_admitted(&act) && self.is_admitted(&next) {
                self.record(next);
            } else {
                self.record(ResultSummarised { call, summary: None });
            }
        }
    }

    /// The calls whose results wait for a summary that nobody is asked for yet.
    fn unsummed(&self) -> Vec<CallId> {
        let asked =
            |open: &OpenCall| self.state.model_calls.get(Purpose::Summarise, Some(&open.call.id)).is_some();
        let waits = |open: &&OpenCall| open.waits_for_summary() && !asked(open);
        self.open_calls().iter().filter(waits).map(|open| open.call.id.clone()).collect()
    }

    /// Results whose summary nobody is asked for enter as they are.
    pub(crate) fn enter_whole_results(&mut self) {
        for call in self.unsummed() {
            self.record(ResultSummarised { call, summary: None });
        }
    }

    /// A summary of a result has come: it takes the result's place, unless that is no gain.
    pub(crate) fn result_replied(&mut self, model_call: &ModelCall, call: CallId, reply: Reply) {
        let (stop, text) = (reply.stop, reply.text.clone());
        self.record_read(model_call, reply);
        let text = text.filter(|_| !matches!(stop, StopReason::Refused | StopReason::Filtered));
        let summary = self.state.open_call(&call).zip(text).and_then(|(open, text)| summary(open, &text));
        self.record(ResultSummarised { call, summary });
        self.go_on();
    }
}

/// The summary that takes the place of a call's result, if it is shorter.
fn summary(open: &OpenCall, text: &Text) -> Option<Content> {
    let Stage::Done(CallOutcome::Ok { content }) = open.stage() else { return None };
    let text = Some(text.trim()).filter(|text| !text.is_empty())?;
    let own = content.has_own_text().then(|| result_handle(&open.call.id));
    let stored = content.readable().map(|stored| Text::from(stored.handle()));
    let handles: Vec<String> =
        stored.chain(own).map(|handle| format!("{{\"handle\": \"{handle}\"}}")).collect();
    let text = format!(
        "[Summary of a result of {} bytes]\n{text}\n[`{READ_RESULT}` reads the whole result: {}]",
        content.whole_bytes(),
        handles.join(", ")
    );
    let shorter = text.len() < content.text().len();
    let media = match content {
        Content::Text(_) => &[][..],
        Content::Parts(parts) => parts,
    };
    let mut media = media.iter().filter(|part| matches!(part, Part::Image(_) | Part::File(_))).peekable();
    let summary = if media.peek().is_none() {
        Content::Text(text.into())
    } else {
        Content::Parts(std::iter::once(Part::Text { text: text.into() }).chain(media.cloned()).collect())
    };
    shorter.then_some(summary)
}
