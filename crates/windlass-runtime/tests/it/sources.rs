//! E6, E47: tools that come and go while a run is on.

use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use windlass_core::{Message, Status};
use windlass_runtime::{Agent, ToolSource};
use windlass_testing::{FnModel, FnTool, called, text_reply};
use windlass_tools::Tool;

use crate::ground::{Ground, assert_sound, options};

/// A server whose tools a test changes.
#[derive(Debug)]
struct Shelf {
    tools: Mutex<Vec<Arc<dyn Tool>>>,
    number: watch::Sender<u64>,
}

impl Shelf {
    fn new(names: &[&'static str]) -> Arc<Self> {
        let shelf = Arc::new(Self { tools: Mutex::default(), number: watch::Sender::new(0) });
        *shelf.tools.lock().unwrap() = tools(names);
        shelf
    }

    fn put(&self, names: &[&'static str]) {
        *self.tools.lock().unwrap() = tools(names);
        self.number.send_modify(|number| *number += 1);
    }
}

fn tools(names: &[&'static str]) -> Vec<Arc<dyn Tool>> {
    let tool = |name: &&'static str| {
        let name = *name;
        Arc::new(FnTool::new(name, move |_, _| async move { Ok(format!("{name} ran").into()) }))
            as Arc<dyn Tool>
    };
    names.iter().map(tool).collect()
}

impl ToolSource for Shelf {
    fn name(&self) -> &'static str {
        "shelf"
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.lock().unwrap().clone()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.number.subscribe()
    }
}

/// An agent whose tool `swap` puts other tools on the shelf; the model calls it, then these, then answers.
fn agent(
    ground: &Ground,
    shelf: &Arc<Shelf>,
    then: &'static [(&'static str, &'static str)],
) -> (Agent, FnModel) {
    let model = FnModel::new(move |request| match request.messages.len() {
        1 => called(&[("swap", "{}")]),
        3 => called(then),
        _ => text_reply("done"),
    });
    let swap = {
        let shelf = shelf.clone();
        let seen = ground.seen.clone();
        FnTool::new("swap", move |context, _| {
            drop(seen.begin(&context.call));
            shelf.put(&["read_page", "write_page"]);
            async { Ok("swapped".into()) }
        })
    };
    let agent = Agent::builder("shelved")
        .model(("m", Arc::new(model.clone())))
        .tool(swap)
        .source(shelf.clone())
        .log(ground.log.clone())
        .environment(Arc::new(ground.environment.clone()))
        .build()
        .unwrap();
    (agent, model)
}

fn offered(model: &FnModel, request: usize) -> Vec<String> {
    model.requests()[request].tools.iter().map(|tool| tool.name.to_string()).collect()
}

fn results(run: &windlass_runtime::Run) -> Vec<String> {
    let results = run.messages().filter_map(|message| {
        if let Message::Tool(result) = &**message { Some(result.content.text().into_owned()) } else { None }
    });
    results.collect()
}

#[test]
fn e47_the_next_request_offers_the_new_tools_and_a_removed_one_is_unknown() {
    let ground = Ground::slow();
    let shelf = Shelf::new(&["read_book", "lookup"]);
    let calls = &[("write_page", "{}"), ("read_book", "{}"), ("lookup", "{}")];
    let (agent, model) = agent(&ground, &shelf, calls);
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let run = ground.drive(prepared, |_| false).unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    assert_eq!(offered(&model, 0), ["swap", "read_book", "lookup"]);
    assert_eq!(offered(&model, 1), ["swap", "read_page", "write_page"]);
    let results = results(&run);
    assert_eq!(results[..2], ["swapped", "write_page ran"]);
    assert!(
        results[2].contains("'read_book' not found") && results[2].contains("read_page"),
        "{}",
        results[2]
    );
    assert!(results[3].contains("'lookup' not found"), "{}", results[3]);
    let adjusted = ground.kinds(run.id()).iter().filter(|kind| **kind == "Adjusted").count();
    assert_eq!(adjusted, 1);
    assert_eq!(ground.seen.begun.lock().unwrap().len(), 1, "a tool that changes the tools runs once");
    assert_sound(&ground, &run);
}

#[test]
fn e47_tools_that_changed_while_no_run_was_on_are_offered_from_the_start() {
    let ground = Ground::new();
    let shelf = Shelf::new(&["read_book"]);
    let (agent, model) = agent(&ground, &shelf, &[("read_page", "{}")]);
    shelf.put(&["read_page"]);
    let run = ground.wait(agent.run("Go.")).unwrap();
    assert_eq!(offered(&model, 0), ["swap", "read_page"]);
    assert!(results(&run).contains(&"read_page ran".to_owned()));
}

#[test]
fn e47_tools_that_changed_while_a_run_waited_are_known_when_it_goes_on() {
    let ground = Ground::slow();
    let shelf = Shelf::new(&["read_book"]);
    let (agent, model) = agent(&ground, &shelf, &[("read_page", "{}")]);
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let run = prepared.id();
    ground.drive(prepared, |count| count >= 2);
    shelf.put(&["read_page"]);
    let prepared = ground.wait(agent.resume(run).options(options()).prepare()).unwrap();
    let run = ground.drive(prepared, |_| false).unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    assert!(results(&run).contains(&"read_page ran".to_owned()));
    let last = model.requests().len() - 1;
    assert_eq!(offered(&model, last), ["swap", "read_page", "write_page"]);
}

#[test]
fn e47_a_change_that_changes_nothing_leaves_no_trace() {
    let ground = Ground::slow();
    let shelf = Shelf::new(&["read_page", "write_page"]);
    let (agent, _) = agent(&ground, &shelf, &[("read_page", "{}")]);
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let run = ground.drive(prepared, |_| false).unwrap();
    assert!(!ground.kinds(run.id()).contains(&"Adjusted"));
}

#[test]
fn e47_a_newcomer_whose_name_is_taken_is_left_out_and_a_source_that_is_gone_does_no_harm() {
    let ground = Ground::slow();
    let shelf = Shelf::new(&["read_book"]);
    let (agent, model) = agent(&ground, &shelf, &[("read_page", "{}")]);
    shelf.put(&["swap", "read_page"]);
    let run = ground.wait(agent.run("Go.")).unwrap();
    assert_eq!(offered(&model, 0), ["swap", "read_page"]);
    assert_eq!(results(&run)[0], "swapped");
}

#[test]
fn e06_an_unknown_tool_names_the_nearest_ones() {
    let ground = Ground::new();
    let model = FnModel::new(|request| match request.messages.len() {
        1 => called(&[("serch", "{}"), ("xyzzy", "{}")]),
        _ => text_reply("done"),
    });
    let agent = ground
        .agent(model)
        .tool(FnTool::new("search", |_, _| async { Ok("".into()) }))
        .tool(FnTool::new("paint", |_, _| async { Ok("".into()) }))
        .build()
        .unwrap();
    let run = ground.wait(agent.run("Go.")).unwrap();
    let results = results(&run);
    assert!(results[0].contains("'serch' not found") && results[0].contains("search"), "{}", results[0]);
    assert!(!results[0].contains("paint"), "{}", results[0]);
    assert!(results[1].contains("'xyzzy' not found"), "{}", results[1]);
}
