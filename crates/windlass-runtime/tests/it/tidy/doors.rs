//! Doors of the server: each is a folder of routes over the shared layer, and has no loop, store, session, error or stream writer of its
//! own (`shared/server.md`).

use std::collections::BTreeSet;

use super::sources;

/// Names that stand in the shared layer alone, each with the reason.
const SHARED: &[(&str, &str)] = &[
    ("spawn", "no door has a loop of its own: the host drives runs, the shared layer writes bodies"),
    ("MemoryLog", "no door has a store of its own"),
    ("SqliteLog", "no door has a store of its own"),
    ("Store", "no door has a store of its own: it reads the host's, by its trait parts at most"),
    ("Tokens", "who asks is looked up once, in the shared layer"),
    ("Masker", "what a client is told is masked in the shared layer"),
    ("thiserror", "no door invents an error"),
    ("Diagnostic", "no door invents an error"),
    ("StatusCode", "statuses follow from errors in one table"),
    ("from_stream", "streams have one writer"),
    ("interval", "signs of life have one writer"),
    ("hyper", "connections are served in one place"),
    ("Router", "a door is a table of routes"),
];
/// Places where a door has such a name nevertheless, with the reason.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("native/runs.rs", "Store", "its artifacts are read from the host's log a piece at a time"),
    ("native/runs.rs", "from_stream", "an artifact is sent as it is read"),
    ("native/following.rs", "Diagnostic", "a refusal in a run's updates has a code, which is only read"),
];

#[test]
fn a_door_has_nothing_of_its_own_that_is_shared() {
    let mut wrong = BTreeSet::new();
    let sources = sources();
    let doors = doors_of(&sources);
    for source in &sources {
        let Some(path) = source.path.strip_prefix("windlass-server/src/") else { continue };
        let Some((door, _)) = path.split_once('/') else { continue };
        let names: BTreeSet<_> = source.code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        if door == "http" {
            for other in &doors {
                if names.contains(other.as_str()) {
                    wrong.insert(format!("{path}: the shared layer names the door `{other}`"));
                }
            }
            continue;
        }
        for (name, reason) in SHARED {
            let is_allowed = ALLOWED.iter().any(|(file, allowed, _)| *file == path && allowed == name);
            if names.contains(name) && !is_allowed {
                wrong.insert(format!("{path} names `{name}`: {reason}"));
            }
        }
    }
    assert!(doors.contains("native"), "the doors were not found");
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

fn doors_of(sources: &[super::Source]) -> BTreeSet<String> {
    let paths = sources.iter().filter_map(|source| source.path.strip_prefix("windlass-server/src/"));
    let folders = paths.filter_map(|path| path.split_once('/').map(|(folder, _)| folder.to_owned()));
    folders.filter(|folder| folder != "http").collect()
}
