//! Every link in the documentation leads somewhere: to a file of the repository, and to a heading in it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Where links of the crates' documentation lead: the repository's own pages.
const OWN_PAGES: &str = "https://github.com/windlass-rs/windlass/blob/main/";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The pages of the repository, and those of its folders that have some.
fn pages() -> Vec<PathBuf> {
    let mut pages = with_ending(&root(), "md");
    for folder in ["docs", "docs/ledger", "examples", "fixtures"] {
        pages.extend(with_ending(&root().join(folder), "md"));
    }
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "DESIGN.md",
        "CONTRIBUTING.md",
        "docs/rust.md",
        "docs/ledger/faults.md",
    ] {
        assert!(pages.contains(&root().join(name)), "{name} was not found");
    }
    pages
}

fn with_ending(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|own| own == ending)).collect()
}

/// The text without code: blocks between fences, and what stands between backticks.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let outside = line.split('`').enumerate().filter(|(place, _)| place % 2 == 0);
            prose.extend(outside.map(|(_, part)| part));
        }
        prose.push('\n');
    }
    prose
}

/// The targets of all links: `[words](target)`, and `[words]: target`.
fn targets(text: &str) -> Vec<String> {
    let prose = prose(text);
    let mut found = Vec::new();
    // A link may go over a line's end.
    for (at, _) in prose.match_indices("](") {
        let target = prose[at + 2..].split([')', ' ', '\n']).next().unwrap();
        found.push(target.to_owned());
    }
    for line in prose.lines() {
        if let Some((_, target)) = line.strip_prefix('[').and_then(|line| line.split_once("]: ")) {
            found.push(target.trim().to_owned());
        }
    }
    found
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let heading = line.trim_start_matches('#');
        if fenced || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let plain: String = heading.trim().to_lowercase().chars().filter(kept).collect();
        let anchor = plain.replace(' ', "-");
        let mut unique = anchor.clone();
        let mut number = 0;
        while !anchors.insert(unique.clone()) {
            number += 1;
            unique = format!("{anchor}-{number}");
        }
    }
    anchors
}

/// Why a target leads nowhere.
fn broken(page: &Path, target: &str) -> Option<String> {
    let local = target.strip_prefix(OWN_PAGES);
    if local.is_none() && target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let folder = if local.is_some() { root() } else { page.parent().unwrap().to_path_buf() };
    let (path, anchor) = local.unwrap_or(target).split_once('#').unwrap_or((local.unwrap_or(target), ""));
    let file = if path.is_empty() { page.to_path_buf() } else { folder.join(path) };
    if !file.exists() {
        return Some(format!("{}: there is no {target}", page.display()));
    }
    if anchor.is_empty() {
        return None;
    }
    let known = anchors(&fs::read_to_string(&file).unwrap());
    (!known.contains(anchor)).then(|| {
        format!("{}: {target} has no such heading, only {}", page.display(), Vec::from_iter(known).join(", "))
    })
}

#[test]
fn links_of_the_pages_lead_somewhere() {
    let mut all = 0;
    let mut wrong = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in targets(&text) {
            all += 1;
            wrong.extend(broken(&page, &target));
        }
    }
    assert!(all > 50, "the links were not found: {all}");
    assert!(wrong.is_empty(), "these links lead nowhere:\n{}", wrong.join("\n"));
}

/// How often each page of `docs/` is listed in an index: by a link to the page itself, not to a heading in it.
fn listed(index: &str, pages: &[PathBuf]) -> Vec<(String, usize)> {
    let docs = root().join("docs");
    let links = targets(index);
    let names = pages.iter().filter_map(|page| page.strip_prefix(&docs).ok()?.to_str());
    let names = names.filter(|name| *name != "index.md");
    names.map(|name| (name.to_owned(), links.iter().filter(|link| *link == name).count())).collect()
}

#[test]
fn every_page_of_docs_is_listed_once_in_the_index() {
    let index = fs::read_to_string(root().join("docs/index.md")).unwrap();
    let listed = listed(&index, &pages());
    assert!(listed.len() > 25, "the pages were not found: {listed:?}");
    let wrong: Vec<_> = listed.iter().filter(|(_, times)| *times != 1).collect();
    assert!(wrong.is_empty(), "docs/index.md lists these pages so many times, not once: {wrong:?}");
}

#[test]
fn links_of_the_sources_to_the_pages_lead_somewhere() {
    let mut folders = vec![root().join("crates")];
    let mut all = 0;
    let mut wrong = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let own = text.match_indices(OWN_PAGES).map(|(at, _)| &text[at..]);
                for link in own.filter(|link| !link[OWN_PAGES.len()..].starts_with('"')) {
                    all += 1;
                    let target = link.split([')', ' ', '\n', '>', '"']).next().unwrap();
                    wrong.extend(broken(&path, target));
                }
            }
        }
    }
    assert!(all >= 3, "the links were not found: {all}");
    assert!(wrong.is_empty(), "these links lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn the_check_of_links_finds_what_is_wrong() {
    let page = root().join("docs/rust.md");
    assert_eq!(targets("[a](b.md) `[c](d)`\n```\n[e](f)\n```\n[g]: h#i"), ["b.md", "h#i"]);
    assert!(broken(&page, "nowhere.md").is_some_and(|why| why.contains("there is no nowhere.md")));
    assert!(broken(&page, "#nothing-of-the-kind").is_some());
    assert_eq!(broken(&page, "#resume-a-run-after-a-crash"), None);
    assert_eq!(broken(&page, "../README.md"), None);
    assert_eq!(broken(&page, "https://example.com/nowhere"), None);
    let found = listed("[a](rust.md) [b](cli.md#run) [c](rust.md)", &pages());
    let times = |name: &str| found.iter().find(|(own, _)| own == name).map(|(_, times)| *times);
    assert_eq!(["rust.md", "cli.md", "ledger/faults.md"].map(times), [Some(2), Some(0), Some(0)]);
    let twice = "# `a`: b, and_c-d\n## Again\n## Again\n```\n# code\n```\n#none\n";
    assert_eq!(Vec::from_iter(anchors(twice)), ["a-b-and_c-d", "again", "again-1"]);
}
