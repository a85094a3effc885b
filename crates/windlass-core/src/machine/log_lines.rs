//! The log lines of a preset, as a pure function of its events.

use crate::policy::texts::filled;
use crate::policy::values::Phases;
use crate::protocol::fact::calls::CallStarted;
use crate::protocol::fact::context::ContextWarned;
use crate::protocol::fact::interrupts::Steered;
use crate::protocol::fact::{
    CallFact, ContextFact, DelegationFact, Event, Fact, LimitFact, ModelFact, PlanFact, RunFact,
};
use crate::state::State;
use crate::vocabulary::ids::CallId;
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::outcome::Status;
use crate::vocabulary::purpose::Purpose;

/// A line for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Severity.
    pub level: LogLevel,
    /// The line.
    pub text: String,
}

/// Maximum number of messages that were not heard and are shown, and of characters of each.
const UNHEARD: usize = 5;
const UNHEARD_CHARS: usize = 60;

/// The level of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// The run goes its way.
    Info,
    /// Something was cut short.
    Warning,
    /// More was used than a limit allows.
    Overshot,
    /// Somebody's message was not heard.
    Unheard,
}

/// The warning where the usage that an event brought goes beyond a limit on tokens or cost.
pub fn overshot(known: &[LimitKind], after: &State) -> Option<LogLine> {
    let fresh = after.overshoots().filter(|(kind, ..)| !known.contains(kind));
    let amounts =
        fresh.map(|(kind, max, used)| format!("{} of {} are used", kind.amount(used), kind.show(max)));
    let amounts: Vec<String> = amounts.collect();
    // Each append comes here.
    if amounts.is_empty() {
        return None;
    }
    let text = format!("A limit was overshot: {}", amounts.join(", "));
    Some(LogLine { level: LogLevel::Overshot, text })
}

/// The line about a call that begins in a turn of two phases.
fn progress(state: &State, event: &Event) -> Option<LogLine> {
    let template = state.policy().wording.log.progress.as_ref()?;
    if state.policy().replies.phases != Phases::Two {
        return None;
    }
    let (action, target) = if let Fact::Call(CallFact::Started(started)) = &event.fact {
        ("tool_call", state.open_call(&started.call).filter(|_| started.attempt == 1)?.call.name.clone())
    } else if let Fact::Delegation(DelegationFact::Started(started)) = &event.fact {
        ("delegate", Some(started.agent.clone()).filter(|_| started.attempt == 1)?)
    } else {
        return None;
    };
    let (step, max) = (state.counters().model_calls, state.policy().limit(LimitKind::ModelCalls));
    let max = max.map_or("null".to_owned(), |max| max.to_string());
    let places = [("i", &*step.to_string()), ("max", &max), ("action", action), ("target", &target)];
    Some(LogLine { level: LogLevel::Info, text: filled(template, &places) })
}

/// The preset's log line about an event; `state` is the state after it.
pub fn log_line(state: &State, event: &Event) -> Option<LogLine> {
    if let Some(line) = progress(state, event) {
        return Some(line);
    }
    let log = &state.policy().wording.log;
    let closing = state.ending.closing().is_some();
    let counters = state.counters();
    let info = |text| Some(LogLine { level: LogLevel::Info, text });
    if let Fact::Model(ModelFact::Started(turn)) = &event.fact {
        let first = turn.attempt == 1 && turn.model == 0 && !turn.after_loss;
        let template = log.turn.as_ref().filter(|_| turn.purpose == Purpose::Act && first && !closing)?;
        info(counted(template, counters.model_calls + 1, state.policy().limit(LimitKind::ModelCalls)))
    } else if let Fact::Plan(PlanFact::IterationStarted(started)) = &event.fact {
        let max = state.policy().limit(LimitKind::Iterations);
        info(counted(log.iteration.as_ref()?, started.iteration, max))
    } else if let Fact::Model(ModelFact::Completed(turn)) = &event.fact {
        let template = log.calls.as_ref().filter(|_| turn.speaks() && !turn.calls.is_empty() && !closing)?;
        info(filled(template, &[("k", &turn.calls.len().to_string())]))
    } else if let Fact::Call(CallFact::Started(CallStarted { call, attempt: 1 })) = &event.fact {
        called(state, log.call.as_ref()?, call).and_then(info)
    } else if let Fact::Delegation(DelegationFact::Started(started)) = &event.fact {
        let template = log.call.as_ref().filter(|_| started.attempt == 1)?;
        called(state, template, &started.call).and_then(info)
    } else if let (Fact::Run(RunFact::Ended(_)), Some(text)) = (&event.fact, not_heard(state)) {
        Some(LogLine { level: LogLevel::Unheard, text })
    } else if let Fact::Run(RunFact::Ended(end)) = &event.fact {
        let template = log.answer.as_ref().filter(|_| end.status == Status::Answered)?;
        info(counted(template, counters.model_calls + 1, state.policy().limit(LimitKind::ModelCalls)))
    } else if let Fact::Context(ContextFact::Warned(ContextWarned { tokens, max_tokens })) = &event.fact {
        // Whoever set a budget wants to hear of it, whatever the preset logs.
        let text = format!("The context has {tokens} of {max_tokens} tokens");
        Some(LogLine { level: LogLevel::Warning, text })
    } else if let Fact::Limit(LimitFact::Reached(reached)) = &event.fact {
        let counts = matches!(reached.limit, LimitKind::ModelCalls | LimitKind::Iterations);
        let text = counted(log.limit.as_ref().filter(|_| counts)?, reached.reached, Some(reached.max));
        Some(LogLine { level: LogLevel::Warning, text })
    } else {
        None
    }
}

/// A template with a count and its limit; without a limit the place for it goes, with the stroke before it.
fn counted(template: &str, i: u64, max: Option<u64>) -> String {
    let (i, max) = (i.to_string(), max.map(|max| max.to_string()));
    match max {
        Some(max) => filled(template, &[("i", &i), ("max", &max)]),
        None => filled(&template.replace("/{max}", ""), &[("i", &i), ("max", "")]),
    }
}

/// A template with a call.
fn called(state: &State, template: &str, call: &CallId) -> Option<String> {
    let open = state.open_call(call)?;
    Some(filled(template, &[("tool", &open.call.name), ("id", call.as_str())]))
}

/// Messages that a run has ended without having heard, with the beginning of each; `None`: there is none.
pub fn not_heard(state: &State) -> Option<String> {
    let messages = state.unheard();
    if messages.is_empty() {
        return None;
    }
    let begins = |message: &Steered| {
        let line = message.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let begin: String = line.chars().take(UNHEARD_CHARS).collect();
        if begin.len() < line.len() { format!("\"{begin}…\"") } else { format!("\"{begin}\"") }
    };
    let excerpts: Vec<String> = messages.iter().take(UNHEARD).map(begins).collect();
    let more = messages.len().saturating_sub(UNHEARD);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!("The run ended before it could hear what was said last: {}{more}", excerpts.join(", ")))
}
