//! Runs that go from one log to another, and runs held against each other.

use crate::kit::{ASKING, Home, PLAIN, assert_end, lines, until};

fn exported(home: &Home, run: &str) -> String {
    let end = home.windlass(["runs", "export", run]);
    assert_eq!(end.code, 0, "{end:?}");
    end.stdout
}

/// An export without the lines that have this part.
fn without(export: &str, part: &str) -> String {
    export.split_inclusive('\n').filter(|line| !line.contains(part)).collect()
}

/// An export without its hashes.
fn unhashed(export: &str) -> String {
    let line = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().shift_remove("hash");
        format!("{line}\n")
    };
    export.lines().map(line).collect()
}

/// What remains of an export when the listing's own fields do not count.
fn events(export: &str) -> Vec<&str> {
    export.lines().filter(|line| line.starts_with("{\"type\":\"event\"")).collect()
}

#[test]
fn an_exported_session_is_the_same_after_an_import() {
    let (here, there) = (Home::new(), Home::new());
    here.write("agent.yaml", PLAIN);
    for input in ["What is 2 + 3?", "What is 4 + 4?"] {
        assert_eq!(here.windlass(["run", "agent.yaml", "--session", "s", input]).code, 0);
    }
    let export = exported(&here, "last");
    there.write("run.jsonl", &export);
    let end = there.windlass(["runs", "import", "run.jsonl"]);
    assert_eq!((end.code, end.stdout.lines().count()), (0, 2), "a run and its base: {end:?}");
    assert_eq!(events(&exported(&there, "last")), events(&export));
    assert_eq!(there.windlass(["runs", "replay", "last"]).code, 0);
    let again = there.windlass_with(["runs", "import", "-"], &export);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.stdout.lines().all(|line| line.ends_with("already in this log")), "{again:?}");
    let home = here.windlass(["runs", "import", "../nowhere"]);
    assert_eq!(home.code, 65, "{home:?}");
    here.write("run.jsonl", &export);
    let home = here.windlass(["runs", "import", "run.jsonl", "--json"]);
    assert!(home.stdout.contains("\"written\":0"), "a run that came back home is the same: {home:?}");
}

#[test]
fn e31_an_export_that_was_changed_is_refused_and_nothing_is_written() {
    let (here, there) = (Home::new(), Home::new());
    here.write("agent.yaml", PLAIN);
    for input in ["What is 2 + 3?", "What is 4 + 4?"] {
        assert_eq!(here.windlass(["run", "agent.yaml", "--session", "s", input]).code, 0);
    }
    let hashed = exported(&here, "last");
    // Somebody who forges an export makes hashes anew, or leaves them out.
    let export = unhashed(&hashed);
    // The first one is the title, for people.
    let changed = hashed.replacen("What is 2 + 3?", "What is 2 + 4?", 2);
    let bare = unhashed(&hashed);
    let pairs = hashed.lines().zip(bare.lines());
    let mixed: Vec<&str> =
        pairs.map(|(line, bare)| if line.contains("\"seq\":2,") { bare } else { line }).collect();
    let mixed = mixed.join("\n") + "\n";
    let kept: Vec<&str> = export.lines().filter(|line| !line.contains("\"seq\":3,")).collect();
    let gap = kept.join("\n") + "\n";
    let forged = export.replacen("2 + 3 is 5.", "2 + 3 is 6.", 2);
    let newer = export.replacen("\"schema\":1", "\"schema\":99", 1);
    let causeless = export.replacen("\"cause\":{\"type\":\"start\"}", "\"note\":1", 1);
    let cut = export.get(..export.len() / 3).unwrap().to_owned();
    for (text, why) in [
        (changed, "event 1 was changed after the export"),
        (mixed, "either all events of a run have a hash, or none"),
        (gap, "expected event 3, found event 4"),
        (forged, "has another digest here"),
        (newer, "events of schema 99"),
        (causeless, "event 1 begins an append without a `cause`"),
        (cut, "line "),
        ("{\"type\":\"run\"}\n".to_owned(), "line 1"),
        (String::new(), "contains no run"),
    ] {
        there.write("run.jsonl", &text);
        let end = there.windlass(["runs", "import", "run.jsonl"]);
        assert_eq!(end.code, 65, "{why}: {end:?}");
        assert!(end.stderr.contains(why), "{why}: {end:?}");
    }
    // Of the forged session the first run is whole: it stands there, and another one of its id is refused.
    there.write("run.jsonl", &export);
    let end = there.windlass(["runs", "import", "run.jsonl"]);
    assert_eq!(end.code, 1, "{end:?}");
    assert!(end.stderr.contains("is already in this log and differs from event"), "{end:?}");
}

/// A file that was cut off between two lines is as good as any, but for the events that are missing at its end.
#[test]
fn e31_an_export_that_lacks_its_last_events_is_refused() {
    let (here, there) = (Home::new(), Home::new());
    here.write("agent.yaml", PLAIN);
    assert_eq!(here.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let export = exported(&here, "last");
    let lines: Vec<&str> = export.lines().collect();
    let short = lines[..lines.len() - 1].join("\n");
    assert_end!(there, there.windlass_with(["runs", "import", "-"], &short));
    assert_end!(there, there.windlass_with(["runs", "import", "-"], &unhashed(&export)));
}

#[test]
fn e24_an_imported_run_acts_only_with_an_agent_of_ones_own_whose_policy_applies() {
    let (here, there) = (Home::new(), Home::new());
    here.write("agent.yaml", ASKING);
    assert_eq!(here.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 75);
    // Somebody over there has allowed the call already; nobody here has.
    assert_eq!(here.windlass(["runs", "answer", "--leave", "last", "q1", "approve"]).code, 0);
    let export = exported(&here, "last");
    there.write("agent.yaml", ASKING);
    assert_end!(there, there.windlass_with(["runs", "import", "-"], &export));
    // The very same agent's file is known here, and yet it must be named.
    assert_eq!(there.windlass(["run", "agent.yaml", "Hello"]).code, 0);
    let run = serde_json::from_str::<serde_json::Value>(export.lines().next().unwrap()).unwrap();
    let run = run["run"].as_str().unwrap();
    for args in [["runs", "resume", run], ["runs", "answer", run]] {
        let mut command = there.command(args);
        if args[1] == "answer" {
            command.args(["q1", "approve"]);
        }
        let end = command.output().unwrap();
        assert_eq!(end.status.code(), Some(65), "{end:?}");
    }
    let end = there.windlass(["runs", "resume", run, "--with", "agent.yaml"]);
    assert_eq!(end.code, 75, "a person here is asked anew: {end:?}");
    let end = there.windlass(["runs", "answer", run, "q2", "approve"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 3 is 5.\n"), "now it is ours: {end:?}");
    // With a policy that forbids the call, it is not run whatever was said over there.
    let (strict, log) = (ASKING.replace("approve", "deny"), there.path("other.db").display().to_string());
    there.write("strict.yaml", &strict);
    assert_eq!(there.windlass_with(["runs", "import", "-", "--log", &log], &export).code, 0);
    let end = there.windlass(["runs", "resume", run, "--with", "strict.yaml", "--log", &log]);
    assert_eq!(end.code, 0, "{end:?}");
    let effects = there.windlass(["runs", "effects", run, "--log", &log]);
    assert_eq!(effects.stdout, "", "no call was started: {effects:?}");
    assert_eq!(there.windlass(["runs", "replay", run, "--log", &log]).code, 0);
}

#[test]
fn e24_a_call_that_was_allowed_and_begun_elsewhere_is_asked_about_with_the_arguments_that_would_run() {
    let agent = r#"
name: keeper
model: tour
tools:
  - command:
      name: calculate
      run: [sh, -c, "echo \"$0\" >> ran; while [ ! -e go ]; do sleep 0.02; done; echo 5", "{expression}"]
      description: Works out a sum.
      parameters: { type: object, properties: { expression: { type: string } }, required: [expression] }
      effect: read_only
loop: { approve: [calculate] }
"#;
    let (here, there) = (Home::new(), Home::new());
    here.write("agent.yaml", agent);
    assert_eq!(here.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 75);
    let mut child = here.start(["runs", "answer", "last", "q1", "approve"]);
    until("the tool has begun", || lines(&here.path("ran")) == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    here.write("go", "");
    // Somebody changes what was allowed, on its way.
    let export = exported(&here, "last");
    let forged = unhashed(&export).replace("2 + 3", "rm -rf everything");
    assert_ne!(forged, export);
    there.write("agent.yaml", agent);
    there.write("go", "");
    assert_eq!(there.windlass_with(["runs", "import", "-"], &forged).code, 0);
    let end = there.windlass(["runs", "resume", "last", "--with", "agent.yaml"]);
    assert_eq!((end.code, there.read("ran").as_str()), (75, ""), "{end:?}");
    assert!(end.stderr.contains("rm -rf everything"), "{end:?}");
    let last = there.last();
    let mut events = last["events"].as_array().unwrap().iter();
    let started = events.find(|event| event["event"] == "CallStarted").unwrap()["seq"].to_string();
    let end = there.windlass(["runs", "fork", "last", "--at", &started, "--with", "agent.yaml"]);
    assert_eq!((end.code, there.read("ran").as_str()), (75, ""), "nor does a fork run it: {end:?}");
}

#[test]
fn two_runs_are_compared_from_where_they_part() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let one = home.id();
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let end = home.windlass(["runs", "diff", &one, "last"]);
    assert_eq!(end.code, 0, "{end:?}");
    assert!(end.stdout.contains("the runs do not differ"), "{end:?}");
    let fork = home.windlass(["runs", "fork", &one, "--at", "5", "What is 4 + 4?"]);
    assert_eq!(fork.code, 0, "{fork:?}");
    assert_end!(home, home.windlass(["runs", "diff", &one, "last"]));
    let json = home.windlass(["runs", "diff", &one, "last", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert!(value["common"].as_u64().unwrap() >= 5, "{value}");
}

#[test]
fn e35_payloads_travel_with_their_run_and_are_held_against_their_hash() {
    let (here, there) = (Home::new(), Home::new());
    here.write(
        "agent.yaml",
        r#"
name: big
model: tour
tools:
  - command:
      name: calculate
      run: [sh, -c, "yes windlass | head -c 9000000"]
      description: Works out a sum.
      parameters: { type: object, properties: { expression: { type: string } }, required: [expression] }
      effect: read_only
"#,
    );
    assert_eq!(here.windlass(["run", "agent.yaml", "What is 2 + 5?"]).code, 0);
    let export = exported(&here, "last");
    assert_eq!(
        export.matches("\"type\":\"payload\"").count(),
        4,
        "the agent's files, and the result in pieces of 4 MiB"
    );
    let forged = export.replacen("d2luZGxhc3MK", "d2luZGxhc3M/", 1);
    assert_ne!(forged, export);
    let without = without(&export, "\"type\":\"payload\"");
    for (text, why) in [(&forged, "expected a payload of SHA-256"), (&without, "payload")] {
        there.write("run.jsonl", text);
        let end = there.windlass(["runs", "import", "run.jsonl"]);
        assert_ne!(end.code, 0, "{why}: {end:?}");
        assert!(end.stderr.contains(why), "{why}: {end:?}");
    }
    there.write("run.jsonl", &export);
    let end = there.windlass(["runs", "import", "run.jsonl"]);
    assert_eq!(end.code, 0, "{end:?}");
    assert_eq!(exported(&there, "last").lines().count(), export.lines().count());
    assert_eq!(there.windlass(["runs", "replay", "last"]).code, 0);
}

#[test]
fn last_is_the_run_that_began_last_also_where_another_id_is_greater() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    let (first, export) = (home.id(), exported(&home, "last"));
    // The first digits of an id are its time: this one is of a year far ahead.
    let ahead = format!("7fffffff{}", &first[8..]);
    home.write("ahead.jsonl", &unhashed(&export.replace(&first, &ahead)));
    let import = home.windlass(["runs", "import", "ahead.jsonl"]);
    assert_eq!((import.code, home.id()), (0, ahead.clone()), "it has begun here with its import: {import:?}");
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 3 + 4?"]).code, 0);
    assert_eq!(home.last()["summary"]["title"], "What is 3 + 4?");
    let list = home.windlass(["runs", "list", "--json"]).stdout;
    let place = |run: &str| list.lines().position(|line| line.contains(run)).unwrap();
    assert_eq!([&home.id(), &ahead, &first].map(|run| place(run)), [0, 1, 2], "{list}");
}
