//! What a child has, when it dies, and parents that are lied to.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use serde_json::json;
use windlass_code::{Code, FailureKind, Limits, Program, Step};
use windlass_error::Diagnostic as _;

use crate::support::{code, executable, program};

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_is_given_three_pipes_and_nothing_else() {
    let mut session = code().start(&Limits::default(), program("add(1, 2)")).await.unwrap();
    let Step::Calls(_) = session.next(Vec::new()).await.unwrap() else { panic!("no calls") };
    let of = |name: &str| format!("/proc/{}/{name}", session.process_id().unwrap());
    // What this process was given itself without close-on-exec is passed on; only `unsafe` code could close it.
    let inherited: Vec<_> = fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .collect();
    let open = fs::read_dir(of("fd")).unwrap().map(|entry| entry.unwrap());
    for entry in open {
        let (number, target) = (entry.file_name(), fs::read_link(entry.path()).unwrap());
        if ["0", "1", "2"].map(Into::into).contains(&number) {
            // Rust's pairs of sockets, or pipes.
            let name = target.to_str().unwrap();
            assert!(name.starts_with("pipe:") || name.starts_with("socket:"), "{name}");
        } else {
            assert!(inherited.contains(&target), "{number:?} is {target:?}");
        }
    }
    assert_eq!(fs::read_link(of("cwd")).unwrap().to_str(), Some("/"));
    let environment = fs::read_to_string(of("environ")).unwrap();
    let mut names: Vec<_> = environment.split('\0').filter_map(|pair| pair.split_once('=')).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [("MIMALLOC_ARENA_RESERVE", "0"), ("MIMALLOC_EAGER_COMMIT", "0"), ("WINDLASS_CODE_CHILD", "1")]
    );
    let limits = fs::read_to_string(of("limits")).unwrap();
    let limit = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(limit("Max open files"), "3");
    assert_eq!(limit("Max file size"), "0");
    assert_eq!(limit("Max core file size"), "0");
    assert_eq!(limit("Max cpu time"), "12");
    assert!(limit("Max data size").parse::<u64>().unwrap() < 300 << 20);
    assert!(limit("Max address space").parse::<u64>().unwrap() < 2 << 30);
    let group = fs::read_to_string(of("stat")).unwrap();
    let group = group.rsplit_once(')').unwrap().1.split_whitespace().nth(2).unwrap().to_owned();
    assert_eq!(group, session.process_id().unwrap().to_string(), "it leads its own process group");
}

/// A request to run a source for ten minutes at most.
fn start(source: &str) -> Vec<u8> {
    let limits = Limits { seconds: 600.0, ..Limits::default() };
    let request =
        json!({ "start": { "version": 1, "limits": limits, "program": program(source) } }).to_string();
    [&u32::try_from(request.len()).unwrap().to_be_bytes()[..], request.as_bytes()].concat()
}

#[test]
fn a_child_dies_with_its_parent_whatever_it_does() {
    for source in
        ["while True: pass", "add(1, 2)", "x = 10 ** 1000000\nwhile True: x = x * 3 % 7 + 10 ** 1000000"]
    {
        let mut child = Command::new(env!("CARGO_BIN_EXE_windlass-code-child"))
            .arg("__windlass-code-child")
            .env("WINDLASS_CODE_CHILD", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&start(source)).unwrap();
        let mut greeting = [0; 4];
        child.stdout.as_mut().unwrap().read_exact(&mut greeting).unwrap();
        // As the system does it when the parent dies.
        drop(stdin);
        assert_eq!(child.wait().unwrap().code(), Some(3), "{source}");
    }
}

#[test]
fn a_program_that_was_not_started_as_a_child_goes_on() {
    let run = |argument: &str, marker: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-code-child"));
        command.arg(argument).env_remove("WINDLASS_CODE_CHILD").stdin(Stdio::null());
        if marker {
            command.env("WINDLASS_CODE_CHILD", "1");
        }
        command.output().unwrap()
    };
    for output in [run("__windlass-code-child", false), run("run", true)] {
        assert!(output.status.success() && output.stdout.is_empty());
    }
}

/// A program that says these bytes in place of a child.
fn liar(folder: &std::path::Path, bytes: &[u8]) -> Code {
    let said = folder.join("said");
    fs::write(&said, bytes).unwrap();
    let path = folder.join("liar");
    // It ends when its stdin does, as a child would.
    executable(&path, &format!("#!/bin/sh\n/bin/cat {}\nexec >&-\n/bin/cat >/dev/null\n", said.display()));
    Code::program(path)
}

fn frame(message: &serde_json::Value) -> Vec<u8> {
    let text = message.to_string();
    [&u32::try_from(text.len()).unwrap().to_be_bytes()[..], text.as_bytes()].concat()
}

async fn told(code: &Code) -> String {
    match code.start(&Limits::default(), Program::new("1")).await {
        Err(error) => error.code().to_owned(),
        Ok(mut session) => match session.next(Vec::new()).await {
            Err(error) => error.code().to_owned(),
            Ok(Step::Failed { failure, .. }) => {
                assert_eq!(failure.kind, FailureKind::Crashed);
                "crashed".to_owned()
            }
            Ok(step) => format!("{step:?}"),
        },
    }
}

#[tokio::test]
async fn frames_of_a_child_that_are_cut_anywhere_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let output = json!({ "text": "", "cut": 0 });
    let hello = frame(&json!({ "hello": { "version": 1 } }));
    let whole = [hello.clone(), frame(&json!({ "done": { "value": 1, "output": output } }))].concat();
    assert!(told(&liar(folder.path(), &whole)).await.starts_with("Done"));
    for end in 0..whole.len() {
        let expected = if end < hello.len() { "code.not_a_child" } else { "crashed" };
        assert_eq!(told(&liar(folder.path(), &whole[..end])).await, expected, "{end}");
    }
}

#[tokio::test]
async fn replies_that_make_no_sense_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let hello = json!({ "hello": { "version": 1 } });
    for (reply, expected) in [
        (frame(&hello), "code.protocol"),
        (frame(&json!({ "refused": { "reason": "no" } })), "code.protocol"),
        (frame(&json!({ "done": {} })), "code.protocol"),
        (frame(&json!(7)), "code.protocol"),
        ([255; 8].to_vec(), "code.protocol"),
    ] {
        let said = [frame(&hello), reply].concat();
        assert_eq!(told(&liar(folder.path(), &said)).await, expected);
    }
    assert_eq!(
        told(&liar(folder.path(), &frame(&json!({ "hello": { "version": 2 } })))).await,
        "code.not_a_child"
    );
}
