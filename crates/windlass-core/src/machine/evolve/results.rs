//! The fold of summaries of results: a round waits for them, so that results enter the conversation in call order.

use crate::protocol::fact::calls::{CallFinished, ResultSummarised};
use crate::protocol::fact::turns::TurnFailed;
use crate::state::open_call::{OpenCall, Stage, Summing};
use crate::state::{Phase, State};
use crate::vocabulary::ids::CallId;
use crate::vocabulary::message::Content;
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::purpose::Purpose;

impl State {
    /// Whether the result of a call of the model waits for a summary. A run that is coming to its end reads no more of it.
    pub(crate) fn sums_up(&self, finished: &CallFinished) -> bool {
        let CallOutcome::Ok { content } = &finished.outcome else { return false };
        let Some(open) = self.open_call(&finished.call).filter(|open| open.origin().is_model()) else {
            return false;
        };
        let most = self.target(open).and_then(|tool| tool.summary_above);
        let going_on = !self.stopping() && self.ending.closing().is_none();
        going_on && most.is_some_and(|most| content.whole_bytes() > most)
    }

    pub(crate) fn result_summarised(&mut self, summarised: &ResultSummarised) {
        let Some(open) = self.open_call(&summarised.call) else { return };
        let Stage::Done(CallOutcome::Ok { content }) = open.stage() else { return };
        if summarised.summary.is_some() && content.has_own_text() {
            let content = content.clone();
            let had_more = self.conversation.has_more_to_read();
            self.conversation.leave_out_result(&summarised.call, content);
            if !had_more {
                self.offer_tools(self.toolbox.own().clone());
            }
        }
        let summing = summarised.summary.clone().map_or(Summing::Off, Summing::Made);
        self.settle_result(&summarised.call, summing);
    }

    /// The summary of a result failed for good.
    pub(crate) fn summary_failed(&mut self, failed: &TurnFailed) {
        if let (Purpose::Summarise, None, Some(call)) = (failed.purpose, failed.retry_at, &failed.about) {
            self.settle_result(call, Summing::Off);
        }
    }

    fn settle_result(&mut self, call: &CallId, summing: Summing) {
        if let Some(open) = self.call_mut(call).filter(|open| open.waits_for_summary()) {
            open.settles(summing);
            self.commit_round();
        }
    }

    /// Results whose summary is not asked for any more enter the conversation as they are.
    pub(crate) fn take_results_as_they_are(&mut self) {
        let Phase::Acting(open) = &self.phase else { return };
        let asked = |open: &OpenCall| self.model_calls.get(Purpose::Summarise, Some(&open.call.id)).is_some();
        let waits = |open: &&OpenCall| open.waits_for_summary() && !asked(open);
        let calls: Vec<CallId> = open.iter().filter(waits).map(|open| open.call.id.clone()).collect();
        for call in &calls {
            self.settle_result(call, Summing::Off);
        }
    }
}

impl Content {
    /// Bytes of its text, stored ones included.
    pub(crate) fn whole_bytes(&self) -> u64 {
        let stored: u64 = self.readable().map(|stored| stored.bytes).sum();
        stored.saturating_add(self.own_bytes())
    }

    /// Whether it has text that is not stored apart.
    pub(crate) fn has_own_text(&self) -> bool {
        self.own_bytes() > 0
    }

    fn own_bytes(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Parts(parts) => {
                parts.iter().map(|part| part.text().map_or(0, |text| text.len() as u64)).sum()
            }
        }
    }
}
