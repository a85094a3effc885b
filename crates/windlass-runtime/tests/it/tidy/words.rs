//! Private words that the field has terms for (`shared/house.md`, section 5): a name with one of them is renamed when its place is
//! read, and no new one comes.

use std::collections::BTreeSet;

use super::sources;

/// A word, the field's term for it, and in how many names of how many crates it still stands. These only fall.
const WORDS: &[(&str, &str, usize)] = &[
    ("aside", "background", 0),
    ("above", "parent, or what lies before", 4),
    ("below", "base, or what follows", 2),
    ("beside", "alongside", 2),
    ("board", "blackboard", 0),
    ("gauge", "context usage, tracker", 0),
    ("heft", "size", 0),
    ("keeper", "provider metadata", 0),
    ("laid", "detached", 0),
    ("lane", "limiter", 0),
    ("learnt", "capability cache", 0),
    ("narrate", "log lines", 0),
    ("said", "reply, message, text", 0),
    ("shown", "rendered", 1),
    ("streak", "consecutive count", 0),
    ("streaks", "consecutive counts", 0),
    ("suspect", "candidate", 0),
    ("suspects", "candidates", 0),
    ("told", "reported", 0),
    ("tour", "demo model", 7),
    ("trail", "timeline", 0),
    ("usual", "default", 0),
    ("wind", "drain", 0),
];

/// Names that a library gives, or a standard: they are its terms.
const FOREIGN: &[(&str, &str)] = &[("windlass-server", "Gauge"), ("windlass-server", "gauge")];

/// The words of a name in snake or camel case, in small letters.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c != '_') {
            word.extend(c.to_lowercase());
        }
    }
    words
}

#[test]
fn names_use_the_fields_terms() {
    let mut names: BTreeSet<(String, String)> = BTreeSet::new();
    for source in sources() {
        let room = source.path.split('/').next().unwrap_or_default().to_owned();
        let tokens = source.code.split(|c: char| !c.is_alphanumeric() && c != '_');
        let is_foreign = |name: &&str| FOREIGN.contains(&(room.as_str(), *name));
        names.extend(
            tokens
                .filter(|name| !name.is_empty() && !is_foreign(name))
                .map(|name| (room.clone(), name.to_owned())),
        );
    }
    assert!(names.len() > 5_000, "the names were not found");
    let mut faults = Vec::new();
    for (word, term, most) in WORDS {
        let found: Vec<_> =
            names.iter().filter(|(_, name)| words(name).iter().any(|own| own == word)).collect();
        if found.len() != *most {
            let list: Vec<_> = found.iter().map(|(room, name)| format!("{room} {name}")).collect();
            let list = list.join(", ");
            faults.push(format!("`{word}` ({term}) in {} names, {most} are noted: {list}", found.len()));
        }
    }
    assert!(faults.is_empty(), "rename these, or lower a limit that was reached:\n{}", faults.join("\n"));
}
