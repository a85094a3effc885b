//! E35: what is too large for events is stored once, whatever brings it. E28: a refused post does not stay.

use std::sync::Arc;
use windlass_core::event::CallFact;

use windlass_core::message::Part;
use windlass_core::message::{Content, Media, MediaSource};
use windlass_core::{Answer, CallOutcome, Fact, InputKind, Message};
use windlass_error::Diagnostic as _;
use windlass_runtime::{Agent, DriveOptions};
use windlass_store::{Inbox, Index, Log, RunFilter, SqliteLog};
use windlass_testing::{FnModel, FnTool, called, text_reply};

use crate::ground::{Ground, options};

const HUGE: usize = 50_000_000;

fn huge() -> FnTool {
    FnTool::new("dump", |_, _| async { Ok("0123456789".repeat(HUGE / 10).into()) })
}

fn finished(facts: &[Fact]) -> Vec<&CallOutcome> {
    facts
        .iter()
        .filter_map(|fact| {
            if let Fact::Call(CallFact::Finished(finished)) = fact { Some(&finished.outcome) } else { None }
        })
        .collect()
}

/// Through the real log: two runs that bring the same 50 MB keep them once, and nothing of them is in events or state.
#[tokio::test]
async fn e35_fifty_megabytes_are_stored_once_and_the_events_stay_small() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let log = Arc::new(SqliteLog::open(&path).unwrap());
    let model = FnModel::new(|request| match request.messages.len() % 4 {
        1 => called(&[("dump", "{}")]),
        _ => text_reply("done"),
    });
    let agent = Agent::builder("big")
        .model(("m", Arc::new(model.clone())))
        .tool(huge())
        .log(log.clone())
        .build()
        .unwrap();
    for _ in 0..2 {
        let run = agent.run("Go").await.unwrap();
        assert_eq!(run.text(), Some("done"));
        assert!(run.state().history().bytes() < 20_000, "{}", run.state().history().bytes());
        let batches = log.read(run.id(), 1, usize::MAX).await.unwrap();
        let bodies = batches
            .iter()
            .flat_map(|batch| batch.events.iter())
            .map(|event| event.fact.body().unwrap().len());
        assert!(bodies.sum::<usize>() < 40_000);
    }
    for request in model.requests() {
        assert!(request.messages.bytes() < 20_000);
    }
    log.checkpoint().await.unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!((HUGE as u64..HUGE as u64 * 11 / 10).contains(&bytes), "the file has {bytes} bytes");
    assert_eq!(log.list(RunFilter::default()).await.unwrap().len(), 2);
}

#[test]
fn a_long_input_stays_whole_and_so_do_its_images() {
    let ground = Ground::new();
    let agent = ground.agent(FnModel::new(|_| text_reply("done"))).build().unwrap();
    let data: Arc<str> = "QUJD".repeat(50_000).into();
    let image = Media { media_type: "image/png".into(), name: None, source: MediaSource::Base64(data) };
    let parts = vec![Part::Text { text: "long ".repeat(20_000).into() }, Part::Image(image.clone())];
    let input = vec![Message::User { content: Content::Parts(parts), pinned: false }];
    let run = ground.wait(async { agent.prepare(input, options()).await.unwrap().drive().await.unwrap() });
    let first = run.messages().next().unwrap();
    let Message::User { content: Content::Parts(parts), .. } = &**first else { panic!("{first:?}") };
    let [Part::Text { text }, Part::Image(same)] = parts.as_slice() else { panic!("its parts are others") };
    assert_eq!((text.len(), same), (100_000, &image));
    assert_eq!(ground.memory.payloads(), 0);
}

#[test]
fn e35_a_long_image_of_a_result_is_stored() {
    let ground = Ground::new();
    let shot = FnTool::new("shot", |_, _| async {
        let source = MediaSource::Base64("QUJD".repeat(50_000).into());
        Ok(Content::Parts(vec![Part::Image(Media { media_type: "image/png".into(), name: None, source })]))
    });
    let model = FnModel::script([called(&[("shot", "{}")]), text_reply("done")]);
    let agent = ground.agent(model).tool(shot).build().unwrap();
    let run = ground.wait(async { agent.prepare("Go", options()).await.unwrap().drive().await.unwrap() });
    let facts = ground.facts(run.id());
    let [CallOutcome::Ok { content: Content::Parts(parts) }] = finished(&facts)[..] else {
        panic!("{facts:?}")
    };
    assert!(
        matches!(&parts[..], [Part::Image(Media { source: MediaSource::Stored(stored), .. })] if stored.bytes == 200_000)
    );
    assert!(run.state().handles().next().is_none(), "an image is not read as text");
}

/// A log that cannot keep a payload fails the run as one that cannot append does: nothing refers to what is not there.
#[test]
fn e35_a_payload_that_cannot_be_stored_leaves_the_run_where_it_was() {
    let ground = Ground::new();
    let log = ground.log.clone();
    let dump = FnTool::new("dump", move |_, _| {
        log.broken(true);
        async { Ok("x".repeat(100_000).into()) }
    });
    let agent = ground.agent(FnModel::new(|_| called(&[("dump", "{}")]))).tool(dump).build().unwrap();
    let prepared = ground.wait(agent.prepare("Go", options())).unwrap();
    let id = prepared.id();
    let error = ground.wait(prepared.drive()).unwrap_err();
    assert_eq!(error.code(), "store.failed");
    ground.log.broken(false);
    assert_eq!(ground.kinds(id).last(), Some(&"CallStarted"));
    assert_eq!(ground.memory.payloads(), 0);
}

#[test]
fn e28_a_refused_post_is_taken_out_of_the_inbox() {
    let ground = Ground::new();
    let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true);
    let model = FnModel::script([called(&[("pay", "{}"), ("pay", "{}")]), text_reply("done")]);
    let agent = ground.agent(model).tool(pay).build().unwrap();
    let drive = |prepared: windlass_runtime::Prepared| ground.wait(prepared.drive()).unwrap();
    let run = drive(ground.wait(agent.prepare("Go", DriveOptions::default())).unwrap()).id();
    let answer =
        |question: &str| InputKind::Answered { question: question.into(), answer: Answer::Approve, by: None };
    // The second answer to the first question fits when it is posted, and no longer when it is taken.
    for _ in 0..2 {
        ground.wait(agent.post(run, answer("q1"))).unwrap();
    }
    let run = drive(ground.wait(agent.resume(run).prepare()).unwrap());
    assert_eq!(run.questions().len(), 1, "the second question is still open");
    assert!(ground.wait(ground.memory.inbox(run.id(), None)).unwrap().is_empty());
}
