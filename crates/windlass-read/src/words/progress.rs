//! Lines of progress: the sentence that somebody who follows a run sees for an event, if there is one.

use windlass_core::event::{
    Adjusted, CallDecided, CallFact, CallFinished, CodeFact, CodeFinished, ContextFact, ContextWarned,
    Decision, DelegationFact, DelegationFinished, LimitFact, Millis, ModelFact, PeopleFact, PlanFact,
    RunFact, RunResumed, SteerKind, StepFinished, StepStatus, TurnFailed,
};
use windlass_core::model::{FailureKind, OutputBy};
use windlass_core::policy::Wire;
use windlass_core::{CallId, Event, Fact};

use super::phrases::hedged::unhedged;
use super::refused::{self, setting_refused, tool_refused};
use super::{
    Calls, Cuts, LINE_CHARS, changed, compaction, count, limit, name, not_compacted, outcome, rejection,
    span, time, with_parts,
};

/// A line of progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Whether it should be noticed.
    pub is_warning: bool,
    /// The line.
    pub text: String,
}

/// The line of an event; `None`: it has none, or one with parts of different weight: a start, a reply, a call that begins, a question, an
/// answer, a plan, an end.
pub fn progress(event: &Event, calls: &Calls, cuts: &Cuts) -> Option<Progress> {
    let (fact, at) = (&event.fact, event.at);
    let line = of_run(fact, cuts).or_else(|| of_call(fact, at, calls, cuts));
    line.or_else(|| of_context(fact, cuts)).or_else(|| of_turn(fact, at, cuts))
}

fn remark(text: impl Into<String>) -> Progress {
    Progress { is_warning: false, text: text.into() }
}

fn warning(text: impl Into<String>) -> Progress {
    Progress { is_warning: true, text: text.into() }
}

/// The messages of people to a run, and the run's progress.
fn of_run(fact: &Fact, cuts: &Cuts) -> Option<Progress> {
    if let Fact::Run(RunFact::Resumed(resumed)) = fact {
        Some(remark(format!("resumed{}", behind(resumed))))
    } else if let Fact::Run(RunFact::Adjusted(adjusted)) = fact {
        Some(adjustment(adjusted, cuts))
    } else if let Fact::People(PeopleFact::Steered(steered)) = fact {
        let media = with_parts(&steered.parts);
        Some(remark(format!("{}: {}{media}", kind_words(steered.kind), cuts.line(&steered.text))))
    } else if let Fact::People(PeopleFact::Paused(_)) = fact {
        Some(remark("paused"))
    } else if let Fact::People(PeopleFact::MessageQueued(queued)) = fact {
        Some(remark(format!("a message waits for the end of this run; run {} will answer it", queued.run)))
    } else if let Fact::Limit(LimitFact::Reached(reached)) = fact {
        Some(warning(format!("limit reached: {}", limit(reached))))
    } else if let Fact::Limit(LimitFact::Raised(raised)) = fact {
        Some(remark(format!("the limit is now {}", raised.limit.amount(raised.max))))
    } else if let Fact::People(PeopleFact::CancelRequested(_)) = fact {
        Some(warning("stopping…"))
    } else {
        None
    }
}

/// The progress of a call.
fn of_call(fact: &Fact, at: Millis, calls: &Calls, cuts: &Cuts) -> Option<Progress> {
    let result =
        |call: &CallId, text: &str| Some(remark(format!("<- {}: {}", calls.name(call), cuts.line(text))));
    if let Fact::Code(CodeFact::Finished(CodeFinished { call, outcome: ended, .. }))
    | Fact::Call(CallFact::Finished(CallFinished { call, outcome: ended, .. }))
    | Fact::Delegation(DelegationFact::Finished(DelegationFinished { call, outcome: ended, .. })) = fact
    {
        result(call, &outcome(ended))
    } else if let Fact::Delegation(DelegationFact::Deferred(waits)) = fact {
        let ends = format!("waits for the quota of model {} until {}", waits.model, time(waits.until));
        result(&waits.call, &ends)
    } else if let Fact::Call(CallFact::Retried(retried)) = fact {
        let wait = span(retried.retry_at.saturating_sub(at));
        result(&retried.call, &format!("{}; again in {wait}", outcome(&retried.outcome)))
    } else if let Fact::Call(CallFact::Doubted(doubted)) = fact {
        let name = calls.name(&doubted.call);
        let doubt = match &doubted.lost {
            Some(lost) => {
                format!("the answer of {name} is lost, and it may have happened ({})", outcome(lost))
            }
            None => format!("{name} had started when the process died"),
        };
        Some(warning(format!("in doubt: {doubt}")))
    } else if let Fact::Call(CallFact::Decided(decided)) = fact {
        decision(decided, calls)
    } else if let Fact::Call(CallFact::ToolAllowed(allowed)) = fact {
        Some(remark(format!("{} needs no further approval in this session", name(&allowed.tool))))
    } else if let Fact::Call(CallFact::StepBranched(branched)) = fact {
        Some(remark(format!("a hook asked for {}", count(branched.calls.len() as u64, "branch call"))))
    } else if let Fact::Plan(PlanFact::StepFinished(finished)) = fact {
        step(finished, cuts)
    } else if let Fact::Call(CallFact::Verified(verified)) = fact {
        let name = calls.name(&verified.call);
        verified.args.as_ref().map(|_| remark(format!("verified: {name}, with changed arguments")))
    } else if let Fact::Call(CallFact::ResultSummarised(summarised)) = fact {
        let name = calls.name(&summarised.call);
        summarised.summary.as_ref().map(|_| remark(format!("summed up: the result of {name}")))
    } else {
        None
    }
}

/// Changes of the conversation, iterations and loops.
fn of_context(fact: &Fact, cuts: &Cuts) -> Option<Progress> {
    if let Fact::Context(ContextFact::HistoryEdited(edited)) = fact {
        let words = refused::changed(edited, cuts).map(warning);
        words.or_else(|| Some(remark("a hook changed the conversation")))
    } else if let Fact::Context(ContextFact::Warned(ContextWarned { tokens, max_tokens })) = fact {
        Some(warning(format!("the context has {tokens} of {max_tokens} tokens")))
    } else if let Fact::Context(ContextFact::Compacted(compacted)) = fact {
        Some(remark(format!("compacted: {}", compaction(compacted))))
    } else if let Fact::Context(ContextFact::CompactionSkipped(skipped)) = fact {
        Some(remark(format!("not compacted: {}", not_compacted(&skipped.reason, cuts))))
    } else if let Fact::Plan(PlanFact::IterationStarted(started)) = fact {
        (started.iteration > 1).then(|| remark(format!("iteration {}", started.iteration)))
    } else if let Fact::Plan(PlanFact::BlackboardRestored(restored)) = fact {
        Some(warning(format!("stuck: {} calls of {} in a row", restored.times, restored.tool)))
    } else if let Fact::Plan(PlanFact::Judged(judged)) = fact {
        let text = cuts.line(&judged.missing);
        let found = if judged.satisfied { "the answer is complete" } else { "the answer lacks something" };
        let more = if judged.satisfied || text.is_empty() { String::new() } else { format!(": {text}") };
        Some(remark(format!("judged: {found}{more}")))
    } else {
        None
    }
}

/// The progress of a model call.
fn of_turn(fact: &Fact, at: Millis, cuts: &Cuts) -> Option<Progress> {
    if let Fact::Model(ModelFact::Started(turn)) = fact {
        refused::probing(turn).map(|words| remark(format!("asked again {words}")))
    } else if let Fact::Model(ModelFact::Failed(failed)) = fact {
        failure(failed, at, cuts)
    } else if let Fact::Model(ModelFact::Hedged(hedged)) = fact {
        Some(remark(format!("no reply yet: model {} is asked, too", hedged.model + 1)))
    } else if let Fact::Model(ModelFact::HedgeSkipped(skipped)) = fact {
        let (model, why) = (skipped.model + 1, unhedged(skipped));
        Some(remark(format!("no reply yet: model {model} is not asked, too: {why}")))
    } else if let Fact::Model(ModelFact::OutputRejected(rejected)) = fact {
        Some(warning(format!("not accepted: {}", rejection(rejected.reason))))
    } else {
        None
    }
}

fn failure(failed: &TurnFailed, at: Millis, cuts: &Cuts) -> Option<Progress> {
    let failure = &failed.failure;
    if failure.kind == FailureKind::Cancelled {
        return None;
    }
    let then = match (failed.retry_at, failed.next_model) {
        (Some(retry_at), _) if failed.for_quota => format!("; waits for a quota until {}", time(retry_at)),
        (None, None) if failed.remaining_model.is_some() => "; the other model goes on".to_owned(),
        (_, Some(_)) => "; trying the next model".to_owned(),
        (Some(retry_at), None) => format!("; again in {}", span(retry_at.saturating_sub(at))),
        (None, None) => String::new(),
    };
    Some(warning(format!("{}: {}{then}", failure.model, cuts.chars(&failure.message, LINE_CHARS * 2))))
}

fn adjustment(adjusted: &Adjusted, cuts: &Cuts) -> Progress {
    if let Some(refused) = &adjusted.refused_setting {
        return warning(setting_refused(refused, cuts));
    }
    // What was learnt of a model (K41).
    let mut models = adjusted.models.iter().flat_map(|models| models.iter());
    let detected = models.find_map(|model| match model.wire? {
        Wire::Schema => Some((&model.name, "calls are asked for by a schema")),
        Wire::Fenced => Some((&model.name, "calls are sent as text")),
        Wire::Auto | Wire::Native => None,
    });
    if let Some((name, how)) = detected {
        return remark(format!("{name} does not support tools: {how} from now on"));
    }
    let mut models = adjusted.models.iter().flat_map(|models| models.iter());
    let unheld = models.find_map(|model| match model.output? {
        OutputBy::Tool => Some((&model.name, "it is asked for by a call of the finish tool")),
        OutputBy::Prompt => Some((&model.name, "it is asked for in the instructions")),
        OutputBy::Native => None,
    });
    if let Some((name, how)) = unheld {
        return remark(format!("{name} does not hold its answer to the output's schema: {how} from now on"));
    }
    match &adjusted.refused {
        Some(refused) => warning(tool_refused(refused, cuts)),
        None => remark(format!("changed: {}", changed(adjusted))),
    }
}

fn decision(decided: &CallDecided, calls: &Calls) -> Option<Progress> {
    let name = calls.name(&decided.call);
    match &decided.decision {
        Decision::Approved => Some(remark(format!("approved: {name}"))),
        Decision::Edited { .. } => Some(remark(format!("approved: {name}, with changed arguments"))),
        Decision::Allowed => Some(remark(format!("approved for the session: {name}"))),
        Decision::Denied { .. } => None,
        Decision::Forbidden { pattern } => Some(warning(format!("forbidden: {name} (deny: {pattern})"))),
    }
}

/// The result of code stands in the line of its end.
fn step(finished: &StepFinished, cuts: &Cuts) -> Option<Progress> {
    if finished.status != StepStatus::HumanProvided {
        return None;
    }
    let text = cuts.line(finished.result.as_deref().unwrap_or_default());
    Some(remark(format!("<- step {}: a person gave the result: {text}", finished.index)))
}

/// By how much the clock is behind the run's latest time, if it is.
fn behind(resumed: &RunResumed) -> String {
    let behind = resumed.clock_behind_ms.map(|ms| {
        let seconds = ms / 1_000;
        format!(": the clock is {seconds} s behind the run's latest time, from which the run goes on")
    });
    behind.unwrap_or_default()
}

fn kind_words(kind: SteerKind) -> &'static str {
    match kind {
        SteerKind::Steering => "steered",
        SteerKind::Correction => "corrected",
        SteerKind::Clarification => "clarified",
        SteerKind::Objective => "another objective, from the next turn on",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: &str, body: &str) -> Option<(bool, String)> {
        let event = Event { at: 1_000, fact: Fact::from_body(kind, body).unwrap() };
        let line = progress(&event, &Calls::default(), &Cuts::default());
        line.map(|Progress { is_warning, text }| (is_warning, text))
    }

    #[test]
    fn an_event_has_its_line_and_its_weight() {
        let failure = r#""failure":{"kind":"server","message":"no","model":"openai/a"}"#;
        for (kind, body, line_of) in [
            ("RunPaused", "{}".to_owned(), Some((false, "paused"))),
            ("CancelRequested", "{}".to_owned(), Some((true, "stopping…"))),
            (
                "TurnFailed",
                format!(r#"{{"turn":1,{failure},"retry_at":3000}}"#),
                Some((true, "openai/a: no; again in 2.0 s")),
            ),
            ("TurnFailed", format!(r#"{{"turn":1,{failure}}}"#), Some((true, "openai/a: no"))),
            ("CallStarted", r#"{"call":"c1","attempt":1}"#.to_owned(), None),
            (
                "CallDoubted",
                r#"{"call":"c1"}"#.to_owned(),
                Some((true, "in doubt: c1 had started when the process died")),
            ),
        ] {
            let expected = line_of.map(|(is_warning, text)| (is_warning, text.to_owned()));
            assert_eq!(line(kind, &body), expected, "{kind}");
        }
    }
}
