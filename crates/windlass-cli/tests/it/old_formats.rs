//! E34: logs and exports from before format 1 are refused untouched, and what the hint says works.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kit::{Home, PLAIN, assert_end};

/// A file that a build from before format 1 wrote.
fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../windlass-store/tests/it/formats").join(name)
}

/// All files of the folder for logs, with their bytes.
fn files(home: &Home) -> BTreeMap<OsString, Vec<u8>> {
    let entries = std::fs::read_dir(home.path("home")).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap())).collect()
}

/// A home whose default log is one of then, with the files beside it.
fn home_of(name: &str) -> Home {
    let home = Home::without_log();
    home.write("agent.yaml", PLAIN);
    std::fs::copy(kept(name), home.path("home/log.db")).unwrap();
    let beside = kept(&format!("{name}-wal"));
    if beside.exists() {
        std::fs::copy(beside, home.path("home/log.db-wal")).unwrap();
    }
    home
}

#[test]
fn e34_a_log_from_before_format_1_is_refused_with_a_command_that_moves_it_away_whole() {
    for name in ["wdls.db", "wndl.db", "wndl-killed.db"] {
        let home = home_of(name);
        let before = files(&home);
        for args in [&["run", "agent.yaml", "What is 2 + 3?"][..], &["runs", "list"], &["doctor", "--json"]] {
            let end = crate::kit::end(home.command(args).output().unwrap());
            let said = format!("{}{}", end.stdout, end.stderr);
            assert_ne!(end.code, 0, "{name}: {end:?}");
            let path = home.path("home/log.db").display().to_string();
            assert!(said.contains(&format!("{path} was written before log format 1")), "{name}: {said}");
            assert!(
                said.contains("--log") && said.contains(&format!("`mv {path} {path}.old")),
                "{name}: {said}"
            );
            assert!(before == files(&home), "{name}: something was changed by {args:?}");
        }
        let end = home.windlass(["run", "agent.yaml", "What is 2 + 3?"]);
        let command = end.stderr.split('`').find(|words| words.starts_with("mv ")).unwrap();
        assert!(Command::new("sh").args(["-c", command]).status().unwrap().success(), "{command}");
        let end = home.windlass(["run", "agent.yaml", "What is 2 + 3?"]);
        assert_eq!(end.code, 0, "{name}: {end:?}");
        let after = files(&home);
        for (file, bytes) in before {
            let moved = file.to_str().unwrap().replacen("log.db", "log.db.old", 1);
            assert!(after.get(&OsString::from(&moved)) == Some(&bytes), "{name}: {moved} is another file");
        }
    }
}

#[test]
fn e34_the_command_that_moves_a_log_away_is_one_that_a_shell_takes() {
    let home = home_of("wndl-killed.db");
    std::fs::rename(home.path("home"), home.path("it's home")).unwrap();
    let end = home.windlass(["runs", "list", "--log", "it's home/log.db"]);
    assert_end!(home, end);
}

#[test]
fn e34_an_export_from_before_format_1_is_refused_and_nothing_of_it_is_written() {
    let home = Home::new();
    let export = std::fs::read_to_string(kept("wndl.jsonl")).unwrap();
    home.write("old.jsonl", &export);
    assert_end!(home, home.windlass(["runs", "import", "old.jsonl"]));
    assert_eq!(home.read("old.jsonl"), export);
    assert_eq!(home.windlass(["runs", "list", "--json"]).stdout, "");
}
