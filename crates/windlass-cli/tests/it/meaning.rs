//! What runs did, in words: `runs show -e`, `runs diff`, `runs replay` and `runs watch`.

use crate::kit::{ASKING, Home, PLAIN, assert_end};

/// An agent whose tool says more than fits on a line.
const LONG: &str = r#"
name: long
model: tour
tools:
  - command:
      name: calculate
      run: [sh, -c, "printf 'x%.0s' $(seq 700)"]
      description: Evaluates an arithmetic expression.
      parameters: { type: object, properties: { expression: { type: string } }, required: [expression] }
"#;

#[test]
fn the_events_of_a_run_are_told_in_words() {
    let home = Home::new();
    home.write("agent.yaml", ASKING);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 75);
    let edited = ["runs", "answer", "last", "q1", "args", "{\"expression\": \"4 * 4\"}"];
    assert_eq!(home.windlass(edited).code, 0);
    let mut end = home.windlass(["runs", "show", "last", "-e"]);
    // Times are right-aligned: how many spaces stand before them depends on them.
    let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    end.stdout = end.stdout.lines().map(line).collect::<Vec<_>>().join("\n");
    for event in ["RunStarted", "TurnCompleted", "CallHeld", "InputRequested", "CallFinished"] {
        assert!(!end.stdout.contains(event), "{end:?}");
    }
    assert_end!(home, end);
}

#[test]
fn the_difference_of_two_runs_is_told_in_words() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    home.write("careful.yaml", &format!("{PLAIN}loop: {{ approve: [calculate] }}\n"));
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let one = home.id();
    let fork = home.windlass(["runs", "fork", &one, "--at", "3", "--with", "careful.yaml"]);
    assert_eq!(fork.code, 75, "{fork:?}");
    assert_end!(home, home.windlass(["runs", "diff", &one, "last"]));
    let nobody = home.windlass(["runs", "diff", &one, "ffffffff"]);
    assert!(nobody.code != 0 && nobody.stderr.starts_with("error: "), "{nobody:?}");
}

#[test]
fn what_is_cut_is_said_with_the_command_that_shows_it() {
    let home = Home::new();
    home.write("agent.yaml", LONG);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let one = home.id();
    let cut = "lines that end with … were cut: `windlass runs ";
    for args in [&["runs", "watch", "last"][..], &["runs", "show", "last"], &["runs", "show", "-e", "last"]] {
        let end = crate::kit::end(home.command(args).output().unwrap());
        assert!(end.stderr.contains(cut), "{args:?}: {end:?}");
    }
    let whole = home.windlass(["runs", "show", "last", "-e", "--json"]).stdout;
    assert!(whole.contains(&"x".repeat(700)), "{whole}");

    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 4?"]).code, 0);
    let diff = home.windlass(["runs", "diff", &one, "last"]);
    assert!(diff.stderr.contains(cut), "{diff:?}");
    let whole = home.windlass(["runs", "diff", &one, "last", "--json"]).stdout;
    assert!(whole.contains(&"x".repeat(700)), "{whole}");

    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let short = home.windlass(["runs", "show", "last", "-e"]);
    assert!(!short.stderr.contains("cut"), "nothing is: {short:?}");
}
