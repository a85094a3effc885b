//! Properties of the search: it finds exactly the items that are to blame, within its bound.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::state::halving::{Halving, MAX_CANDIDATES, MAX_PROBES, Step};

/// How a search ended, with the number of its requests, and whether the last one was accepted.
fn search(count: usize, is_accepted: impl Fn(&BTreeSet<usize>) -> bool) -> (Step, u32, bool) {
    let mut halving = Halving::over(count);
    let (mut probes, mut accepted) = (0, false);
    loop {
        let Step::Probe(without) = halving.step() else { return (halving.step(), probes, accepted) };
        let without: BTreeSet<usize> = without.into_iter().collect();
        assert!(without.iter().all(|item| *item < count));
        accepted = is_accepted(&without);
        let last = halving.is_last();
        halving = halving.after(accepted);
        if accepted {
            assert_eq!(last, matches!(halving.step(), Step::Found(_)), "which answer counts is known before");
        }
        if let (true, Step::Found(found)) = (accepted, halving.step()) {
            assert_eq!(found, Vec::from_iter(without), "the answer is one without exactly these");
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
            prop_assert!(matches!(end, Step::Found(_)));
        } else {
            prop_assert_eq!(end, Step::Found(Vec::from_iter(bad.clone())), "no innocent one is left out");
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
        let Step::Found(found) = end else { return Err(TestCaseError::fail("something is found")) };
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
        prop_assert_eq!(end, Step::Found((0..over).collect()));
    }
}

/// A search that runs out of requests leaves good items out, and says so.
#[test]
fn a_search_that_runs_out_of_requests_says_so() {
    let ran_out = |bad: BTreeSet<usize>| {
        let mut halving = Halving::over(200);
        loop {
            match halving.step() {
                Step::Probe(without) => {
                    let without: BTreeSet<usize> = without.into_iter().collect();
                    halving = halving.after(bad.is_subset(&without));
                }
                Step::Found(found) => return (found.len() > bad.len(), halving.ran_out()),
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
    assert_eq!((end, probes), (Step::Blameless, 1));
}

#[test]
fn e58_a_single_item_is_found_with_one_request_whose_answer_counts() {
    let (end, probes, accepted) = search(1, |without| !without.is_empty());
    assert_eq!((end, probes, accepted), (Step::Found(vec![0]), 1, true));
}
