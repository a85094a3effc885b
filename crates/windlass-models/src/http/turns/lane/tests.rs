use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use tokio::task::JoinSet;
use tokio::time::{Instant, advance, sleep};

use super::{GAP_MS, HOLD_WAIT_MS, Lane, MAX_HOLD_MS, MAX_TURN_WAIT_MS, Rate, TooLong, Turn, Why};

const MINUTE: u64 = 60_000;
/// A request leaves the window at most so much later than it could.
const SLOT: u64 = 100;

fn rate(requests: u64, tokens: u64) -> Rate {
    let (requests_per_minute, tokens_per_minute) = (NonZeroU64::new(requests), NonZeroU64::new(tokens));
    Rate { requests_per_minute, tokens_per_minute, ..Rate::default() }
}

async fn turn(lane: &Arc<Lane>, rate: impl Into<Option<Rate>>, tokens: u64) -> Result<Option<Turn>, TooLong> {
    lane.turn(rate.into(), tokens, |_, _| ()).await
}

/// The times in milliseconds at which requests went that came at once, in the order in which they came.
async fn times(lane: &Arc<Lane>, rate: impl Into<Option<Rate>>, count: usize) -> Vec<u64> {
    let (begun, rate) = (Instant::now(), rate.into());
    let went = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for number in 0..count {
        let (lane, went) = (lane.clone(), went.clone());
        tasks.spawn(async move {
            turn(&lane, rate, 1).await.expect("a turn");
            went.lock().unwrap().push((number, begun.elapsed().as_millis() as u64));
        });
    }
    tasks.join_all().await;
    let went = went.lock().unwrap();
    let order: Vec<_> = went.iter().map(|(number, _)| *number).collect();
    assert_eq!(order, (0..count).collect::<Vec<_>>(), "first come, first served");
    went.iter().map(|(_, ms)| *ms).collect()
}

#[tokio::test(start_paused = true)]
async fn e55_two_runs_that_share_a_key_are_spaced() {
    let lane = Arc::new(Lane::new());
    let begun = Instant::now();
    let went = Arc::new(Mutex::new(Vec::new()));
    let mut runs = JoinSet::new();
    for _ in 0..2 {
        let (lane, went) = (lane.clone(), went.clone());
        runs.spawn(async move {
            for _ in 0..3 {
                turn(&lane, rate(2, 0), 0).await.expect("a turn");
                went.lock().unwrap().push(begun.elapsed().as_millis() as u64);
            }
        });
    }
    runs.join_all().await;
    let went = went.lock().unwrap().clone();
    let expected = [0, 0, MINUTE + SLOT, MINUTE + SLOT, 2 * (MINUTE + SLOT), 2 * (MINUTE + SLOT)];
    assert_eq!(went, expected);
}

#[tokio::test(start_paused = true)]
async fn e55_requests_go_in_the_order_in_which_they_came() {
    let went = times(&Arc::new(Lane::new()), rate(5, 0), 20).await;
    assert_eq!(went.iter().filter(|ms| **ms == 0).count(), 5);
    assert_eq!(went.last(), Some(&(3 * (MINUTE + SLOT))));
}

#[tokio::test(start_paused = true)]
async fn e55_a_newcomer_does_not_jump_the_queue() {
    let (lane, one, begun) = (Arc::new(Lane::new()), rate(1, 0), Instant::now());
    turn(&lane, one, 0).await.expect("the first goes at once");
    let ask = |comes_ms: u64| {
        let lane = lane.clone();
        tokio::spawn(async move {
            sleep(Duration::from_millis(comes_ms)).await;
            turn(&lane, one, 0).await.map(|_| begun.elapsed().as_millis() as u64)
        })
    };
    // It comes at the moment in which the head may go, and is polled before it.
    let newcomer = ask(MINUTE + SLOT);
    let head = ask(10);
    assert_eq!(head.await.expect("no panic"), Ok(MINUTE + SLOT));
    assert_eq!(newcomer.await.expect("no panic"), Ok(2 * (MINUTE + SLOT)));
}

#[tokio::test(start_paused = true)]
async fn e55_one_that_is_cancelled_passes_its_turn_on() {
    let lane = Arc::new(Lane::new());
    turn(&lane, rate(1, 0), 0).await.expect("the first goes at once");
    let head = tokio::spawn({
        let lane = lane.clone();
        async move { turn(&lane, rate(1, 0), 0).await.map(drop) }
    });
    sleep(Duration::from_millis(10)).await;
    let begun = Instant::now();
    let next = tokio::spawn({
        let lane = lane.clone();
        async move { turn(&lane, rate(1, 0), 0).await.map(|_| begun.elapsed()) }
    });
    sleep(Duration::from_millis(10)).await;
    head.abort();
    let waited = next.await.expect("no panic").expect("a turn");
    assert!(
        waited < Duration::from_millis(MINUTE + 2 * SLOT),
        "it has the head's turn, not the next one: {waited:?}"
    );
    assert_eq!(lane.state().waiting.requests, 0, "nobody is counted any more");
}

#[tokio::test(start_paused = true)]
async fn e55_different_keys_do_not_wait_for_each_other() {
    let (one, other) = (Arc::new(Lane::new()), Arc::new(Lane::new()));
    turn(&one, rate(1, 0), 0).await.expect("a turn");
    one.refused(20_000);
    let begun = Instant::now();
    turn(&other, rate(1, 0), 0).await.expect("a turn");
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn e55_a_refusal_holds_all_others_and_they_come_back_one_by_one() {
    let lane = Arc::new(Lane::new());
    assert!(!lane.is_busy(), "without limits nothing is looked at");
    lane.refused(2_000);
    assert!(lane.is_busy());
    let went = times(&lane, None, 64).await;
    assert_eq!(went.first(), Some(&2_000));
    assert!(went.windows(2).all(|pair| pair[1] - pair[0] == GAP_MS), "{went:?}");
    assert!(!lane.is_busy(), "it is over");
}

#[tokio::test(start_paused = true)]
async fn e55_another_refusal_holds_those_that_are_still_held() {
    let lane = Arc::new(Lane::new());
    lane.refused(1_000);
    let begun = Instant::now();
    let held: Vec<_> = (0..4)
        .map(|_| {
            let lane = lane.clone();
            tokio::spawn(
                async move { turn(&lane, None, 0).await.map(|_| begun.elapsed().as_millis() as u64) },
            )
        })
        .collect();
    sleep(Duration::from_millis(1_050)).await;
    lane.refused(5_000);
    let mut went = Vec::new();
    for held in held {
        went.push(held.await.expect("no panic").expect("a turn"));
    }
    assert_eq!(went, [1_000, 6_050, 6_050 + GAP_MS, 6_050 + 2 * GAP_MS], "one asked, and was refused");
}

#[tokio::test(start_paused = true)]
async fn e55_a_turn_that_comes_too_late_is_refused_at_once() {
    let lane = Arc::new(Lane::new());
    lane.refused(3_600_000);
    let begun = Instant::now();
    let refused = turn(&lane, None, 0).await.expect_err("an hour");
    assert_eq!((refused.wait_ms, refused.most_ms, refused.why), (3_600_000, HOLD_WAIT_MS, Why::Asked));
    assert_eq!(begun.elapsed(), Duration::ZERO);
    advance(Duration::from_millis(MAX_HOLD_MS)).await;
    turn(&lane, None, 0).await.expect("after a while one asks again: the limit may have been raised");

    let lane = Arc::new(Lane::new());
    let (mut waiting, one) = (JoinSet::new(), rate(1, 0));
    for _ in 0..11 {
        let lane = lane.clone();
        waiting.spawn(async move { turn(&lane, one, 0).await.map(drop) });
    }
    sleep(Duration::from_millis(1)).await;
    let refused = turn(&lane, one, 0).await.expect_err("ten wait before it");
    assert_eq!(refused.most_ms, MAX_TURN_WAIT_MS);
    assert!(refused.wait_ms > 10 * MINUTE && refused.wait_ms < 12 * MINUTE, "{refused:?}");
    let patient = Rate { max_wait_ms: Some(20 * MINUTE), ..one };
    turn(&lane, patient, 0).await.expect("it may wait longer");
    let ended = waiting.join_all().await;
    assert_eq!(ended.iter().filter(|ended| ended.is_ok()).count(), 10, "the eleventh is a slot too late");
}

#[tokio::test(start_paused = true)]
async fn e55_tokens_are_estimated_before_and_counted_afterwards() {
    let (lane, thousand) = (Arc::new(Lane::new()), rate(0, 1_000));
    let begun = Instant::now();
    let first = turn(&lane, thousand, 900).await.expect("a turn").expect("tokens are counted");
    let second = tokio::spawn({
        let lane = lane.clone();
        async move { turn(&lane, thousand, 500).await.map(|turn| (turn, begun.elapsed())) }
    });
    sleep(Duration::from_secs(3)).await;
    first.took(400);
    let (second, waited) = second.await.expect("no panic").expect("a turn");
    assert_eq!(waited, Duration::from_secs(3), "it goes as soon as there is room");
    second.expect("tokens are counted").took(5_000);
    let third = turn(&lane, thousand, 1).await.map(|_| begun.elapsed()).expect("a turn");
    assert!(third > Duration::from_secs(63), "more than was estimated counts as well: {third:?}");
    let fourth = turn(&lane, thousand, 50_000).await.map(|_| begun.elapsed()).expect("a turn");
    assert!(fourth > third + Duration::from_secs(59), "one that is too large goes alone: {fourth:?}");
}

#[tokio::test(start_paused = true)]
async fn e55_a_good_reply_teaches_that_nothing_remains() {
    let lane = Arc::new(Lane::new());
    lane.spent(20_000);
    assert_eq!(times(&lane, None, 2).await, [20_000, 20_000 + GAP_MS]);
    lane.spent(6 * 3_600_000);
    assert_eq!(times(&lane, None, 1).await, [0], "a day's window: the next request asks the provider");
}

#[tokio::test(start_paused = true)]
async fn e55_a_request_without_limits_keeps_to_those_of_others_with_the_key() {
    let lane = Arc::new(Lane::new());
    turn(&lane, rate(1, 0), 0).await.expect("a turn");
    assert_eq!(times(&lane, None, 1).await, [MINUTE + SLOT]);
    advance(Duration::from_millis(super::RATE_MEMORY_MS + 1)).await;
    assert_eq!(times(&lane, None, 3).await, [0, 0, 0], "nobody has set them for long");
    assert!(!lane.is_busy());
}

/// Arrivals with their tokens, and whether each gives up after so many milliseconds.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u64, Option<u64>)>> {
    let one = (0_u64..20_000, 1_u64..400, proptest::option::weighted(0.2, 0_u64..60_000));
    proptest::collection::vec(one, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn e55_no_minute_has_more_requests_or_tokens_than_allowed(
        arrivals in arrivals(), requests in 1_u64..12, tokens in 400_u64..2_000,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let sent = runtime.expect("a runtime").block_on(async {
            let (lane, begun) = (Arc::new(Lane::new()), Instant::now());
            let sent = Arc::new(Mutex::new(Vec::new()));
            let mut tasks = JoinSet::new();
            let mut at = 0;
            for (gap, need, gives_up) in arrivals {
                at += gap;
                let (lane, sent) = (lane.clone(), sent.clone());
                tasks.spawn(async move {
                    sleep(Duration::from_millis(at)).await;
                    let asked = async {
                        if turn(&lane, rate(requests, tokens), need).await.is_ok() {
                            sent.lock().unwrap().push((begun.elapsed().as_millis() as u64, need));
                        }
                    };
                    let patience = Duration::from_millis(gives_up.unwrap_or(u64::MAX >> 20));
                    tokio::time::timeout(patience, asked).await.ok();
                });
            }
            tasks.join_all().await;
            assert_eq!(lane.state().waiting, super::Load::default());
            let sent = sent.lock().unwrap();
            sent.clone()
        });
        for (from, _) in &sent {
            let within = sent.iter().filter(|(at, _)| at >= from && *at < from + MINUTE);
            prop_assert!(within.clone().count() as u64 <= requests, "{sent:?}");
            prop_assert!(within.map(|(_, need)| need).sum::<u64>() <= tokens, "{sent:?}");
        }
    }
}
