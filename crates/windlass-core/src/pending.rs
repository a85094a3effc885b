//! `pending`: the whole set of work that should be going on now.

use crate::action::{Action, ActionKind};
use crate::open_call::Stage;
use crate::policy::LimitKind;
use crate::state::{Phase, State};

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
    match &state.phase {
        Phase::Calling(calling) => add(calling.seq, ActionKind::CallModel { purpose: calling.purpose }),
        Phase::Waiting { seq, at, .. } => add(*seq, ActionKind::SetTimer { at: *at }),
        Phase::Acting(calls) => {
            for open in calls {
                let call = open.call.id.clone();
                match &open.stage {
                    Stage::Running { seq } => add(*seq, ActionKind::RunTool { call, attempt: open.attempt }),
                    Stage::Delegated { seq, run, answer, stop } => {
                        let answer = answer.clone();
                        add(*seq, ActionKind::Delegate { call, run: *run, answer, stop: *stop });
                    }
                    Stage::Retrying { seq, at } => add(*seq, ActionKind::SetTimer { at: *at }),
                    Stage::Doubted { seq, asked: false } => add(*seq, ActionKind::CheckCall { call }),
                    Stage::Queued
                    | Stage::Held { .. }
                    | Stage::Asking
                    | Stage::DelegateAsks { .. }
                    | Stage::Doubted { asked: true, .. }
                    | Stage::Done(_) => {}
                }
            }
        }
        Phase::Stepping { seq } => add(*seq, ActionKind::RunHook),
        Phase::New | Phase::Between | Phase::Ended(_) => {}
    }
    for question in &state.questions.open {
        add(question.seq, ActionKind::Ask { question: question.id.clone() });
    }
    match (state.ending.closing(), state.deadline()) {
        (Some(closing), _) if closing.reached.limit == LimitKind::Seconds => {
            // A closing call after the deadline has the grace to end.
            if matches!(state.phase, Phase::Calling(_) | Phase::Waiting { .. }) {
                add(
                    closing.seq,
                    ActionKind::SetTimer {
                        at: closing.at.saturating_add(state.setup.policy.bounds.grace_ms),
                    },
                );
            }
        }
        (_, Some(at)) => add(state.clock.deadline_seq, ActionKind::SetTimer { at }),
        _ => {}
    }
    actions
}

/// What a run that is being stopped wants: the runs of other agents that nobody works on any more are brought to their
/// end, so that none stays open and all that they used is counted (E19, E41).
fn stops(state: &State) -> impl Iterator<Item = Action> {
    state.open_calls().filter_map(|open| match &open.stage {
        Stage::Delegated { seq, run, stop: true, .. } => {
            let work =
                ActionKind::Delegate { call: open.call.id.clone(), run: *run, answer: None, stop: true };
            Some(Action { id: state.action(*seq), work })
        }
        _ => None,
    })
}
