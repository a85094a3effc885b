//! Events in words: what a run did, with the run as the subject (``ran `search` with {"q":"tea"}``).

pub(super) mod hedged;

use windlass_core::event::{
    Adjusted, CallDecided, CallFact, CallVerified, CancelRequested, CodeFact, Compacted, ContextFact,
    Decision, DelegationFact, DelegationStarted, HistoryEdited, InputReceived, LimitFact, ModelFact,
    NotCompacted, PeopleFact, PlanFact, ResultSummarised, RunEnded, RunFact, RunInput, RunStarted, SteerKind,
    StepFinished, StepStatus, StepWork, TaskOrder, ToolChoice, TurnCompleted, TurnFailed, TurnStarted,
};
use windlass_core::message::ToolCall;
use windlass_core::model::{FailureKind, Purpose};
use windlass_core::policy::Compact;
use windlass_core::text::display_args;
use windlass_core::{Answer, CallId, CallOutcome, Fact, Message};

use super::annotations;
use super::asked;
use super::refused;
use super::{Calls, Cuts, count, limit, name, outcome, rejection, with_parts};
use hedged::hedge;

/// The run's action that the event records.
pub fn phrase(fact: &Fact, calls: &Calls, cuts: &Cuts) -> String {
    match fact {
        Fact::Run(run) => of_run(run, cuts),
        Fact::Model(model) => of_model(model, cuts),
        Fact::Call(call) => of_call(call, calls, cuts),
        Fact::Code(code) => of_code(code, calls, cuts),
        Fact::Delegation(delegation) => of_delegation(delegation, calls, cuts),
        Fact::Plan(plan) => of_plan(plan, cuts),
        Fact::Context(context) => of_context(context, cuts),
        Fact::People(people) => of_people(people, calls, cuts),
        Fact::Limit(LimitFact::Reached(reached)) => format!("reached its limit of {}", limit(reached)),
        Fact::Limit(LimitFact::Raised(raised)) => {
            format!("got a higher limit: {}", raised.limit.amount(raised.max))
        }
    }
}

fn of_run(fact: &RunFact, cuts: &Cuts) -> String {
    match fact {
        RunFact::Started(start) => started(start, cuts),
        RunFact::Resumed(_) => "was resumed".to_owned(),
        RunFact::Adjusted(adjusted) => match (&adjusted.refused, &adjusted.refused_setting) {
            (Some(refused), _) => refused::tool_refused(refused, cuts),
            (None, Some(refused)) => refused::setting_refused(refused, cuts),
            (None, None) => format!("went on with other {}", changed(adjusted)),
        },
        RunFact::Ended(end) => ended(end, cuts),
    }
}

fn of_model(fact: &ModelFact, cuts: &Cuts) -> String {
    match fact {
        ModelFact::Started(turn) => asked(turn),
        ModelFact::Completed(turn) => replied(turn, cuts),
        ModelFact::Failed(failed) => unanswered(failed, cuts),
        ModelFact::ProbeAnswered(_) => "got a reply, so that an item left out is refused".to_owned(),
        ModelFact::OutputRejected(no) => format!("did not accept the output: {}", rejection(no.reason)),
        hedged => hedge(hedged),
    }
}

fn of_call(fact: &CallFact, calls: &Calls, cuts: &Cuts) -> String {
    let called = |call: &CallId| calls.with_args(call, cuts);
    match fact {
        CallFact::Held(held) => format!("held {} until a person allows it", called(&held.call)),
        CallFact::Decided(decided) => verdict(decided, calls, cuts),
        CallFact::Verified(verified) => verification(verified, calls, cuts),
        CallFact::ResultSummarised(summarised) => taken(summarised, calls, cuts),
        CallFact::ToolAllowed(one) => {
            format!("was allowed to run `{}` always in this session", name(&one.tool))
        }
        CallFact::Started(started) => format!("ran {}{}", called(&started.call), again(started.attempt)),
        CallFact::Retried(retried) => {
            format!("{}, and will run it again", result(&retried.call, &retried.outcome, calls, cuts))
        }
        CallFact::Doubted(one) => doubt(one.lost.is_some(), &called(&one.call)),
        CallFact::Finished(finished) => result(&finished.call, &finished.outcome, calls, cuts),
        CallFact::StepBranched(branched) => {
            format!("began {} for a hook", count(branched.calls.len() as u64, "branch call"))
        }
    }
}

fn of_code(fact: &CodeFact, calls: &Calls, cuts: &Cuts) -> String {
    match fact {
        CodeFact::Started(started) => {
            format!("ran {}{}", calls.with_args(&started.call, cuts), again(started.attempt))
        }
        CodeFact::Called(code) => {
            let made: Vec<String> = code.calls.iter().map(|call| name(&call.name)).collect();
            format!("called {} from its code", made.join(", "))
        }
        CodeFact::Finished(finished) => result(&finished.call, &finished.outcome, calls, cuts),
    }
}

fn of_delegation(fact: &DelegationFact, calls: &Calls, cuts: &Cuts) -> String {
    match fact {
        DelegationFact::Started(started) => handed(started, calls, cuts),
        DelegationFact::Deferred(waits) => {
            format!("heard that {} waits for a quota", calls.with_args(&waits.call, cuts))
        }
        DelegationFact::Finished(finished) => result(&finished.call, &finished.outcome, calls, cuts),
    }
}

fn of_context(fact: &ContextFact, cuts: &Cuts) -> String {
    match fact {
        ContextFact::HistoryEdited(edited) => edit(edited, cuts),
        ContextFact::Measured(measured) => {
            format!("sent {}, not {} as estimated", count(measured.counted, "token"), measured.estimated)
        }
        ContextFact::Warned(warned) => {
            format!("reached {} of {} tokens of context", warned.tokens, warned.max_tokens)
        }
        ContextFact::Compacted(compacted) => compaction(compacted),
        ContextFact::CompactionSkipped(skipped) => {
            format!("left its conversation as it was: {}", not_compacted(&skipped.reason, cuts))
        }
    }
}

fn of_people(fact: &PeopleFact, calls: &Calls, cuts: &Cuts) -> String {
    match fact {
        PeopleFact::InputRequested(asked) => asked::requested(asked, calls, cuts),
        PeopleFact::InputReceived(received) => answered(received, cuts),
        PeopleFact::Steered(steered) => {
            format!(
                "{}: {}{}",
                kind_words(steered.kind),
                cuts.line(&steered.text),
                with_parts(&steered.parts)
            )
        }
        PeopleFact::Paused(_) => "stood still".to_owned(),
        PeopleFact::MessageQueued(queued) => {
            format!("was followed by a message that run {} answers", queued.run)
        }
        PeopleFact::CancelRequested(cancel) => stopped(cancel, cuts),
    }
}

fn answered(received: &InputReceived, cuts: &Cuts) -> String {
    let by = received.by.as_ref().map(|by| format!(" ({by})")).unwrap_or_default();
    format!("was answered{by}: {}", answer(&received.answer, cuts))
}

fn stopped(cancel: &CancelRequested, cuts: &Cuts) -> String {
    let why = cancel.reason.as_ref().map(|reason| format!(": {}", cuts.line(reason)));
    format!("was told to stop{}", why.unwrap_or_default())
}

/// A call in doubt. `answer`: its answer was lost, and not its process.
fn doubt(answer: bool, call: &str) -> String {
    let lost = if answer { "lost the answer of" } else { "lost its process during" };
    format!("{lost} {call}: the call may have happened")
}

fn kind_words(kind: SteerKind) -> &'static str {
    match kind {
        SteerKind::Steering => "was told by a person",
        SteerKind::Correction => "was corrected by a person",
        SteerKind::Clarification => "was told by a person what was meant",
        SteerKind::Objective => "was given another objective",
    }
}

/// How a result that was to be summed up enters the conversation.
fn taken(summarised: &ResultSummarised, calls: &Calls, cuts: &Cuts) -> String {
    let called = calls.with_args(&summarised.call, cuts);
    match summarised.summary {
        Some(_) => format!("took a summary of the result of {called}"),
        None => format!("took the result of {called} as it is"),
    }
}

/// Progress of a loop with plans or iterations.
fn of_plan(fact: &PlanFact, cuts: &Cuts) -> String {
    match fact {
        PlanFact::Perceived(perceived) => {
            format!("perceived: {}", cuts.line(&perceived.perception.solution_summary))
        }
        PlanFact::Proposed(proposed) => {
            format!("proposed a plan: {}", cuts.line(&proposed.text.join("; ")))
        }
        PlanFact::Made(made) => {
            let step = made.step.as_ref().map(|step| {
                let about = cuts.line(&step.description);
                format!("; step {} ({}): {about}", step.index, kind_of(&step.work))
            });
            let (lines, step) = (cuts.line(&made.text.join("; ")), step.unwrap_or_default());
            format!("made plan {}: {lines}{step}", made.version)
        }
        PlanFact::StepFinished(finished) => step_finished(finished, cuts),
        PlanFact::IterationStarted(started) => format!("began iteration {}", started.iteration),
        PlanFact::Judged(judged) if judged.satisfied => "found its answer complete".to_owned(),
        PlanFact::Judged(judged) => format!("found its answer lacking: {}", cuts.line(&judged.missing)),
        PlanFact::BlackboardRestored(restored) => {
            format!("was stuck after {} calls of `{}`", restored.times, name(&restored.tool))
        }
        PlanFact::BlackboardSaved(_) => "kept a snapshot of its blackboard".to_owned(),
    }
}

fn step_finished(finished: &StepFinished, cuts: &Cuts) -> String {
    match (finished.status, &finished.result) {
        (StepStatus::Completed, _) => format!("finished step {}", finished.index),
        (StepStatus::Failed, _) => format!("failed at step {}", finished.index),
        (StepStatus::HumanProvided, given) => {
            let given = cuts.line(given.as_deref().unwrap_or_default());
            format!("took a person's result for step {}: {given}", finished.index)
        }
    }
}

/// The kind of a planned step, in words.
pub fn kind_of(work: &StepWork) -> &'static str {
    match work {
        StepWork::Code(_) => "code",
        StepWork::Conclude(_) => "conclude",
        StepWork::Nop => "ask back",
    }
}

/// The verdict on a call.
fn verification(verified: &CallVerified, calls: &Calls, cuts: &Cuts) -> String {
    let (name, confidence) = (calls.name(&verified.call), verified.verdict.confidence);
    match (&verified.refused, &verified.args) {
        (Some(reason), _) => format!("did not run `{name}`: {}", cuts.line(reason)),
        (None, Some(args)) => {
            format!(
                "verified `{name}` with other arguments, confidence {confidence}: {}",
                cuts.line(&display_args(args))
            )
        }
        (None, None) => format!("verified `{name}`, confidence {confidence}"),
    }
}

/// The change that a compaction made.
pub fn compaction(compacted: &Compacted) -> String {
    let (before, after) = (compacted.bytes_before, compacted.bytes_after);
    let from = compacted.first_changed() + 1;
    let what = match compacted.kind {
        Compact::Summarise => "put a summary in place of old messages",
        Compact::DropResults | Compact::Off => "left out old results",
    };
    format!("{what}, from message {from} on: {before} bytes became {after}")
}

/// Why a conversation was not made smaller.
pub fn not_compacted(reason: &NotCompacted, cuts: &Cuts) -> String {
    match reason {
        NotCompacted::NothingToRemove => "all that is left must stay".to_owned(),
        NotCompacted::NotSmaller => "the summary is no shorter than its messages".to_owned(),
        NotCompacted::NoSummary => "the model gave no summary".to_owned(),
        NotCompacted::Failed(error) => format!("no summary was made: {}", cuts.line(error)),
        NotCompacted::Edited => "it was edited while the summary was made".to_owned(),
    }
}

fn started(start: &RunStarted, cuts: &Cuts) -> String {
    match &start.input {
        RunInput::Messages(messages) => {
            let text = messages.iter().rev().find_map(|message| match &**message {
                Message::User { content, .. } | Message::TaskDelegation { content } => Some(content.text()),
                Message::System { .. } | Message::Assistant(_) | Message::Tool(_) => None,
            });
            text.map_or_else(|| "began".to_owned(), |text| format!("began with: {}", cuts.line(&text)))
        }
        RunInput::Continue(_) => "began where the run that a limit cut had ended".to_owned(),
        RunInput::Fork(_) => "began as a fork".to_owned(),
    }
}

/// The number of a try after the first.
fn again(attempt: u32) -> String {
    if attempt > 1 { format!(" again (try {attempt})") } else { String::new() }
}

fn asked(turn: &TurnStarted) -> String {
    let who = if turn.model > 0 { format!("fallback model {}", turn.model) } else { "the model".to_owned() };
    let what = match turn.purpose {
        Purpose::Act => "",
        Purpose::Perceive => " to perceive",
        Purpose::Decide => " to decide",
        Purpose::Merge => " to sum up a branch",
        Purpose::Summarise => " for a summary",
        Purpose::Verify => " to judge a call",
        Purpose::Judge => " to judge the answer",
    };
    let how = match &turn.tool_choice {
        ToolChoice::Auto => String::new(),
        ToolChoice::None => " without tools".to_owned(),
        ToolChoice::Required => " for a call".to_owned(),
        ToolChoice::Named(_) | ToolChoice::OneOf(_) => {
            let names: Vec<_> =
                turn.tool_choice.tools().iter().map(|tool| format!("`{}`", name(tool))).collect();
            format!(" for a call of {}", names.join(" or "))
        }
    };
    let without = refused::probing(turn).map(|words| format!(" {words}")).unwrap_or_default();
    format!("asked {who}{what}{how}{without}{}", again(turn.attempt))
}

fn edit(edited: &HistoryEdited, cuts: &Cuts) -> String {
    let words = refused::changed(edited, cuts)
        .map(|words| format!("put placeholders into its conversation: {words}"));
    words.unwrap_or_else(|| "had its conversation changed by a hook".to_owned())
}

fn replied(turn: &TurnCompleted, cuts: &Cuts) -> String {
    let text = turn.text_without_calls().unwrap_or_default();
    match turn.purpose {
        Purpose::Act | Purpose::Merge => {}
        Purpose::Summarise => return format!("got a summary: {}", cuts.line(&text)),
        Purpose::Perceive => return format!("got a perception: {}", cuts.line(&text)),
        Purpose::Judge | Purpose::Verify => return format!("got a verdict: {}", cuts.line(&text)),
        Purpose::Decide => return format!("got a decision: {}", cuts.line(&text)),
    }
    let annotated = annotations::summary(turn.annotations.as_deref());
    let reply = |text: &str| format!("got the reply{annotated}: {}", cuts.line(text));
    if turn.calls.is_empty() {
        return reply(&text);
    }
    let call =
        |call: &ToolCall| format!("`{}` with {}", name(&call.name), cuts.line(&display_args(&call.args)));
    let asks: Vec<_> = turn.calls.iter().map(call).collect();
    let asks = format!("was asked by the model to run {}", asks.join(" and "));
    if text.trim().is_empty() { asks } else { format!("{}; it {asks}", reply(&text)) }
}

fn unanswered(failed: &TurnFailed, cuts: &Cuts) -> String {
    if failed.remaining_model.is_some() && failed.failure.kind == FailureKind::Cancelled {
        let usage = &failed.failure.usage;
        let about = if usage.estimated { "about " } else { "" };
        return format!(
            "stopped {}, which was slower, after {about}{} input and {} output tokens",
            failed.failure.model, usage.input, usage.output
        );
    }
    let then = match (failed.retry_at, failed.next_model) {
        (Some(_), _) if failed.for_quota => ", and waits for a quota",
        (_, Some(_)) => ", and will ask the next model",
        (Some(_), None) => ", and will ask again",
        (None, None) if failed.remaining_model.is_some() => "; the other model goes on",
        (None, None) => "",
    };
    format!("got no reply from {}: {}{then}", failed.failure.model, cuts.line(&failed.failure.message))
}

fn verdict(decided: &CallDecided, calls: &Calls, cuts: &Cuts) -> String {
    let name = calls.name(&decided.call);
    match &decided.decision {
        Decision::Approved => format!("was allowed to run {}", calls.with_args(&decided.call, cuts)),
        Decision::Allowed => {
            format!(
                "may run {} by an answer given before in this session",
                calls.with_args(&decided.call, cuts)
            )
        }
        Decision::Edited { args } => {
            format!("was allowed to run `{name}` with other arguments: {}", cuts.line(&display_args(args)))
        }
        Decision::Denied { reason: Some(reason) } => {
            format!("was not allowed to run `{name}`: {}", cuts.line(reason))
        }
        Decision::Denied { reason: None } => format!("was not allowed to run `{name}`"),
        Decision::Forbidden { pattern } => format!("may not run `{name}`: `deny` has `{pattern}`"),
    }
}

fn result(call: &CallId, ended: &CallOutcome, calls: &Calls, cuts: &Cuts) -> String {
    let (name, text) = (calls.name(call), cuts.line(&outcome(ended)));
    match ended {
        CallOutcome::Ok { .. } => format!("got from `{name}`: {text}"),
        CallOutcome::Error { .. }
        | CallOutcome::TimedOut { .. }
        | CallOutcome::Malformed { .. }
        | CallOutcome::Rejected { .. }
        | CallOutcome::UnknownTool { .. }
        | CallOutcome::Denied { .. }
        | CallOutcome::Skipped { .. }
        | CallOutcome::Interrupted
        | CallOutcome::Abandoned
        | CallOutcome::Unknown => format!("got no result of `{name}`: {text}"),
    }
}

fn handed(started: &DelegationStarted, calls: &Calls, cuts: &Cuts) -> String {
    let (agent, run) = (name(&started.agent), started.run);
    match &started.order {
        TaskOrder::Work => {
            let task = calls.args(&started.call, cuts).map(|args| format!(": {args}")).unwrap_or_default();
            format!("handed a task to `{agent}`, run {run}{}{task}", again(started.attempt))
        }
        TaskOrder::Answer(received) => {
            format!("passed an answer on to `{agent}`, run {run}: {}", answer(&received.answer, cuts))
        }
        TaskOrder::Stop => format!("told `{agent}` to stop, run {run}"),
    }
}

fn answer(answer: &Answer, cuts: &Cuts) -> String {
    match answer {
        Answer::Text(text) => cuts.line(text),
        Answer::Result(text)
        | Answer::Conclude(text)
        | Answer::Final { final_answer: text, .. }
        | Answer::Resume { text: Some(text) } => format!("{}: {}", answer.name(), cuts.line(text)),
        Answer::Deny { reason: Some(reason) } => format!("deny: {}", cuts.line(reason)),
        Answer::ApproveWith { args } => format!("{}: {}", answer.name(), cuts.line(&args.to_string())),
        Answer::Raise(number) => format!("raise to {number}"),
        Answer::Plan { plan, .. } => format!("{}: {}", answer.name(), cuts.line(&plan.join("; "))),
        Answer::Accept
        | Answer::Approve
        | Answer::Always
        | Answer::Deny { reason: None }
        | Answer::RunAgain
        | Answer::Resume { text: None }
        | Answer::Retry
        | Answer::Unknown => answer.name().to_owned(),
    }
}

/// The parts that an adjustment changes.
pub fn changed(adjusted: &Adjusted) -> String {
    let parts = [
        adjusted.tools.as_ref().map(|_| "tools"),
        adjusted.models.as_ref().map(|_| "model settings"),
        adjusted.prompt.as_ref().map(|_| "instructions"),
        adjusted.policy.as_ref().map(|_| "loop settings"),
        adjusted.agent.as_ref().map(|_| "agent"),
        adjusted.switched.as_ref().map(|_| "agent"),
        adjusted.binding_digests.as_ref().map(|_| "binding digests"),
        adjusted.refused.as_ref().map(|_| "tools"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn ended(end: &RunEnded, cuts: &Cuts) -> String {
    let output = end.output.as_ref().map(ToString::to_string);
    let text = output.as_deref().or(end.text.as_deref()).or(end.error.as_deref()).unwrap_or_default();
    if text.is_empty() {
        return format!("ended as {}", end.status);
    }
    format!("ended as {}: {}", end.status, cuts.line(text))
}
