use std::fs;
use std::io::Cursor;

use serde_json::json;
use tempfile::TempDir;
use windlass_error::Diagnostic as _;

use super::*;
use crate::builtin::tests::{call, error_of};

fn folder() -> (TempDir, ReadFile) {
    let folder = tempfile::tempdir().unwrap();
    let docs = folder.path().join("docs");
    fs::create_dir_all(docs.join("deep")).unwrap();
    fs::write(docs.join("a.txt"), "one\ntwo\nthree\n").unwrap();
    fs::write(docs.join("deep/b.txt"), "b without an end").unwrap();
    fs::write(docs.join("empty"), "").unwrap();
    fs::write(docs.join("image"), b"\x89PNG\0\xff").unwrap();
    fs::write(docs.join("latin1"), b"caf\xe9\n").unwrap();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    let tool = ReadFile::new(&[docs]).unwrap();
    (folder, tool)
}

async fn kind_of(tool: &ReadFile, path: &str) -> String {
    error_of(tool, json!({ "path": path })).await.kind.unwrap().to_string()
}

#[tokio::test]
async fn files_are_read_whole_or_by_lines() {
    let (folder, tool) = folder();
    assert_eq!(call(&tool, json!({ "path": "a.txt" })).await, "one\ntwo\nthree\n");
    assert_eq!(call(&tool, json!({ "path": "a.txt", "from_line": 2 })).await, "two\nthree\n");
    assert_eq!(call(&tool, json!({ "path": "a.txt", "from_line": 2, "lines": 1 })).await, "two\n");
    assert_eq!(call(&tool, json!({ "path": "./deep/../deep/b.txt" })).await, "b without an end");
    assert_eq!(call(&tool, json!({ "path": "empty" })).await, "[the file is empty]");
    let absolute = folder.path().join("docs/deep/../a.txt");
    assert_eq!(call(&tool, json!({ "path": absolute, "lines": 1 })).await, "one\n");
    let error = error_of(&tool, json!({ "path": "a.txt", "from_line": 4 })).await;
    assert_eq!(error.message.as_ref(), "`a.txt` ends before line 4: its number of lines is 3");
    let error = error_of(&tool, json!({ "path": "deep/b.txt", "from_line": 9 })).await;
    assert_eq!(error.message.as_ref(), "`deep/b.txt` ends before line 9: its number of lines is 1");
}

#[tokio::test]
async fn what_is_no_text_file_is_told_so() {
    let (_folder, tool) = folder();
    assert_eq!(kind_of(&tool, "image").await, "NotText");
    assert_eq!(kind_of(&tool, "latin1").await, "NotText");
    assert_eq!(kind_of(&tool, "deep").await, "IsADirectory");
    assert_eq!(kind_of(&tool, "missing").await, "NotFound");
    assert_eq!(kind_of(&tool, "a.txt/x").await, "NotADirectory");
}

#[cfg(unix)]
#[tokio::test]
async fn no_path_and_no_link_leads_out_of_the_folder() {
    use std::os::unix::fs::symlink;
    let (folder, tool) = folder();
    let docs = folder.path().join("docs");
    symlink("../secret", docs.join("relative")).unwrap();
    symlink(folder.path().join("secret"), docs.join("absolute")).unwrap();
    symlink("..", docs.join("up")).unwrap();
    symlink("a.txt", docs.join("inside")).unwrap();
    symlink("loop", docs.join("loop")).unwrap();
    assert_eq!(call(&tool, json!({ "path": "inside" })).await, "one\ntwo\nthree\n");
    let secret = folder.path().join("secret");
    for path in [
        "../secret",
        "deep/../../secret",
        "relative",
        "absolute",
        "up/secret",
        secret.to_str().unwrap(),
        "/etc/passwd",
    ] {
        assert_eq!(kind_of(&tool, path).await, "OutsideFolder", "{path}");
    }
    assert!(error_of(&tool, json!({ "path": "loop" })).await.message.contains("cannot be read"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_pipe_is_refused_instead_of_waited_for() {
    let (folder, tool) = folder();
    let pipe = folder.path().join("docs/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(kind_of(&tool, "pipe").await, "NotAFile");
}

#[test]
fn folders_are_named_and_opened_when_the_agent_is_built() {
    assert_eq!(ReadFile::new(&[]).unwrap_err().code(), "tool_bad_settings");
    let error = ReadFile::new(&["/nonexistent/folder".into()]).unwrap_err();
    assert_eq!(error.to_string(), "cannot open the folder `/nonexistent/folder` of the tool `read_file`");
}

#[test]
fn long_files_are_cut_between_lines_with_a_note() {
    let line = format!("{}\n", "x".repeat(1023));
    let whole = line.repeat(MAX_READ / 1024);
    assert_eq!(read(Cursor::new(&whole), "f", 1, None).unwrap(), whole);
    let more = format!("{whole}y\n");
    let cut = read(Cursor::new(&more), "f", 1, None).unwrap();
    assert_eq!(cut.strip_prefix(&whole), Some("\n[cut at 262144 bytes: read on with from_line 257]"));
    assert_eq!(read(Cursor::new(&more), "f", 257, None).unwrap(), "y\n");
    assert_eq!(read(Cursor::new(&more), "f", 1, Some(256)).unwrap(), whole);
}

#[test]
fn a_line_that_is_too_long_is_cut_between_characters() {
    let text = format!("{}\nnext\n", "ä".repeat(MAX_READ));
    let cut = read(Cursor::new(&text), "f", 1, None).unwrap();
    let rest = cut.strip_prefix(&"ä".repeat(MAX_READ / 2)).unwrap();
    assert_eq!(rest, "\n[line 1 is longer than 262144 bytes and was cut: read on with from_line 2]");
    assert_eq!(read(Cursor::new(&text), "f", 2, None).unwrap(), "next\n");
    let odd = format!("x{text}");
    assert!(
        read(Cursor::new(&odd), "f", 1, None)
            .unwrap()
            .starts_with(&format!("x{}\n[line", "ä".repeat(MAX_READ / 2 - 1)))
    );
}
