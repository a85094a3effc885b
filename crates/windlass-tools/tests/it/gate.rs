//! Commands with an effect wait behind a gate until the lease of their run is confirmed.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use windlass_tools::command::CommandTool;
use windlass_tools::{Lease, Tool, ToolContext, ToolError};

use crate::context::context;

fn tool(value: Value, folder: &Path) -> CommandTool {
    CommandTool::new(&serde_json::from_value(value).unwrap(), folder).unwrap()
}

fn script(text: &str, folder: &Path) -> CommandTool {
    tool(json!({ "name": "script", "run": ["sh", "-c", text], "parameters": { "type": "object" } }), folder)
}

/// The context of a call whose lease stands.
fn leased() -> ToolContext {
    ToolContext { lease: Lease::new(|| Box::pin(async { Ok(None) })), ..context() }
}

async fn run(tool: &CommandTool, context: ToolContext, args: Value) -> Result<String, ToolError> {
    tool.call(context, args).await.map(|content| content.text().into_owned())
}

/// The processes that have that key in their environment, by their command lines.
fn under(key: &str) -> Vec<String> {
    let item = format!("WINDLASS_IDEMPOTENCY_KEY={key}");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let marked = processes.filter(|process| {
        let environ = std::fs::read(process.path().join("environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|found| found == item.as_bytes())
    });
    let shown = marked.map(|process| std::fs::read(process.path().join("cmdline")).unwrap_or_default());
    shown.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).collect()
}

#[tokio::test]
async fn a_program_behind_a_gate_sees_what_it_would_see_without() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let args = json!({ "b": "two\nlines \\n and a tab\t", "a": " -x ä" });
    for (name, text) in [
        ("stdin, from its first byte to its last", "cat"),
        ("its environment", "env | grep -v '^PWD=' | sort"),
        ("its folder", "pwd -P"),
        ("its name and arguments", "tr '\\0' ' ' < /proc/$$/cmdline"),
        ("the leader of its group", "test \"$(cut -d' ' -f5 /proc/$$/stat)\" = $$ && echo leads"),
    ] {
        let tool = script(text, &folder).env("SOME", "value; $(with) 'signs'\nand lines");
        let plain = run(&tool, context(), args.clone()).await.unwrap();
        assert_eq!(run(&tool, leased(), args.clone()).await.unwrap(), plain, "{name}");
        assert!(!plain.is_empty(), "{name}");
    }
    // Only what it would have without: shells add variables of their own.
    let env = tool(json!({ "name": "env", "run": ["env"] }), &folder);
    let listed = run(&env, leased(), json!({})).await.unwrap();
    let mut names: Vec<_> = listed.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "PATH", "WINDLASS_CALL", "WINDLASS_IDEMPOTENCY_KEY", "WINDLASS_RUN"]);
}

#[tokio::test]
async fn long_input_and_ends_are_as_without_a_gate() {
    let root = Path::new("/");
    let long = json!({ "text": "x".repeat(1_000_000) });
    assert_eq!(run(&script("cat", root), leased(), long.clone()).await.unwrap(), long.to_string());
    assert_eq!(run(&script("exec echo done", root), leased(), long).await.unwrap(), "done");
    for text in ["echo 'no such thing' >&2; exit 3", "exit 127", "kill -9 $$"] {
        let tool = script(text, root);
        let (plain, gated) = (run(&tool, context(), json!({})).await, run(&tool, leased(), json!({})).await);
        assert_eq!(gated.unwrap_err(), plain.unwrap_err(), "{text}");
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_run_is_named_as_clearly_as_without_a_gate() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plain"), "#!/bin/sh\n").unwrap();
    for program in ["no-such-program-here", "./no-such-program", "/no/such/program", "./plain", "/"] {
        let tool = tool(json!({ "name": "x", "run": [program] }), folder.path());
        let plain = run(&tool, context(), json!({})).await.unwrap_err();
        let gated = run(&tool, leased(), json!({})).await.unwrap_err();
        assert_eq!(gated.kind, plain.kind, "{program}");
        assert!(gated.message.contains("cannot run"), "{gated}");
    }
    // The program is looked for where the command's own PATH says.
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let program = bin.join("only-here");
    crate::support::executable(&program, "#!/bin/sh\necho found\n");
    let here = tool(json!({ "name": "x", "run": ["only-here"] }), folder.path());
    assert_eq!(run(&here, leased(), json!({})).await.unwrap_err().kind.as_deref(), Some("NotFound"));
    let here = here.env("PATH", format!("/nowhere:{}:/usr/bin:/bin", bin.display()));
    assert_eq!(run(&here, leased(), json!({})).await.unwrap(), "found");
}

#[tokio::test]
async fn variables_that_a_shell_would_change_are_refused() {
    let tool = tool(json!({ "name": "x", "run": ["env"] }), Path::new("/")).env("A.B", "1");
    assert!(run(&tool, context(), json!({})).await.unwrap().contains("A.B=1"));
    let error = run(&tool, leased(), json!({})).await.unwrap_err();
    assert_eq!(error.kind.as_deref(), Some("InvalidEnvironment"));
    assert!(error.message.contains("`A.B`"), "{error}");
}

/// The run was taken over while this process was stopped, or before it came to this call.
#[tokio::test]
async fn e32_a_command_of_a_lost_run_never_starts() {
    let folder = tempfile::tempdir().unwrap();
    let tool = script("cat; echo ran >> ran", folder.path());
    let lost = Lease::new(|| Box::pin(async { Err("run 7 was taken over by pid 12".into()) }));
    let error = run(&tool, ToolContext { lease: lost, ..context() }, json!({})).await.unwrap_err();
    assert_eq!(
        error,
        ToolError::of_kind("LeaseLost", "the call was not started: run 7 was taken over by pid 12")
    );
    assert!(!folder.path().join("ran").exists());
}

#[tokio::test]
async fn e30_what_waits_at_the_gate_is_found_by_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let tool = Arc::new(script("echo ran >> ran", folder.path()));
    let key = "waits-at-the-gate";
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let (confirmed, stopping, noted) = (Arc::new(AtomicUsize::new(0)), tool.clone(), seen.clone());
    let (number, named) = (confirmed.clone(), ToolContext { idempotency_key: key.into(), ..context() });
    // Somebody takes the run over while the shell waits, and stops what is left of the call.
    let lease = Lease::new(move || {
        let (tool, named, noted) = (stopping.clone(), named.clone(), noted.clone());
        number.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            *noted.lock().unwrap() = under(&named.idempotency_key);
            tool.stop_left_behind(named).await;
            Ok(None)
        })
    });
    let context = ToolContext { idempotency_key: key.into(), lease, ..context() };
    let error = run(&tool, context, json!({})).await.unwrap_err();
    assert_eq!(error.message.as_ref(), "the command was killed by signal 15");
    assert_eq!(confirmed.load(Ordering::SeqCst), 1);
    let seen = seen.lock().unwrap();
    assert!(seen.len() == 1 && seen[0].starts_with("/bin/sh -c IFS= read -r _ "), "{seen:?}");
    assert!(!folder.path().join("ran").exists());
}
