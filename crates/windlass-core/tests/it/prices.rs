//! Prices are integers, so that sums are exact whatever their order (E1, E41).

use windlass_core::message::{Annotations, HostedStep, HostedTool};
use windlass_core::model::{Prices, Usage};
use windlass_core::policy::LimitKind;

fn usage(input: u64, output: u64, cached: u64) -> Usage {
    Usage { input, output, cached, ..Usage::default() }
}

#[test]
fn dollars_per_million_become_pico_dollars_a_token() {
    let prices = Prices::per_million(0.25, 2.0, Some(0.025));
    assert_eq!(
        prices,
        Prices { input: 250_000, output: 2_000_000, cached: 25_000, cache_write: 250_000, hosted: None }
    );
    assert_eq!(
        Prices::per_million(3.0, 15.0, None).cached,
        3_000_000,
        "cached tokens cost as others if not said"
    );
}

#[test]
fn cached_tokens_are_part_of_the_input() {
    let prices = Prices::per_million(1.0, 2.0, Some(0.1));
    assert_eq!(prices.cost(&usage(1_000, 100, 400)), 840_000_000);
    assert_eq!(prices.cost(&usage(1_000, 0, 1_000)), 100_000_000);
    assert_eq!(prices.cost(&usage(0, 0, 0)), 0);
    // A provider that counts cached tokens beside the input is not paid twice, and nothing goes below zero.
    assert_eq!(prices.cost(&usage(100, 0, 400)), 10_000_000);
}

#[test]
fn k55_the_larger_of_a_reported_cost_and_the_list_price_counts() {
    let prices = Prices::per_million(1.0, 2.0, None);
    let reporting = |reported: u64| Usage { reported: reported.into(), ..usage(1_000, 0, 0) };
    for (reported, counted) in
        [(0, 1_000_000_000), (999_999_999, 1_000_000_000), (5_000_000_000, 5_000_000_000)]
    {
        assert_eq!(prices.cost(&reporting(reported)), counted);
        assert_eq!(Prices::cost_of(Some(&prices), &reporting(reported), None), Some(counted));
    }
    assert_eq!(Prices::cost_of(None, &reporting(7), None), Some(7), "a reported cost needs no list price");
    assert_eq!(Prices::cost_of(None, &reporting(0), None), None);
    let stored = serde_json::to_value(usage(1, 1, 0)).expect("JSON");
    assert!(stored.get("reported").is_none(), "{stored}");
    assert_eq!(serde_json::from_value::<Usage>(stored).expect("an old log"), usage(1, 1, 0));
    let mut sum = reporting(u64::MAX);
    sum.add(&reporting(1));
    assert_eq!(sum.reported.get(), (1 << 56) - 1, "nothing overflows");
    assert_eq!(size_of::<Usage>(), 6 * size_of::<u64>(), "it takes no room of its own");
}

#[test]
fn issue_27_tools_that_the_provider_ran_count_at_their_price_a_thousand_uses() {
    let prices = Prices::per_million(1.0, 2.0, None).with_hosted([(HostedTool::WebSearch, 10.0)]);
    let step = |tool, failed| HostedStep { tool, failed, ..HostedStep::default() };
    let steps = [
        (HostedTool::WebSearch, false),
        (HostedTool::WebSearch, false),
        (HostedTool::WebSearch, true),
        (HostedTool::Code, false),
    ];
    let steps = steps.map(|(tool, failed)| step(tool, failed)).to_vec();
    let ran = Annotations { steps, ..Annotations::default() };
    let used = usage(1_000, 0, 0);
    let cent = 10_000_000_000;
    assert_eq!(Prices::cost_of(Some(&prices), &used, Some(&ran)), Some(1_000_000_000 + 2 * cent));
    let reporting = Usage { reported: (5 * cent).into(), ..used };
    assert_eq!(Prices::cost_of(Some(&prices), &reporting, Some(&ran)), Some(5 * cent));
    assert_eq!(prices.hosted_cost(HostedTool::Code, 1), None, "its price is unknown");
    let plain = Prices::per_million(1.0, 2.0, None);
    assert_eq!(Prices::cost_of(Some(&plain), &used, Some(&ran)), Some(1_000_000_000));
    let stored = serde_json::to_string(&prices).expect("JSON");
    assert_eq!(serde_json::from_str::<Prices>(&stored).expect("it reads back"), prices);
    assert!(!serde_json::to_string(&plain).expect("JSON").contains("hosted"));
}

#[test]
fn a_million_small_costs_add_up_exactly() {
    let prices = Prices::per_million(0.1, 0.3, None);
    let one = prices.cost(&usage(1, 1, 0));
    assert_eq!(one, 400_000);
    let all: u64 = (0..1_000_000).map(|_| one).sum();
    assert_eq!(all, prices.cost(&usage(1_000_000, 1_000_000, 0)));
    assert_eq!(LimitKind::CostUsd.show(all), "0.4");
}

#[test]
fn nothing_overflows() {
    let prices =
        Prices { input: u64::MAX, output: u64::MAX, cached: u64::MAX, cache_write: u64::MAX, hosted: None };
    assert_eq!(prices.cost(&usage(u64::MAX, u64::MAX, 7)), u64::MAX);
}

#[test]
fn limits_are_kept_in_whole_units() {
    for (kind, written, kept) in [
        (LimitKind::ModelCalls, 10.0, Some(10)),
        (LimitKind::ModelCalls, 0.0, Some(0)),
        (LimitKind::ModelCalls, 1.5, None),
        (LimitKind::ModelCalls, -1.0, None),
        (LimitKind::Tokens, f64::NAN, None),
        (LimitKind::Tokens, f64::INFINITY, None),
        (LimitKind::Seconds, 0.25, Some(250)),
        (LimitKind::Seconds, 300.0, Some(300_000)),
        (LimitKind::Seconds, -0.001, None),
        (LimitKind::CostUsd, 0.5, Some(500_000_000_000)),
        (LimitKind::CostUsd, 0.000_001, Some(1_000_000)),
    ] {
        assert_eq!(kind.keep(written), kept, "{kind} {written}");
    }
    assert_eq!(LimitKind::Seconds.show(250), "0.25");
    assert_eq!(LimitKind::ModelCalls.show(10), "10");
}
