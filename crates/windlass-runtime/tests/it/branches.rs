//! A34, A35: branches from Rust; what the scripted conversations do not show.

use serde_json::{Map, json};
use windlass_core::event::{DelegationFact, RunFact};
use windlass_core::policy::Merge;
use windlass_core::{Fact, Message, RunId, Status};
use windlass_error::Diagnostic as _;
use windlass_models::{Delta, ModelRequest};
use windlass_read::load_until;
use windlass_runtime::{Agent, AgentBuilder, Branch};
use windlass_store::{Index, UsageFilter};
use windlass_testing::{FnModel, FnTool, called, text_reply};

use crate::ground::{Ground, assert_sound};
use crate::scenarios::{calls_then_answers, results, slow_tool};

/// Whom a model plays, by a word of its instructions, and what it says.
type Role = (&'static str, fn(&ModelRequest) -> Vec<Delta>);

/// A model that knows by its instructions whom it plays.
fn by_role(roles: &'static [Role]) -> FnModel {
    FnModel::new(move |request| {
        let text = match request.prompt.first().map(|message| &**message) {
            Some(Message::System { text }) => text.to_string(),
            _ => String::new(),
        };
        let role = roles.iter().find(|(role, _)| text.contains(role));
        role.map_or_else(|| panic!("nobody plays {text:?}"), |(_, play)| play(request))
    })
}

fn agent(ground: &Ground, model: FnModel) -> AgentBuilder {
    ground.agent(model).instructions("You are the root.")
}

/// The run of the first branch of a run.
fn branch_of(ground: &Ground, run: RunId) -> RunId {
    let facts = ground.facts(run);
    let child = facts.iter().find_map(|fact| {
        if let Fact::Delegation(DelegationFact::Started(started)) = fact { Some(started.run) } else { None }
    });
    child.expect("there is a branch")
}

#[test]
fn a34_a_branch_stands_on_its_parents_conversation_and_copies_nothing() {
    let ground = Ground::new();
    let model = by_role(&[
        ("the root", |request| match results(request) {
            0 => called(&[("look", "{}")]),
            _ if request.messages.len() == 3 => called(&[("branch", r#"{"name": "deep", "why": "so"}"#)]),
            _ => text_reply("done"),
        }),
        ("deep", |_| text_reply("It is deep.")),
        ("Summarize", |_| text_reply("It went deep.")),
    ]);
    let deep = Agent::builder("deep").instructions("You go deep.").description("Goes deep.");
    let root = agent(&ground, model)
        .tool(slow_tool(&ground, "look", 1))
        .branch(Branch::new(deep).merge(Merge::Summarize))
        .build()
        .unwrap();
    let run = ground.wait(root.run("What is it?")).unwrap();
    assert_eq!((run.status(), run.text()), (Some(Status::Answered), Some("done")));
    assert_sound(&ground, &run);
    let child = branch_of(&ground, run.id());
    let Some(Fact::Run(RunFact::Started(start))) = ground.facts(child).into_iter().next() else {
        panic!("it starts")
    };
    assert_eq!(start.parent, Some(run.id()));
    let base = start.base.unwrap();
    assert_eq!(base.run, run.id());
    let there = ground.wait(load_until(&*ground.memory, base.run, base.version)).unwrap();
    assert_eq!(there.history().len(), 3, "the step that asks for the branch is not part of its base");
    assert_eq!(there.digest(), base.digest);
    let text = serde_json::to_string(&start.input).unwrap();
    assert!(!text.contains("What is it?"), "the conversation is not copied: {text}");
    let state = ground.state(child);
    assert_eq!(state.history().iter().next(), run.messages().next(), "it is shared");
    // The summary is a run on the branch's end, and all is counted.
    let summary = child.derived("summary");
    let Some(Fact::Run(RunFact::Started(start))) = ground.facts(summary).into_iter().next() else {
        panic!("it starts")
    };
    assert_eq!((start.parent, start.base.map(|base| base.run)), (Some(child), Some(child)));
    assert_eq!(run.usage().input, 20 * 5);
    // The calls of the three runs, each where it was made.
    let own = UsageFilter { by_agent: true, ..UsageFilter::default() };
    let sums = ground.wait(ground.memory.usage(own)).unwrap();
    let sums: Vec<_> = sums.iter().map(|sum| (sum.agent.as_deref(), sum.runs, sum.spend.input)).collect();
    assert_eq!(sums.iter().map(|(.., input)| input).sum::<u64>(), run.usage().input, "{sums:?}");
    assert_eq!(sums.iter().map(|(_, runs, _)| runs).sum::<u64>(), 3, "{sums:?}");
}

#[test]
fn a34_branches_nest_no_deeper_than_their_bound() {
    let ground = Ground::new();
    let nested = |depth: usize| {
        (0..depth).fold(Agent::builder("lowest"), |below, _| Agent::builder("above").branch(below))
    };
    let root = |depth| agent(&ground, calls_then_answers(&[])).branch(nested(depth)).build();
    assert!(root(15).is_ok());
    let refused = root(16).unwrap_err();
    assert_eq!(refused.code(), "agent.branch_depth");
    insta::assert_snapshot!(refused.to_string(), @"the branches of agent `tested` are nested more than 16 levels deep");
}

#[test]
fn a34_names_that_clash_are_refused() {
    let ground = Ground::new();
    let tool = |name| FnTool::new(name, |_, _| async { Ok("".into()) });
    let plain = || agent(&ground, calls_then_answers(&[]));
    let branch = plain().tool(tool("branch")).branch(Agent::builder("one")).build().unwrap_err();
    insta::assert_snapshot!(windlass_runtime::in_full(&branch), @"agent `tested` cannot be built: Duplicate tool name: branch (one is from code, one from branches)");
    let parent = plain().branch(Agent::builder("one").tool(tool("call_parent_tool"))).build().unwrap_err();
    insta::assert_snapshot!(windlass_runtime::in_full(&parent), @"agent `one` cannot be built: the name `call_parent_tool` of a tool from code is reserved by Windlass");
    let twice =
        plain().branch(Agent::builder("one")).known_branch(Agent::builder("one")).build().unwrap_err();
    insta::assert_snapshot!(windlass_runtime::in_full(&twice), @"agent `tested` has two tools named `one`: one from branches, one from branches");
}

#[test]
fn a34_names_of_windlass_s_tools_are_free_where_it_does_not_offer_them() {
    let ground = Ground::new();
    let named = |name: &'static str| {
        let tool = FnTool::new(name, |_, _| async { Ok("mine".into()) });
        let calls: &'static [(&str, &str)] = Box::leak(Box::new([(name, "{}")]));
        agent(&ground, calls_then_answers(calls)).tool(tool)
    };
    for name in ["search_tools", "update_blackboard", "branch", "run_code"] {
        let run = ground.wait(named(name).build().expect("free").run("Go.")).expect("it runs");
        assert_eq!(run.status(), Some(Status::Answered), "{name}");
        assert!(ground.kinds(run.id()).contains(&"CallStarted"), "{name} is called");
        assert!(run.state().tools().iter().any(|tool| &*tool.name == name), "{name}");
    }
    let searching = named("search_tools").search_tools().build().unwrap_err();
    insta::assert_snapshot!(windlass_runtime::in_full(&searching), @"agent `tested` cannot be built: Duplicate tool name: search_tools (one is from code, one from loop.discovery)");
}

/// An agent whose hook asks for a branch that no model knows, and goes on with what it says.
fn reviewed(ground: &Ground) -> Agent {
    let model = by_role(&[
        ("the root", |request| match results(request) {
            0 if request.messages.len() == 1 => called(&[("look", "{}")]),
            _ => text_reply("done"),
        }),
        ("review", |_| called(&[("__finish__", r#"{"good": true}"#)])),
    ]);
    let schema =
        json!({ "type": "object", "properties": { "good": { "type": "boolean" } }, "required": ["good"] });
    agent(ground, model)
        .tool(slow_tool(ground, "look", 1))
        .known_branch(Agent::builder("review").instructions("You review.").output_schema(schema))
        .on_step(|mut step| {
            let Some(review) = step.branch("review", None, Map::new()) else { return Ok(step) };
            let review = review?;
            assert!(step.history.iter().any(|message| {
                matches!(&**message, Message::User { content, .. } if *content.text() == *format!("[Branch Result]\n{review}"))
            }));
            if review.contains("<good>true</good>") {
                step.append(Message::user("It was reviewed."));
            }
            Ok(step)
        })
        .build()
        .unwrap()
}

#[test]
fn a12_a35_a_hook_goes_on_with_what_its_branch_brought_and_a_replay_asks_no_hook() {
    let ground = Ground::new();
    let run = ground.wait(reviewed(&ground).run("Go.")).unwrap();
    assert_eq!((run.status(), run.text()), (Some(Status::Answered), Some("done")));
    let said: Vec<_> = run.messages().filter_map(|message| message.content().cloned()).collect();
    assert!(said.iter().any(|content| content.text() == "It was reviewed."), "{said:?}");
    let kinds = ground.kinds(run.id());
    let branched =
        ["StepBranched", "DelegationStarted", "DelegationFinished", "HistoryEdited", "TurnStarted"];
    assert!(kinds.windows(5).any(|part| part == branched), "{kinds:?}");
    let replayed = ground.wait(windlass_read::reports::replay_run(&*ground.memory, run.id(), None)).unwrap();
    assert!(replayed.difference.is_none(), "{:?}", replayed.difference);
}

#[test]
fn a35_e29_a_hooks_branch_survives_a_death_at_every_poll() {
    let whole = {
        let ground = Ground::new();
        ground.wait(reviewed(&ground).run("Go.")).unwrap()
    };
    for polls in 1.. {
        let ground = Ground::slow();
        let prepared = ground.wait(reviewed(&ground).prepare("Go.", crate::ground::options())).unwrap();
        let run = prepared.id();
        if ground.drive(prepared, |count| count >= polls).is_some() {
            assert!(polls > 10);
            break;
        }
        if ground.memory.is_empty() || ground.state(run).is_finished() {
            continue;
        }
        let again =
            ground.wait(reviewed(&ground).resume(run).options(crate::ground::options()).prepare()).unwrap();
        let run = ground.drive(again, |_| false).unwrap();
        let texts = |run: &windlass_runtime::Run| {
            run.messages().map(|message| Message::clone(message)).collect::<Vec<_>>()
        };
        assert_eq!(texts(&run), texts(&whole), "dropped after {polls} polls");
        let runs =
            ground.wait(ground.memory.list(windlass_store::RunFilter { limit: 100, ..Default::default() }));
        assert_eq!(runs.unwrap().len(), 2, "one run and its branch");
    }
}
