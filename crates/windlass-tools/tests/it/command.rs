//! Tools that are programs.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_core::CallOutcome;
use windlass_core::tool::Effect;
use windlass_tools::command::{CommandSettings, CommandTool};
use windlass_tools::{Tool, ToolError};

use crate::context::context;

/// How long a condition that must come true may take.
const BOUND: Duration = Duration::from_secs(10);

fn settings(value: Value) -> CommandSettings {
    serde_json::from_value(value).unwrap()
}

fn tool(value: Value) -> CommandTool {
    CommandTool::new(&settings(value), Path::new("/")).unwrap()
}

/// A command of the shell, which is a program like any other here.
fn script(text: &str) -> CommandTool {
    tool(json!({ "name": "script", "run": ["sh", "-c", text], "parameters": { "type": "object" } }))
}

async fn run(tool: &CommandTool, args: Value) -> Result<String, ToolError> {
    tool.call(context(), args).await.map(|content| content.text().into_owned())
}

fn settings_error(value: Value) -> String {
    CommandTool::new(&settings(value), Path::new("/")).unwrap_err().to_string()
}

/// The process ids that a script wrote into a file, one a line.
fn pids(file: &Path) -> Vec<u32> {
    std::fs::read_to_string(file).unwrap_or_default().lines().filter_map(|line| line.parse().ok()).collect()
}

/// Whether a process is there and no zombie, whose only task is to be reaped.
fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| !rest.starts_with(['Z', 'X'])))
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < BOUND, "{what} did not come true");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn arguments_are_words_and_never_shell() {
    let tool = tool(json!({ "name": "echo", "run": ["printf", "[%s]", "{text}", "--n={n}", "{more}"],
        "parameters": { "type": "object", "properties": { "text": {}, "n": {}, "more": {} } } }));
    let text = "$(touch /tmp/x); `id` && \"quoted\" *";
    assert_eq!(run(&tool, json!({ "text": text, "n": 3 })).await.unwrap(), format!("[{text}][--n=3]"));
    assert_eq!(run(&tool, json!({ "text": "a b", "more": "" })).await.unwrap(), "[a b][]");
    let error = run(&tool, json!({ "text": "-x" })).await.unwrap_err();
    assert_eq!(error.kind.as_deref(), Some("InvalidArguments"));
}

#[tokio::test]
async fn all_arguments_come_on_stdin_as_json() {
    let args = json!({ "b": [1, { "c": "ä" }], "a": "-x" });
    assert_eq!(run(&script("cat"), args.clone()).await.unwrap(), args.to_string());
    // A program that does not read gets by as well, even if the pipe cannot take it all.
    let long = json!({ "text": "x".repeat(1_000_000) });
    assert_eq!(run(&script("exec echo done"), long).await.unwrap(), "done");
}

#[tokio::test]
async fn stdout_is_the_result() {
    assert_eq!(run(&script("printf 'a\\n\\n'"), json!({})).await.unwrap(), "a\n");
    assert_eq!(run(&script("printf 'a\\r\\n'"), json!({})).await.unwrap(), "a");
    assert_eq!(run(&script("echo out; echo err >&2"), json!({})).await.unwrap(), "out");
    assert_eq!(run(&script("printf 'a\\377b'"), json!({})).await.unwrap(), "a\u{fffd}b");
    assert_eq!(run(&script("true"), json!({})).await.unwrap(), "");
}

#[tokio::test]
async fn e30_what_leaves_a_call_of_a_command_in_doubt() {
    for (line, doubt) in [
        ("exit 1", false),
        ("exit 127", false),
        ("exit 128", false),
        ("exit 129", true),
        ("exit 255", true),
        ("kill -9 $$", true),
        ("kill -SEGV $$", true),
    ] {
        let error = run(&script(line), json!({})).await.unwrap_err();
        assert_eq!(error.in_doubt, doubt, "{line}: {error}");
    }
}

#[tokio::test]
async fn a_failure_tells_the_end_of_stderr() {
    let error = run(&script("echo out; echo 'no such thing' >&2; exit 3"), json!({})).await.unwrap_err();
    assert_eq!(
        error,
        ToolError::of_kind("CommandFailed", "the command exited with exit code 3: no such thing")
    );
    let error = run(&script("exit 1"), json!({})).await.unwrap_err();
    assert_eq!(error.message.as_ref(), "the command exited with exit code 1");
    let error = run(&script("kill -9 $$"), json!({})).await.unwrap_err();
    assert_eq!(error.message.as_ref(), "the command was killed by signal 9");
    let error = run(&script("yes 0123456789 | head -c 100000 >&2; printf END >&2; exit 1"), json!({}))
        .await
        .unwrap_err();
    assert!(error.message.ends_with("END") && error.message.len() < 2_100, "{}", error.message.len());
    let missing = tool(json!({ "name": "x", "run": ["no-such-program-here"] }));
    let error = run(&missing, json!({})).await.unwrap_err();
    assert_eq!(error.kind.as_deref(), Some("NotFound"));
    assert!(error.message.contains("cannot run `no-such-program-here`"), "{error}");
}

#[tokio::test]
async fn stdout_is_bounded() {
    let text = json!({ "name": "x", "run": ["head", "-c", "{n}", "/dev/zero"], "max_stdout": 1000 });
    let tool = tool(text);
    assert_eq!(run(&tool, json!({ "n": "1000" })).await.unwrap().len(), 1000);
    let error = run(&tool, json!({ "n": "1001" })).await.unwrap_err();
    let expected = ToolError::of_kind("TooLarge", "the command wrote more than 1000 bytes");
    assert_eq!(error, ToolError { in_doubt: true, ..expected }, "it was killed in the midst of its work");
    // One that would never end by itself is killed.
    let endless = CommandTool::new(
        &settings(json!({ "name": "x", "run": ["cat", "/dev/zero"], "max_stdout": 1000 })),
        Path::new("/"),
    );
    assert_eq!(run(&endless.unwrap(), json!({})).await.unwrap_err().kind.as_deref(), Some("TooLarge"));
}

#[tokio::test]
async fn e53_a_command_inherits_nothing_but_path_and_home() {
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "something is there to be inherited");
    let listed = run(&tool(json!({ "name": "env", "run": ["env"] })), json!({})).await.unwrap();
    let mut names: Vec<_> = listed.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "PATH", "WINDLASS_CALL", "WINDLASS_IDEMPOTENCY_KEY", "WINDLASS_RUN"]);
    assert!(listed.contains("WINDLASS_CALL=c1\n") || listed.ends_with("WINDLASS_CALL=c1"), "{listed}");
    assert!(listed.contains("WINDLASS_IDEMPOTENCY_KEY=key-1"), "{listed}");
    assert!(listed.contains(&format!("WINDLASS_RUN={}", context().run)), "{listed}");
}

#[tokio::test]
async fn e53_what_is_added_to_the_environment_reaches_the_command_alone() {
    let tool =
        tool(json!({ "name": "env", "run": ["env"] })).env("KEY", "s3cr3t").env("WINDLASS_CALL", "other");
    let listed = run(&tool, json!({})).await.unwrap();
    assert!(listed.contains("KEY=s3cr3t") && listed.contains("WINDLASS_CALL=c1"), "{listed}");
    let shown = format!("{tool:?}");
    assert!(shown.contains("KEY") && !shown.contains("s3cr3t"), "{shown}");
}

#[tokio::test]
async fn a_command_runs_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    let program = folder.path().join("bin/where");
    crate::support::executable(&program, "#!/bin/sh\npwd -P\n");
    let tool =
        CommandTool::new(&settings(json!({ "name": "x", "run": ["./bin/where"] })), folder.path()).unwrap();
    let real = folder.path().canonicalize().unwrap();
    assert_eq!(run(&tool, json!({})).await.unwrap(), real.to_str().unwrap());
}

#[tokio::test]
async fn a_check_says_whether_the_call_happened() {
    let tool = tool(json!({ "name": "pay", "run": ["true"], "effect": "once",
        "check": ["sh", "-c", "test \"$WINDLASS_IDEMPOTENCY_KEY\" = key-1 || exit 9; echo \"receipt $0\"; exit \"$0\"", "{code}"],
        "parameters": { "type": "object", "properties": { "code": { "type": "integer" } } } }));
    assert!(tool.spec().has_check);
    let check = |code: u8| tool.check(context(), json!({ "code": code }));
    assert_eq!(check(0).await.unwrap(), Some(CallOutcome::Ok { content: "receipt 0".into() }));
    assert_eq!(check(1).await.unwrap(), None);
    assert_eq!(check(2).await.unwrap_err().kind.as_deref(), Some("CommandFailed"));
    assert!(script("true").check(context(), json!({})).await.is_err());
}

#[test]
fn settings_become_the_description() {
    let plain =
        tool(json!({ "name": "x", "run": ["wc", "-w", "{path}", "{path}"], "description": "Counts." }));
    assert_eq!(
        *plain.spec().parameters,
        json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"],
            "additionalProperties": false })
    );
    assert_eq!((plain.spec().origin.as_ref(), plain.spec().description.as_ref()), ("command", "Counts."));
    assert!(!plain.spec().has_check);
    let checked = tool(json!({ "name": "x", "run": ["a"], "check": ["b"] }));
    assert_eq!(checked.spec().effect, Effect::Once);
    let idempotent = tool(json!({ "name": "x", "run": ["a"], "effect": "idempotent" }));
    assert_eq!(idempotent.spec().effect, Effect::Idempotent);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    for (value, says) in [
        (json!({ "name": "x", "run": [] }), "`run` does not name a program"),
        (json!({ "name": "x", "run": [""] }), "`run` does not name a program"),
        (json!({ "name": "x", "run": ["{p}"] }), "an argument cannot choose the program"),
        (json!({ "name": "x", "run": ["a"], "check": [] }), "`check` does not name a program"),
        (
            json!({ "name": "x", "run": ["a"], "check": ["b", "{p}"] }),
            "there is no parameter for the placeholder `{p}`",
        ),
        (
            json!({ "name": "x", "run": ["a", "{p}"], "parameters": { "type": "object" } }),
            "`{{p}}` writes the braces",
        ),
        (
            json!({ "name": "x", "run": ["a"], "check": ["b"], "effect": "read_only" }),
            "only for tools with `effect: once`",
        ),
    ] {
        let error = settings_error(value);
        assert!(error.contains(says), "{error:?} should say {says:?}");
    }
    let unknown =
        serde_json::from_value::<CommandSettings>(json!({ "name": "x", "run": ["a"], "shell": true }));
    assert!(unknown.unwrap_err().to_string().contains("unknown field `shell`"));
}

#[test]
fn p30_a_command_and_the_schema_of_its_arguments_must_agree() {
    let command = |run: serde_json::Value, parameters: serde_json::Value| json!({ "name": "x", "run": run, "parameters": parameters });
    let path =
        json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
    assert_eq!(tool(command(json!(["wc", "{path}"]), path.clone())).spec().parameters.as_ref(), &path);
    let error = settings_error(command(json!(["wc", "{pth}"]), path.clone()));
    assert!(error.contains("there is no parameter for the placeholder `{pth}`"), "{error}");
    let renamed = json!({ "type": "object", "properties": { "file": {} }, "required": ["path"] });
    let error = settings_error(command(json!(["wc", "{file}"]), renamed));
    assert!(error.contains("require `path`, which is none of their `properties`"), "{error}");
    let checked = json!({ "name": "x", "run": ["a", "{path}"], "check": ["b", "{pth}"], "parameters": path });
    assert!(settings_error(checked).contains("`{pth}`"));
}

/// A script that ignores SIGTERM, and has started another process that does so too. Both write their ids into a file.
fn stubborn(folder: &TempDir) -> (CommandTool, std::path::PathBuf) {
    let file = folder.path().join("pids");
    let text = format!(
        "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ >> {0}; while :; do sleep 1; done' & echo $$ >> {0}; while :; do sleep 1; done",
        file.display()
    );
    let tool = tool(
        json!({ "name": "x", "run": ["sh", "-c", text.replace('{', "{{").replace('}', "}}")], "grace_ms": 100 }),
    );
    (tool, file)
}

#[tokio::test]
async fn e20_a_dropped_call_leaves_nothing_of_its_group_alive() {
    let folder = tempfile::tempdir().unwrap();
    let (tool, file) = stubborn(&folder);
    {
        let mut call = tool.call(context(), json!({}));
        let both = until("both processes run", || pids(&file).len() == 2);
        tokio::select! {
            result = &mut call => panic!("it ended: {result:?}"),
            () = both => {}
        }
        assert!(pids(&file).into_iter().all(is_alive));
    }
    until("the group is gone", || !pids(&file).into_iter().any(is_alive)).await;
}

#[tokio::test]
async fn e20_a_command_that_ignores_a_cancel_is_killed_after_its_grace() {
    let folder = tempfile::tempdir().unwrap();
    let (tool, file) = stubborn(&folder);
    let context = context();
    let call = tool.call(context.clone(), json!({}));
    let cancel = async {
        until("both processes run", || pids(&file).len() == 2).await;
        context.cancelled.cancel();
    };
    let (result, ()) = tokio::join!(call, cancel);
    assert_eq!(result.unwrap_err().kind.as_deref(), Some("Cancelled"));
    until("the group is gone", || !pids(&file).into_iter().any(is_alive)).await;
}

#[tokio::test]
async fn e20_a_command_may_end_in_its_own_way_when_it_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let (started, cleaned) = (folder.path().join("started"), folder.path().join("cleaned"));
    let text = format!(
        "trap 'echo yes > {}; exit 0' TERM; touch {}; while :; do sleep 0.01; done",
        cleaned.display(),
        started.display()
    );
    let tool = script(&text);
    let context = context();
    let cancel = async {
        until("it started", || started.exists()).await;
        context.cancelled.cancel();
    };
    let (result, ()) = tokio::join!(tool.call(context.clone(), json!({})), cancel);
    assert_eq!(result.unwrap_err().kind.as_deref(), Some("Cancelled"));
    assert!(cleaned.exists());
}

#[tokio::test]
async fn e20_what_a_command_leaves_running_is_killed_when_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    // The one left behind holds the pipe open: waiting for its end would take a minute.
    let tool = script(&format!("sleep 60 & echo $! > {}; echo done", file.display()));
    assert_eq!(run(&tool, json!({})).await.unwrap(), "done");
    assert_eq!(pids(&file).len(), 1);
    until("the rest is gone", || !pids(&file).into_iter().any(is_alive)).await;
}

#[tokio::test]
async fn a_process_that_left_the_group_does_not_hold_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let tool = script(&format!(
        "setsid sh -c 'echo $$ > {}; exec sleep 60' & while [ ! -s {0} ]; do :; done; echo done",
        file.display()
    ));
    assert_eq!(run(&tool, json!({})).await.unwrap(), "done");
    let [left] = pids(&file)[..] else { panic!("one process left the group") };
    assert!(is_alive(left));
    assert!(std::process::Command::new("kill").arg(left.to_string()).status().unwrap().success());
}
