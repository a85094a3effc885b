//! `pending`: the whole set of work that should be going on now.

use crate::protocol::action::{Action, ActionKind};
use crate::protocol::fact::calls::TaskOrder;
use crate::state::open_call::{Asked, Stage};
use crate::state::{Phase, State};
use crate::vocabulary::limit::LimitKind;

/// The whole set of work that should be going on now, in order. What runs and is not in it must be stopped.
pub fn pending(state: &State) -> Vec<Action> {
    let mut actions = Vec::new();
    if state.is_finished() {
        return actions;
    }
    if state.stopping() {
        return stops(state).collect();
    }
    let mut add = |seq, work| actions.push(Action { id: state.action(seq), work });
    for model_call in state.model_calls.iter() {
        let call = ActionKind::CallModel { purpose: model_call.purpose() };
        add(model_call.seq(), model_call.retry_at().map_or(call, |at| ActionKind::SetTimer { at }));
    }
    match &state.phase {
        Phase::Acting(calls) => {
            for open in calls {
                let call = open.call.id.clone();
                match open.stage() {
                    Stage::Running { seq } => {
                        add(*seq, ActionKind::RunTool { call, attempt: open.attempt() });
                    }
                    Stage::Coding { seq } => add(*seq, ActionKind::RunCode { call }),
                    Stage::Delegated { seq, run, order } => {
                        add(*seq, ActionKind::Delegate { call, run: *run, order: order.clone() });
                    }
                    Stage::Retrying { seq, at } | Stage::DelegateDeferred { seq, until: at, .. } => {
                        add(*seq, ActionKind::SetTimer { at: *at });
                    }
                    Stage::Doubted { seq, asked: Asked::Tool, .. } => {
                        add(*seq, ActionKind::CheckCall { call });
                    }
                    Stage::Queued
                    | Stage::Verifying
                    | Stage::Held { .. }
                    | Stage::Asking
                    | Stage::CodeWaits
                    | Stage::DelegateAsks { .. }
                    | Stage::Doubted { asked: Asked::Person, .. }
                    | Stage::Done(_) => {}
                }
            }
        }
        Phase::Stepping { seq } => add(*seq, ActionKind::RunHook),
        Phase::New | Phase::Between | Phase::Asking | Phase::Ended(_) => {}
    }
    for question in state.questions.open() {
        let seq = match state.questions.paused() {
            _ if !question.is_pause() => question.seq(),
            // Whether to go on is asked once the pause has taken effect.
            Some(paused) => paused.seq(),
            None => continue,
        };
        add(seq, ActionKind::Ask { question: question.id.clone() });
    }
    let overtime = state.ending.closing().filter(|closing| closing.reached().limit == LimitKind::Seconds);
    match (overtime, state.alarm()) {
        // A closing call after the deadline has the grace to end.
        (Some(closing), _) if state.phase == Phase::Asking => {
            let at = closing.at().saturating_add(state.setup.policy().bounds.grace_ms);
            add(closing.seq(), ActionKind::SetTimer { at });
        }
        (None, Some(at)) => add(state.clock.deadline_seq(), ActionKind::SetTimer { at }),
        (Some(_), _) | (None, None) => {}
    }
    actions
}

/// The actions of a run that is being stopped: child runs without a driver are ended, so that none stays open and all their
/// usage is counted.
fn stops(state: &State) -> impl Iterator<Item = Action> {
    state.open_calls().filter_map(|open| {
        let Stage::Delegated { seq, run, order: TaskOrder::Stop } = open.stage() else { return None };
        let work = ActionKind::Delegate { call: open.call.id.clone(), run: *run, order: TaskOrder::Stop };
        Some(Action { id: state.action(*seq), work })
    })
}
