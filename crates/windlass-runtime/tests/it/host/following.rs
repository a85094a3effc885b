//! Followers: whoever comes at any time, from any position, sees what one sees who was there from the start.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use windlass_core::event::{ModelFact, RunFact};

use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use windlass_core::model::FailureKind;
use windlass_core::{Event, Fact, RunId};
use windlass_models::Delta;
use windlass_read::numbered;
use windlass_runtime::host::{Follower, Host, Position, Scope, Start, Taking};
use windlass_runtime::{Agent, Update};
use windlass_store::{Answer, Batch, Batches, Log, MemoryLog, Store, forward_store};
use windlass_testing::{FnModel, FnTool, called, model_failure, text_reply};

use super::{ground, started};

/// What somebody has seen: the facts, and before them each reply as a whole. Pieces that became void count as not seen.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    facts: Vec<(u64, Event)>,
    /// By model call: reasoning, text, and calls with their arguments.
    replies: BTreeMap<u64, [String; 3]>,
}

fn seen<'u>(updates: impl IntoIterator<Item = &'u Update>) -> Seen {
    let mut seen = Seen::default();
    for update in updates {
        match update {
            Update::Events(batch) => {
                seen.facts.extend(numbered(batch).map(|(seq, event)| (seq, event.clone())));
            }
            Update::Void { action } => drop(seen.replies.remove(&action.seq)),
            Update::Reasoning { action, text } => {
                seen.replies.entry(action.seq).or_default()[0].push_str(text);
            }
            Update::Text { action, text } => seen.replies.entry(action.seq).or_default()[1].push_str(text),
            Update::Call { action, name, args, .. } => {
                let calls = &mut seen.replies.entry(action.seq).or_default()[2];
                calls.push_str(name.as_deref().unwrap_or_default());
                calls.push_str(args);
            }
            Update::Partial { .. } | Update::Log(_) | Update::Refused { .. } => {
                panic!("no update for followers: {update:?}")
            }
        }
    }
    seen
}

async fn all(mut follower: Follower) -> Vec<(Position, Update)> {
    let mut all = Vec::new();
    while let Some(next) = follower.next().await.unwrap() {
        all.push(next);
    }
    all
}

fn updates(all: &[(Position, Update)]) -> impl Iterator<Item = &Update> {
    all.iter().map(|(_, update)| update)
}

/// Thinks, calls tools (one call among another), fails in the middle of a reply, and answers.
fn talker() -> FnModel {
    FnModel::streaming(|place, request| {
        let pieces: Vec<Result<Delta, _>> = match place {
            0 => {
                let call = |index, name: Option<&str>, args: &str| Delta::Call {
                    index: Some(index),
                    id: None,
                    name: name.map(str::to_owned),
                    args: args.to_owned(),
                };
                let mut pieces = vec![
                    Delta::Reasoning("Erst ".into()),
                    Delta::Text("Ich ".into()),
                    Delta::Reasoning("denken.".into()),
                    Delta::Text("grüße.".into()),
                    call(0, Some("look"), "{\"at\""),
                    call(1, Some("look"), "{\"at\":"),
                    call(0, None, ": 1}"),
                    call(1, None, "2}"),
                ];
                pieces.extend(called(&[]));
                pieces.into_iter().map(Ok).collect()
            }
            1 => vec![
                Ok(Delta::Text("Das wird ".into())),
                Ok(Delta::Text("nichts".into())),
                Err(model_failure(&request, FailureKind::Overloaded, "busy")),
            ],
            2 => called(&[("look", "{\"at\": 3}")]).into_iter().map(Ok).collect(),
            _ => ["Fer", "t", "ig."]
                .map(|text| Ok(Delta::Text(text.into())))
                .into_iter()
                .chain(text_reply("").into_iter().map(Ok))
                .collect(),
        };
        // A moment between two pieces, in which others come and go.
        Box::pin(stream::iter(pieces).then(|piece| async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            piece
        }))
    })
}

fn agent(log: &Arc<dyn Store>, model: FnModel) -> (Agent, Host) {
    let (builder, host) = ground(log, model);
    let look = FnTool::new("look", |_, args| async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok(format!("saw {args}").into())
    });
    (builder.tool(look).build().unwrap(), host)
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_at_any_time_from_any_position_sees_the_same() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let (agent, host) = agent(&log, talker());
    let run = started(&host, Start::new(&agent, "Go.")).await;
    let id = run.id();
    let mut first = host.follow(id, Position::default()).await.unwrap();
    let mut live = Vec::new();
    let mut late = Vec::new();
    while let Some((position, update)) = first.next().await.unwrap() {
        live.push((position, update));
        // One who comes now: from the start, and from here.
        late.push(tokio::spawn(all(host.follow(id, Position::default()).await.unwrap())));
        late.push(tokio::spawn(all(host.follow(id, position).await.unwrap())));
    }
    assert_eq!(run.end().await.unwrap().text(), Some("Fertig."));
    let whole = seen(updates(&live));
    let stored: Vec<(u64, Event)> = log
        .read(id, 1, usize::MAX)
        .await
        .unwrap()
        .iter()
        .flat_map(|batch| numbered(batch).map(|(seq, event)| (seq, event.clone())).collect::<Vec<_>>())
        .collect();
    assert_eq!(whole.facts, stored);
    let pieces = live.iter().filter(|(_, update)| matches!(update, Update::Text { .. })).count();
    assert!(pieces >= 7, "replies were seen while they were written: {pieces}");
    let voids = live.iter().filter(|(_, update)| matches!(update, Update::Void { .. })).count();
    assert!(voids >= 1, "what was seen of the reply that failed is void");
    let replies: Vec<&[String; 3]> = whole.replies.values().collect();
    let strings = |texts: [&str; 3]| texts.map(str::to_owned);
    assert_eq!(
        replies,
        [
            &strings(["Erst denken.", "Ich grüße.", "look{\"at\": 1}look{\"at\":2}"]),
            &strings(["", "", "look{\"at\": 3}"]),
            &strings(["", "Fertig.", ""]),
        ]
    );
    // Those who came while it was driven.
    for (place, other) in join_all(late).await.into_iter().enumerate() {
        let (kept, other) = (place / 2, other.unwrap());
        let before = if place % 2 == 0 { &live[..0] } else { &live[..=kept] };
        assert!(seen(updates(before).chain(updates(&other))) == whole, "came at {kept}");
    }
    // Those who come back afterwards, here and after a restart.
    let restarted = Host::builder(log.clone()).build();
    for host in [&host, &restarted] {
        assert_eq!(seen(updates(&all(host.follow(id, Position::default()).await.unwrap()).await)), whole);
        for (place, (position, _)) in live.iter().enumerate() {
            let position: Position = position.to_string().parse().unwrap();
            let rest = all(host.follow(id, position).await.unwrap()).await;
            let both = updates(&live[..=place]).chain(updates(&rest));
            assert!(seen(both) == whole, "came back to {position}");
        }
    }
    let positions: Vec<Position> = live.iter().map(|(position, _)| *position).collect();
    assert!(positions.is_sorted(), "a later position is greater: {positions:?}");
}

#[tokio::test(start_paused = true)]
async fn what_was_seen_of_a_reply_that_a_crash_lost_becomes_void_and_the_new_one_follows() {
    let log = Arc::new(MemoryLog::new());
    let store: Arc<dyn Store> = log.clone();
    let slow = |text: &'static str| {
        FnModel::streaming(move |_, _| {
            let pieces = text.split_inclusive(' ').map(|word| Ok(Delta::Text(word.to_owned())));
            let pieces: Vec<Result<Delta, _>> = pieces.chain(text_reply("").into_iter().map(Ok)).collect();
            Box::pin(stream::iter(pieces).then(|piece| async {
                tokio::time::sleep(Duration::from_millis(10)).await;
                piece
            }))
        })
    };
    let (first, host) = agent(&store, slow("one two three four"));
    let run = started(&host, Start::new(&first, "Go.")).await;
    let id = run.id();
    let mut follower = host.follow(id, Position::default()).await.unwrap();
    let mut before = Vec::new();
    while let Some((position, update)) = follower.next().await.unwrap() {
        let stop = matches!(&update, Update::Text { text, .. } if **text == *"two ");
        before.push((position, update));
        if stop {
            break;
        }
    }
    let position = follower.position();
    assert!(position.attempt.is_some());
    // The process dies: nothing more of it happens, and its lease ends.
    log.forget_holder(first.holder());
    let (again, host) = agent(&store, slow("five six"));
    host.registry().add(again);
    let resumed = host.within(Scope::default()).resume(Taking::new(id)).await.unwrap();
    let rest = all(host.follow(id, position).await.unwrap()).await;
    assert!(resumed.end().await.is_ok());
    assert!(matches!(rest.first(), Some((_, Update::Void { .. }))), "{:?}", rest.first());
    let whole = seen(updates(&all(host.follow(id, Position::default()).await.unwrap()).await));
    assert_eq!(seen(updates(&before).chain(updates(&rest))), whole);
    assert_eq!(whole.replies.values().map(|reply| reply[1].as_str()).collect::<Vec<_>>(), ["five six"]);
    drop(run);
}

/// A store that counts how often events are read.
#[derive(Debug)]
struct Counting {
    inner: MemoryLog,
    reads: AtomicU64,
    follows: AtomicU64,
}

impl Log for Counting {
    fn read(&self, run: RunId, from: u64, max: usize) -> Answer<'_, Vec<Batch>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.inner.read(run, from, max)
    }

    fn follow(&self, run: RunId, from: u64) -> Batches {
        self.follows.fetch_add(1, Ordering::Relaxed);
        self.inner.follow(run, from)
    }

    forward_store!(inner: append, used);
}

forward_store!(Inbox, Leases, Payloads, Index for Counting => inner);

#[tokio::test(start_paused = true)]
async fn a_thousand_followers_of_a_run_read_its_log_once() {
    let counting = Arc::new(Counting { inner: MemoryLog::new(), reads: 0.into(), follows: 0.into() });
    let log: Arc<dyn Store> = counting.clone();
    let rounds = 300;
    let limits = serde_json::json!({ "limits": { "model_calls": 1_000, "tool_calls": 1_000 } });
    let (builder, host) = ground(
        &log,
        FnModel::streaming(move |place, _| {
            let pieces = if place < rounds {
                called(&[("look", &format!("{{\"at\": {place}}}"))])
            } else {
                text_reply("done")
            };
            Box::pin(stream::iter(pieces.into_iter().map(Ok)))
        }),
    );
    let look = FnTool::new("look", |_, _| async { Ok("seen".into()) });
    let agent = builder.tool(look).settings(&limits).build().unwrap();
    let run = started(&host, Start::new(&agent, "Go.")).await;
    let id = run.id();
    run.end().await.unwrap();
    let events = log.summary(id).await.unwrap().version;
    assert!(events > 1_000, "{events}");
    let before = counting.reads.load(Ordering::Relaxed);
    let mut followers = Vec::new();
    for _ in 0..1_000 {
        followers.push(host.follow(id, Position::default()).await.unwrap());
    }
    let ends = join_all(followers.into_iter().map(|follower| tokio::spawn(all(follower)))).await;
    for end in ends {
        let end = end.unwrap();
        assert!(
            matches!(end.last(), Some((_, Update::Events(batch))) if matches!(batch.events.last().unwrap().fact, Fact::Run(RunFact::Ended(_))))
        );
    }
    let reads = counting.reads.load(Ordering::Relaxed) - before;
    let pages = events / 256 + 1;
    assert!(reads <= 2 * pages, "{reads} reads of {pages} pages for a thousand followers");
    assert_eq!(counting.follows.load(Ordering::Relaxed), 0, "an ended run is not followed");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_another_process_drives_is_followed_once_for_all() {
    let counting = Arc::new(Counting { inner: MemoryLog::new(), reads: 0.into(), follows: 0.into() });
    let log: Arc<dyn Store> = counting.clone();
    let (agent, elsewhere) = agent(&log, talker());
    let run = started(&elsewhere, Start::new(&agent, "Go.")).await;
    let here = Host::builder(log.clone()).build();
    let mut followers = Vec::new();
    for _ in 0..50 {
        followers.push(tokio::spawn(all(here.follow(run.id(), Position::default()).await.unwrap())));
    }
    let whole: Vec<Seen> =
        join_all(followers).await.into_iter().map(|all| seen(updates(&all.unwrap()))).collect();
    run.end().await.unwrap();
    assert!(whole.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(whole[0].replies.len(), 3, "replies are cut from the log");
    assert_eq!(counting.follows.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_position_that_a_run_has_not_come_to_is_refused() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let (agent, host) = agent(&log, talker());
    let run = started(&host, Start::new(&agent, "Go.")).await;
    let refused = host.follow(run.id(), Position::after(1_000)).await.unwrap_err();
    assert_eq!(windlass_error::Diagnostic::code(&refused), "run.no_such_event");
    let unknown = host.follow(RunId::from_number(7), Position::default()).await.unwrap_err();
    assert_eq!(windlass_error::Diagnostic::code(&unknown), "store.unknown_run");
    run.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_comes_in_the_middle_of_a_reply_sees_it_from_its_beginning_where_pieces_are_kept() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let (agent, _) = agent(&log, talker());
    let host = Host::builder(log.clone()).environment(super::TokioClock::new()).keeps_pieces().build();
    let run = started(&host, Start::new(&agent, "Go.")).await;
    tokio::time::sleep(Duration::from_millis(45)).await;
    let mut follower = host.follow(run.id(), Position::default()).await.unwrap();
    let (mut facts, mut pieces) = (0, String::new());
    while let Some((_, update)) = follower.next().await.unwrap() {
        match update {
            Update::Events(batch) => {
                facts = batch.last();
                if batch.events.iter().any(|event| matches!(event.fact, Fact::Model(ModelFact::Completed(_))))
                {
                    break;
                }
            }
            Update::Text { text, .. } if log.summary(run.id()).await.unwrap().version == facts => {
                pieces.push_str(&text);
            }
            _ => {}
        }
    }
    assert!("Ich grüße.".starts_with(&pieces) && !pieces.is_empty(), "{pieces:?}");
    run.end().await.unwrap();
}
