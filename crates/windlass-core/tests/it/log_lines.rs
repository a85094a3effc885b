//! L8: the lines that the chat loop logs, from its events alone.

use std::sync::Arc;

use windlass_core::model::{FailureKind, ModelFailure, Usage};
use windlass_core::policy::{AtLimit, LimitKind, Preset};
use windlass_core::run::{LogLevel, log_line};
use windlass_core::{ActionKind, CallOutcome, Input, InputKind, Policy, State, accept, evolve, pending};

use crate::environment;

/// Runs a policy against a model that calls a tool `calls` times and then answers; gives the lines.
fn lines(policy: Policy, calls: usize, fails_first: bool) -> Vec<String> {
    let tools = Arc::new(environment::tools());
    let mut inputs = vec![environment::start(policy, &tools)];
    let mut state = State::new(environment::run_id());
    let mut lines = Vec::new();
    let (mut asked, mut failed) = (0, false);
    while let Some(input) = inputs.pop() {
        for event in accept(&state, input).unwrap() {
            state = evolve(state, &event);
            lines.extend(log_line(&state, &event).map(|line| {
                format!("{}{}", if line.level == LogLevel::Warning { "warning: " } else { "" }, line.text)
            }));
        }
        let Some(action) = pending(&state).into_iter().next() else { continue };
        let id = action.id;
        let what = match action.work {
            ActionKind::CallModel { .. } if fails_first && !failed => {
                failed = true;
                let failure = ModelFailure {
                    status: Some(503),
                    retry_after_ms: Some(0),
                    ..ModelFailure::new(FailureKind::Overloaded, "busy", "m1")
                };
                InputKind::ModelFailed { action: id, failure: Box::new(failure), jitter: 0 }
            }
            ActionKind::CallModel { .. } => {
                let args = format!("{{\"n\":{asked}}}");
                let wanted = vec![("read", args.as_str(), None), ("put", args.as_str(), None)];
                let wanted = if asked < calls { wanted } else { Vec::new() };
                asked += 1;
                let reply = environment::reply(Some("Hi."), wanted, Usage::default());
                InputKind::replied(id, reply)
            }
            ActionKind::RunTool { .. } => {
                InputKind::CallEnded { action: id, outcome: CallOutcome::Ok { content: "done".into() } }
            }
            other => panic!("nobody asked for {other:?}"),
        };
        inputs.push(Input { at: environment::BEGINNING, what });
    }
    lines
}

fn chat() -> Policy {
    Preset::CHAT.policy()
}

#[test]
fn two_iterations() {
    assert_eq!(
        lines(chat(), 1, false),
        [
            "Agentic iteration 1/10",
            "Executing 2 tool call(s)",
            "Agentic iteration 2/10",
            "Final response received (no tool calls)"
        ]
    );
}

#[test]
fn a_retry_of_the_transport_is_no_iteration() {
    assert_eq!(lines(chat(), 0, true), ["Agentic iteration 1/10", "Final response received (no tool calls)"]);
}

#[test]
fn the_limit_is_a_warning() {
    let mut policy = chat();
    policy.bounds.limits.get_mut(&LimitKind::ModelCalls).unwrap().max = 1;
    let warning = "warning: Max agentic iterations reached without final response";
    assert_eq!(
        lines(policy.clone(), 5, false),
        ["Agentic iteration 1/1", "Executing 2 tool call(s)", warning]
    );
    policy.bounds.at_limit = AtLimit::WrapUp;
    assert_eq!(lines(policy, 5, false), ["Agentic iteration 1/1", "Executing 2 tool call(s)", warning]);
}

#[test]
fn without_a_limit_there_is_no_number() {
    let mut policy = chat();
    policy.bounds.limits.clear();
    assert_eq!(lines(policy, 0, false), ["Agentic iteration 1", "Final response received (no tool calls)"]);
}
