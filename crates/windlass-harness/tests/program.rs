//! The program: that cargo builds it with the tests, and that it says what it cannot work without.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::process::{Command, Output};

fn harness(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_windlass-harness")).args(args).output().unwrap()
}

#[test]
fn help_names_every_campaign() {
    let help = harness(&["--help"]);
    let text = String::from_utf8(help.stdout).unwrap();
    for campaign in ["kills", "senders", "calls", "windows", "prefixes", "power", "disks", "doors", "matrix"]
    {
        assert!(text.lines().any(|line| line.trim_start().starts_with(campaign)), "{campaign}: {text}");
    }
}

#[test]
fn a_campaign_without_the_binary_under_test_fails_and_names_it() {
    let end = harness(&["kills", "--count", "1", "--seed", "1", "--windlass", "/nowhere/windlass"]);
    let said = String::from_utf8(end.stderr).unwrap();
    assert!(!end.status.success() && said.contains("/nowhere/windlass"), "{said}");
}
