//! `docs/ledger/edges.md`: each edge that the presets owe, with what holds it under each. A conversation holds the edge that its name
//! begins with, or that its `why` names; one of `fixtures/edges` also names the preset (`under the preset refine`). A Rust test
//! has the edge's number and the preset in its name. A second table lists what holds the promises about models on each wire. `WINDLASS_UPDATE=1` writes the page again.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::features::{files, root, tests};

/// Id, what it is, a word on how it is held, and presets that do not owe it, with the reason (`plan=reason`).
const EDGES: &str = include_str!("edges.tsv");
const PRESETS: [&str; 4] = ["typed", "text", "refine", "plan"];
const HEAD: &str = "# Edges under each preset, and what holds them

Made by `WINDLASS_UPDATE=1 cargo nextest run -p windlass-testing --test it edges`. Each case named here runs blocking, streaming,
with a restart after every event, under seeded schedules, and with a cancel and a steering message after every event. Where
it says *every case*, that is a property which all of them are held to; the case named shows it.
";
/// The promises about models, which each wire owes. A Rust test has the edge's number in its name.
const OF_WIRES: [(&str, &str); 21] = [
    ("E3", "Truncated, refused and filtered replies are no answers"),
    ("E4", "Empty replies are known as such"),
    ("E7", "Missing, empty and repeated call ids"),
    ("E13", "A stream is the same wherever it is cut"),
    ("E14", "Parallel calls in any order of pieces"),
    ("E15", "Streaming and blocking give the same reply"),
    ("E16", "A stream that breaks is cut, and can be tried again"),
    ("E22", "A call that is no longer wanted ends at once"),
    ("E38", "The prefix of requests stays"),
    ("E39", "The provider's count is read"),
    ("E41", "Usage on every way out"),
    ("E42", "Failures by kind, each with its limit and wait"),
    ("E43", "Fallbacks, and keys that reach no other server"),
    ("E44", "Reasoning goes back unchanged to its provider alone"),
    ("E45", "Base URLs, proxies, headers, TLS"),
    ("E53", "Secrets are masked"),
    ("E55", "A request waits its turn, and a run for its quota"),
    ("E56", "Pings are no progress"),
    ("E57", "A restart keeps the prefix"),
    ("E58", "Histories of other providers are accepted, a bad item is found"),
    ("E62", "Credentials are resolved when they are used"),
];
const WIRES_HEAD: &str = "
# Promises about models, on each wire

Tests with `each_wire`, `every_wire`, `all_wires` or `recorded` in their names run for every wire; others hold what stands below
all wires, or what is one wire's own.
";
/// How many cases of an edge are named.
const SHOWN: usize = 3;

/// The file, name and `why` of all cases of a preset.
fn cases(preset: &str) -> Vec<(PathBuf, String, String)> {
    let mut cases = Vec::new();
    let shared = format!("under the preset {preset}");
    let (own, all) = (root().join("fixtures").join(preset), root().join("fixtures/edges"));
    for path in files(&own, ".yaml").into_iter().chain(files(&all, ".yaml")) {
        let mut name = String::new();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            if let Some(rest) = line.strip_prefix("  - name: ") {
                rest.trim_matches('"').clone_into(&mut name);
            } else if let Some(why) = line.strip_prefix("    why: ")
                && (path.starts_with(&own) || why.contains(&shared))
            {
                cases.push((path.clone(), name.clone(), why.to_owned()));
            }
        }
    }
    cases
}

fn names(text: &str, edge: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == edge)
}

fn shown(file: &Path, name: &str) -> String {
    format!("{}: {name}", file.file_stem().unwrap().to_str().unwrap())
}

/// The page, and what no case holds.
fn page() -> (String, Vec<String>) {
    let (mut page, mut missing) = (HEAD.to_owned(), Vec::new());
    write!(page, "\n| | edge | `typed` | `text` | `refine` | `plan` |\n|---|---|---|---|---|---|\n").unwrap();
    let (known, tests) = (PRESETS.map(cases), tests());
    for line in EDGES.lines() {
        let [id, what, note, free] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let columns = PRESETS.iter().zip(&known).map(|(preset, cases)| {
            let held = |(_, name, why): &&(PathBuf, String, String)| {
                name.starts_with(&format!("{id}:")) || names(why, id)
            };
            let named = |test: &&String| {
                let mut words = test.split('_');
                words.any(|word| word == id.to_lowercase()) && words.any(|word| word == *preset)
            };
            let cases = cases.iter().filter(held).map(|(file, name, _)| shown(file, name));
            let held: Vec<String> =
                cases.chain(tests.iter().filter(named).map(|test| format!("`{test}`"))).collect();
            let reason = free.split(';').find_map(|one| one.strip_prefix(preset)?.strip_prefix('='));
            if let Some(reason) = reason.filter(|_| held.is_empty()) {
                return format!("*{reason}*");
            }
            if held.is_empty() {
                missing.push(format!("{id} under {preset}"));
            }
            let more = held.len().saturating_sub(SHOWN);
            let mut shown: Vec<String> = held.into_iter().take(SHOWN).collect();
            if more > 0 {
                shown.push(format!("and {more} more"));
            }
            shown.join("; ")
        });
        let columns: Vec<String> = columns.collect();
        let what = if note.is_empty() { what.to_owned() } else { format!("{what} (*{note}*)") };
        writeln!(page, "| {id} | {what} | {} |", columns.join(" | ")).unwrap();
    }
    page += WIRES_HEAD;
    write!(page, "\n| | edge | held by |\n|---|---|---|\n").unwrap();
    for (id, what) in OF_WIRES {
        let word = id.to_lowercase();
        let mut held: Vec<&String> =
            tests.iter().filter(|test| test.split('_').any(|one| one == word)).collect();
        let for_all = |test: &str| {
            ["each_wire", "every_wire", "all_wires", "recorded"].iter().any(|all| test.contains(all))
        };
        held.sort_by_key(|test| !for_all(test));
        if held.is_empty() {
            missing.push(format!("{id} on each wire"));
        }
        let more = held.len().saturating_sub(SHOWN);
        let mut shown: Vec<String> = held.into_iter().take(SHOWN).map(|test| format!("`{test}`")).collect();
        if more > 0 {
            shown.push(format!("and {more} more"));
        }
        writeln!(page, "| {id} | {what} | {} |", shown.join("; ")).unwrap();
    }
    (page, missing)
}

#[test]
fn the_page_of_edges_is_what_the_conversations_say() {
    let path = root().join("docs/ledger/edges.md");
    let (page, missing) = page();
    assert!(missing.is_empty(), "no case holds {missing:?}");
    if std::env::var_os("WINDLASS_UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/ledger/edges.md is old: WINDLASS_UPDATE=1 cargo nextest run -p windlass-testing --test it edges"
    );
}
