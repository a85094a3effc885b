//! Runs on their way to another log: whole, in order, with their payloads; and nothing that was changed on the way.

use windlass_core::{Answer, Event, RunId};
use windlass_error::Diagnostic as _;
use windlass_read::Error;
use windlass_read::exchange::{Export, Imported, Importer, at_home};
use windlass_read::reports::compare_runs;
use windlass_runtime::{Agent, DriveOptions};
use windlass_store::{Holder, Index, Log, MemoryLog};
use windlass_testing::{FnModel, FnTool, called, text_reply};

use crate::ground::Ground;

/// An agent whose tool gives more than an event holds, after a person allowed it.
fn dumper(ground: &Ground) -> Agent {
    let dump = FnTool::new("dump", |_, _| async { Ok("0123456789".repeat(20_000).into()) })
        .spec(|spec| spec.approve = true);
    let model = FnModel::script([called(&[("dump", "{}")]), text_reply("done"), text_reply("again")]);
    ground.agent(model).tool(dump).build().unwrap()
}

/// Two runs of a session, the first with a payload; gives the second.
fn trip(ground: &Ground) -> RunId {
    let agent = dumper(ground);
    let session = || DriveOptions { session: Some("trip".into()), ..DriveOptions::default() };
    let prepared = ground.wait(agent.prepare("Go.", session())).unwrap();
    let first = ground.wait(prepared.drive()).unwrap().id();
    ground.wait(agent.answer(first, "q1", Answer::Approve)).unwrap();
    ground.wait(async { agent.resume(first).await }).unwrap();
    let prepared = ground.wait(agent.prepare("Once more.", session())).unwrap();
    ground.wait(prepared.drive()).unwrap().id()
}

fn exported(ground: &Ground, run: RunId) -> Vec<String> {
    ground.wait(async {
        let mut export = Export::of(&*ground.memory, run).await.unwrap();
        let mut lines = Vec::new();
        while let Some(line) = export.next_line().await.unwrap() {
            lines.push(line);
        }
        lines
    })
}

fn imported(ground: &Ground, log: &MemoryLog, lines: &[String]) -> Result<Vec<Imported>, Error> {
    ground.wait(async {
        let mut importer = Importer::new(log, Holder("import".into()));
        let mut runs = Vec::new();
        for line in lines {
            runs.extend(importer.line(line).await?);
        }
        runs.push(importer.finish().await?);
        Ok(runs)
    })
}

fn events(ground: &Ground, log: &MemoryLog, run: RunId) -> Vec<Event> {
    let batches = ground.wait(log.read(run, 1, usize::MAX)).unwrap();
    batches.iter().flat_map(|batch| batch.events.iter()).map(at_home).collect()
}

fn kind(line: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    value["type"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_arrives_with_its_base_and_its_payloads() {
    let ground = Ground::new();
    let run = trip(&ground);
    let lines = exported(&ground, run);
    let kinds: Vec<String> = lines.iter().map(|line| kind(line)).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "run").count(), 2, "the run and its base");
    assert_eq!(kinds[1], "payload", "payloads come before the events that need them");
    let there = MemoryLog::new();
    let runs = imported(&ground, &there, &lines).unwrap();
    assert_eq!(runs.iter().map(|imported| imported.hashed).collect::<Vec<_>>(), [true, true]);
    assert_eq!(runs[1].state.run(), run);
    for imported in &runs {
        let run = imported.state.run();
        assert_eq!(imported.written, imported.state.version());
        assert_eq!(imported.unlike, None);
        assert_eq!(events(&ground, &there, run), events(&ground, &ground.memory, run));
    }
    assert_eq!(there.payloads(), 1);
    // Once more: nothing is written twice, and the export of the copy is the same.
    let again = imported(&ground, &there, &lines).unwrap();
    assert!(again.iter().all(|imported| imported.written == 0));
    let first = runs[0].state.run();
    let compared = ground.wait(compare_runs(&*ground.memory, first, run)).unwrap();
    assert!(!compared.is_same() && compared.shared() > 0);
}

/// Each letter of a line counts: wherever one is changed, nothing of that run arrives.
#[test]
fn e53_a_line_that_is_changed_or_missing_is_found_and_named() {
    let ground = Ground::new();
    let run = trip(&ground);
    let lines = exported(&ground, run);
    let refused = |lines: &[String]| {
        let there = MemoryLog::new();
        let error = imported(&ground, &there, lines).unwrap_err();
        assert!(ground.wait(there.summary(run)).is_err(), "the last run was written all the same");
        error
    };
    for place in 0..lines.len() {
        let mut fewer = lines.clone();
        fewer.remove(place);
        let code = refused(&fewer).code();
        let payload = kind(&lines[place]) == "payload";
        assert_eq!(code, if payload { "store.unknown_payload" } else { "import.line" }, "line {}", place + 1);
        if kind(&lines[place]) == "event" {
            let mut changed = lines.clone();
            changed[place] = changed[place].replacen("\"at\":1", "\"at\":2", 1);
            assert_ne!(changed[place], lines[place]);
            let error = refused(&changed);
            let Error::BadExport { line, .. } = error else { panic!("{error:?}") };
            assert_eq!(line, place as u64 + 1);
        }
    }
    for (part, other, code) in [
        ("\"schema\":1", "\"schema\":9", "import.newer"),
        ("\"format\":1", "\"format\":2", "import.newer"),
        ("\"format\":1,", "", "import.old"),
    ] {
        let error = refused(&[lines[0].replace(part, other)]);
        assert_eq!((error.code(), error.help().is_some()), (code, true));
    }
    assert_eq!(refused(&[]).code(), "import.empty");
    assert_eq!(refused(&["{".to_owned()]).code(), "import.line");
}

/// An export of a run that goes on is a whole one: it ends where its payloads were looked for.
#[test]
fn an_export_of_a_run_that_goes_on_ends_at_its_beginning() {
    let ground = Ground::new();
    let agent = dumper(&ground);
    let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
    let run = ground.wait(prepared.drive()).unwrap();
    let before = run.state().version();
    let mut export = ground.wait(Export::of(&*ground.memory, run.id())).unwrap();
    let mut lines = vec![ground.wait(export.next_line()).unwrap().unwrap()];
    ground.wait(agent.answer(run.id(), "q1", Answer::Approve)).unwrap();
    let after = ground.wait(async { agent.resume(run.id()).await }).unwrap();
    assert!(after.state().version() > before);
    while let Some(line) = ground.wait(export.next_line()).unwrap() {
        lines.push(line);
    }
    let there = MemoryLog::new();
    let runs = imported(&ground, &there, &lines).unwrap();
    assert_eq!(runs[0].state.version(), before);
    assert_eq!(runs[0].state.run_state(), run.run_state());
}
