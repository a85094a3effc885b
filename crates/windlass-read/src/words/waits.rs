//! Waits in words.

use windlass_core::event::Millis;
use windlass_core::model::{FailureKind, Purpose};

use super::{count, name, span};
use crate::timeline::{Wait, WaitOn, Waits};

/// Maximum number of tools that are named.
const NAMES: usize = 3;

/// The waits of a run at that time; `doing` is added to the model that speaks. `None`: it waits for nothing.
pub fn waiting(waits: &Waits, now: Millis, doing: &str) -> Option<String> {
    let speaking = waits.speaking().map(|wait| wait.number);
    let in_words = |wait: &Wait| {
        let doing = if Some(wait.number) == speaking { doing } else { "" };
        other(waits, wait, now).map(|words| words + doing)
    };
    let mut words: Vec<String> = waits.open().iter().filter_map(in_words).collect();
    let tools: Vec<String> = waits.open().iter().filter_map(|wait| tool(waits, wait)).collect();
    if !tools.is_empty() {
        let more = tools.len().saturating_sub(NAMES);
        let noun = if tools.len() == 1 { "tool" } else { "tools" };
        let more = if more > 0 { format!(" and {}", count(more as u64, "more")) } else { String::new() };
        let names: Vec<String> = tools.into_iter().take(NAMES).collect();
        words.push(format!("{noun} {}{more}", names.join(", ")));
    }
    (!words.is_empty()).then(|| words.join("; "))
}

/// The name of a tool that is running.
fn tool(waits: &Waits, wait: &Wait) -> Option<String> {
    if let WaitOn::Tool(call) = &wait.on { Some(format!("`{}`", name(waits.called(call)))) } else { None }
}

/// A wait for anything but a tool that is running.
fn other(waits: &Waits, wait: &Wait, now: Millis) -> Option<String> {
    let next = |at: Millis| format!("next try in {}", span(at.saturating_sub(now) / 1_000 * 1_000));
    Some(match &wait.on {
        WaitOn::Tool(_) => return None,
        WaitOn::Model { ask, name: model } => {
            let why = match ask.purpose {
                Purpose::Act | Purpose::Merge => "",
                Purpose::Summarise => " for a summary",
                Purpose::Verify => " to judge a call",
                Purpose::Judge => " to judge the answer",
                Purpose::Perceive => " to perceive",
                Purpose::Decide => " to decide",
            };
            format!("model {}{why}", name(model))
        }
        WaitOn::Retry { name: model, failure: FailureKind::RateLimited, at, .. }
        | WaitOn::AgentQuota { model, at, .. } => {
            format!("the quota of model {} ({})", name(model), next(*at))
        }
        WaitOn::Retry { name: model, at, .. } => format!("model {} ({})", name(model), next(*at)),
        WaitOn::Check(call) => format!("the check of tool `{}`", name(waits.called(call))),
        WaitOn::ToolRetry { call, at } => format!("tool `{}` ({})", name(waits.called(call)), next(*at)),
        WaitOn::Agent { name: agent, .. } => format!("agent `{}`", name(agent)),
        WaitOn::Person { question, .. } => format!("an answer to {question}"),
    })
}
