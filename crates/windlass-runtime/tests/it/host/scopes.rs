//! E66: a client sees the runs and sessions of its owner, and those of others are as unknown as if they were not there.

use std::borrow::Cow;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use windlass_core::event::AnswerSource;
use windlass_core::{Answer, Owner, RunId};
use windlass_error::Diagnostic as _;
use windlass_runtime::host::{
    Answering, Host, Position, QuestionSeen, Request, Scope, Scoped, Start, Taking,
};
use windlass_runtime::{Admitted, Agent, AgentDelegate, DriveOptions, Error, ForkOptions};
use windlass_store::{MemoryLog, RunFilter, SessionFilter, SqliteLog, Store, UsageFilter};
use windlass_testing::FnTool;

use super::ground;
use crate::scenarios::calls_then_answers;

type Verb = for<'a> fn(&'a Scoped, &'a Agent, RunId) -> BoxFuture<'a, Result<(), Error>>;

/// Each verb that names a run, in an order in which all of them succeed.
const VERBS: [(&str, Verb); 11] = [
    ("summary", |client, _, run| Box::pin(async move { client.summary(run).await.map(drop) })),
    ("follow", |client, _, run| {
        Box::pin(async move { client.follow(run, Position::default()).await.map(drop) })
    }),
    ("answer", |client, _, run| {
        let question: QuestionSeen = "q1".parse().unwrap();
        let answering = Answering::new(run, question, Answer::Approve);
        Box::pin(async move { client.answer(answering).await.map(drop) })
    }),
    ("steer", |client, _, run| {
        Box::pin(async move { client.steer(run, "Hurry.", Request::default()).await.map(drop) })
    }),
    ("pause", |client, _, run| {
        Box::pin(async move { client.pause(run, None, Request::default()).await.map(drop) })
    }),
    ("forked_before", |client, agent, run| {
        let fork = ForkOptions { at: 1, ..ForkOptions::default() };
        let options = DriveOptions::default();
        Box::pin(async move { client.forked_before(run, agent, &fork, &options).await.map(drop) })
    }),
    ("fork", |client, agent, run| {
        let fork = ForkOptions { at: 1, ..ForkOptions::default() };
        Box::pin(async move { client.fork(run, agent, fork, DriveOptions::default()).await.map(drop) })
    }),
    ("resumed_before", |client, _, run| {
        Box::pin(async move { client.resumed_before(&Taking::new(run)).await.map(drop) })
    }),
    ("resume", |client, _, run| {
        Box::pin(async move { client.resume(Taking::new(run)).await?.end().await.map(drop) })
    }),
    ("end_pause", |client, _, run| {
        let by = AnswerSource::Program.into();
        Box::pin(async move { client.end_pause(Taking::new(run), by).await.map(drop) })
    }),
    ("cancel", |client, _, run| {
        Box::pin(async move { client.cancel(run, "no", Request::default()).await.map(drop) })
    }),
];

/// What names no run.
const OTHERS: [&str; 6] = ["start", "start_within", "runs", "sessions", "usage", "head"];

#[test]
fn the_table_has_every_verb() {
    let sources = [include_str!("../../../src/host/scoped.rs"), include_str!("../../../src/host/verbs.rs")];
    let of_clients = |source: &'static str| {
        let mut in_scoped = false;
        source.lines().filter_map(move |line| {
            if line.starts_with("impl ") {
                in_scoped = line.starts_with("impl Scoped ");
            }
            let name = line.trim_start().strip_prefix("pub async fn ").filter(|_| in_scoped)?;
            name.split(['(', '<']).next()
        })
    };
    let mut found: Vec<&str> = sources.into_iter().flat_map(of_clients).collect();
    let mut known: Vec<&str> = VERBS.iter().map(|(name, _)| *name).chain(OTHERS).collect();
    found.sort_unstable();
    known.sort_unstable();
    assert_eq!(found, known);
}

/// Only a run that a limit has cut is continued, so these are in no order in which all succeed.
#[tokio::test(start_paused = true)]
async fn e52_a_run_of_another_owner_is_not_continued() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let (agent, host) = payer(&log);
    let (ada, bob) = (host.within(Scope::of("ada")), host.within(Scope::of("bob")));
    let run = waiting(&ada, &agent).await;
    let options = DriveOptions { key: Some("k1".into()), ..DriveOptions::default() };
    let before = bob.continued_before(run, &agent, &[], &options).await.unwrap_err();
    let now = bob.continue_run(run, &agent, &[], options.clone()).await.unwrap_err();
    assert_eq!((before.code(), now.code()), ("store.unknown_run", "store.unknown_run"));
    assert_eq!(ada.continued_before(run, &agent, &[], &options).await.unwrap(), None);
    assert_eq!(ada.continue_run(run, &agent, &[], options).await.unwrap_err().code(), "run.not_ended");
}

/// An agent whose call a person must allow, and its host.
fn payer(log: &Arc<dyn Store>) -> (Agent, Host) {
    let (builder, host) = ground(log, calls_then_answers(&[("pay", "{}")]));
    let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true);
    let agent = builder.tool(pay).build().unwrap();
    host.registry().add(agent.clone());
    (agent, host)
}

/// A run of the client's session `s` that waits for an approval.
async fn waiting(client: &Scoped, agent: &Agent) -> RunId {
    // The owner that the options name is not the client's to choose.
    let options = DriveOptions {
        session: Some("s".into()),
        owner: Owner::from("somebody else"),
        ..DriveOptions::default()
    };
    match client.start(Start::new(agent, "Go.").options(options)).await.unwrap() {
        Admitted::Started(run) => run.end().await.unwrap().id(),
        other => panic!("{other:?}"),
    }
}

async fn every_verb(log: Arc<dyn Store>) {
    let (agent, host) = payer(&log);
    let (ada, bob) = (host.within(Scope::of("ada")), host.within(Scope::of("bob")));
    let run = waiting(&ada, &agent).await;
    let theirs = waiting(&bob, &agent).await;
    assert_eq!(log.summary(run).await.unwrap().owner, Owner::from("ada"));
    let version = log.summary(run).await.unwrap().version;
    // The words are those for a run that is nowhere.
    let nowhere = RunId(uuid::Uuid::now_v7());
    let forget = |error: Error, run: RunId| {
        (
            error.code(),
            error.kind(),
            error.help().map(Cow::into_owned),
            error.to_string().replace(&run.to_string(), "RUN"),
        )
    };
    for (name, verb) in VERBS {
        let absent = forget(verb(&bob, &agent, nowhere).await.unwrap_err(), nowhere);
        let hidden = forget(verb(&bob, &agent, run).await.unwrap_err(), run);
        assert_eq!(hidden, absent, "{name}");
        assert_eq!(hidden.0, "store.unknown_run", "{name}");
        let whole = host.within(Scope::default());
        let absent = forget(verb(&whole, &agent, nowhere).await.unwrap_err(), nowhere);
        assert_eq!(hidden, absent, "{name}, for one who sees all");
    }
    assert_eq!(log.summary(run).await.unwrap().version, version, "nothing has happened to it");
    assert!(log.inbox(run, None).await.unwrap().is_empty());
    // Its owner is heard, and so is one who sees all: `local` does, and who was given it.
    for (name, verb) in VERBS {
        verb(&ada, &agent, run).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    for scope in [Scope::of(Owner::LOCAL), Scope::all("carol")] {
        let run = waiting(&ada, &agent).await;
        for (name, verb) in VERBS {
            verb(&host.within(scope.clone()), &agent, run)
                .await
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    assert_eq!(
        log.summary(theirs).await.unwrap().version,
        version,
        "bob's session of the same name has gone on"
    );
}

#[tokio::test]
async fn every_verb_finds_no_run_of_another_owner() {
    every_verb(Arc::new(MemoryLog::new())).await;
    let folder = tempfile::tempdir().unwrap();
    every_verb(Arc::new(SqliteLog::open(folder.path().join("log.db")).unwrap())).await;
}

async fn listings(log: Arc<dyn Store>) {
    let (agent, host) = payer(&log);
    let clients = ["ada", "bob"].map(|owner| host.within(Scope::of(owner)));
    let mut runs = Vec::new();
    for client in &clients {
        runs.push(waiting(client, &agent).await);
    }
    let of = |owner: &str| Some(Owner::from(owner));
    let session = "s".into();
    for (number, client) in clients.iter().enumerate() {
        for owner in [None, Some(client.scope().owner().clone())] {
            let listed =
                client.runs(RunFilter { owner: owner.clone(), ..RunFilter::default() }).await.unwrap();
            let ids: Vec<RunId> = listed.iter().map(|line| line.run).collect();
            assert_eq!(ids, [runs[number]]);
            let sessions =
                client.sessions(SessionFilter { owner, ..SessionFilter::default() }).await.unwrap();
            let heads: Vec<RunId> = sessions.iter().map(|line| line.head.run).collect();
            assert_eq!(heads, [runs[number]]);
        }
        assert_eq!(client.head(&session).await.unwrap(), Some(runs[number]));
        let other = of(["bob", "ada"][number]);
        let listed = client.runs(RunFilter { owner: other.clone(), ..RunFilter::default() }).await.unwrap();
        assert!(listed.is_empty() && listed.next.is_none());
        let below = client.runs(RunFilter { parent: Some(runs[1 - number]), ..RunFilter::default() });
        assert!(below.await.unwrap().is_empty());
        let sums = client.usage(UsageFilter { by_owner: true, ..UsageFilter::default() }).await.unwrap();
        let owners: Vec<_> = sums.iter().map(|sum| (sum.owner.as_ref(), sum.runs)).collect();
        assert_eq!(owners, [(Some(client.scope().owner()), 1)]);
        let sums = client.usage(UsageFilter { owner: other.clone(), ..UsageFilter::default() });
        assert!(sums.await.unwrap().is_empty());
        let sessions = client.sessions(SessionFilter { owner: other, ..SessionFilter::default() });
        assert!(sessions.await.unwrap().is_empty());
    }
    let carol = host.within(Scope::all("carol"));
    assert_eq!(carol.runs(RunFilter::default()).await.unwrap().len(), 2);
    assert_eq!(carol.sessions(SessionFilter::default()).await.unwrap().len(), 2);
    assert_eq!(carol.usage(UsageFilter::default()).await.unwrap()[0].runs, 2);
    let ada = carol.runs(RunFilter { owner: of("ada"), ..RunFilter::default() }).await.unwrap();
    assert_eq!((ada.len(), ada[0].run), (1, runs[0]));
    assert_eq!(carol.head(&session).await.unwrap(), None, "the session of that name is not carol's");
    // A page is full of what one sees, however much others have.
    for _ in 0..3 {
        carol.start(Start::new(&agent, "Go.")).await.unwrap();
    }
    let page = clients[0].runs(RunFilter { limit: 1, ..RunFilter::default() }).await.unwrap();
    assert_eq!((page[0].run, page.next.is_none()), (runs[0], true));
}

#[tokio::test]
async fn listings_have_the_runs_and_sessions_of_ones_own() {
    listings(Arc::new(MemoryLog::new())).await;
    let folder = tempfile::tempdir().unwrap();
    listings(Arc::new(SqliteLog::open(folder.path().join("log.db")).unwrap())).await;
}

#[tokio::test]
async fn e66_a_child_run_is_its_parents_owner_s_and_a_fork_its_maker_s() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let (worker, _) = ground(&log, calls_then_answers(&[("pay", "{}")]));
    let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true);
    let worker = Arc::new(AgentDelegate::new(worker.tool(pay).build().unwrap()));
    let (_, host) = ground(&log, calls_then_answers(&[]));
    let model = calls_then_answers(&[("hosted", r#"{"task": "pay"}"#)]);
    let lead = Agent::builder("lead").model(("m", Arc::new(model))).delegate(worker).log(log.clone());
    let lead = lead.build().unwrap();
    host.registry().add(lead.clone());
    let ada = host.within(Scope::of("ada"));
    let run = waiting(&ada, &lead).await;
    let below = ada.runs(RunFilter { parent: Some(run), ..RunFilter::default() }).await.unwrap();
    let child = below[0].run;
    assert_eq!(below[0].owner, Owner::from("ada"));
    let answer = |client: Scoped| async move {
        let question: QuestionSeen = "q1".parse().unwrap();
        client.answer(Answering::new(child, question, Answer::Approve)).await
    };
    let refused = answer(host.within(Scope::of("bob"))).await.unwrap_err();
    assert_eq!(refused.code(), "store.unknown_run");
    assert!(refused.to_string().contains(&child.to_string()), "{refused}");
    answer(ada.clone()).await.unwrap();
    assert_eq!(log.inbox(run, None).await.unwrap().len(), 1, "the question is asked at the top");
    let fork = ForkOptions { at: 1, ..ForkOptions::default() };
    let carol = host.within(Scope::all("carol"));
    let forked = carol.fork(run, &lead, fork, DriveOptions::default()).await.unwrap();
    let forked = forked.live.unwrap().end().await.unwrap().id();
    assert_eq!(log.summary(forked).await.unwrap().owner, Owner::from("carol"));
    assert_eq!(ada.summary(forked).await.unwrap_err().code(), "store.unknown_run");
}
