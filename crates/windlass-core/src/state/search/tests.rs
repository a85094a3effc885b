//! Properties of the search: it finds exactly the items that are to blame, within its bound.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::protocol::fact::refused::{CandidateItem, RefusalCandidate};
use crate::state::search::{MAX_PROBES, Search, Step};
use crate::vocabulary::reply::{FailureKind, ModelFailure};

/// More items than that are in no search.
const MAX_CANDIDATES: usize = 256;

fn over(count: usize) -> Search {
    let item = |at: usize| RefusalCandidate { at: at as u64, what: CandidateItem::Reasoning };
    let failure = ModelFailure::new(FailureKind::BadRequest, "no", "m");
    Search::after_failure(failure).begun((0..count).map(item).collect(), Vec::new(), 0)
}

fn numbers(items: &[RefusalCandidate]) -> Vec<usize> {
    items.iter().map(|item| usize::try_from(item.at).unwrap()).collect()
}

/// How a search ended: what it found (`None`: nothing is to blame), with the number of its requests, and whether the last one was
/// accepted.
fn search(count: usize, is_accepted: impl Fn(&BTreeSet<usize>) -> bool) -> (Option<Vec<usize>>, u32, bool) {
    let mut search = over(count);
    let (mut probes, mut accepted) = (0, false);
    loop {
        let without: BTreeSet<usize> = match search.step() {
            Step::Probe(without) => numbers(&without).into_iter().collect(),
            Step::Found(found) => return (Some(numbers(&found)), probes, accepted),
            Step::Blameless => return (None, probes, accepted),
        };
        assert!(without.iter().all(|item| *item < count));
        accepted = is_accepted(&without);
        search = search.after(accepted);
        if let (true, Step::Found(found)) = (accepted, search.step()) {
            assert_eq!(numbers(&found), Vec::from_iter(without), "the answer is one without exactly these");
        }
        probes += 1;
    }
}

/// The requests that one item among so many takes at most: all, the halves, and itself.
fn for_one(count: usize) -> u32 {
    2 + usize::BITS - (count - 1).leading_zeros()
}

proptest! {
    #[test]
    fn e58_the_search_finds_exactly_the_items_that_are_refused(
        count in 1..=MAX_CANDIDATES, seeds in prop::collection::btree_set(any::<u16>(), 0..4),
    ) {
        let bad: BTreeSet<usize> = seeds.into_iter().map(|seed| usize::from(seed) % count).collect();
        let (end, probes, _) = search(count, |without| bad.is_subset(without));
        prop_assert!(probes <= MAX_PROBES);
        if bad.is_empty() {
            // The request was refused without anything left out, so that this provider has changed its mind.
            prop_assert!(end.is_some());
        } else {
            prop_assert_eq!(end, Some(Vec::from_iter(bad.clone())), "no innocent one is left out");
            let most = for_one(count) * u32::try_from(bad.len()).unwrap();
            prop_assert!(probes <= most, "{probes} probes for {bad:?} of {count}");
        }
    }

    #[test]
    fn e58_any_number_of_refused_items_is_within_the_bound(
        count in 1..=MAX_CANDIDATES, refused in prop::collection::vec(any::<bool>(), MAX_CANDIDATES),
    ) {
        let bad: BTreeSet<usize> = (0..count).filter(|item| refused[*item]).collect();
        let (end, probes, _) = search(count, |without| bad.is_subset(without));
        prop_assert!(probes <= MAX_PROBES);
        let Some(found) = end else { return Err(TestCaseError::fail("something is found")) };
        let found: BTreeSet<usize> = found.into_iter().collect();
        prop_assert!(bad.is_subset(&found), "the request without them is accepted");
        if probes < MAX_PROBES && !bad.is_empty() {
            prop_assert_eq!(found, bad);
        }
    }

    /// A provider that takes so many images and no more: the oldest go.
    #[test]
    fn e58_too_many_items_lose_the_oldest(count in 2_usize..64, over in 1_usize..4) {
        let over = over.min(count - 1);
        let (end, _, _) = search(count, |without| without.len() >= over);
        prop_assert_eq!(end, Some((0..over).collect()));
    }
}

/// A search that runs out of requests leaves good items out, and says so.
#[test]
fn a_search_that_runs_out_of_requests_says_so() {
    let ran_out = |bad: BTreeSet<usize>| {
        let mut search = over(200);
        loop {
            match search.step() {
                Step::Probe(without) => {
                    let without: BTreeSet<usize> = numbers(&without).into_iter().collect();
                    search = search.after(bad.is_subset(&without));
                }
                Step::Found(found) => return (found.len() > bad.len(), search.ran_out()),
                Step::Blameless => panic!("the items are to blame"),
            }
        }
    };
    assert_eq!(ran_out((0..200).step_by(20).collect()), (true, true));
    assert_eq!(ran_out(BTreeSet::from([3, 150])), (false, false));
}

#[test]
fn e58_a_history_that_is_not_to_blame_costs_one_request() {
    let (end, probes, _) = search(200, |_| false);
    assert_eq!((end, probes), (None, 1));
}

#[test]
fn e58_a_single_item_is_found_with_one_request_whose_answer_counts() {
    let (end, probes, accepted) = search(1, |without| !without.is_empty());
    assert_eq!((end, probes, accepted), (Some(vec![0]), 1, true));
}
