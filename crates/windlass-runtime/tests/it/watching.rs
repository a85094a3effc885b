//! P22: what somebody who watches a run is told while it goes on: pieces, progress, and usage.

use futures_util::future::join;
use windlass_core::event::{CallFact, ModelFact, PlanFact, RunFact};
use windlass_core::model::Usage;
use windlass_core::{Event, Fact, RunId, State, evolve};
use windlass_models::Delta;
use windlass_runtime::{Agent, Update};
use windlass_store::Batch;
use windlass_testing::{FnModel, called, text_reply};

use crate::ground::{Ground, options};
use crate::scenarios::slow_tool;

/// Two iterations: the first with a call between two replies.
fn agent(ground: &Ground) -> Agent {
    let pieces = |texts: &[&str], end: Vec<Delta>| -> Vec<Delta> {
        let texts = texts.iter().map(|text| Delta::Text((*text).to_owned()));
        texts.chain(end).collect()
    };
    let thought = Delta::Reasoning("Where is it?".to_owned());
    let first: Vec<_> = std::iter::once(thought).chain(called(&[("look", r#"{"at": "sky"}"#)])).collect();
    let model = FnModel::script([
        first,
        pieces(&["It ", "is "], text_reply("blue.")),
        pieces(&["Light "], text_reply("blue.")),
    ]);
    ground
        .agent(model.step_by_step())
        .instructions("Find the colour.")
        .settings(
            &serde_json::json!({ "preset": "refine", "another": "always", "limits": { "iterations": 2 } }),
        )
        .tool(slow_tool(ground, "look", 5))
        .build()
        .unwrap()
}

fn watched() -> (Vec<Update>, windlass_runtime::Run) {
    let ground = Ground::new();
    let prepared = ground.wait(agent(&ground).prepare("Which colour?", options())).unwrap();
    let mut updates = prepared.updates();
    let all = async {
        let mut seen = Vec::new();
        while let Some(update) = updates.next().await {
            seen.push(update);
        }
        seen
    };
    let (run, seen) = ground.wait(join(prepared.drive(), all));
    (seen, run.unwrap())
}

fn events(update: &Update) -> &[Event] {
    if let Update::Events(Batch { events, .. }) = update { events } else { &[] }
}

#[test]
fn p22_replies_come_in_pieces_before_they_are_facts() {
    let (seen, _) = watched();
    let told: Vec<String> = seen
        .iter()
        .flat_map(|update| match update {
            Update::Text { text, .. } => vec![format!("text {text}")],
            Update::Reasoning { text, .. } => vec![format!("reasoning {text}")],
            Update::Call { name: Some(name), .. } => vec![format!("call {name}")],
            other => events(other)
                .iter()
                .filter(|event| {
                    matches!(
                        event.fact,
                        Fact::Model(ModelFact::Completed(_))
                            | Fact::Call(CallFact::Finished(_))
                            | Fact::Run(RunFact::Ended(_))
                    )
                })
                .map(|event| event.fact.kind().to_string())
                .collect(),
        })
        .collect();
    let expected = [
        "reasoning Where is it?",
        "call look",
        "TurnCompleted",
        "CallFinished",
        "text It ",
        "text is ",
        "text blue.",
        "TurnCompleted",
        "text Light ",
        "text blue.",
        "TurnCompleted",
        "RunEnded",
    ];
    assert_eq!(told, expected);
}

#[test]
fn p22_progress_names_the_iteration_of_how_many_and_the_tool_at_work() {
    let (seen, _) = watched();
    let lines: Vec<&str> = seen
        .iter()
        .filter_map(|update| if let Update::Log(line) = update { Some(&*line.text) } else { None })
        .collect();
    let at = |text: &str| {
        lines.iter().position(|line| line.starts_with(text)).unwrap_or_else(|| panic!("{lines:?}"))
    };
    assert!(at("Agentic step internal iteration 1/2") < at("LLM requested 1 tool(s)."));
    assert!(at("LLM requested 1 tool(s).") < at("Executing tool: look"));
    assert!(at("Executing tool: look") < at("Agentic step internal iteration 2/2"));
    // The same as data: the iteration, and the limit on it.
    let begun = |event: &Event| {
        if let Fact::Plan(PlanFact::IterationStarted(begun)) = &event.fact {
            Some(begun.iteration)
        } else {
            None
        }
    };
    let iterations: Vec<_> = seen.iter().flat_map(events).filter_map(begun).collect();
    assert_eq!(iterations, [1, 2]);
}

#[test]
fn p22_usage_is_told_after_each_reply_the_last_one_and_the_total() {
    let (seen, run) = watched();
    let mut state = State::new(RunId::from_number(0));
    let (mut told, mut total) = (Vec::new(), Usage::default());
    for event in seen.iter().flat_map(events) {
        if let Fact::Run(RunFact::Started(start)) = &event.fact {
            state = State::new(start.run);
        }
        state = evolve(state, event);
        if let Fact::Model(ModelFact::Completed(turn)) = &event.fact {
            total.add(&turn.usage);
            assert_eq!(*state.usage(), total, "the folded state counts the same");
            told.push((turn.usage.total(), total.total()));
        }
    }
    assert_eq!(told, [(30, 30), (30, 60), (30, 90)]);
    assert_eq!(*run.usage(), total);
}
