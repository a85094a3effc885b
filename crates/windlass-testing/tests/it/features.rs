//! `docs/ledger/features.md`: each numbered feature of the loops that Windlass stands in for, with what holds it. A feature is
//! held by the cases whose `why` names its id and the tests whose names do. `WINDLASS_UPDATE=1` writes the page again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Id, what it is, and why it comes later (or nothing).
const FEATURES: &str = include_str!("features.tsv");
const HEAD: &str = "# Features of acorn, KAOS, PromptChain, Session 10 and SwiftAgentKit, and what holds them

Made by `WINDLASS_UPDATE=1 cargo nextest run -p windlass-testing --test it features`. A feature is held by the scripted
conversations whose `why` names it (each runs blocking, streaming, and with a restart after every event) and by the tests
whose names do; all of them run in `.ci/run`. \"Not yet\" means that no test says so: it may work, and nothing holds it.
What holds a feature may show only a part of it: the page counts names, and a delegation in process names K10 too.
";
/// How many of what holds a feature are listed.
const SHOWN: usize = 4;

/// The systems, by the letter of their features, and how many features each has.
const SYSTEMS: [(&str, &str, usize); 5] = [
    ("A", "acorn", 42),
    ("K", "KAOS", 42),
    ("P", "PromptChain", 38),
    ("S", "Session 10", 28),
    ("L", "SwiftAgentKit", 39),
];
type Held = BTreeMap<String, Vec<String>>;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All files below a folder that end so, in order.
pub(crate) fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            found.extend(files(&path, end));
        } else if path.to_str().unwrap().ends_with(end) {
            found.push(path);
        }
    }
    found
}

/// The ids in a text, such as `A14` or `k4`.
fn ids(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.map(str::to_ascii_uppercase).filter(|word| {
        let number = word.strip_prefix(['A', 'K', 'P', 'S', 'L']).unwrap_or_default();
        !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
    })
}

fn hold(held: &mut Held, ids: impl Iterator<Item = String>, by: &str) {
    for id in ids {
        held.entry(id).or_default().push(by.to_owned());
    }
}

fn held() -> Held {
    let mut held = Held::new();
    for path in files(&root().join("fixtures"), ".yaml") {
        let place = path.strip_prefix(root()).unwrap().display().to_string();
        let mut case = String::new();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            if let Some(name) = line.strip_prefix("  - name: ") {
                name.clone_into(&mut case);
            } else if let Some(why) = line.strip_prefix("    why: ") {
                hold(&mut held, ids(why), &format!("{place}: {case}"));
            }
        }
    }
    for name in tests() {
        let first = name.split('_').take_while(|word| ids(word).next().is_some());
        hold(&mut held, first.flat_map(ids), &format!("`{name}`"));
    }
    held
}

/// The names of all tests.
pub(crate) fn tests() -> Vec<String> {
    let mut names = Vec::new();
    for path in files(&root().join("crates"), ".rs") {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut test = false;
        for line in text.lines().map(str::trim_start) {
            test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            let Some((_, name)) = line.split_once("fn ").filter(|_| test) else { continue };
            test = false;
            names.push(name.split('(').next().unwrap().to_owned());
        }
    }
    names
}

/// A feature: its id, what it is, and why it comes later, or differs.
fn features() -> Vec<[&'static str; 3]> {
    FEATURES.lines().map(|line| line.split('\t').collect::<Vec<_>>().try_into().unwrap()).collect()
}

fn page(held: &Held) -> String {
    let mut page = HEAD.to_owned();
    for (letter, name, _) in SYSTEMS {
        write!(page, "\n## {name}\n\n| | feature | state | held by |\n|---|---|---|---|\n").unwrap();
        for [id, what, later] in features().into_iter().filter(|[id, ..]| id.starts_with(letter)) {
            let by = held.get(id).cloned().unwrap_or_default();
            let state = match (by.is_empty(), later.strip_prefix("differs: "), later.is_empty()) {
                (false, Some(how), _) => format!("held, otherwise: {how}"),
                (false, None, true) => "held".to_owned(),
                (false, None, false) => format!("in part; later: {later}"),
                (true, None, false) => format!("later: {later}"),
                (true, Some(_), _) | (true, None, true) => "not yet".to_owned(),
            };
            let more = by.len().saturating_sub(SHOWN);
            let mut shown: Vec<String> = by.into_iter().take(SHOWN).collect();
            if more > 0 {
                shown.push(format!("and {more} more"));
            }
            writeln!(page, "| {id} | {what} | {state} | {} |", shown.join("; ")).unwrap();
        }
    }
    page
}

/// Features that neither a test nor a reason speaks for.
fn open(held: &Held) -> Vec<&'static str> {
    let known = |[id, _, later]: &[&str; 3]| {
        held.contains_key(*id) || !(later.is_empty() || later.starts_with("differs: "))
    };
    features().into_iter().filter(|feature| !known(feature)).map(|[id, ..]| id).collect()
}

#[test]
fn every_feature_is_held_or_comes_later_for_a_reason() {
    let open = open(&held());
    assert!(open.is_empty(), "held by no fixture and no test, and not later: {open:?}");
}

#[test]
fn all_features_of_all_systems_are_listed() {
    for (letter, name, count) in SYSTEMS {
        let ids: Vec<_> = features().iter().map(|[id, ..]| *id).filter(|id| id.starts_with(letter)).collect();
        let wanted: Vec<_> = (1..=count).map(|number| format!("{letter}{number}")).collect();
        assert_eq!(ids, wanted, "{name}");
    }
}

#[test]
fn the_page_of_features_is_what_the_tests_say() {
    let path = root().join("docs/ledger/features.md");
    let page = page(&held());
    if std::env::var_os("WINDLASS_UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/ledger/features.md is old: WINDLASS_UPDATE=1 cargo nextest run -p windlass-testing --test it features"
    );
}

#[test]
fn what_is_said_of_attackers_is_held_by_tests_that_are_there() {
    let page = std::fs::read_to_string(root().join("docs/ledger/faults.md")).unwrap();
    let (_, attackers) = page.split_once("## Attackers").unwrap();
    let rows = attackers.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| attack |"));
    let held: Vec<&str> = rows.map(|row| row.trim_end_matches(" |").rsplit(" | ").next().unwrap()).collect();
    assert!(held.len() > 20, "{held:?}");
    let tests = tests();
    for by in held {
        let names: Vec<&str> = by.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "held by nothing: {by}");
        for name in names {
            assert!(tests.iter().any(|test| test == name), "there is no test `{name}`");
        }
    }
}
