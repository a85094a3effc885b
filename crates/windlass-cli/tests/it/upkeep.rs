//! `windlass runs prune` and `backup`, `doctor` on a log, and how a log is opened.

use crate::kit::{Home, PLAIN, assert_end};

/// A home with two runs of one session, one that waits, and one run of its own.
fn home() -> Home {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    for input in ["What is 2 + 3?", "What is 3 + 4?"] {
        assert_eq!(home.windlass(["run", "agent.yaml", "--session", "sums", input]).code, 0);
    }
    assert_eq!(home.windlass(["run", "agent.yaml", "--approve", "calculate", "What is 4 + 5?"]).code, 75);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 5 + 6?"]).code, 0);
    home
}

fn listed(home: &Home) -> usize {
    home.windlass(["runs", "list", "--json"]).stdout.lines().count()
}

#[test]
fn pruning_needs_an_age_or_a_status_and_consent() {
    let home = home();
    assert_end!(home, home.windlass(["runs", "prune"]));
    assert_end!(home, home.windlass(["runs", "prune", "--yes"]));
    assert_end!(home, home.windlass(["runs", "prune", "--older-than", "0d"]));
    assert_end!(home, home.windlass(["runs", "prune", "--older-than", "0d", "--json"]));
    assert_eq!(home.windlass(["runs", "prune", "--older-than", "0d", "--yes", "--dry-run"]).code, 2);
    assert_eq!(listed(&home), 4, "nothing was deleted");
    let wrong = home.windlass(["runs", "prune", "--older-than", "soon"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("such as 30d"), "{wrong:?}");
}

#[test]
fn pruning_shows_first_and_deletes_then() {
    let home = home();
    assert_end!(home, home.windlass(["runs", "prune", "--dry-run"]));
    assert_eq!(listed(&home), 4, "looking changes nothing");
    let young = home.windlass(["runs", "prune", "--older-than", "1h", "--yes"]);
    assert_eq!(young.stderr, "0 runs deleted\n");
    assert_end!(home, home.windlass(["runs", "prune", "--older-than", "0d", "--yes"]));
    assert_eq!(listed(&home), 1, "the one that waits stays");
    let json = home.windlass(["runs", "prune", "--status", "suspended", "--yes", "--json"]).stdout;
    let lines: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines[0]["type"].as_str(), lines[1]["runs"].as_u64()), (Some("pruned"), Some(1)));
    assert_eq!(listed(&home), 0);
}

#[test]
fn deleting_a_session_needs_consent() {
    let home = home();
    assert_end!(home, home.windlass(["sessions", "delete", "sums"]));
    assert_eq!(home.windlass(["sessions", "delete", "--older-than", "0s"]).code, 2);
    assert_eq!(listed(&home), 4, "nothing was deleted");
    assert_end!(home, home.windlass(["sessions", "delete", "sums", "--yes"]));
    assert_eq!(listed(&home), 2);
}

#[test]
fn a_backup_is_a_log_like_any_other_and_replaces_nothing() {
    let home = home();
    let made = home.windlass(["runs", "backup", "copy.db"]);
    assert!(made.code == 0 && made.stderr.contains("copy.db: "), "{made:?}");
    let copied = home.windlass(["runs", "list", "--log", "copy.db", "--json"]).stdout;
    assert_eq!(copied, home.windlass(["runs", "list", "--json"]).stdout);
    let doctor = home.windlass(["doctor", "--all", "--log", "copy.db"]).stdout;
    assert!(doctor.contains("ok       log           copy.db: 4 runs, "), "{doctor}");
    // What waits can go on in the copy.
    let asked = home.windlass(["runs", "list", "--status", "suspended", "--json"]).stdout;
    let run: serde_json::Value = serde_json::from_str(&asked).unwrap();
    let run = run["run"].as_str().unwrap();
    assert_eq!(home.windlass(["runs", "--log", "copy.db", "answer", run, "q1", "approve"]).code, 0);
    assert_end!(home, home.windlass(["runs", "backup", "copy.db"]));
    assert_end!(home, home.windlass(["runs", "backup", "other.db", "--log", "nowhere.db"]));
}

#[test]
fn the_doctor_names_what_is_wrong_with_a_log() {
    let home = home();
    let good = home.windlass(["doctor", "--all"]).stdout;
    assert!(good.contains("log.db: 4 runs, ") && good.contains("format 2"), "{good}");
    let log = rusqlite::Connection::open(home.path("home/log.db")).unwrap();
    log.execute_batch(
        "UPDATE appends SET body = replace(body, 'TurnCompleted', 'TurnFinished') WHERE run = 1",
    )
    .unwrap();
    log.execute_batch(
        "DELETE FROM appends WHERE run = 4 AND last = (SELECT max(last) FROM appends WHERE run = 4)",
    )
    .unwrap();
    let bad = home.windlass(["doctor"]);
    assert_eq!(bad.code, 1, "{bad:?}");
    assert!(bad.stdout.contains("unknown variant `TurnFinished`"), "{}", bad.stdout);
    assert!(bad.stdout.contains("is not what was written"), "{}", bad.stdout);
    assert!(bad.stdout.contains("its events have no end, but it is listed as answered"), "{}", bad.stdout);
    // One line for each fault, and what mends all of them once.
    let lines: Vec<&str> = bad.stdout.lines().skip(1).take_while(|line| line.starts_with("log: ")).collect();
    assert!(lines.len() > 2 && lines[0].contains("`cp COPY "), "{}", bad.stdout);
    assert!(lines[1..].iter().all(|line| !line.contains("COPY")), "{}", bad.stdout);
}

/// A letter within what somebody said: the events are as good as before, and yet not what was written.
#[test]
fn a_changed_letter_is_found_by_the_doctor_and_by_an_export() {
    let home = home();
    let log = rusqlite::Connection::open(home.path("home/log.db")).unwrap();
    log.execute_batch("UPDATE appends SET body = replace(body, '3 + 4', '3 + 5') WHERE run = 2").unwrap();
    let doctor = home.windlass(["doctor"]);
    assert!(doctor.code == 1 && doctor.stdout.contains("is not what was written"), "{doctor:?}");
    let listed = home.windlass(["runs", "list", "--session", "sums", "--json"]).stdout;
    let run: serde_json::Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let export = home.windlass(["runs", "export", run["run"].as_str().unwrap()]);
    assert_end!(home, crate::kit::End { stdout: String::new(), ..export });
}

#[test]
fn a_log_can_be_opened_with_less_durability() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let options = ["run", "agent.yaml", "--log-sync", "normal", "--log-flush-ms", "100", "What is 2 + 3?"];
    assert_eq!(home.windlass(options).code, 0);
    let mut command = home.command(["run", "agent.yaml", "What is 2 + 3?"]);
    assert_eq!(command.env("WINDLASS_LOG_SYNC", "normal").status().unwrap().code(), Some(0));
    assert_eq!(command.env("WINDLASS_LOG_SYNC", "never").status().unwrap().code(), Some(2));
    assert_eq!(listed(&home), 2);
}
