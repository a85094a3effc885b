//! E58 for tools: one tool that a provider refuses does not end the run, which goes on without it.

use std::sync::Arc;

use windlass_core::event::{Adjusted, ModelFact, RefusedTool, RunFact};
use windlass_core::message::Content;
use windlass_core::model::{FailureDetail, FailureKind, ModelFailure, Refusal};
use windlass_core::{ActionId, Fact, InputKind, Status};

use super::{Talk, chat, images};
use crate::environment;

const REFUSED: &str = "tool `read` is refused: tools.0.input_schema: bad";

fn refuse(talk: &mut Talk, tool: &str) -> ActionId {
    let action = talk.asked().unwrap();
    let failure = ModelFailure {
        status: Some(400),
        detail: Some(Box::new(FailureDetail { tool: Some(tool.into()), ..FailureDetail::default() })),
        refuses: Some(Refusal::Tools),
        ..ModelFailure::new(FailureKind::BadRequest, REFUSED, "p/m1")
    };
    talk.take(InputKind::ModelFailed { action, failure: Box::new(failure), jitter: 0 });
    action
}

fn offered(talk: &Talk) -> Vec<String> {
    let view = talk.state.view(talk.asked().unwrap()).unwrap();
    view.tools.iter().filter(|tool| tool.is_offered()).map(|tool| tool.name.to_string()).collect()
}

fn taken_out(talk: &Talk) -> Vec<&RefusedTool> {
    let facts = talk.events.iter().filter_map(|event| match &event.fact {
        Fact::Run(RunFact::Adjusted(Adjusted { refused, .. })) => refused.as_ref(),
        _ => None,
    });
    facts.collect()
}

#[test]
fn e58_a_refused_tool_is_taken_out_once_and_the_run_goes_on() {
    let mut talk = Talk::new(&[]);
    talk.start(chat(), &["p/m1", "q/m2"], images(2));
    let all = offered(&talk);
    assert!(all.contains(&"read".to_owned()) && all.contains(&"poll".to_owned()));
    refuse(&mut talk, "read");
    let left: Vec<String> = all.iter().filter(|name| *name != "read").cloned().collect();
    assert_eq!(offered(&talk), left, "the same turn is asked without it");
    refuse(&mut talk, "poll");
    assert!(!offered(&talk).contains(&"poll".to_owned()));
    let out = taken_out(&talk);
    assert_eq!(out.iter().map(|out| &*out.tool).collect::<Vec<_>>(), ["read", "poll"]);
    assert_eq!((&*out[0].model, &*out[0].message), ("p/m1", REFUSED));
    // A server that lists its tools anew does not bring it back.
    let tools = Arc::new(environment::tools());
    talk.take(InputKind::ToolsChanged { tools, binding_digests: None });
    assert!(!offered(&talk).contains(&"read".to_owned()));
    talk.finish();
    assert_eq!(talk.status(), Status::Answered);
    talk.holds();
}

#[test]
fn e58_a_refusal_of_a_tool_that_is_not_offered_ends_the_run() {
    let mut talk = Talk::new(&[]);
    talk.start(chat(), &["p/m1"], images(0));
    refuse(&mut talk, "read");
    let action = talk.asked().unwrap();
    let failure = ModelFailure {
        status: Some(400),
        detail: Some(Box::new(FailureDetail { tool: Some("read".into()), ..FailureDetail::default() })),
        ..ModelFailure::new(FailureKind::BadRequest, REFUSED, "p/m1")
    };
    talk.take(InputKind::ModelFailed { action, failure: Box::new(failure), jitter: 0 });
    assert_eq!(
        talk.state.ended().unwrap().error.as_deref().map(|words| words.contains("tool `read`")),
        Some(true)
    );
    assert_eq!(taken_out(&talk).len(), 1);
    talk.holds();
}

#[test]
fn the_reply_of_a_failed_call_is_in_the_log_and_not_in_the_state() {
    let (fits, mut failure) =
        (size_of::<ModelFailure>(), ModelFailure::new(FailureKind::NotFound, "gone", "p/m1"));
    assert!(fits < 128, "a failure takes {fits} bytes where it is an error");
    let reply = Some(Content::Text("{\"error\":\"gone\"}".into()));
    failure.detail = Some(Box::new(FailureDetail { reply, is_cut: true, ..FailureDetail::default() }));
    let written = serde_json::to_string(&failure).unwrap();
    assert_eq!(serde_json::from_str::<ModelFailure>(&written).unwrap(), failure, "{written}");
    let shown = failure.clone().with_reply_of(None);
    assert_eq!((shown.reply(), &shown.detail), (None, &None));
    assert_eq!(shown.with_reply_of(Some(&failure)), failure);
    let mut talk = Talk::new(&[]);
    talk.start(chat(), &["p/m1"], images(2));
    let action = talk.asked().unwrap();
    talk.take(InputKind::ModelFailed { action, failure: Box::new(failure.clone()), jitter: 0 });
    let mut failed = talk.events.iter().filter_map(|event| match &event.fact {
        Fact::Model(ModelFact::Failed(turn)) => Some(&turn.failure),
        _ => None,
    });
    assert_eq!(failed.next(), Some(&failure));
    assert_eq!(talk.state.model_failure().map(|failure| failure.reply()), Some(None));
    talk.holds();
}
