//! Invariant 1: the core is pure. Nothing comes in through a dependency either.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Each crate that the core may stand on, one a line. A new one is a decision: it must need no clock, no randomness, no
/// IO and no runtime.
const ALLOWED: &str = include_str!("dependencies.txt");

#[test]
fn the_core_depends_on_nothing_but_the_allow_list() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "-p", "windlass-core", "-e", "normal", "--prefix", "none", "--offline", "--locked"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: BTreeSet<String> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "windlass-core")
        .map(str::to_owned)
        .collect();
    let allowed: BTreeSet<String> = ALLOWED.lines().map(str::to_owned).collect();
    assert_eq!(found, allowed, "crates/windlass-core/tests/it/dependencies.txt");
}

#[test]
fn the_allow_list_has_no_runtime_clock_or_io() {
    // `getrandom` is there for the seeds of hash maps inside jsonschema; nothing of ours draws from it.
    let banned = ["tokio", "mio", "rand", "rusqlite", "rustls", "reqwest", "hyper", "chrono", "socket2"];
    let found: Vec<_> = ALLOWED.lines().filter(|name| banned.contains(name)).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn the_leaves_below_the_core_are_held_to_its_lints() {
    let core = include_str!("../../clippy.toml");
    assert!(core.contains("disallowed-methods") && core.contains("disallowed-types"));
    assert_eq!(include_str!("../../../windlass-text/clippy.toml"), core);
    assert_eq!(include_str!("../../../windlass-schema/clippy.toml"), core);
}
