//! One budget for a whole family of runs (E40, E41, contract 15): random trees of runs, each with its own way to share, under
//! failures, fallbacks, lost processes and cancelling.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use windlass_core::model::{ModelChoice, Prices, Usage};
use windlass_core::policy::{AtLimit, Limit, LimitKind, Preset, Share, Transport};
use windlass_core::{Policy, Status};

use crate::family::{Family, Kind, Move};

/// A pico-dollar a token, so that cost and tokens are of one size.
const CHEAP: Prices = Prices { input: 1, output: 1, cached: 1, cache_write: 1, hosted: None };
const DEAR: Prices = Prices { input: 2, output: 7, cached: 2, cache_write: 2, hosted: None };

fn shares() -> impl Strategy<Value = Share> {
    prop_oneof![Just(Share::Equal), (0.05_f64..=1.0).prop_map(Share::Fixed), Just(Share::Shared)]
}

fn limits(max: std::ops::Range<u64>) -> impl Strategy<Value = BTreeMap<LimitKind, u64>> {
    let kinds = [LimitKind::Tokens, LimitKind::InputTokens, LimitKind::OutputTokens, LimitKind::CostUsd];
    proptest::collection::btree_map(proptest::sample::select(kinds.to_vec()), max, 1..3)
}

fn models() -> impl Strategy<Value = Vec<ModelChoice>> {
    let model =
        (proptest::option::weighted(0.7, 1_u64..400), any::<bool>()).prop_map(|(max_tokens, dear)| {
            let prices = Some(if dear { DEAR } else { CHEAP });
            ModelChoice { name: "m".into(), prices, max_tokens, ..ModelChoice::default() }
        });
    vec(model, 1..3)
}

fn kind(
    limits: impl Strategy<Value = BTreeMap<LimitKind, u64>>,
    closing: bool,
) -> impl Strategy<Value = Kind> {
    let at_limit = if closing {
        prop_oneof![Just(AtLimit::WrapUp), Just(AtLimit::None)].boxed()
    } else {
        Just(AtLimit::None).boxed()
    };
    (limits, shares(), models(), at_limit).prop_map(|(limits, share, models, at_limit)| {
        let mut policy = Preset::CHAT.policy();
        let limit = |(kind, max)| (kind, Limit { max, at_limit: None });
        policy.bounds.limits = limits.into_iter().map(limit).collect();
        (policy.bounds.share, policy.bounds.at_limit) = (share, at_limit);
        policy.transport = Transport { retries: 2, wait_ms: 10, max_wait_ms: 10 };
        Kind { policy, models }
    })
}

fn kinds() -> impl Strategy<Value = Vec<Kind>> {
    // Those below the root mostly have no limits of their own.
    let own = proptest::option::weighted(0.3, limits(0..2_000)).prop_map(Option::unwrap_or_default);
    (kind(limits(0..6_000), false), vec(kind(own, true), 1..4))
        .prop_map(|(root, below)| std::iter::once(root).chain(below).collect())
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    vec(
        (any::<u8>(), any::<u16>(), 0_u16..1_500).prop_map(|(what, pick, used)| Move { what, pick, used }),
        1..80,
    )
}

fn lives(kinds: Vec<Kind>, moves: &[Move]) -> Family {
    let mut family = Family::new(kinds);
    for next in moves {
        family.happens(*next);
    }
    while family.happens(Move { what: 5, pick: 0, used: 1 }) {}
    family.check_end();
    family
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn e40_what_a_tree_of_runs_is_admitted_never_exceeds_the_roots_limits(kinds in kinds(), moves in moves()) {
        lives(kinds, &moves);
    }
}

#[test]
fn random_trees_see_what_matters() {
    let mut runner = TestRunner::deterministic();
    let (mut most, mut refused, mut lost, mut overshot, mut limited) = (0, 0, 0, 0, 0);
    for _ in 0..300 {
        let tree = (kinds(), moves()).new_tree(&mut runner).unwrap().current();
        let family = lives(tree.0, &tree.1);
        most = most.max(family.runs());
        refused += family.refused;
        lost += usize::from(!family.lost.is_zero());
        overshot += usize::from(family.root().overshoots().next().is_some());
        let ends = family.states().filter_map(|state| state.ended());
        limited += ends.filter(|end| matches!(end.status, Status::Limit(_))).count();
    }
    let seen = (most >= 20, refused >= 20, lost >= 30, overshot >= 10, limited >= 100);
    assert_eq!(seen, (true, true, true, true, true), "{most} {refused} {lost} {overshot} {limited}");
}

fn root(share: Share, max: u64) -> Kind {
    let mut policy: Policy = Preset::CHAT.policy();
    policy.bounds.limits = BTreeMap::from([(LimitKind::CostUsd, Limit { max, at_limit: None })]);
    (policy.bounds.share, policy.bounds.at_limit) = (share, AtLimit::None);
    let models = vec![ModelChoice {
        name: "m".into(),
        prices: Some(CHEAP),
        max_tokens: Some(100),
        ..ModelChoice::default()
    }];
    Kind { policy, models }
}

fn below() -> Kind {
    let mut kind = root(Share::Equal, 0);
    kind.policy.bounds.limits.clear();
    kind
}

#[test]
fn e40_sixteen_parallel_children_cannot_overspend() {
    for (share, least) in [(Share::Equal, 5), (Share::Fixed(0.05), 5), (Share::Shared, 7)] {
        let mut kind = root(share, 1_000);
        kind.policy.calls.batch = windlass_core::policy::Batch::Concurrent(16);
        let mut family = Family::new(vec![kind, below()]);
        family.asks_for(16, Usage { input: 1, output: 1, ..Usage::default() });
        while family.happens(Move { what: 5, pick: 0, used: 100 }) {}
        family.check_end();
        assert_eq!(family.runs(), 17);
        let limited = |state: &&windlass_core::State| {
            state.ended().is_some_and(|end| end.status == Status::Limit(LimitKind::CostUsd))
        };
        assert!(family.states().filter(limited).count() >= least, "{share:?}: some could not be paid");
        assert!(family.paid.cost <= 1_000, "{share:?}: {:?}", family.paid);
    }
}
