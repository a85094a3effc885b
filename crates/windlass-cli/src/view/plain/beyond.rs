//! Lines about calls, context and iterations.

use windlass_core::event::{
    CallFinished, CallStarted, CodeFinished, CodeStarted, ContextWarned, DelegationFinished, FailKind,
    Millis, TurnFailed,
};
use windlass_core::{Fact, Status};
use windlass_read::words::hedged::unhedged;
use windlass_read::words::refused;
use windlass_read::words::{compaction, not_compacted};
use windlass_read::words::{outcome, span, time};
use windlass_runtime::Update;

use super::{LINE_CHARS, Plain};
use crate::view::each;

impl Plain {
    /// A call begins or ends.
    pub(super) fn call_event(&mut self, fact: &Fact, at: Millis) {
        if let Fact::CodeStarted(CodeStarted { call, attempt, .. })
        | Fact::CallStarted(CallStarted { call, attempt }) = fact
        {
            // The line of a planned step says what its first try is.
            if *attempt > 1 || !self.calls.is_step(call) {
                self.call_started(call, *attempt);
            }
        } else if let Fact::CodeFinished(CodeFinished { call, outcome: ended, .. })
        | Fact::CallFinished(CallFinished { call, outcome: ended, .. })
        | Fact::DelegationFinished(DelegationFinished { call, outcome: ended, .. }) = fact
        {
            self.result(call, &outcome(ended));
        } else if let Fact::DelegationStarted(started) = fact {
            self.delegated(started);
        } else if let Fact::DelegationWaits(waits) = fact {
            let ends = format!("waits for the quota of model {} until {}", waits.model, time(waits.until));
            self.result(&waits.call, &ends);
        } else if let Fact::CallRetried(retried) = fact {
            let wait = span(retried.retry_at.saturating_sub(at));
            self.result(&retried.call, &format!("{}; again in {wait}", outcome(&retried.outcome)));
        } else if let Fact::CallDoubted(doubted) = fact {
            let name = self.name(&doubted.call);
            let doubt = match &doubted.lost {
                Some(lost) => {
                    format!("the answer of {name} is lost, and it may have happened ({})", outcome(lost))
                }
                None => format!("{name} had started when the process died"),
            };
            self.warn(&format!("in doubt: {doubt}"));
        }
    }

    /// The line of a fact of context, verification or iterations, and whether it is a warning.
    pub(super) fn beyond(&self, fact: &Fact) -> Option<(bool, String)> {
        let remark = |text: String| Some((false, text));
        if let Fact::TurnStarted(turn) = fact {
            refused::probing(turn).and_then(|words| remark(format!("asked again {words}")))
        } else if let Fact::HistoryEdited(edited) = fact {
            let words = refused::changed(edited, &self.cuts).map(|words| (true, words));
            words.or_else(|| remark("a hook changed the conversation".to_owned()))
        } else if let Fact::TurnHedged(hedged) = fact {
            remark(format!("no reply yet: model {} is asked, too", hedged.model + 1))
        } else if let Fact::HedgeSkipped(skipped) = fact {
            remark(format!(
                "no reply yet: model {} is not asked, too: {}",
                skipped.model + 1,
                unhedged(skipped)
            ))
        } else if let Fact::CallVerified(verified) = fact {
            let name = self.name(&verified.call);
            verified.args.as_ref().and_then(|_| remark(format!("verified: {name}, with changed arguments")))
        } else if let Fact::ResultSummarised(summarised) = fact {
            let name = self.name(&summarised.call);
            summarised.summary.as_ref().and_then(|_| remark(format!("summed up: the result of {name}")))
        } else if let Fact::ContextWarned(ContextWarned { tokens, max_tokens }) = fact {
            Some((true, format!("the context has {tokens} of {max_tokens} tokens")))
        } else if let Fact::Compacted(compacted) = fact {
            remark(format!("compacted: {}", compaction(compacted)))
        } else if let Fact::CompactionSkipped(skipped) = fact {
            remark(format!("not compacted: {}", not_compacted(&skipped.reason, &self.cuts)))
        } else if let Fact::IterationStarted(started) = fact {
            (started.iteration > 1).then(|| (false, format!("iteration {}", started.iteration)))
        } else if let Fact::BoardRestored(restored) = fact {
            Some((true, format!("stuck: {} calls of {} in a row", restored.times, restored.tool)))
        } else if let Fact::Judged(judged) = fact {
            let text = self.cuts.line(&judged.missing);
            let found =
                if judged.satisfied { "the answer is complete" } else { "the answer lacks something" };
            let more = if judged.satisfied || text.is_empty() { String::new() } else { format!(": {text}") };
            remark(format!("judged: {found}{more}"))
        } else {
            None
        }
    }

    /// Events that were written together. The failure that ends a run is said once: by the error that follows.
    pub(super) fn events(&mut self, update: &Update) {
        let mut fails = false;
        let failed = |fact: &Fact| matches!(fact, Fact::RunEnded(end) if end.status == Status::Failed(FailKind::Model));
        each(update, |_, event| fails |= failed(&event.fact));
        let last = |fact: &Fact| matches!(fact, Fact::TurnFailed(turn) if turn.retry_at.is_none() && turn.next_model.is_none());
        let said = fails && self.says_end;
        each(update, |_, event| {
            if !(said && last(&event.fact)) {
                self.event(event);
            }
        });
    }

    pub(super) fn turn_failed(&mut self, failed: &TurnFailed, at: u64) {
        let failure = &failed.failure;
        let then = match (failed.retry_at, failed.next_model) {
            (Some(retry_at), _) if failed.for_quota => {
                format!("; waits for a quota until {}", time(retry_at))
            }
            (None, None) if failed.beside.is_some() => "; the other model goes on".to_owned(),
            (_, Some(_)) => "; trying the next model".to_owned(),
            (Some(retry_at), None) => format!("; again in {}", span(retry_at.saturating_sub(at))),
            (None, None) => String::new(),
        };
        if failure.kind != windlass_core::model::FailureKind::Cancelled {
            let message = self.cuts.chars(&failure.message, LINE_CHARS * 2);
            self.warn(&format!("{}: {message}{then}", failure.model));
        }
    }
}
