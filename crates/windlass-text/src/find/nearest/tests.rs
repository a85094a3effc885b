use super::{Comparing, MOST_STEPS, nearest};

/// The steps of comparing a name with others.
fn steps(name: &str, names: &[String]) -> usize {
    let mut comparing = Comparing { left: usize::MAX };
    comparing.nearest_or_any(name, names.iter().map(String::as_str));
    usize::MAX - comparing.left
}

#[test]
fn steps_grow_with_the_names_and_not_with_their_lengths() {
    let names = |n: usize| (0..n).map(|n| format!("tool_number_{n:05}")).collect::<Vec<_>>();
    for n in [50, 500] {
        assert!(steps("tool", &names(2 * n)) * 2 <= steps("tool", &names(n)) * 5);
        let long = |n: usize| "x".repeat(n);
        assert!(steps(&long(2 * n), &names(40)) * 2 <= steps(&long(n), &names(40)) * 5);
    }
    let hostile = "x".repeat(100_000);
    assert_eq!(steps(&hostile, &names(40)), steps(&hostile[..200], &names(40)));
    let longer = vec!["y".repeat(100_000); 40];
    assert_eq!(steps(&hostile, &longer), 40 * (128 * 128 + 1));
}

#[test]
fn a_reply_full_of_unknown_names_has_one_budget() {
    let names: Vec<String> = (0..40).map(|n| format!("tool_number_{n:02}")).collect();
    let mut comparing = Comparing::default();
    let mut find = |name: &str| comparing.nearest_or_any(name, names.iter().map(String::as_str));
    assert_eq!(find("tool_number_7")[0], "tool_number_07");
    for n in 0..600 {
        assert_eq!(find(&format!("{n}{}", "x".repeat(100_000))).len(), 3);
    }
    // The steps are used up: three tools are named all the same.
    assert_eq!(find("tool_number_7"), ["tool_number_00", "tool_number_01", "tool_number_02"]);
    assert!(steps("tool_number_7", &names) < MOST_STEPS / 100);
}

#[test]
fn long_names_are_compared_by_their_beginnings() {
    assert_eq!(nearest(&"search".repeat(1_000), ["search"]), ["search"]);
    assert_eq!(nearest(&"\u{e9}".repeat(1_000), ["search"]), Vec::<String>::new());
}

#[test]
fn a_letter_that_stands_in_a_name_is_not_close_to_it() {
    assert_eq!(nearest("m", ["gpt-5-mini", "mistral"]), Vec::<String>::new());
    assert_eq!(nearest("mi", ["gpt-5-mini"]), Vec::<String>::new());
    assert_eq!(nearest("gpt-oss-120b", ["b"]), Vec::<String>::new());
    assert_eq!(nearest("mini", ["gpt-5-mini"]), ["gpt-5-mini"]);
    assert_eq!(nearest("id", ["run_id"]), ["run_id"]);
}
