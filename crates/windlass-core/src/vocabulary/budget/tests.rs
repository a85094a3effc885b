//! Tests of the reservation of a call within what is left.

use super::*;

fn model(max_tokens: Option<u64>) -> ModelChoice {
    let prices = Some(Prices { input: 1, output: 10, cached: 1, cache_write: 1, hosted: None });
    ModelChoice { max_tokens, prices, ..ModelChoice::default() }
}

fn cost(cost: u64) -> Budget {
    Budget { cost: Some(cost), ..Budget::default() }
}

#[test]
fn e40_an_explicit_bound_is_reserved_whole() {
    let need = Need::of(100, &model(Some(50)));
    assert_eq!(need.of_left(&cost(600)).unwrap().total(), Amount { input: 100, output: 50, cost: 600 });
    let short = Short { limit: LimitKind::CostUsd, needed: 600, left: 599 };
    assert_eq!(need.of_left(&cost(599)), Err(short));
    let tokens = Budget { tokens: Some(149), ..Budget::default() };
    assert_eq!(need.of_left(&tokens).unwrap_err().needed, 150);
    let output = Budget { output_tokens: Some(49), ..Budget::default() };
    assert_eq!(need.of_left(&output).unwrap_err().limit, LimitKind::OutputTokens);
}

#[test]
fn e40_without_a_bound_the_input_must_fit_and_at_most_4096_tokens_are_reserved() {
    let need = Need::of(100, &model(None));
    assert_eq!(need.of_left(&cost(99)).unwrap_err().needed, 100);
    for (left, output) in [(100, 0), (109, 0), (110, 1), (1_000, 90), (1_000_000, OPEN_OUTPUT)] {
        let reserved = need.of_left(&cost(left)).unwrap();
        assert_eq!(reserved.total().output, output, "of {left}");
        assert!(reserved.total().cost <= left);
        assert_eq!(reserved.sure, Amount { input: 100, output: 0, cost: 100 });
    }
    assert_eq!(need.of_left(&Budget::default()).unwrap().total().output, OPEN_OUTPUT);
    let both = Budget { tokens: Some(120), output_tokens: Some(7), ..Budget::default() };
    assert_eq!(need.of_left(&both).unwrap().total().output, 7);
    // Replies that cost nothing are bounded by tokens alone.
    let free = ModelChoice { prices: Some(Prices::default()), ..ModelChoice::default() };
    assert_eq!(Need::of(1, &free).of_left(&cost(1)).unwrap().total().output, OPEN_OUTPUT);
}

#[test]
fn a_limit_that_is_used_up_lets_nothing_begin() {
    let free = Need::of(0, &ModelChoice::default());
    assert_eq!(free.of_left(&cost(0)).unwrap_err().left, 0);
}

#[test]
fn e40_an_account_is_never_overdrawn_and_a_call_waits_for_those_that_are_going_on() {
    let need = Need::of(0, &model(Some(4)));
    let mut account = Account::new(cost(100), Amount::default());
    let first = account.draw(&need).unwrap();
    let second = account.draw(&need).unwrap();
    assert!(matches!(account.draw(&need), Err(Undrawn::NotYet(short)) if short.left == 20));
    account.settle(&first, Amount { input: 0, output: 1, cost: 10 });
    let third = account.draw(&need).unwrap();
    account.settle(&second, second.sure);
    account.settle(&third, third.sure);
    assert_eq!(account.left().cost, Some(10));
    assert!(matches!(account.draw(&need), Err(Undrawn::Never(short)) if short.needed == 40));
}
