//! The gate: which calls are sound, and which of them may run without a person.

use windlass_text::display::{display_name, display_value};
use windlass_text::find::nearest::Comparing;

use crate::codec::args::check_args_within;
use crate::machine::decision::Decision;
use crate::protocol::fact::InputRequested;
use crate::protocol::fact::calls::{CallDecided, CallHeld, Decision as Verdict};
use crate::state::State;
use crate::state::approval::Gate;
use crate::state::open_call::{OpenCall, Stage};
use crate::vocabulary::ids::Text;
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::message::CallTarget;
use crate::vocabulary::outcome::{CallOutcome, DeniedBy};
use crate::vocabulary::question::QuestionKind;
use crate::vocabulary::tool::{ToolKind, ToolSpec};

impl Decision {
    /// Error of a call that is invalid under any policy.
    pub(crate) fn fault(&self, open: &OpenCall, comparing: &mut Comparing) -> Option<CallOutcome> {
        let state = &self.state;
        if let Some(fault) = &open.call.fault {
            return Some(CallOutcome::Malformed { message: fault.clone() });
        }
        let delegates = |tool: &&ToolSpec| tool.kind == ToolKind::Delegate;
        let known = |tool: &&ToolSpec| tool.is_known();
        if open.call.target == CallTarget::Agent {
            // KAOS names all agents, not the nearest ones.
            return match state.tool(&open.call.name).filter(delegates).filter(known) {
                Some(_) => None,
                None => Some(CallOutcome::UnknownTool {
                    nearest: state
                        .toolbox
                        .all()
                        .iter()
                        .filter(delegates)
                        .filter(known)
                        .map(|tool| tool.name.clone())
                        .collect(),
                }),
            };
        }
        // An agent that could not be reached is tried again at its next use (K20).
        let callable =
            |tool: &&ToolSpec| known(tool) && (open.origin().code().is_none() || tool.is_function());
        let Some(tool) = state.tool(&open.call.name).filter(callable) else {
            return Some(CallOutcome::UnknownTool { nearest: near(state, &open.call.name, comparing) });
        };
        if matches!(tool.kind, ToolKind::Finish(_)) {
            return None;
        }
        let check = |tool, args| check_args_within(tool, args, &self.checks);
        let checked = if open.reaches() {
            let own = check(tool, &open.call.args);
            own.and_then(|own| state.target(open).map_or(Ok(own), |target| check(target, open.args())))
        } else {
            // Those of a run from elsewhere may have been edited there.
            check(tool, open.args())
        };
        checked.err().map(|message| CallOutcome::Malformed { message: message.into() })
    }

    /// Lets a sound call through the gate. Says whether it is sure to run.
    pub(crate) fn admit(&mut self, open: &OpenCall) -> bool {
        if self.stops_repeating(open) {
            return false;
        }
        let id = open.call.id.clone();
        let (name, own) = (open.target_name(), &open.call.name);
        let policy = self.state.setup.policy().clone();
        if let Some(pattern) = policy.denied(name).or_else(|| policy.denied(own)) {
            self.record(CallDecided {
                call: id.clone(),
                decision: Verdict::Forbidden { pattern: pattern.clone() },
            });
            let reason = (**pattern != **name).then(|| pattern.clone());
            self.finish_call(id, CallOutcome::Denied { reason, by: DeniedBy::Policy });
            return false;
        }
        let version = self.state.version;
        if self.is_to_be_verified(open) {
            return false;
        }
        if self.state.version == version {
            return self.approve(open);
        }
        // A verdict that needed no call may have refused it.
        let Some(open) = self.state.open_call(&id).cloned() else { return false };
        !matches!(open.stage(), Stage::Done(_)) && self.approve(&open)
    }

    /// The gate's last door: a person, where the policy or the tool wants one. Says whether the call is sure to run.
    pub(crate) fn approve(&mut self, open: &OpenCall) -> bool {
        let (id, policy) = (open.call.id.clone(), self.state.setup.policy().clone());
        let (name, own) = (open.target_name(), &open.call.name);
        let Some(tool) = self.state.target(open) else { return false };
        let by_rule = tool.approve || policy.approves_effect_of(tool);
        let (kind, approve) = (tool.kind, by_rule || policy.wants_approval(own));
        if kind == ToolKind::Ask {
            self.ask_person(open);
            return true;
        }
        // Else it stays queued, and starts as soon as there is room.
        if matches!(kind, ToolKind::Finish(_)) || !(approve || policy.wants_approval(name)) {
            return true;
        }
        let allowed = self.state.allows(open);
        if allowed {
            self.record(CallDecided { call: id, decision: Verdict::Allowed });
        } else {
            self.hold(open);
        }
        allowed
    }

    /// Skips a call that was repeated too often, whatever its fate would be. Returns whether it did.
    pub(crate) fn stops_repeating(&mut self, open: &OpenCall) -> bool {
        let stops = self
            .state
            .setup
            .policy()
            .calls
            .repetition
            .watched()
            .is_some_and(|repetition| open.repeat() >= repetition.stop_at);
        if stops {
            let reason = format!("the same call came {} times in a row", open.repeat());
            self.skip(open.call.id.clone(), &reason, Some(LimitKind::Repetition));
        }
        stops
    }

    pub(crate) fn ask_person(&mut self, open: &OpenCall) {
        let args = open.value();
        let text = args.get("question").and_then(|question| question.as_str()).unwrap_or("");
        let suggestions = args.get("suggestions").and_then(|list| list.as_array()).into_iter().flatten();
        let question = self.next_question();
        self.record(InputRequested {
            question,
            kind: QuestionKind::Clarify,
            call: Some(open.call.id.clone()),
            text: text.into(),
            suggestions: suggestions.filter_map(|item| item.as_str().map(Text::from)).collect(),
            child_question: None,
            next: None,
        });
    }

    pub(crate) fn hold(&mut self, open: &OpenCall) {
        let call = open.call.id.clone();
        let gate = self.state.gate(open);
        let text = approval_text(open, &gate).into();
        self.record(CallHeld { call: call.clone(), digest: gate.into_digest() });
        let question = self.next_question();
        let (kind, call, suggestions) = (QuestionKind::Approval, Some(call), Vec::new());
        self.record(InputRequested {
            question,
            kind,
            call,
            text,
            suggestions,
            child_question: None,
            next: None,
        });
    }
}

/// A call as people see it: its id tells it from an equal one.
pub(crate) fn display_call(open: &OpenCall) -> String {
    format!("call {}", display_name(open.call.id.as_str()))
}

/// The question whether a call may run. Asked again, it says why.
fn approval_text(open: &OpenCall, gate: &Gate) -> String {
    let (tool, args, call) =
        (display_name(open.target_name()), display_value(&open.value()), display_call(open));
    let text = format!("May `{tool}` run with {args}? ({call})");
    let Some(before) = open.asked_with() else { return text };
    let changes = before.changes(gate);
    let what = if changes.is_empty() { "what it would do".to_owned() } else { changes.join(", ") };
    format!("{text} You are asked again, because this has changed since: {what}.")
}

/// The offered tools whose names come nearest.
pub(crate) fn near(state: &State, name: &str, comparing: &mut Comparing) -> Vec<Text> {
    let offered = state.toolbox.all().iter().filter(|tool| tool.is_offered()).map(|tool| &*tool.name);
    comparing.nearest_or_any(name, offered).into_iter().map(Into::into).collect()
}
