//! `windlass test`.

use crate::kit::{Home, assert_end};

const CASES: &str = r#"
cases:
  - name: it answers
    model: [ { text: "Hello." } ]
    input: Say hello
    expect: { status: answered, text: "Hello." }
  - name: it falls short
    model: [ { text: "Hello." } ]
    input: Say hello
    expect: { text: "Good day." }
  - name: it is misspelt
    modle: [ { text: "Hello." } ]
    input: Say hello
"#;

#[test]
fn one_line_a_case_a_diff_and_the_sums() {
    let home = Home::new();
    home.write("cases.yaml", CASES);
    assert_end!(home, home.windlass(["test", "cases.yaml"]));
}

#[test]
fn the_last_line_stands_alone_and_the_exit_code_is_0_only_if_all_passed() {
    let home = Home::new();
    home.write("cases/a.yaml", CASES);
    home.write("cases/deep/b.yml", "name: alone\nmodel: [ { text: hi } ]\ninput: x\nexpect: { text: hi }\n");
    home.write("cases/.hidden/c.yaml", "no cases at all");
    let all = home.windlass(["test", "cases"]);
    assert_eq!((all.code, all.stdout.lines().last()), (1, Some("2 passed, 2 failed")), "{all:?}");
    let one = home.windlass(["test", "cases", "--only", "it ans*"]);
    assert_eq!((one.code, one.stdout.lines().last()), (0, Some("1 passed, 0 failed")), "{one:?}");
    let part = home.windlass(["test", "cases", "--only", "alone"]);
    assert_eq!((part.code, part.stdout.lines().last()), (0, Some("1 passed, 0 failed")), "{part:?}");
    let none = home.windlass(["test", "cases", "--only", "nothing"]);
    assert_eq!(none.code, 65, "{none:?}");
}

#[test]
fn a_file_that_is_no_yaml_fails_alone() {
    let home = Home::new();
    home.write("cases/bad.yaml", "cases: [\n");
    home.write("cases/good.yaml", "name: good\nmodel: [ { text: hi } ]\ninput: x\n");
    let end = home.windlass(["test", "cases"]);
    assert_eq!((end.code, end.stdout.lines().last()), (1, Some("1 passed, 1 failed")), "{end:?}");
    assert!(end.stdout.contains("FAILED cases/bad.yaml:"), "{end:?}");
}

#[test]
fn modes_and_restarts() {
    let home = Home::new();
    home.write("a.yaml", "name: a\nmodel: [ { text: hi } ]\ninput: x\n");
    let passes = |args: &[&str]| {
        let out = home.command([&["test", "a.yaml", "--json"][..], args].concat()).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        first["passes"].as_u64().unwrap()
    };
    assert_eq!(passes(&[]), 2);
    assert_eq!(passes(&["--blocking"]), 1);
    assert_eq!(passes(&["--streaming"]), 1);
    assert!(passes(&["--blocking", "--crash"]) > 2);
}

#[test]
fn a_cases_log_is_printed() {
    let home = Home::new();
    home.write("cases.yaml", CASES);
    let end = home.windlass(["test", "cases.yaml", "--print-log", "it answers"]);
    assert_eq!(end.code, 0, "{end:?}");
    assert!(end.stdout.contains("RunStarted") && end.stdout.contains("RunEnded"), "{end:?}");
    assert!(end.stdout.ends_with("\n1 passed, 0 failed\n"), "{end:?}");
    assert_eq!(home.windlass(["test", "cases.yaml", "--print-log", "nobody"]).code, 65);
}

#[test]
fn what_cannot_be_done() {
    let home = Home::new();
    home.write("cases.yaml", CASES);
    let missing = home.windlass(["test", "nowhere"]);
    assert_eq!(missing.code, 65);
    assert!(missing.stderr.contains("hint: "), "{missing:?}");
    let seeds = home.windlass(["test", "cases.yaml", "--seeds", "3"]);
    assert_eq!(seeds.code, 2);
    assert!(seeds.stderr.contains("`--seeds` is not available in this version"), "{seeds:?}");
}

#[test]
fn the_examples_hold() {
    let home = Home::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/tests");
    let end = home.windlass(["test", folder, "--crash"]);
    assert_eq!(end.code, 0, "{end:?}");
}
