//! A39: the sandbox service, against a real interpreter (`python3`).

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use windlass_core::tool::Effect;
use windlass_core::{CallId, RunId};
use windlass_tools::sandbox::{Sandbox, SandboxKind, SandboxSettings};
use windlass_tools::{Service, SharedService, Tool, ToolContext};

fn context(run: u128) -> ToolContext {
    ToolContext {
        run: RunId::from_number(run),
        call: CallId::from("c1"),
        attempt: 1,
        idempotency_key: "1:c1".into(),
        cancelled: CancellationToken::new(),
        lease: windlass_tools::Lease::none(),
        active_skills: Vec::new(),
    }
}

fn tool(service: &SharedService, name: &str) -> Arc<dyn Tool> {
    service.pick([name]).unwrap().remove(0)
}

async fn text(service: &SharedService, run: u128, name: &str, args: Value) -> String {
    match tool(service, name).call(context(run), args).await {
        Ok(content) => content.text().into_owned(),
        Err(error) => format!("ERROR {error}"),
    }
}

async fn execute(service: &SharedService, run: u128, code: &str) -> Value {
    let told = text(service, run, "execute", json!({ "code": code })).await;
    serde_json::from_str(&told).unwrap_or(Value::String(told))
}

fn sandbox(change: impl FnOnce(&mut SandboxSettings)) -> SharedService {
    let mut settings = SandboxSettings::default();
    change(&mut settings);
    SharedService::new(Sandbox::new(settings))
}

fn done(stdout: &str, value: &str) -> Value {
    json!({ "stdout": stdout, "stderr": "", "return_value": value, "success": true })
}

#[tokio::test]
async fn a39_code_runs_and_its_variables_last_until_a_reset() {
    let service = sandbox(|_| {});
    let used = service.begin().await.unwrap();
    assert_eq!(
        text(&service, 1, "execute", json!({ "code": "1 + 1" })).await,
        "{\"stdout\": \"\", \"stderr\": \"\", \"return_value\": \"2\", \"success\": true}"
    );
    assert_eq!(execute(&service, 1, "x = 40\nprint('kept:', x)").await, done("kept: 40\n", "None"));
    assert_eq!(execute(&service, 1, "x + 2").await, done("", "42"));
    assert_eq!(execute(&service, 1, "print('é')").await["return_value"], Value::Null);
    assert_eq!(execute(&service, 1, "class A:\n  y = sum(range(4))\nz = A().y").await["success"], true);
    assert_eq!(text(&service, 1, "reset", json!({})).await, "Sandbox state reset.");
    let lost = json!({ "stdout": "", "stderr": "NameError: name 'x' is not defined\n", "return_value": null, "success": false });
    assert_eq!(execute(&service, 1, "x").await, lost);
    used.end().await;
}

#[tokio::test]
async fn a39_each_run_has_an_interpreter_of_its_own() {
    let service = sandbox(|_| {});
    let used = service.begin().await.unwrap();
    execute(&service, 1, "x = 1").await;
    assert_eq!(execute(&service, 2, "x").await["success"], false);
    let both = join(execute(&service, 1, "x += 1"), execute(&service, 1, "x += 1"));
    both.await;
    assert_eq!(execute(&service, 1, "x").await["return_value"], "3");
    used.end().await;
}

#[tokio::test]
async fn a39_out_of_time_the_interpreter_is_killed_and_started_anew() {
    let service = sandbox(|settings| settings.seconds = 1);
    let used = service.begin().await.unwrap();
    execute(&service, 1, "x = 1").await;
    let told = execute(&service, 1, "while True: pass").await;
    assert_eq!(
        told,
        json!({ "stdout": "", "stderr": "Execution timed out after 1s. Sandbox has been reset.", "return_value": null, "success": false })
    );
    assert_eq!(execute(&service, 1, "x").await["success"], false);
    assert_eq!(execute(&service, 1, "2 * 3").await["return_value"], "6");
    used.end().await;
}

#[tokio::test]
async fn a39_only_what_is_allowed_can_be_imported_and_named() {
    let service = sandbox(|settings| settings.modules = vec!["math".to_owned()]);
    let used = service.begin().await.unwrap();
    assert_eq!(execute(&service, 1, "import math\nprint(math.floor(2.5))").await["stdout"], "2\n");
    assert_eq!(
        execute(&service, 1, "import os").await["stderr"],
        "ImportError: Import of 'os' is not allowed\n"
    );
    assert_eq!(
        execute(&service, 1, "open('/etc/passwd')").await["stderr"],
        "NameError: name 'open' is not defined\n"
    );
    used.end().await;
}

#[tokio::test]
async fn a39_output_and_memory_are_bounded() {
    let service = sandbox(|settings| settings.seconds = 20);
    let used = service.begin().await.unwrap();
    let told = execute(&service, 1, "for n in range(100000): print('0123456789')").await;
    let stdout = told["stdout"].as_str().unwrap();
    assert!(stdout.len() < 70_000 && stdout.ends_with("[the rest is left out]"), "{}", stdout.len());
    let told = execute(&service, 1, "'x' * 10**10").await;
    assert_eq!((&told["success"], &told["stderr"]), (&json!(false), &json!("MemoryError: \n")));
    assert_eq!(execute(&service, 1, "exit").await["success"], false);
    assert_eq!(execute(&service, 1, "'\\ud800'").await["success"], true);
    let long = "#".repeat(300_000);
    assert!(execute(&service, 1, &long).await.as_str().unwrap().starts_with("ERROR `code` has 300000 bytes"));
    used.end().await;
}

#[tokio::test]
async fn a39_a_process_that_ends_is_told_and_started_anew() {
    let service = sandbox(|settings| settings.modules = vec!["os".to_owned()]);
    let used = service.begin().await.unwrap();
    // With such a module the code may have had an effect before, so that the call is in doubt (E30).
    let told = execute(&service, 1, "import os\nos._exit(3)").await;
    assert_eq!(told, "ERROR The sandbox process ended (exit status: 3). Sandbox has been reset.");
    assert_eq!(execute(&service, 1, "1").await["return_value"], "1");
    used.end().await;
}

#[tokio::test]
async fn a39_a_cancel_stops_the_code_and_what_it_started() {
    let service = sandbox(|settings| settings.modules = vec!["os".to_owned(), "time".to_owned()]);
    let used = service.begin().await.unwrap();
    let pid =
        execute(&service, 1, "import os\nprint(os.getpid())").await["stdout"].as_str().unwrap().to_owned();
    let alive = || std::path::Path::new(&format!("/proc/{}/stat", pid.trim())).exists();
    assert!(alive() || !cfg!(target_os = "linux"));
    let context = context(1);
    context.cancelled.cancel();
    let execute_tool = tool(&service, "execute");
    let call = execute_tool.call(context, json!({ "code": "import time\ntime.sleep(60)" }));
    let ended = tokio::time::timeout(Duration::from_secs(10), call).await.unwrap();
    assert_eq!(ended.unwrap_err().to_string(), "stopped; the sandbox has been reset");
    let gone = async {
        while alive() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone).await.unwrap();
    assert_eq!(self::execute(&service, 1, "1").await["return_value"], "1");
    used.end().await;
}

#[tokio::test]
async fn a39_nothing_outlives_the_tear_down() {
    let service = sandbox(|settings| settings.modules = vec!["os".to_owned()]);
    assert_eq!(execute(&service, 1, "1").await, "ERROR the sandbox is not open: its service was not set up");
    let used = service.begin().await.unwrap();
    let pid =
        execute(&service, 1, "import os\nprint(os.getpid())").await["stdout"].as_str().unwrap().to_owned();
    used.end().await;
    let gone = async {
        while std::path::Path::new(&format!("/proc/{}/stat", pid.trim())).exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone).await.unwrap();
}

#[tokio::test]
async fn a39_an_interpreter_that_is_missing_is_told_at_the_set_up() {
    let missing = sandbox(|settings| settings.python = "no-such-python".to_owned());
    let error = missing.begin().await.unwrap_err().to_string();
    assert!(error.starts_with("cannot start `no-such-python`: "), "{error}");
    let wrong = sandbox(|settings| settings.python = "false".to_owned());
    let error = wrong.begin().await.unwrap_err().to_string();
    assert_eq!(error, "`false` is not a usable Python 3: it ended (exit status: 1)");
}

#[test]
fn a39_names_and_effects_follow_the_settings() {
    let names = |service: &SharedService| -> Vec<(String, Effect)> {
        service.tools().iter().map(|tool| (tool.spec().name.to_string(), tool.spec().effect)).collect()
    };
    let process = sandbox(|_| {});
    assert_eq!(
        names(&process),
        [
            ("process_sandbox__execute".to_owned(), Effect::ReadOnly),
            ("process_sandbox__reset".to_owned(), Effect::Idempotent)
        ]
    );
    let local = sandbox(|settings| {
        settings.kind = SandboxKind::Local;
        settings.builtins = vec!["open".to_owned()];
    });
    assert_eq!(names(&local)[0], ("local_sandbox__execute".to_owned(), Effect::Once));
    assert_eq!(Sandbox::new(SandboxSettings::default()).name(), "process_sandbox");
}
