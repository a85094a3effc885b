//! The log lines of a preset, as a pure function of its events.

use crate::event::{Event, Fact, Purpose};
use crate::outcome::Status;
use crate::policy::LimitKind;
use crate::state::State;

/// A line for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Severity.
    pub level: LogLevel,
    /// The line.
    pub text: String,
}

/// The level of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// The run goes its way.
    Info,
    /// Something was cut short.
    Warning,
    /// More was used than a limit allows.
    Overshot,
}

/// The warning where the usage that an event brought goes beyond a limit on tokens or cost.
pub fn overshot(before: &State, after: &State) -> Option<LogLine> {
    let known = |kind| before.overshoots().any(|(other, ..)| other == kind);
    let fresh = after.overshoots().filter(|(kind, ..)| !known(*kind));
    let said = fresh.map(|(kind, max, used)| format!("{} of {} are used", kind.amount(used), kind.show(max)));
    let said: Vec<String> = said.collect();
    // Each append comes here.
    if said.is_empty() {
        return None;
    }
    let text = format!("A limit was overshot: {}", said.join(", "));
    Some(LogLine { level: LogLevel::Overshot, text })
}

/// The preset's log line about an event; `state` is the state after it.
pub fn narrate(state: &State, event: &Event) -> Option<LogLine> {
    let log = &state.policy().wording.log;
    let closing = state.ending.closing().is_some();
    let mut level = LogLevel::Info;
    let template = if let Fact::TurnStarted(turn) = &event.fact {
        let first = turn.attempt == 1 && turn.model == 0 && !turn.again;
        log.turn.as_ref().filter(|_| turn.purpose == Purpose::Act && first && !closing)?
    } else if let Fact::TurnCompleted(turn) = &event.fact {
        let template = log.calls.as_ref().filter(|_| !turn.calls.is_empty() && !closing)?;
        return Some(LogLine { level, text: template.replace("{k}", &turn.calls.len().to_string()) });
    } else if let Fact::RunEnded(end) = &event.fact {
        log.answer.as_ref().filter(|_| end.status == Status::Answered)?
    } else if let Fact::LimitReached(reached) = &event.fact {
        level = LogLevel::Warning;
        log.limit.as_ref().filter(|_| reached.limit == LimitKind::ModelCalls)?
    } else {
        return None;
    };
    let mut text = template.replace("{i}", &(state.counters().model_calls + 1).to_string());
    if text.contains("{max}") {
        text = match state.policy().limit(LimitKind::ModelCalls) {
            Some(max) => text.replace("{max}", &max.to_string()),
            None => text.replace("/{max}", "").replace("{max}", ""),
        };
    }
    Some(LogLine { level, text })
}
