//! Tests of calls that wait for a reservation in nested families.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures_core::future::BoxFuture;
use futures_util::FutureExt;
use futures_util::task::{ArcWake, waker};
use proptest::prelude::*;
use windlass_core::budget::Budget;
use windlass_core::model::ModelChoice;

use super::*;

/// Counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl ArcWake for Woken {
    fn wake_by_ref(arc_self: &Arc<Self>) {
        arc_self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn tokens(most: u64) -> Account {
    Account::new(Budget { output_tokens: Some(most), ..Budget::default() }, Amount::default())
}

fn need(tokens: u64) -> Need {
    Need::of(0, &ModelChoice { max_tokens: Some(tokens), ..ModelChoice::default() })
}

/// A call that waits, and what wakes it.
struct Waiting {
    drawing: BoxFuture<'static, Result<Drawn, Short>>,
    woken: Arc<Woken>,
    seen: usize,
}

impl Waiting {
    fn new(account: &Arc<SharedAccount>, tokens: u64) -> Self {
        let (account, need) = (account.clone(), need(tokens));
        let drawing = async move { account.draw(&need).await }.boxed();
        Self { drawing, woken: Arc::default(), seen: 0 }
    }

    fn poll(&mut self) -> Poll<Result<Drawn, Short>> {
        self.seen = self.woken.0.load(Ordering::SeqCst);
        self.drawing.poll_unpin(&mut Context::from_waker(&waker(self.woken.clone())))
    }

    fn is_woken(&self) -> bool {
        self.woken.0.load(Ordering::SeqCst) > self.seen
    }
}

#[test]
fn e40_a_call_that_waits_for_an_account_above_sleeps_until_something_is_settled() {
    let root = SharedAccount::new(tokens(50), None);
    let child = SharedAccount::new(tokens(50), Some(root));
    let (mut one, mut two, mut three) =
        (Waiting::new(&child, 40), Waiting::new(&child, 40), Waiting::new(&child, 40));
    let Poll::Ready(Ok(drawn)) = one.poll() else { panic!("there is room for one") };
    assert!(two.poll().is_pending() && three.poll().is_pending());
    assert!(!two.is_woken() && !three.is_woken(), "neither wakes itself, nor the other");
    drawn.settle(Amount { output: 5, ..Amount::default() });
    assert!(two.is_woken() && three.is_woken());
    assert!(matches!(two.poll(), Poll::Ready(Ok(_))));
    // The one that is lost with its process keeps what it had reserved.
    assert!(three.is_woken());
    assert!(matches!(three.poll(), Poll::Ready(Err(_))), "nothing that could be given back is left");
}

#[test]
fn e40_a_lost_call_wakes_those_who_wait() {
    let root = SharedAccount::new(tokens(50), None);
    let child = SharedAccount::new(tokens(50), Some(root.clone()));
    let (mut one, mut two) = (Waiting::new(&child, 40), Waiting::new(&child, 40));
    let Poll::Ready(Ok(drawn)) = one.poll() else { panic!("there is room for one") };
    assert!(two.poll().is_pending());
    drop(drawn);
    assert!(two.is_woken(), "a lost call is settled, too");
}

/// Runs of a family: the place of each one's parent, and its limit if it shares it. Runs with an equal or a fixed share open no
/// account, and draw on that of their parent.
fn family() -> impl Strategy<Value = Vec<(usize, Option<u64>)>> {
    prop::collection::vec((0..8_usize, prop::option::weighted(0.6, 20..120_u64)), 1..8)
}

proptest! {
    /// Whatever the family, each call draws or is refused, nothing is overdrawn, and nobody is asked who was not woken.
    #[test]
    fn e40_calls_of_a_nested_family_end(runs in family(), calls in prop::collection::vec((0..8_usize, 1..60_u64, 0..60_u64), 1..12)) {
        let mut accounts = vec![SharedAccount::new(tokens(100), None)];
        let mut opened = vec![(accounts[0].clone(), 100)];
        for (parent, limit) in runs {
            let above = accounts[parent % accounts.len()].clone();
            accounts.push(match limit {
                Some(limit) => {
                    let own = SharedAccount::new(tokens(limit), Some(above));
                    opened.push((own.clone(), limit));
                    own
                }
                None => above,
            });
        }
        let mut going: VecDeque<(Drawn, u64)> = VecDeque::new();
        let mut waiting: Vec<(Waiting, u64)> = Vec::new();
        for (run, needed, used) in &calls {
            let mut call = Waiting::new(&accounts[run % accounts.len()], *needed);
            let used = *used.min(needed);
            match call.poll() {
                Poll::Ready(Ok(drawn)) => going.push_back((drawn, used)),
                Poll::Ready(Err(_)) => {}
                Poll::Pending => {
                    prop_assert!(!call.is_woken(), "a call that waits does not wake itself");
                    waiting.push((call, used));
                }
            }
        }
        while let Some((drawn, used)) = going.pop_front() {
            drawn.settle(Amount { output: used, ..Amount::default() });
            let asked: Vec<(Waiting, u64)> = std::mem::take(&mut waiting);
            for (mut call, used) in asked {
                prop_assert!(call.is_woken(), "all who wait are told");
                match call.poll() {
                    Poll::Ready(Ok(drawn)) => going.push_back((drawn, used)),
                    Poll::Ready(Err(_)) => {}
                    Poll::Pending => waiting.push((call, used)),
                }
            }
            prop_assert!(waiting.iter().all(|(call, _)| !call.is_woken()), "nobody wakes anybody by asking");
        }
        prop_assert!(waiting.is_empty(), "nobody waits once nothing is going on");
        for (account, limit) in opened {
            let left = account.lock().left().output_tokens;
            prop_assert!(left.is_some_and(|left| left <= limit));
        }
    }
}
