//! The examples that people copy.
#![expect(clippy::unwrap_used, reason = "what is shared by tests fails them as they would fail themselves")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The binary of an example, which is built with the tests.
fn example(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().parent().unwrap().join("examples").join(name)
}

fn desk(folder: &Path, args: &[&str]) -> Output {
    Command::new(example("desk")).args(args).current_dir(folder).env_clear().output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_program_of_the_guide_is_short() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/desk.rs");
    let lines = fs::read_to_string(path).unwrap().lines().count();
    assert!(lines <= 60, "{lines} lines");
}

#[test]
fn the_program_of_the_guide_goes_on_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let crashed = desk(folder.path(), &["crash"]);
    assert!(!crashed.status.success(), "{crashed:?}");
    assert!(!said(&crashed).contains("answer"), "{crashed:?}");

    let resumed = desk(folder.path(), &[]);
    assert!(resumed.status.success(), "{resumed:?}");
    let text = said(&resumed);
    assert!(text.contains("approved: "), "a person is asked: {text}");
    assert!(text.contains("resumed: Some(\"6 * 7 is 42."), "the run that crashed: {text}");
    assert!(text.contains("so far: {"), "the output streams: {text}");
    assert!(text.contains("Some(Answered): Some(\"6 * 7 is 42."), "the new run: {text}");

    let again = desk(folder.path(), &[]);
    assert!(!said(&again).contains("resumed"), "nothing is left to resume: {again:?}");
}
