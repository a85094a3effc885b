//! JSON forms: one object each, with a `type`.
//!
//! These are the objects of `--json`, of exports and of servers. Fields are only added, never renamed or removed.
//!
//! ```
//! use windlass_read::json;
//! # use windlass_core::{Event, Fact};
//! # use windlass_core::event::CancelRequested;
//!
//! let event = Event { at: 7, fact: Fact::from(CancelRequested { reason: Some("enough".into()) }) };
//! assert_eq!(
//!     json::event(3, &event).to_string(),
//!     r#"{"type":"event","seq":3,"at":7,"event":"CancelRequested","data":{"reason":"enough"}}"#
//! );
//! ```

mod question;
pub(crate) mod stored;

use serde_json::{Value, json};
use windlass_core::event::LimitReached;
use windlass_core::run::OpenQuestion;
use windlass_core::tool::Effect;
use windlass_core::{Event, RunId, RunState, State};
use windlass_store::Pruned;

use crate::compat::kaos::SessionStats;
use crate::exchange::Imported;
use crate::reports::{
    Artifact, CallCost, CallEffects, ComparedRun, Comparison, Cost, EffectStep, FamilyRun, Member, Receipt,
    Replayed, RunCosts, Session, Settlement, TaskCost, total_cost,
};
use crate::timeline::{HostedUse, Wait, WaitOn};
pub use question::question_digest;
pub use stored::{data, display_state, event, failed_reply, listed_state, summary};

/// The state of a run (`run`).
pub fn run(state: &State) -> Value {
    let counters = state.counters();
    let ended = state.ended();
    json!({
        "type": "run",
        "run": state.run(),
        "status": state.run_state().to_string(),
        "agent": state.agent(),
        "session": state.session(),
        "text": ended.and_then(|end| end.text.as_deref()),
        "output": ended.and_then(|end| end.output.as_ref()),
        "sources": state.answer_annotations().map(|all| all.sources()).unwrap_or_default(),
        "error": ended.and_then(|end| end.error.as_deref()),
        "usage": state.usage(),
        "cost_usd": state.cost().map(|pico| pico as f64 / 1e12),
        "limit": state.cut_by().map(limit),
        "overshoots": overshoots(state),
        "model_calls": counters.model_calls,
        "tool_calls": counters.tool_calls,
        "questions": state.questions().iter().map(|asked| question(state, asked)).collect::<Vec<_>>(),
        "quota_wait": state.quota_wait(),
    })
}

/// The limit that cut a run, in written units.
fn limit(reached: &LimitReached) -> Value {
    let written = |kept: u64| kept as f64 / reached.limit.scale();
    json!({ "limit": reached.limit, "max": written(reached.max), "reached": written(reached.reached) })
}

/// Limits on tokens or cost that were exceeded, in written units.
fn overshoots(state: &State) -> Vec<Value> {
    let exceeded = state.overshoots().map(|(kind, max, used)| {
        let written = |kept: u64| kept as f64 / kind.scale();
        json!({ "limit": kind, "max": written(max), "used": written(used) })
    });
    exceeded.collect()
}

/// A question of a run that waits for its answer. `asked_by` is there where an agent below asks.
pub fn question(state: &State, question: &OpenQuestion) -> Value {
    let mut value = json!({
        "id": question.id,
        "digest": question_digest(question),
        "kind": question.kind.name(),
        "call": question.call,
        "text": question.text,
        "suggestions": question.suggestions,
        "expects": question.kind.expects(),
    });
    if let (Some(agent), Some(fields)) = (state.asked_by(question), value.as_object_mut()) {
        fields.insert("asked_by".to_owned(), json!(agent));
    }
    value
}

/// The artifacts of a run (`artifacts`): each with its digest, size, and what it is.
pub fn artifacts(all: &[Artifact]) -> Value {
    json!({ "type": "artifacts", "items": all })
}

/// A wait (`wait`): its kind is `model`, `tool`, `agent`, `rate_limit`, `quota`, `retry` or `person`.
pub fn wait(wait: &Wait) -> Value {
    let (model, call, question) = match &wait.on {
        WaitOn::Model { ask, name } | WaitOn::Retry { ask, name, .. } => {
            (Some(name), ask.about.as_ref(), None)
        }
        WaitOn::Tool(call)
        | WaitOn::Check(call)
        | WaitOn::ToolRetry { call, .. }
        | WaitOn::Agent { call, .. } => (None, Some(call), None),
        WaitOn::AgentQuota { call, model, .. } => (Some(model), Some(call), None),
        WaitOn::Person { question, call } => (None, call.as_ref(), Some(question)),
    };
    json!({
        "type": "wait",
        "kind": wait.on.kind().name(),
        "model": model,
        "call": call,
        "question": question,
        "since": wait.since,
        "until": wait.on.until(),
        "ended": wait.ended,
    })
}

/// A member of a run's family: the run as in a listing, or its task (`task`), with its `depth`.
pub fn member(member: &Member) -> Value {
    let mut value = match &member.run {
        FamilyRun::Here(line) => summary(line),
        FamilyRun::Elsewhere(task) => json!({
            "type": "task",
            "run": task.run,
            "agent": task.agent,
            "call": task.call,
            "started_at": task.began,
            "ended_at": task.ended,
            "outcome": task.outcome,
            "usage": task.usage,
            "cost_usd": task.pico_usd.map(|pico| pico as f64 / 1e12),
        }),
    };
    if let Some(fields) = value.as_object_mut() {
        fields.insert("depth".to_owned(), json!(member.depth));
    }
    value
}

/// A conversation (`session`).
pub fn session(session: &Session) -> Value {
    json!({
        "type": "session",
        "session_id": session.id,
        "agent": session.newest.agent,
        "runs": session.runs,
        "started_at": session.first.started_at,
        "updated_at": session.newest.updated_at,
        "last_run": session.newest.run,
        "title": session.first.title,
        "held": session.held,
    })
}

/// The size of the bounded memory (`stats`).
pub fn session_stats(stats: &SessionStats) -> Value {
    json!({
        "type": "stats",
        "total_sessions": stats.sessions,
        "total_events": stats.events,
        "avg_events_per_session": stats.average(),
        "dropped_sessions": stats.dropped,
    })
}

/// The effects of one call of a run (`call`).
pub fn call_effects(run: RunId, call: &CallEffects) -> Value {
    let entries = |fitting: fn(&EffectStep) -> Option<Value>| -> Vec<Value> {
        let found = call.entries.iter().filter_map(|entry| {
            let mut value = fitting(&entry.what)?;
            if let Some(fields) = value.as_object_mut() {
                fields.insert("seq".to_owned(), json!(entry.seq));
                fields.insert("at".to_owned(), json!(entry.at));
            }
            Some(value)
        });
        found.collect()
    };
    let intent = |step: &EffectStep| {
        if let EffectStep::Intent { attempt } = step { Some(json!({ "attempt": attempt })) } else { None }
    };
    let receipt = |step: &EffectStep| match step {
        EffectStep::Failed(outcome) => Some(json!({ "outcome": outcome, "tried_again": true })),
        EffectStep::Receipt(outcome) => Some(json!({ "outcome": outcome, "tried_again": false })),
        EffectStep::Intent { .. } | EffectStep::Doubt(_) | EffectStep::Asked(_) | EffectStep::Settled(_) => {
            None
        }
    };
    let doubts = call.doubts().into_iter();
    let doubts = doubts.map(|(seq, settled)| json!({ "seq": seq, "settled": settled.map(Settlement::name) }));
    json!({
        "type": "call",
        "run": run,
        "call": call.call,
        "tool": call.tool,
        "effect": effect(call.effect),
        "key": call.key,
        "args": call.args,
        "attempts": call.attempts(),
        "intents": entries(intent),
        "receipts": entries(receipt),
        "doubts": doubts.collect::<Vec<_>>(),
        "ended": call.receipt().is_some(),
    })
}

/// A declared effect as agent files write it; `unknown` where the run has no such tool any more.
pub fn effect(effect: Option<Effect>) -> &'static str {
    match effect {
        Some(Effect::ReadOnly) => "read_only",
        Some(Effect::Idempotent) => "idempotent",
        Some(Effect::Once) => "once",
        None => "unknown",
    }
}

/// The receipts of a run: one object each, in their order.
pub fn receipts(receipts: &[Receipt]) -> Value {
    json!(receipts)
}

/// The result of a replay (`replay`).
pub fn replayed(run: RunId, replayed: &Replayed) -> Value {
    let difference = replayed.difference.as_ref().map(|difference| {
        let form = |side: &Option<Event>| side.as_ref().map(|side| event(difference.seq, side));
        json!({
            "seq": difference.seq,
            "expected": form(&difference.expected),
            "found": form(&difference.found),
            "reason": difference.reason,
        })
    });
    json!({
        "type": "replay",
        "run": run,
        "same": difference.is_none(),
        "appends": replayed.appends,
        "events": replayed.events,
        "difference": difference,
    })
}

/// Two runs compared (`diff`): how many events they share, and the rest of each.
pub fn comparison(comparison: &Comparison) -> Value {
    let side = |compared: &ComparedRun| {
        let rest = compared.events.iter().skip(comparison.common);
        json!({
            "run": compared.run,
            "status": compared.status.map_or_else(|| "not ended".to_owned(), |status| status.to_string()),
            "events": rest.map(|placed| {
                let mut event = event(placed.seq, &placed.event);
                if let Some(fields) = event.as_object_mut() {
                    fields.insert("run".to_owned(), json!(placed.run));
                }
                event
            }).collect::<Vec<_>>(),
        })
    };
    json!({ "type": "diff", "common": comparison.common, "a": side(&comparison.a), "b": side(&comparison.b) })
}

/// The costs of a run and of the runs that did its tasks (`costs`).
pub fn costs(family: &[RunCosts]) -> Value {
    json!({
        "type": "costs",
        "run": family.first().map(|first| first.run),
        "runs": family.iter().map(run_costs).collect::<Vec<_>>(),
        "total": cost(&total_cost(family)),
    })
}

fn run_costs(run: &RunCosts) -> Value {
    let hosted = |hosted: &HostedUse| {
        let cost_usd = hosted.pico_usd.map(|pico| pico as f64 / 1e12);
        json!({ "tool": hosted.tool, "uses": hosted.uses, "cost_usd": cost_usd })
    };
    let call = |call: &CallCost| {
        json!({
            "seq": call.seq,
            "turn": call.turn,
            "purpose": call.purpose,
            "model": call.model,
            "usage": call.usage,
            "cost_usd": call.cost().usd(),
            "hosted": call.hosted.iter().map(hosted).collect::<Vec<_>>(),
            "cache_saved_usd": call.saved.map(|pico| pico as f64 / 1e12),
            "failed": call.failed,
        })
    };
    let task = |task: &TaskCost| {
        let TaskCost { call, agent, run, returned } = task;
        let (usage, usd) = (returned.usage, returned.usd());
        json!({ "call": call, "agent": agent, "run": run, "usage": usage, "cost_usd": usd })
    };
    json!({
        "run": run.run,
        "agent": run.agent,
        "depth": run.depth,
        "calls": run.calls.iter().map(call).collect::<Vec<_>>(),
        "elsewhere": run.elsewhere.iter().map(task).collect::<Vec<_>>(),
        "total": cost(&run.total()),
        "cache_saved_usd": run.saved_usd(),
        "prefix_breaks": run.breaks,
    })
}

/// A sum; `cost_usd` is null where a price is unknown, and `known_cost_usd` is the cost of the rest.
pub fn cost(cost: &Cost) -> Value {
    json!({
        "model_calls": cost.calls,
        "usage": cost.usage,
        "cost_usd": cost.usd(),
        "known_cost_usd": cost.known_usd(),
        "unpriced_tokens": cost.unpriced,
    })
}

/// A run that was imported (`imported`).
pub fn imported(imported: &Imported) -> Value {
    let state = &imported.state;
    json!({
        "type": "imported",
        "run": state.run(),
        "events": state.version(),
        "written": imported.written,
        "status": match state.run_state() {
            RunState::Running => "interrupted".to_owned(),
            run_state @ (RunState::Suspended | RunState::Ended(_)) => run_state.to_string(),
        },
        "unlike": imported.unlike,
    })
}

/// The runs that were taken out of a log: one `pruned` object each, then `sums`.
pub fn pruned(pruned: &Pruned, dry_run: bool) -> Vec<Value> {
    let runs = pruned.runs.iter().map(|run| json!({ "type": "pruned", "run": run, "dry_run": dry_run }));
    let sums = json!({
        "type": "sums", "runs": pruned.runs.len(), "kept": pruned.kept, "payloads": pruned.payloads.payloads,
        "payload_bytes": pruned.payloads.bytes, "dry_run": dry_run,
    });
    runs.chain([sums]).collect()
}
