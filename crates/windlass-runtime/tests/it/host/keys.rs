//! E65: what is sent twice to a run under its key is done once, wherever the run is driven, and after its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use windlass_core::event::{AnswerSource, PeopleFact, ResumedBy, RunFact};

use futures_core::future::BoxFuture;
use tokio::sync::Notify;
use windlass_core::{Answer, Fact, InputKind, Message, Owner, RunId, RunState, Status};
use windlass_error::Diagnostic as _;
use windlass_read::RunPages;
use windlass_runtime::control::{Cancelled, Delivery};
use windlass_runtime::host::{Answering, Host, QuestionSeen, Request, Scope, Scoped, Start, Taking};
use windlass_runtime::{Agent, DriveOptions, Error, ForkOptions};
use windlass_store::{
    Answer as Reply, Claim, Fence, Holder, Leases, MemoryLog, Post, PostKey, RunFilter, SqliteLog, Store,
    StoreError, forward_store,
};
use windlass_testing::{FnModel, FnTool, called, text_reply};

use super::{ground, started};

/// A verb under a key: the same request, or another one.
type Verb = for<'a> fn(&'a Scoped, RunId, bool) -> BoxFuture<'a, Result<Delivery, Error>>;

const VERBS: [(&str, Verb); 3] = [
    ("answer", |client, run, same| {
        let question: QuestionSeen = "q1".parse().unwrap();
        let answer = if same { Answer::Approve } else { Answer::Deny { reason: None } };
        Box::pin(client.answer(Answering::new(run, question, answer).under("k1")))
    }),
    ("steer", |client, run, same| {
        let said = if same { "Hurry." } else { "Wait." };
        Box::pin(client.steer(run, said, Request::default().under("k1")))
    }),
    ("pause", |client, run, same| {
        let reason = if same { "lunch" } else { "dinner" };
        Box::pin(client.pause(run, Some(reason.into()), Request::default().under("k1")))
    }),
];

/// An agent whose call a person must allow, and its host.
fn payer(log: &Arc<dyn Store>) -> (Agent, Host) {
    let model = FnModel::new(|request| {
        let paid = request.messages.iter().any(|message| matches!(&**message, Message::Tool(_)));
        if paid { text_reply("done") } else { called(&[("pay", "{}")]) }
    });
    let (builder, host) = ground(log, model);
    let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true);
    let agent = builder.tool(pay).build().unwrap();
    host.registry().add(agent.clone());
    (agent, host)
}

fn start(agent: &Agent, owner: &str) -> Start {
    Start::new(agent, "Go.").options(DriveOptions { owner: owner.into(), ..DriveOptions::default() })
}

/// A run that waits for an approval.
async fn waiting(host: &Host, agent: &Agent) -> RunId {
    let run = started(host, start(agent, "ada")).await.end().await.unwrap();
    assert_eq!(run.run_state(), RunState::Suspended);
    run.id()
}

/// How many facts of a run are answers, messages, pauses or ends.
async fn inputs(log: &dyn Store, run: RunId) -> usize {
    let (mut pages, mut found) = (RunPages::new(log, run), 0);
    while let Some(batches) = pages.next().await.unwrap() {
        let events = batches.iter().flat_map(|batch| batch.events.iter());
        found += events
            .filter(|event| {
                matches!(
                    event.fact,
                    Fact::People(
                        PeopleFact::InputReceived(_)
                            | PeopleFact::Steered(_)
                            | PeopleFact::CancelRequested(_)
                    ) | Fact::Run(RunFact::Ended(_))
                )
            })
            .count();
    }
    found
}

fn reused<T: std::fmt::Debug>(refused: Result<T, Error>, run: RunId) {
    match refused {
        Err(Error::KeyReused { key, run: of }) => assert_eq!((&*key, of), ("k1", run)),
        other => panic!("{other:?}"),
    }
}

async fn each_verb(log: Arc<dyn Store>) {
    for (name, verb) in VERBS {
        let (agent, host) = payer(&log);
        let ada = host.within(Scope::of("ada"));
        let (run, other) = (waiting(&host, &agent).await, waiting(&host, &agent).await);
        // Nobody drives the run.
        for _ in 0..2 {
            assert_eq!(verb(&ada, run, true).await.unwrap(), Delivery::Waiting, "{name}");
        }
        assert_eq!(log.inbox(run, None).await.unwrap().len(), 1, "{name}: it was posted once");
        reused(verb(&ada, run, false).await, run);
        // The same words to another run are another request.
        reused(verb(&ada, other, true).await, run);
        assert!(log.inbox(other, None).await.unwrap().is_empty(), "{name}");
        // Another owner's key is another key.
        let carol = host.within(Scope::all("carol"));
        assert_eq!(verb(&carol, other, true).await.unwrap(), Delivery::Waiting, "{name}");
        // The run takes it, and has ended then: a restarted process knows it still.
        let (_, restarted) = payer(&log);
        let ada = restarted.within(Scope::of("ada"));
        let question: QuestionSeen = "q1".parse().unwrap();
        if name != "answer" {
            ada.answer(Answering::new(run, question, Answer::Approve)).await.unwrap();
        }
        let unpause = Some(windlass_runtime::Unpause::default()).filter(|_| name == "pause");
        let taking = Taking::new(run).options(DriveOptions { unpause, ..DriveOptions::default() });
        let done = ada.resume(taking).await.unwrap().end().await.unwrap();
        assert_eq!(done.status(), Some(Status::Answered), "{name}");
        let before = inputs(&*log, run).await;
        assert_eq!(verb(&ada, run, true).await.unwrap(), Delivery::Taken, "{name}");
        reused(verb(&ada, run, false).await, run);
        reused(verb(&ada, other, true).await, run);
        assert_eq!(inputs(&*log, run).await, before, "{name}: nothing was done twice");
        // What was not sent before is refused as ever.
        let late = verb(&carol, run, false).await.unwrap_err();
        assert_eq!(late.code(), "request.key_reused", "{name}");
        let late = verb(&restarted.within(Scope::all("dave")), run, true).await.unwrap_err();
        assert_eq!(late.code(), "input.ended", "{name}");
    }
}

#[tokio::test]
async fn e65_a_request_to_a_run_is_done_once_and_known_after_the_run_s_end() {
    each_verb(Arc::new(MemoryLog::new())).await;
}

#[tokio::test]
async fn e65_a_request_to_a_run_is_done_once_in_sqlite_too() {
    let folder = tempfile::tempdir().unwrap();
    each_verb(Arc::new(SqliteLog::open(folder.path().join("log.db")).unwrap())).await;
}

/// An agent whose second reply comes once it may.
fn slow(log: &Arc<dyn Store>) -> (Agent, Host, Arc<Notify>, Arc<Notify>) {
    let (working, goes_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, wait) = (working.clone(), goes_on.clone());
    let work = FnTool::new("work", move |context, _| {
        let (told, wait) = (told.clone(), wait.clone());
        async move {
            told.notify_one();
            let _stopped = context.cancelled.run_until_cancelled(wait.notified()).await;
            Ok("worked".into())
        }
    });
    let model = FnModel::new(|request| {
        let worked = request.messages.iter().any(|message| matches!(&**message, Message::Tool(_)));
        if worked { text_reply("done") } else { called(&[("work", "{}")]) }
    });
    let (builder, host) = ground(log, model);
    (builder.tool(work).build().unwrap(), host, working, goes_on)
}

#[tokio::test(start_paused = true)]
async fn e65_a_request_to_a_run_that_is_driven_here_or_elsewhere_is_taken_once() {
    for elsewhere in [false, true] {
        let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
        let (agent, host, working, goes_on) = slow(&log);
        let run = started(&host, start(&agent, "ada")).await;
        working.notified().await;
        let sender = if elsewhere { slow(&log).1 } else { host.clone() };
        let ada = sender.within(Scope::of("ada"));
        let steer = |said: &'static str| ada.steer(run.id(), said, Request::default().under("k1"));
        assert_eq!(steer("Hurry.").await.unwrap(), Delivery::Taken);
        // It has gone on since it was seen, which a repeat need not know.
        let seen = Request::seen(1).under("k1");
        assert_eq!(ada.steer(run.id(), "Hurry.", seen).await.unwrap(), Delivery::Taken);
        reused(steer("Wait.").await, run.id());
        let id = run.id();
        goes_on.notify_one();
        assert_eq!(run.end().await.unwrap().status(), Some(Status::Answered));
        assert_eq!(steer_of(&ada, id).await.unwrap(), Delivery::Taken);
        assert_eq!(inputs(&*log, id).await, 2, "one message, one end");
    }
}

async fn steer_of(client: &Scoped, run: RunId) -> Result<Delivery, Error> {
    client.steer(run, "Hurry.", Request::default().under("k1")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e65_senders_of_one_request_at_the_same_moment_bring_one_message() {
    for round in 0..20 {
        let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
        let (agent, host, working, goes_on) = slow(&log);
        let run = started(&host, start(&agent, "ada")).await;
        working.notified().await;
        let id = run.id();
        let ada = host.within(Scope::of("ada"));
        let senders: Vec<_> = (0..8)
            .map(|_| {
                let ada = ada.clone();
                tokio::spawn(async move { steer_of(&ada, id).await.unwrap() })
            })
            .collect();
        for sender in senders {
            assert_eq!(sender.await.unwrap(), Delivery::Taken, "{round}");
        }
        goes_on.notify_one();
        run.end().await.unwrap();
        assert_eq!(inputs(&*log, id).await, 2, "{round}: one message, one end");
    }
}

fn cancelled(outcome: Cancelled, run: RunId) {
    match outcome {
        Cancelled::Ended(ended) => {
            assert_eq!((ended.id(), ended.status()), (run, Some(Status::Cancelled)));
        }
        Cancelled::Asked(holder) => panic!("{} drives the run", holder.0),
    }
}

#[tokio::test]
async fn e65_a_cancel_of_a_run_that_nobody_drives_ends_it_and_says_so_twice() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let (agent, host) = payer(&log);
    let run = waiting(&host, &agent).await;
    let ada = host.within(Scope::of("ada"));
    let version = log.summary(run).await.unwrap().version;
    let cancel = |why: &'static str| ada.cancel(run, why, Request::seen(version).under("k1"));
    cancelled(cancel("enough").await.unwrap(), run);
    let ended_at = log.summary(run).await.unwrap().version;
    for _ in 0..2 {
        cancelled(cancel("enough").await.unwrap(), run);
    }
    assert_eq!(log.summary(run).await.unwrap().version, ended_at, "nothing was done twice");
    reused(cancel("never mind").await, run);
    let other = ada.cancel(run, "enough", Request::default().under("k2")).await.unwrap_err();
    assert_eq!(other.code(), "input.ended");
}

#[tokio::test(start_paused = true)]
async fn e65_a_cancel_of_a_driven_run_is_asked_for_once_and_then_has_ended_it() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let (agent, host, working, _) = slow(&log);
    let run = started(&host, start(&agent, "ada")).await;
    working.notified().await;
    let (id, ada) = (run.id(), host.within(Scope::of("ada")));
    let cancel = || ada.cancel(id, "enough", Request::default().under("k1"));
    for _ in 0..2 {
        let asked = cancel().await.unwrap();
        assert!(matches!(asked, Cancelled::Asked(_)), "{asked:?}");
    }
    assert_eq!(run.end().await.unwrap().status(), Some(Status::Cancelled));
    cancelled(cancel().await.unwrap(), id);
    assert_eq!(inputs(&*log, id).await, 2, "one request, one end");
}

/// Fails once where a lease is acquired: the process that sent a cancel dies before it takes the run up.
#[derive(Debug)]
struct Dies {
    inner: Arc<dyn Store>,
    dies: AtomicBool,
}

impl Leases for Dies {
    fn acquire(&self, run: RunId, holder: &Holder, claim: Claim) -> Reply<'_, Fence> {
        if self.dies.swap(false, Ordering::Relaxed) {
            return Box::pin(async { Err(StoreError::Failed("killed".into())) });
        }
        self.inner.acquire(run, holder, claim)
    }

    forward_store!(inner: acquire_due, renew, probe, release, park);
}

forward_store!(Log, Inbox, Payloads, Index for Dies => inner);

#[tokio::test]
async fn e65_a_cancel_whose_process_died_half_way_is_finished_when_it_is_sent_again() {
    let memory: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let dies = Arc::new(Dies { inner: memory.clone(), dies: AtomicBool::new(false) });
    let log: Arc<dyn Store> = dies.clone();
    let (agent, host) = payer(&log);
    let run = waiting(&host, &agent).await;
    let ada = host.within(Scope::of("ada"));
    dies.dies.store(true, Ordering::Relaxed);
    let cancel = || ada.cancel(run, "enough", Request::default().under("k1"));
    cancel().await.unwrap_err();
    let waits = log.inbox(run, None).await.unwrap();
    assert!(matches!(waits[0].what, InputKind::Cancel { .. }), "{waits:?}");
    cancelled(cancel().await.unwrap(), run);
    cancelled(cancel().await.unwrap(), run);
}

#[tokio::test]
async fn e65_a_request_that_was_refused_frees_its_key_for_another_one() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let (agent, host) = payer(&log);
    let run = waiting(&host, &agent).await;
    let ada = host.within(Scope::of("ada"));
    let stale = ada.steer(run, "Hurry.", Request::seen(1).under("k1")).await.unwrap_err();
    assert_eq!(stale.code(), "run.moved_on");
    assert_eq!(ada.steer(run, "Wait.", Request::default().under("k1")).await.unwrap(), Delivery::Waiting);
    reused(ada.steer(run, "Hurry.", Request::default().under("k1")).await, run);
    // Each verb has keys of its own.
    ada.pause(run, None, Request::default().under("k1")).await.unwrap();
}

async fn fork_twice(log: Arc<dyn Store>) {
    let (agent, host) = payer(&log);
    let run = waiting(&host, &agent).await;
    let ada = host.within(Scope::of("ada"));
    let options = || DriveOptions { key: Some("k1".into()), ..DriveOptions::default() };
    let at = log.summary(run).await.unwrap().version;
    let fork = |at: u64| ada.fork(run, &agent, ForkOptions { at, ..ForkOptions::default() }, options());
    let first = fork(at).await.unwrap();
    assert_eq!(first.run, RunId::of_request(&Owner::from("ada"), "fork", "k1"));
    first.live.unwrap().end().await.unwrap();
    let again = fork(at).await.unwrap();
    assert_eq!((again.run, again.saved), (first.run, first.saved));
    assert_eq!(again.saved.model_calls, 1);
    assert!(again.live.is_none());
    reused(fork(1).await.map(|forked| forked.run), first.run);
    assert_eq!(log.list(RunFilter::default()).await.unwrap().len(), 2, "one fork");
    let theirs = host.within(Scope::all("carol"));
    let theirs =
        theirs.fork(run, &agent, ForkOptions { at, ..ForkOptions::default() }, options()).await.unwrap();
    assert_ne!(theirs.run, first.run);
}

#[tokio::test]
async fn e65_a_fork_that_is_sent_twice_begins_one_run() {
    fork_twice(Arc::new(MemoryLog::new())).await;
    let folder = tempfile::tempdir().unwrap();
    fork_twice(Arc::new(SqliteLog::open(folder.path().join("log.db")).unwrap())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e65_forks_of_one_request_at_the_same_moment_are_one_run_also_of_a_run_that_has_ended() {
    for round in 0..20 {
        let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
        let (builder, host) = ground(&log, FnModel::new(|_| text_reply("done")));
        let agent = builder.build().unwrap();
        let run = started(&host, start(&agent, "ada")).await.end().await.unwrap();
        let senders: Vec<_> = (0..8)
            .map(|_| {
                let (ada, agent, run) = (host.within(Scope::of("ada")), agent.clone(), run.id());
                let fork = ForkOptions {
                    at: if round % 2 == 0 { 1 } else { 4 },
                    say: Some("And then?".into()),
                    ..ForkOptions::default()
                };
                let options = DriveOptions { key: Some("k1".into()), ..DriveOptions::default() };
                tokio::spawn(async move {
                    let forked = ada.fork(run, &agent, fork, options).await.unwrap();
                    let begun = forked.live.is_some();
                    if let Some(live) = forked.live {
                        live.end().await.unwrap();
                    }
                    (forked.run, forked.saved, begun)
                })
            })
            .collect();
        let mut found = Vec::new();
        for sender in senders {
            found.push(sender.await.unwrap());
        }
        assert_eq!(found.iter().filter(|(_, _, begun)| *begun).count(), 1, "{round}");
        assert!(found.iter().all(|(run, saved, _)| (*run, *saved) == (found[0].0, found[0].1)), "{round}");
        assert_eq!(log.list(RunFilter::default()).await.unwrap().len(), 2, "{round}");
    }
}

async fn resumed_once(log: Arc<dyn Store>) {
    let (agent, host) = payer(&log);
    let ada = host.within(Scope::of("ada"));
    let (run, other) = (waiting(&host, &agent).await, waiting(&host, &agent).await);
    let taking = |run| Taking::new(run).under(Some("k1".into()));
    let question: QuestionSeen = "q1".parse().unwrap();
    ada.answer(Answering::new(run, question, Answer::Approve)).await.unwrap();
    assert!(!ada.resumed_before(&taking(run)).await.unwrap());
    let done = ada.resume(taking(run)).await.unwrap().end().await.unwrap();
    assert_eq!(done.status(), Some(Status::Answered));
    assert!(log.inbox(run, None).await.unwrap().is_empty());
    // A restarted process knows it still, after the run's end, too.
    let (_, restarted) = payer(&log);
    let ada = restarted.within(Scope::of("ada"));
    let before = log.summary(run).await.unwrap().version;
    assert!(ada.resumed_before(&taking(run)).await.unwrap());
    let again = ada.resume(taking(run)).await.unwrap_err();
    assert!(matches!(again, Error::Repeated { run: of } if of == run), "{again:?}");
    let unpause = Some(windlass_runtime::Unpause::default());
    let different = taking(run).options(DriveOptions { unpause, ..DriveOptions::default() });
    reused(ada.resume(different).await, run);
    reused(ada.resume(taking(other)).await, run);
    let late = ada.resume(Taking::new(run).under(Some("k2".into()))).await.unwrap_err();
    assert_eq!(late.code(), "input.ended");
    assert_eq!(log.summary(run).await.unwrap().version, before, "nothing was done twice");
    // Another owner's key is another key.
    let carol = restarted.within(Scope::all("carol"));
    let parked = carol.resume(taking(other)).await.unwrap().end().await.unwrap();
    assert_eq!(parked.run_state(), RunState::Suspended);
}

#[tokio::test]
async fn e65_a_run_is_resumed_once_under_a_key() {
    resumed_once(Arc::new(MemoryLog::new())).await;
}

#[tokio::test]
async fn e65_a_run_is_resumed_once_under_a_key_in_sqlite_too() {
    let folder = tempfile::tempdir().unwrap();
    resumed_once(Arc::new(SqliteLog::open(folder.path().join("log.db")).unwrap())).await;
}

/// A process that died between the post and its first append has resumed nothing: who takes the run up passes the post over.
#[tokio::test]
async fn e65_a_request_to_resume_that_was_left_behind_is_no_input_of_the_next_holder() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let (agent, host) = payer(&log);
    let ada = host.within(Scope::of("ada"));
    let run = waiting(&host, &agent).await;
    let question: QuestionSeen = "q1".parse().unwrap();
    ada.answer(Answering::new(run, question, Answer::Approve)).await.unwrap();
    let key = PostKey { owner: "ada".into(), key: "resume/k1".into(), digest: [7; 32] };
    let what = InputKind::resumed("dead", 1, ResumedBy::Person);
    log.post(run, Post { key: Some(key), ..Post::new(1, what) }).await.unwrap();
    let done = ada.resume(Taking::new(run)).await.unwrap().end().await.unwrap();
    assert_eq!(done.status(), Some(Status::Answered));
    assert!(log.posted(&"ada".into(), &["resume/k1".into()]).await.unwrap()[0].is_none(), "the key is free");
    let (mut pages, mut resumed) = (RunPages::new(&*log, run), 0);
    while let Some(batches) = pages.next().await.unwrap() {
        let events = batches.iter().flat_map(|batch| batch.events.iter());
        resumed += events.filter(|event| matches!(event.fact, Fact::Run(RunFact::Resumed(_)))).count();
    }
    assert_eq!(resumed, 1);
}

/// The end of a pause is a request to resume, too: its repeat finds the run unpaused.
#[tokio::test]
async fn e65_a_pause_is_ended_once_under_a_key() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let (agent, host) = payer(&log);
    let ada = host.within(Scope::of("ada"));
    let run = waiting(&host, &agent).await;
    ada.pause(run, None, Request::default()).await.unwrap();
    assert_eq!(
        ada.resume(Taking::new(run)).await.unwrap().end().await.unwrap().run_state(),
        RunState::Suspended
    );
    let taking = |text: &str| {
        let unpause = Some(windlass_runtime::Unpause { text: Some(text.into()) });
        Taking::new(run).options(DriveOptions { unpause, ..DriveOptions::default() }).under(Some("k1".into()))
    };
    let by = || AnswerSource::Client.into();
    for _ in 0..2 {
        assert_eq!(ada.end_pause(taking("go on"), by()).await.unwrap(), Delivery::Waiting);
    }
    assert_eq!(log.inbox(run, None).await.unwrap().len(), 1);
    drop(ada.resume(Taking::new(run)).await.unwrap().end().await.unwrap());
    assert!(ada.resumed_before(&taking("go on")).await.unwrap());
    assert_eq!(ada.end_pause(taking("go on"), by()).await.unwrap(), Delivery::Taken);
    reused(ada.end_pause(taking("wait"), by()).await, run);
    let late = ada.end_pause(Taking::new(run), by()).await.unwrap_err();
    assert_eq!(late.code(), "run.not_paused");
}
