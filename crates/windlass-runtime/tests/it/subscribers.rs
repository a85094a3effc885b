//! E17: nobody who listens, or does not, has any effect on a run; and nobody misses a fact.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use windlass_core::event::ModelFact;

use futures_util::StreamExt;
use futures_util::future::join;
use windlass_core::{ActionId, Event, Fact, RunId};
use windlass_models::Delta;
use windlass_read::numbered;
use windlass_runtime::{Agent, Environment, Prepared, UPDATES_KEPT, Update, Updates};
use windlass_store::{Batch, Log};
use windlass_testing::{FnModel, called, text_reply};

use crate::ground::{Ground, options};
use crate::scenarios::{SCENARIOS, slow_tool};

/// Turns with tools of the long run: it has several times as many updates as are kept.
const ROUNDS: usize = 400;

/// A run of many turns, each with pieces of text and a tool of a millisecond.
fn long(ground: &Ground) -> Agent {
    let model = FnModel::new(|request| {
        let round = request.messages.len();
        let mut pieces: Vec<Delta> =
            ["round ", "by ", "round ", "by "].iter().map(|text| Delta::Text((*text).into())).collect();
        pieces.push(Delta::Text(format!("{round}")));
        let args = format!("{{\"round\": {round}}}");
        pieces.extend(if round > 2 * ROUNDS { text_reply("") } else { called(&[("tick", &args)]) });
        pieces
    });
    ground
        .agent(model.step_by_step())
        .tool(slow_tool(ground, "tick", 1))
        .settings(&serde_json::json!({ "limits": { "model_calls": 100_000 } }))
        .build()
        .unwrap()
}

/// Drives the long run beside somebody who listens. Gives polls of the driver, its virtual time, and the run.
fn beside<F: Future>(ground: &Ground, listen: impl FnOnce(&Prepared) -> F) -> (u64, u64, RunId, F::Output) {
    let prepared = ground.wait(long(ground).prepare("Go.", options())).unwrap();
    let run = prepared.id();
    let began = ground.environment.now();
    let listener = listen(&prepared);
    let polls = Cell::new(0);
    let drive = async {
        let mut drive = pin!(prepared.drive());
        poll_fn(|context| {
            polls.set(polls.get() + 1);
            drive.as_mut().poll(context)
        })
        .await
        .unwrap();
        ground.environment.now() - began
    };
    let (took, heard) = ground.wait(join(drive, listener));
    (polls.get(), took, run, heard)
}

async fn all(mut updates: Updates) -> Vec<Update> {
    let mut seen = Vec::new();
    while let Some(update) = updates.next().await {
        seen.push(update);
    }
    seen
}

fn batches(updates: &[Update]) -> impl Iterator<Item = &Batch> {
    updates.iter().filter_map(|update| if let Update::Events(batch) = update { Some(batch) } else { None })
}

/// Every fact of the run, once and in order.
fn assert_complete(ground: &Ground, run: RunId, updates: &[Update], first: u64) {
    let expected = ground.wait(ground.memory.read(run, first, usize::MAX)).unwrap();
    let expected: Vec<(u64, &Event)> = expected.iter().flat_map(numbered).collect();
    let found: Vec<(u64, &Event)> = batches(updates).flat_map(numbered).collect();
    assert_eq!(found.len(), expected.len());
    assert!(found == expected);
}

/// The pieces of a text that somebody sees are its beginning, without a hole.
fn assert_no_holes(updates: &[Update]) -> usize {
    let mut texts: BTreeMap<ActionId, String> = BTreeMap::new();
    let mut last = None;
    let mut whole = 0;
    for update in updates {
        match update {
            Update::Text { action, text } => {
                texts.entry(*action).or_default().push_str(text);
                last = Some(*action);
            }
            Update::Events(batch) => {
                for event in batch.events.iter() {
                    let Fact::Model(ModelFact::Completed(turn)) = &event.fact else { continue };
                    let Some(seen) = last.take().and_then(|action| texts.remove(&action)) else { continue };
                    let text = turn.text.as_deref().unwrap();
                    assert!(text.starts_with(&seen), "{seen:?} is no beginning of {text:?}");
                    whole += usize::from(text == seen);
                }
            }
            Update::Reasoning { .. }
            | Update::Call { .. }
            | Update::Partial { .. }
            | Update::Void { .. }
            | Update::Log(_)
            | Update::Refused { .. } => {}
        }
    }
    whole
}

#[test]
fn e17_a_run_takes_the_same_steps_whoever_listens() {
    let alone = Ground::slow();
    let (polls, took, run, ()) = beside(&alone, |_| async {});
    assert!(alone.state(run).version() as usize > UPDATES_KEPT, "the run is too short for this test");

    let absent = Ground::slow();
    let (absent_polls, absent_took, ..) = beside(&absent, |prepared| {
        drop(prepared.updates());
        async {}
    });
    assert_eq!((absent_polls, absent_took), (polls, took));

    let eager = Ground::slow();
    let (eager_polls, eager_took, eager_run, seen) = beside(&eager, |prepared| all(prepared.updates()));
    assert_complete(&eager, eager_run, &seen, 1);
    assert_eq!(assert_no_holes(&seen), ROUNDS + 1, "who keeps up sees every piece");
    assert_eq!((eager_polls, eager_took), (polls, took));

    let gone = Ground::slow();
    let (gone_polls, gone_took, ..) = beside(&gone, |prepared| {
        let mut updates = prepared.updates();
        async move {
            for _ in 0..1_000 {
                updates.next().await.unwrap();
            }
        }
    });
    assert_eq!((gone_polls, gone_took), (polls, took));
}

#[test]
fn e17_who_never_reads_until_the_end_gets_every_fact() {
    let alone = Ground::slow();
    let (polls, took, ..) = beside(&alone, |_| async {});
    let ground = Ground::slow();
    let (slow_polls, slow_took, run, updates) = beside(&ground, |prepared| {
        let updates = prepared.updates();
        async { updates }
    });
    assert_eq!((slow_polls, slow_took), (polls, took));
    let seen = ground.wait(all(updates));
    assert_complete(&ground, run, &seen, 1);
    assert_no_holes(&seen);
}

#[test]
fn e17_facts_that_many_pieces_have_pushed_out_are_read_from_the_log_at_the_end() {
    let ground = Ground::new();
    let chatty = FnModel::streaming(|_, _| {
        let pieces = futures_util::stream::repeat(Delta::Text("and ".into())).take(2 * UPDATES_KEPT);
        Box::pin(pieces.map(Ok).chain(futures_util::stream::pending()))
    });
    let prepared = ground.wait(ground.agent(chatty).build().unwrap().prepare("Go.", options())).unwrap();
    let (run, updates) = (prepared.id(), prepared.updates());
    // It hangs after all its pieces, and is dropped.
    assert!(ground.environment.run(prepared.drive(), || false).is_none());
    let seen = ground.wait(all(updates));
    assert_complete(&ground, run, &seen, 1);
    assert_eq!(ground.state(run).version(), 2);
}

#[test]
fn e17_who_reads_slowly_gets_every_fact_while_the_run_goes_on() {
    for pause in [1, 7, 300] {
        let ground = Ground::slow();
        let environment = ground.environment.clone();
        let (_, took, run, seen) = beside(&ground, |prepared| {
            let mut updates = prepared.updates();
            async move {
                let mut seen = Vec::new();
                while let Some(update) = updates.next().await {
                    seen.push(update);
                    if seen.len() % 50 == 0 {
                        environment.sleep_until(environment.now() + pause).await;
                    }
                }
                seen
            }
        });
        assert_eq!(took, ROUNDS as u64, "a reader that pauses for {pause} ms slowed the run");
        assert_complete(&ground, run, &seen, 1);
        assert_no_holes(&seen);
    }
}

#[test]
fn e17_a_reader_that_is_dropped_in_the_middle_of_a_read_misses_nothing() {
    let ground = Ground::slow();
    let environment = ground.environment.clone();
    let (_, _, run, seen) = beside(&ground, |prepared| {
        let mut updates = prepared.updates();
        async move {
            let mut seen = Vec::new();
            loop {
                // Asks, and gives up at once if there is nothing yet.
                match futures_util::poll!(pin!(updates.next())) {
                    std::task::Poll::Ready(Some(update)) => seen.push(update),
                    std::task::Poll::Ready(None) => return seen,
                    std::task::Poll::Pending => environment.sleep_until(environment.now() + 100).await,
                }
            }
        }
    });
    assert_complete(&ground, run, &seen, 1);
}

#[test]
fn e17_a_log_that_cannot_be_read_for_a_while_leaves_no_gap() {
    let ground = Ground::slow();
    let environment = ground.environment.clone();
    let (_, _, run, updates) = beside(&ground, |prepared| {
        let mut updates = prepared.updates();
        async move {
            let first = updates.next().await.unwrap();
            environment.sleep_until(environment.now() + 250).await;
            (updates, first)
        }
    });
    let (mut updates, first) = updates;
    ground.log.broken(true);
    let mut seen = vec![first];
    let unread = ground.wait(updates.next());
    assert!(
        unread.is_none() || !matches!(unread, Some(Update::Events(ref batch)) if batch.first > 3),
        "{unread:?}"
    );
    ground.log.broken(false);
    seen.extend(unread);
    let found: Vec<u64> = batches(&seen).flat_map(numbered).map(|(number, _)| number).collect();
    assert_eq!(found, (1..=found.len() as u64).collect::<Vec<_>>());
    assert!(ground.state(run).is_finished());
}

#[test]
fn e17_who_comes_late_follows_the_log_from_any_position_at_any_time() {
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == "parallel tools").unwrap();
    let ground = Ground::slow();
    let prepared = ground.wait(scenario.agent(&ground).prepare("Go.", scenario.options(&ground))).unwrap();
    let total = {
        let run = prepared.id();
        ground.drive(prepared, |_| false).unwrap();
        ground.state(run).version()
    };
    for position in 1..=total + 1 {
        for late in (0..60).step_by(4) {
            let ground = Ground::slow();
            let prepared =
                ground.wait(scenario.agent(&ground).prepare("Go.", scenario.options(&ground))).unwrap();
            let (run, log) = (prepared.id(), ground.memory.clone());
            let follow = async {
                // Late by so many polls, and by as much virtual time.
                for _ in 0..=late {
                    windlass_testing::yield_now().await;
                }
                while log.is_empty() {
                    windlass_testing::yield_now().await;
                }
                log.follow(run, position)
                    .map(|batch| Update::Events(batch.unwrap()))
                    .collect::<Vec<_>>()
                    .await
            };
            let (ended, seen) = ground.wait(join(prepared.drive(), follow));
            ended.unwrap();
            assert_complete(&ground, run, &seen, position);
        }
    }
}

#[test]
fn e17_a_subscription_can_begin_after_what_is_known_already() {
    let ground = Ground::slow();
    let (_, _, run, seen) = beside(&ground, |prepared| all(prepared.updates().after(2)));
    assert_complete(&ground, run, &seen, 3);
}

#[test]
fn e16_pieces_of_a_broken_reply_are_void_and_the_estimate_of_it_is_counted() {
    use windlass_core::model::FailureKind;
    use windlass_testing::model_failure;
    let ground = Ground::new();
    let model = FnModel::streaming(|place, request| {
        if place > 0 {
            return Box::pin(futures_util::stream::iter(text_reply("whole").into_iter().map(Ok)));
        }
        let args =
            Delta::Call { index: Some(0), id: None, name: Some("look".into()), args: "{\"a\": 12".into() };
        let broken = model_failure(&request, FailureKind::Cut, "the stream broke");
        Box::pin(futures_util::stream::iter([Ok(args), Err(broken)]))
    });
    let agent = Agent::builder("tested")
        .model(("m", Arc::new(model)))
        .log(ground.log.clone())
        .environment(Arc::new(ground.environment.clone()))
        .build()
        .unwrap();
    let prepared = ground.wait(agent.prepare("A question of forty bytes, all in all...", options())).unwrap();
    let updates = prepared.updates();
    let (run, seen) = ground.wait(join(prepared.drive(), all(updates)));
    let run = run.unwrap();
    assert_eq!(run.text(), Some("whole"));
    let shown: Vec<_> = seen
        .iter()
        .filter_map(|update| match update {
            Update::Call { .. } => Some("call"),
            Update::Void { .. } => Some("void"),
            Update::Text { .. } => Some("text"),
            Update::Reasoning { .. }
            | Update::Partial { .. }
            | Update::Events(_)
            | Update::Log(_)
            | Update::Refused { .. } => None,
        })
        .collect();
    assert_eq!(shown, ["call", "void", "text"]);
    // 40 bytes of request and 12 of a call, a quarter of each; 20 and 10 for the whole reply.
    assert!(run.usage().estimated);
    assert_eq!((run.usage().input, run.usage().output), (30, 13));
}
