//! An answer from elsewhere: the run is read once and the answer is checked once, however long the run and its session are.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_core::{Answer, InputKind, Message, RunState, SessionId, Status};
use windlass_read::load;
use windlass_runtime::{Agent, DriveOptions, control};
use windlass_store::{Answer as Reply, Append, Batch, Batches, Log, MemoryLog, PostId, Store, forward_store};
use windlass_testing::{FnModel, FnTool, called, text_reply};

/// A log that counts the events that are read from it.
#[derive(Debug)]
struct Counting {
    inner: MemoryLog,
    read: AtomicUsize,
}

impl Counting {
    fn since_last(&self) -> usize {
        self.read.swap(0, Ordering::Relaxed)
    }
}

impl Log for Counting {
    fn append(&self, append: Append) -> Reply<'_, ()> {
        self.inner.append(append)
    }

    fn used(&self, run: windlass_core::RunId, posts: &[PostId]) -> Reply<'_, Vec<PostId>> {
        self.inner.used(run, posts)
    }

    fn read(&self, run: windlass_core::RunId, from: u64, max: usize) -> Reply<'_, Vec<Batch>> {
        Box::pin(async move {
            let batches = self.inner.read(run, from, max).await?;
            let events = batches.iter().map(|batch| batch.events.len()).sum();
            self.read.fetch_add(events, Ordering::Relaxed);
            Ok(batches)
        })
    }

    fn follow(&self, run: windlass_core::RunId, from: u64) -> Batches {
        self.inner.follow(run, from)
    }
}

forward_store!(Inbox, Leases, Payloads, Index for Counting => inner);

/// An agent that pays after an approval. A new one on the same log is another process.
fn agent(log: &Arc<Counting>) -> Agent {
    let model = FnModel::new(|request| {
        let paid = request.messages.iter().fold(false, |paid, message| match &**message {
            Message::User { content, .. } if content.text().starts_with("Pay") => false,
            Message::Tool(_) => true,
            _ => paid,
        });
        if paid { text_reply("done") } else { called(&[("pay", "{}")]) }
    });
    let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true);
    let log: Arc<dyn Store> = log.clone();
    Agent::builder("payer").model(("m1", Arc::new(model))).tool(pay).log(log).build().unwrap()
}

#[tokio::test]
async fn an_answer_from_elsewhere_reads_the_run_once() {
    let log = Arc::new(Counting { inner: MemoryLog::new(), read: AtomicUsize::new(0) });
    let options = || DriveOptions { session: Some(SessionId::from("s")), ..DriveOptions::default() };
    let answer = || InputKind::Answered { question: "q1".into(), answer: Answer::Approve, by: None };
    let mut waiting = agent(&log).run_with("Pay.", options()).await.unwrap();
    for _ in 0..6 {
        agent(&log).answer(waiting.id(), "q1", Answer::Approve).await.unwrap();
        let ended = agent(&log).resume(waiting.id()).await.unwrap();
        assert_eq!(ended.status(), Some(Status::Answered));
        waiting = agent(&log).run_with("Pay again.", options()).await.unwrap();
    }
    assert_eq!(waiting.run_state(), RunState::Suspended);
    log.since_last();
    let state = load(&*log, waiting.id()).await.unwrap();
    let whole = log.since_last();
    let checked = control::check(&state, 2_000_000_000_000, answer()).await.unwrap();
    agent(&log).resume(waiting.id()).seen(state.clone()).check().await.unwrap();
    checked.post(&*log).await.unwrap();
    let prepared = agent(&log).resume(waiting.id()).seen(state).prepare().await.unwrap();
    let again = log.since_last();
    assert!(whole > 40, "the session has {whole} events");
    assert_eq!(again, 0, "all that is needed was read before");
    assert_eq!(prepared.drive().await.unwrap().status(), Some(Status::Answered));
}

#[tokio::test]
async fn what_has_come_since_a_run_was_read_is_read_before_it_goes_on() {
    let log = Arc::new(Counting { inner: MemoryLog::new(), read: AtomicUsize::new(0) });
    let waiting = agent(&log).run("Pay.").await.unwrap();
    let seen = load(&*log, waiting.id()).await.unwrap();
    // Another process goes on with it, and waits again.
    agent(&log).steer(waiting.id(), "Hurry.").await.unwrap();
    let other = agent(&log).resume(waiting.id()).await.unwrap();
    assert!(other.state().version() > seen.version());
    agent(&log).answer(waiting.id(), "q1", Answer::Approve).await.unwrap();
    let ended = agent(&log).resume(waiting.id()).seen(seen.clone()).await.unwrap();
    assert_eq!(ended.status(), Some(Status::Answered));
    let messages = ended.messages().filter(|message| matches!(&***message, Message::User { .. })).count();
    assert_eq!(messages, 2, "the steering is not lost");
    // An answer that was checked against what has gone by is refused where it arrives.
    let late = InputKind::Answered { question: "q1".into(), answer: Answer::Approve, by: None };
    let late = control::check(&seen, 2_000_000_000_000, late).await.unwrap();
    let refused = late.deliver(&*log).await.unwrap_err();
    assert!(matches!(refused, windlass_runtime::Error::Refused(_)), "{refused:?}");
}
