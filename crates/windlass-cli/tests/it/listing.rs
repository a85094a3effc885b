//! `windlass runs list`: the tree, short ids, titles and statuses.

use crate::kit::{BOTH, End, Home, PLAIN, SLOW, assert_end, end, finish, lines, until};
use crate::seat::Seat;

const LEAD: &str = "name: lead\ninstructions: You lead.\nloop: { preset: text }\nagents: [ ./sums.yaml ]\n";
const SUMS: &str = "name: sums\ndescription: Does sums.\nmodel: tour\ntools: [ { builtin: [calculate] } ]\n";
const ASKS: &str = r#"["```delegate\n{\"agent\": \"sums\", \"task\": \"What is 17% of 2350?\"}\n```", "```delegate\n{\"agent\": \"sums\", \"task\": \"What is 3 + 4?\"}\n```", "Done."]"#;

/// A home with a run of a lead, which handed on two tasks, and a run before and after it.
fn family() -> Home {
    let home = Home::new();
    home.write("lead.yaml", LEAD);
    home.write("sums.yaml", SUMS);
    assert_eq!(home.windlass(["run", "sums.yaml", "What is 1 + 1?"]).code, 0);
    let mut lead = home.command(["run", "lead.yaml", "Two sums, please."]);
    let lead = end(lead.env("DEBUG_MOCK_RESPONSES", ASKS).output().unwrap());
    assert_eq!((lead.code, lead.stdout.trim()), (0, "Done."), "{lead:?}");
    assert_eq!(home.windlass(["run", "sums.yaml", "What is 2 + 2?"]).code, 0);
    home
}

fn ids(list: &End) -> Vec<String> {
    let ids = list.stdout.lines().skip(1).map(|line| line.trim_start_matches([' ', '└']));
    ids.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn children_stand_below_the_run_that_started_them() {
    let home = family();
    let list = home.windlass(["runs", "list"]);
    assert_eq!(ids(&list).len(), 5, "{list:?}");
    assert_end!(home, list);
    assert_end!(home, home.windlass(["runs", "list", "--limit", "2"]));
    // A child without its parent in the list names it.
    assert_end!(home, home.windlass(["runs", "list", "--agent", "sums", "--limit", "2"]));
}

#[test]
fn a_run_is_shown_with_those_below_it_and_what_all_of_them_used() {
    let home = family();
    let list = home.windlass(["runs", "list"]);
    let lead = ids(&list).remove(1);
    assert_end!(home, home.windlass(["runs", "show", &lead, "--tree"]));
    let json = home.windlass(["runs", "show", &lead, "--tree", "--json"]);
    let depths: Vec<serde_json::Value> = json
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["depth"].take())
        .collect();
    assert_eq!(depths, [0, 1, 1]);
    let stats = home.windlass(["runs", "stats", "--json"]).stdout;
    let used = serde_json::from_str::<serde_json::Value>(&stats).unwrap()["used"].take();
    let row = |of: &str, name: &str| {
        let rows = used[of].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name} in {used}")).clone()
    };
    assert_eq!((&row("agents", "lead")["count"], &row("agents", "sums")["count"]), (&1.into(), &4.into()));
    let tool = row("tools", "calculate");
    assert_eq!((&tool["count"], &tool["failed"]), (&4.into(), &0.into()));
    assert!(tool["p95_ms"].as_u64() >= tool["p50_ms"].as_u64(), "{tool}");
    let table = home.windlass(["runs", "stats"]).stdout;
    let head = table.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(head, "BY NAME COUNT FAILED IN CACHED OUT COST P50 P95");
}

#[test]
fn runs_are_listed_since_a_time() {
    let home = family();
    assert_eq!(ids(&home.windlass(["runs", "list", "--since", "1h"])).len(), 5);
    assert_eq!(ids(&home.windlass(["runs", "list", "--since", "2001-01-01"])).len(), 5);
    let none = home.windlass(["runs", "list", "--since", "2100-01-01 12:00"]);
    assert_eq!(
        (none.stdout.as_str(), none.stderr.trim()),
        ("", "no such runs; `windlass runs list` lists all")
    );
    assert_end!(home, home.windlass(["runs", "list", "--since", "yesterday"]));
}

/// A terminal shows each row on one line, the id first; a pipe gets whole rows.
#[test]
fn a_row_of_a_list_is_cut_to_the_width_of_a_terminal() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let question = "What is 2 + 3, and what would it be if each of the two were more?";
    assert_eq!(home.windlass(["run", "agent.yaml", "--session", "sums", question]).code, 0);
    for (list, first) in [("runs", home.id()), ("sessions", "sums".to_owned())] {
        let whole = home.windlass([list, "list"]).stdout;
        assert!(whole.contains("if each of the two"), "{whole}");
        for columns in [100, 40] {
            let seat = Seat::sized(&home, &[list, "list"], (columns, 30));
            let is_cut = |whole: &str| whole.lines().nth(1).is_some_and(|row| row.ends_with('…'));
            seat.shows_that("a row that is cut", is_cut);
            let seen = seat.seen().replace('\r', "");
            assert_eq!(seat.code(), 0);
            let rows: Vec<&str> = seen.lines().collect();
            assert_eq!(rows.len(), 2, "{seen}");
            let row = rows[1].trim_end_matches('…');
            let id = row.split(' ').next().unwrap();
            assert!(first.ends_with(id) && rows[1].ends_with('…') && whole.contains(row), "{seen}");
            assert!(rows.iter().all(|row| row.chars().count() <= usize::from(columns)), "{seen}");
        }
    }
}

/// At a terminal a list that shows not all says so. The runs below another one are not counted, as `--limit` counts them.
#[test]
fn a_list_of_the_newest_says_how_many_there_are() {
    let home = family();
    for (args, line) in [
        (&["runs", "list", "--limit", "2"][..], Some("2 newest of 3; `--limit N` shows more")),
        (&["runs", "list", "--agent", "sums", "--limit", "1"], Some("1 newest of 4; `--limit N` shows more")),
        (&["runs", "list", "--limit", "3"], None),
        (&["sessions", "list", "--all", "--limit", "2"], Some("2 newest of 3; `--limit N` shows more")),
        (&["sessions", "list", "--all"], None),
    ] {
        let mut seat = Seat::start(&home, args);
        assert_eq!(seat.ended(), 0);
        seat.expect(line.unwrap_or("sums"));
        assert_eq!(seat.seen().matches("newest of").count(), usize::from(line.is_some()), "{}", seat.seen());
        let piped = end(home.command(args).output().unwrap());
        assert!(!piped.stderr.contains("newest of"), "scripts get the list alone: {piped:?}");
    }
}

#[test]
fn every_command_takes_the_short_ids_of_the_list() {
    let home = family();
    let list = home.windlass(["runs", "list"]);
    let json = home.windlass(["runs", "list", "--json"]);
    let whole: Vec<String> = json
        .stdout
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["run"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(whole.len(), 5);
    for id in ids(&list) {
        assert!(
            id.len() >= 8 && whole.iter().filter(|run| run.replace('-', "").ends_with(&id)).count() == 1,
            "{id}"
        );
        let shown = home.windlass(["runs", "show", &id, "--json"]).stdout;
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert!(shown["run"].as_str().unwrap().replace('-', "").ends_with(&id), "{id}: {shown}");
        for args in [
            ["runs", "effects", &id],
            ["runs", "replay", &id],
            ["runs", "watch", &id],
            ["runs", "export", &id],
        ] {
            let end = home.windlass(args);
            assert_eq!(end.code, 0, "{args:?}: {end:?}");
        }
        assert_eq!(home.windlass(["runs", "diff", &id, &id]).code, 0);
    }
    let unknown = home.windlass(["runs", "show", "0000000000"]);
    assert!(unknown.stderr.contains("no run id begins or ends with `0000000000`"), "{unknown:?}");
}

#[test]
fn forks_and_empty_inputs_have_titles() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
    assert_eq!(home.windlass(["runs", "fork", "last", "--at", "2", "-q"]).code, 0);
    assert_eq!(home.windlass(["runs", "fork", "last", "--at", "2", "-q"]).code, 0);
    let cut = ["run", "agent.yaml", "--limit", "model_calls=1", "What is 3 + 4?"];
    assert_eq!(home.windlass(cut).code, 124);
    assert_eq!(home.windlass(["runs", "resume", "last", "--limit", "model_calls=5"]).code, 0);
    let empty = home.windlass(["run", "agent.yaml", " "]);
    assert!(empty.code == 0, "{empty:?}");
    assert_end!(home, home.windlass(["runs", "list"]));
}

#[test]
fn running_and_interrupted_runs_are_told_apart() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let mut dead = home.start(["run", "agent.yaml", BOTH]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    dead.kill().unwrap();
    dead.wait().unwrap();
    let live = home.start(["run", "agent.yaml", "What is 3 + 4?"]);
    until("its sum has begun", || lines(&home.path("sums")) == 2);
    assert_end!(home, home.windlass(["runs", "list", "--status", "running"]));
    assert_end!(home, home.windlass(["runs", "list", "--status", "interrupted"]));
    // Its time is that of its last event, as the list says.
    let id = home.windlass(["runs", "list", "--status", "interrupted", "--json"]).stdout;
    let id = serde_json::from_str::<serde_json::Value>(&id).unwrap()["run"].as_str().unwrap().to_owned();
    let shown = home.windlass(["runs", "show", &id]).stdout;
    let started = shown.lines().find(|line| line.starts_with("started ")).unwrap();
    assert!(started.contains(", over ") && started.ends_with(" long"), "{shown}");
    home.write("go", "");
    assert_eq!(finish(live).code, 0);
    assert_end!(home, home.windlass(["runs", "list", "--status", "running"]));
    assert_end!(home, home.windlass(["runs", "list", "--status", "dead"]));
}

/// A new user is told what to type, and what is told can be typed.
#[test]
fn what_is_empty_says_what_to_do_next() {
    let home = Home::without_log();
    let first = "no runs yet; `windlass \"What is 17% of 2350?\"` makes the first one\n";
    for args in [&["runs", "list"][..], &["runs", "stats"], &["runs", "resume", "--all"], &["watch"]] {
        let none = end(home.command(args).output().unwrap());
        assert_eq!((none.code, none.stdout.as_str(), none.stderr.as_str()), (0, "", first), "{args:?}");
    }
    // A log without runs is as empty as none.
    home.windlass(["runs", "import", "/dev/null", "--log", "a b.db"]);
    let named = home.windlass(["runs", "list", "--log", "a b.db"]).stderr;
    assert!(named.contains("`windlass --log 'a b.db' \"What is 17% of 2350?\"`"), "{named}");
    let served = home.windlass(["serve", "my agents"]);
    assert!(
        served.code != 0 && served.stderr.contains("`windlass agents init 'my agents/agent.yaml'`"),
        "{served:?}"
    );
    assert_eq!(home.windlass(["agents", "init", "my agents/agent.yaml"]).code, 0);
    assert_eq!(home.windlass(["serve", "my agents", "--check"]).code, 0);
    let tokens = home.windlass(["tokens", "list"]);
    assert!(tokens.stdout.is_empty() && tokens.stderr.contains("`windlass tokens create`"), "{tokens:?}");
    assert_eq!(home.windlass(["tokens", "list", "--json"]).stderr, "");
    assert!(home.windlass(["agents", "default"]).stderr.contains("`windlass agents default FILE`"));
    let last = home.windlass(["runs", "show", "last", "--log", "a b.db"]);
    assert!(last.code == 1 && last.stderr.contains("hint: `windlass"), "{last:?}");
    assert_eq!(home.typed(&home.path(""), "windlass \"What is 17% of 2350?\"").code, 0);
    assert_eq!(ids(&home.windlass(["runs", "list"])).len(), 1);
    let other = home.windlass(["runs", "list", "--agent", "nobody"]).stderr;
    assert_eq!(other, "no such runs; `windlass runs list` lists all\n");
    let sessions = home.windlass(["sessions", "list"]).stderr;
    assert!(
        sessions.contains("`windlass chat --session NAME`") && sessions.contains("`--all`"),
        "{sessions}"
    );
}
