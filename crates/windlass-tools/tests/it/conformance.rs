//! The suite finds what tools owe, and finds it missing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_core::future::BoxFuture;
use serde_json::{Value, json};
use windlass_core::ToolSpec;
use windlass_tools::conformance::{Conformance, Duty};
use windlass_tools::{Tool, ToolContext, ToolResult};

/// A tool that does its duties or not.
#[derive(Debug)]
struct Made {
    spec: ToolSpec,
    deaf: bool,
    leaky: bool,
    alive: Arc<AtomicBool>,
}

/// Says that work goes on, until it is dropped.
struct ActionKind(Arc<AtomicBool>);

impl Drop for ActionKind {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Tool for Made {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            if args.get("quick").is_some() {
                let key = if self.deaf { "none".into() } else { context.idempotency_key.to_string() };
                return Ok(key.into());
            }
            self.alive.store(true, Ordering::SeqCst);
            let work = ActionKind(self.alive.clone());
            if self.leaky {
                std::mem::forget(work);
            }
            if self.deaf {
                std::future::pending::<()>().await;
            }
            context.cancelled.cancelled().await;
            Ok("stopped".into())
        })
    }
}

fn suite(parameters: Value, deaf: bool, leaky: bool) -> Conformance {
    let alive = Arc::new(AtomicBool::new(false));
    let (started, living) = (alive.clone(), alive.clone());
    let tool = Made { spec: ToolSpec::new("made", "", parameters), deaf, leaky, alive };
    Conformance::of(tool)
        .grace(Duration::from_millis(50))
        .bound(Duration::from_millis(200))
        .call(json!({ "quick": true }))
        .slow_call(json!({}), move || started.load(Ordering::SeqCst), move || living.load(Ordering::SeqCst))
        .key(json!({ "quick": true }), |result| {
            result.as_ref().ok().map(|content| content.text().into_owned())
        })
}

async fn duties(suite: Conformance) -> Vec<Duty> {
    suite.check().await.into_iter().map(|breach| breach.duty).collect()
}

#[tokio::test]
async fn a_dutiful_tool_passes() {
    assert_eq!(suite(json!({ "type": "object" }), false, false).check().await, []);
}

#[tokio::test]
async fn e20_a_tool_that_ignores_a_cancel_or_the_key_is_found() {
    assert_eq!(duties(suite(json!({ "type": "object" }), true, false)).await, [Duty::Cancel, Duty::Key]);
}

#[tokio::test]
async fn a_tool_that_leaves_something_alive_is_found() {
    let found = suite(json!({ "type": "object" }), false, true).check().await;
    assert_eq!(found.iter().map(|breach| breach.duty).collect::<Vec<_>>(), [Duty::Cancel, Duty::Drop]);
    assert_eq!(found[1].to_string(), "Drop: something of the call lives on after it was dropped");
}

#[tokio::test]
async fn a_description_that_is_not_sound_is_found() {
    assert_eq!(duties(suite(json!({ "type": "array" }), false, false)).await[0], Duty::Description);
    let narrow = json!({ "type": "object", "additionalProperties": false });
    assert_eq!(duties(suite(narrow, false, false)).await, [Duty::Arguments, Duty::Arguments]);
}

#[cfg(unix)]
#[tokio::test]
async fn commands_and_built_ins_conform() {
    use windlass_tools::builtin;
    use windlass_tools::command::{CommandSettings, CommandTool};

    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let script = format!(
        "case $0 in slow) echo $$ > {}; exec sleep 60;; esac; printf %s \"$WINDLASS_IDEMPOTENCY_KEY\"",
        pid.display()
    );
    let settings = CommandSettings {
        name: "script".to_owned(),
        run: vec!["sh".to_owned(), "-c".to_owned(), script, "{how}".to_owned()],
        ..CommandSettings::default()
    };
    // An empty file is one that is not written yet.
    let alive = move || {
        let written = std::fs::read_to_string(&pid).unwrap_or_default();
        let stat = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat"));
        written.trim().parse().is_ok_and(|pid| stat(pid).is_ok_and(|stat| !stat.contains(") Z ")))
    };
    let tool = CommandTool::new(&settings, folder.path()).unwrap();
    let breaches = Conformance::of(tool)
        .call(json!({ "how": "quick" }))
        .slow_call(json!({ "how": "slow" }), alive.clone(), alive)
        .key(json!({ "how": "quick" }), |result| {
            result.as_ref().ok().map(|content| content.text().into_owned())
        })
        .check()
        .await;
    assert_eq!(breaches, []);

    let folders = [folder.path().to_owned()];
    let built_in: [(Arc<dyn Tool>, Value); 6] = [
        (Arc::new(builtin::Calculate::new()), json!({ "expression": "1 + 1" })),
        (Arc::new(builtin::Now::new()), json!({})),
        (Arc::new(builtin::Ask::new()), json!({ "question": "why?" })),
        (Arc::new(builtin::ReadFile::new(&folders).unwrap()), json!({ "path": "pid", "lines": 1 })),
        (Arc::new(builtin::ListFiles::new(&folders).unwrap()), json!({ "path": "." })),
        (Arc::new(builtin::Fetch::new(&[]).unwrap()), json!({ "url": "http://127.0.0.1/" })),
    ];
    for (tool, args) in built_in {
        assert_eq!(Conformance::of_shared(tool).call(args).check().await, []);
    }
}
