use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use tokio::task::JoinSet;
use tokio::time::{Instant, advance, sleep};

use super::{GAP_MS, HOLD_WAIT_MS, Limiter, MAX_HOLD_MS, MAX_PERMIT_WAIT_MS, Permit, Rate, TooLong, Why};

const MINUTE: u64 = 60_000;
/// A request leaves the window at most so much later than it could.
const SLOT: u64 = 100;

fn rate(requests: u64, tokens: u64) -> Rate {
    let (requests_per_minute, tokens_per_minute) = (NonZeroU64::new(requests), NonZeroU64::new(tokens));
    Rate { requests_per_minute, tokens_per_minute, ..Rate::default() }
}

async fn permit(
    limiter: &Arc<Limiter>,
    rate: impl Into<Option<Rate>>,
    tokens: u64,
) -> Result<Option<Permit>, TooLong> {
    limiter.acquire(rate.into(), tokens, |_, _| ()).await
}

/// The times in milliseconds at which requests went that came at once, in the order in which they came.
async fn times(limiter: &Arc<Limiter>, rate: impl Into<Option<Rate>>, count: usize) -> Vec<u64> {
    let (begun, rate) = (Instant::now(), rate.into());
    let went = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for number in 0..count {
        let (limiter, went) = (limiter.clone(), went.clone());
        tasks.spawn(async move {
            permit(&limiter, rate, 1).await.expect("a permit");
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
    let limiter = Arc::new(Limiter::new());
    let begun = Instant::now();
    let went = Arc::new(Mutex::new(Vec::new()));
    let mut runs = JoinSet::new();
    for _ in 0..2 {
        let (limiter, went) = (limiter.clone(), went.clone());
        runs.spawn(async move {
            for _ in 0..3 {
                permit(&limiter, rate(2, 0), 0).await.expect("a permit");
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
    let went = times(&Arc::new(Limiter::new()), rate(5, 0), 20).await;
    assert_eq!(went.iter().filter(|ms| **ms == 0).count(), 5);
    assert_eq!(went.last(), Some(&(3 * (MINUTE + SLOT))));
}

#[tokio::test(start_paused = true)]
async fn e55_a_newcomer_does_not_jump_the_queue() {
    let (limiter, one, begun) = (Arc::new(Limiter::new()), rate(1, 0), Instant::now());
    permit(&limiter, one, 0).await.expect("the first goes at once");
    let ask = |comes_ms: u64| {
        let limiter = limiter.clone();
        tokio::spawn(async move {
            sleep(Duration::from_millis(comes_ms)).await;
            permit(&limiter, one, 0).await.map(|_| begun.elapsed().as_millis() as u64)
        })
    };
    // It comes at the moment in which the head may go, and is polled before it.
    let newcomer = ask(MINUTE + SLOT);
    let head = ask(10);
    assert_eq!(head.await.expect("no panic"), Ok(MINUTE + SLOT));
    assert_eq!(newcomer.await.expect("no panic"), Ok(2 * (MINUTE + SLOT)));
}

#[tokio::test(start_paused = true)]
async fn e55_one_that_is_cancelled_passes_its_permit_on() {
    let limiter = Arc::new(Limiter::new());
    permit(&limiter, rate(1, 0), 0).await.expect("the first goes at once");
    let head = tokio::spawn({
        let limiter = limiter.clone();
        async move { permit(&limiter, rate(1, 0), 0).await.map(drop) }
    });
    sleep(Duration::from_millis(10)).await;
    let begun = Instant::now();
    let next = tokio::spawn({
        let limiter = limiter.clone();
        async move { permit(&limiter, rate(1, 0), 0).await.map(|_| begun.elapsed()) }
    });
    sleep(Duration::from_millis(10)).await;
    head.abort();
    let waited = next.await.expect("no panic").expect("a permit");
    assert!(
        waited < Duration::from_millis(MINUTE + 2 * SLOT),
        "it has the head's permit, not the next one: {waited:?}"
    );
    assert_eq!(limiter.state().waiting.requests, 0, "nobody is counted any more");
}

#[tokio::test(start_paused = true)]
async fn e55_different_keys_do_not_wait_for_each_other() {
    let (one, other) = (Arc::new(Limiter::new()), Arc::new(Limiter::new()));
    permit(&one, rate(1, 0), 0).await.expect("a permit");
    one.refused(20_000);
    let begun = Instant::now();
    permit(&other, rate(1, 0), 0).await.expect("a permit");
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn e55_a_refusal_holds_all_others_and_they_come_back_one_by_one() {
    let limiter = Arc::new(Limiter::new());
    assert!(!limiter.is_busy(), "without limits nothing is looked at");
    limiter.refused(2_000);
    assert!(limiter.is_busy());
    let went = times(&limiter, None, 64).await;
    assert_eq!(went.first(), Some(&2_000));
    assert!(went.windows(2).all(|pair| pair[1] - pair[0] == GAP_MS), "{went:?}");
    assert!(!limiter.is_busy(), "it is over");
}

#[tokio::test(start_paused = true)]
async fn e55_another_refusal_holds_those_that_are_still_held() {
    let limiter = Arc::new(Limiter::new());
    limiter.refused(1_000);
    let begun = Instant::now();
    let held: Vec<_> = (0..4)
        .map(|_| {
            let limiter = limiter.clone();
            tokio::spawn(async move {
                permit(&limiter, None, 0).await.map(|_| begun.elapsed().as_millis() as u64)
            })
        })
        .collect();
    sleep(Duration::from_millis(1_050)).await;
    limiter.refused(5_000);
    let mut went = Vec::new();
    for held in held {
        went.push(held.await.expect("no panic").expect("a permit"));
    }
    assert_eq!(went, [1_000, 6_050, 6_050 + GAP_MS, 6_050 + 2 * GAP_MS], "one asked, and was refused");
}

#[tokio::test(start_paused = true)]
async fn e55_a_permit_that_comes_too_late_is_refused_at_once() {
    let limiter = Arc::new(Limiter::new());
    limiter.refused(3_600_000);
    let begun = Instant::now();
    let refused = permit(&limiter, None, 0).await.expect_err("an hour");
    assert_eq!((refused.wait_ms, refused.most_ms, refused.why), (3_600_000, HOLD_WAIT_MS, Why::Asked));
    assert_eq!(begun.elapsed(), Duration::ZERO);
    advance(Duration::from_millis(MAX_HOLD_MS)).await;
    permit(&limiter, None, 0).await.expect("after a while one asks again: the limit may have been raised");

    let limiter = Arc::new(Limiter::new());
    let (mut waiting, one) = (JoinSet::new(), rate(1, 0));
    for _ in 0..11 {
        let limiter = limiter.clone();
        waiting.spawn(async move { permit(&limiter, one, 0).await.map(drop) });
    }
    sleep(Duration::from_millis(1)).await;
    let refused = permit(&limiter, one, 0).await.expect_err("ten wait before it");
    assert_eq!(refused.most_ms, MAX_PERMIT_WAIT_MS);
    assert!(refused.wait_ms > 10 * MINUTE && refused.wait_ms < 12 * MINUTE, "{refused:?}");
    let patient = Rate { max_wait_ms: Some(20 * MINUTE), ..one };
    permit(&limiter, patient, 0).await.expect("it may wait longer");
    let ended = waiting.join_all().await;
    assert_eq!(ended.iter().filter(|ended| ended.is_ok()).count(), 10, "the eleventh is a slot too late");
}

#[tokio::test(start_paused = true)]
async fn e55_tokens_are_estimated_before_and_counted_afterwards() {
    let (limiter, thousand) = (Arc::new(Limiter::new()), rate(0, 1_000));
    let begun = Instant::now();
    let first = permit(&limiter, thousand, 900).await.expect("a permit").expect("tokens are counted");
    let second = tokio::spawn({
        let limiter = limiter.clone();
        async move { permit(&limiter, thousand, 500).await.map(|permit| (permit, begun.elapsed())) }
    });
    sleep(Duration::from_secs(3)).await;
    first.took(400);
    let (second, waited) = second.await.expect("no panic").expect("a permit");
    assert_eq!(waited, Duration::from_secs(3), "it goes as soon as there is room");
    second.expect("tokens are counted").took(5_000);
    let third = permit(&limiter, thousand, 1).await.map(|_| begun.elapsed()).expect("a permit");
    assert!(third > Duration::from_secs(63), "more than was estimated counts as well: {third:?}");
    let fourth = permit(&limiter, thousand, 50_000).await.map(|_| begun.elapsed()).expect("a permit");
    assert!(fourth > third + Duration::from_secs(59), "one that is too large goes alone: {fourth:?}");
}

#[tokio::test(start_paused = true)]
async fn e55_a_good_reply_teaches_that_nothing_remains() {
    let limiter = Arc::new(Limiter::new());
    limiter.spent(20_000);
    assert_eq!(times(&limiter, None, 2).await, [20_000, 20_000 + GAP_MS]);
    limiter.spent(6 * 3_600_000);
    assert_eq!(times(&limiter, None, 1).await, [0], "a day's window: the next request asks the provider");
}

#[tokio::test(start_paused = true)]
async fn e55_a_request_without_limits_keeps_to_those_of_others_with_the_key() {
    let limiter = Arc::new(Limiter::new());
    permit(&limiter, rate(1, 0), 0).await.expect("a permit");
    assert_eq!(times(&limiter, None, 1).await, [MINUTE + SLOT]);
    advance(Duration::from_millis(super::RATE_MEMORY_MS + 1)).await;
    assert_eq!(times(&limiter, None, 3).await, [0, 0, 0], "nobody has set them for long");
    assert!(!limiter.is_busy());
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
            let (limiter, begun) = (Arc::new(Limiter::new()), Instant::now());
            let sent = Arc::new(Mutex::new(Vec::new()));
            let mut tasks = JoinSet::new();
            let mut at = 0;
            for (gap, need, gives_up) in arrivals {
                at += gap;
                let (limiter, sent) = (limiter.clone(), sent.clone());
                tasks.spawn(async move {
                    sleep(Duration::from_millis(at)).await;
                    let asked = async {
                        if permit(&limiter, rate(requests, tokens), need).await.is_ok() {
                            sent.lock().unwrap().push((begun.elapsed().as_millis() as u64, need));
                        }
                    };
                    let patience = Duration::from_millis(gives_up.unwrap_or(u64::MAX >> 20));
                    tokio::time::timeout(patience, asked).await.ok();
                });
            }
            tasks.join_all().await;
            assert_eq!(limiter.state().waiting, super::Load::default());
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
