//! The log lines of a preset, as a pure function of its events.

use crate::event::{Event, Fact, Purpose};
use crate::outcome::Status;
use crate::policy::LimitKind;
use crate::state::State;

/// A line for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Whether it is a warning.
    pub warning: bool,
    /// The line.
    pub text: String,
}

/// The warning where the usage that an event brought goes beyond a limit on tokens or cost.
pub fn overshot(before: &State, after: &State) -> Option<LogLine> {
    let known = |kind| before.overshoots().any(|(other, ..)| other == kind);
    let fresh = after.overshoots().filter(|(kind, ..)| !known(*kind));
    let said = fresh.map(|(kind, max, used)| {
        format!("{} of {} {} are used", kind.show(used), kind.show(max), kind.name())
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty())
        .then(|| LogLine { warning: true, text: format!("The limit was overshot: {}", said.join(", ")) })
}

/// What the preset logs about an event; `state` is the state after it.
pub fn narrate(state: &State, event: &Event) -> Option<LogLine> {
    let log = &state.policy().texts.log;
    let (template, warning) = match &event.fact {
        Fact::TurnStarted(turn)
            if turn.purpose == Purpose::Act
                && turn.attempt == 1
                && turn.model == 0
                && !turn.again
                && state.ending.closing().is_none() =>
        {
            (log.turn.as_ref()?, false)
        }
        Fact::TurnCompleted(turn) if !turn.calls.is_empty() && state.ending.closing().is_none() => {
            let text = log.calls.as_ref()?.replace("{k}", &turn.calls.len().to_string());
            return Some(LogLine { warning: false, text });
        }
        Fact::RunEnded(end) if end.status == Status::Answered => (log.answer.as_ref()?, false),
        Fact::LimitReached(reached) if reached.limit == LimitKind::ModelCalls => (log.limit.as_ref()?, true),
        _ => return None,
    };
    let mut text = template.replace("{i}", &(state.counters().model_calls + 1).to_string());
    if text.contains("{max}") {
        text = match state.policy().limit(LimitKind::ModelCalls) {
            Some(max) => text.replace("{max}", &max.to_string()),
            None => text.replace("/{max}", "").replace("{max}", ""),
        };
    }
    Some(LogLine { warning, text })
}
