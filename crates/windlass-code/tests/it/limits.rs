//! Limits, and the ends of children.

use std::time::Duration;

use serde_json::json;
use windlass_code::{
    Answer, Code, CodeError, FailureKind, Function, HostResult, Limit, Limits, Program, Step,
};
use windlass_error::Diagnostic as _;

use crate::support::{code, program, run_with};

async fn hit(limits: Limits, source: &str) -> (FailureKind, String) {
    let ran = run_with(&limits, program(source)).await;
    (ran.failure().kind.clone(), ran.failure().message.clone())
}

#[tokio::test]
async fn each_limit_is_named_with_its_value_and_a_hint() {
    let usual = Limits::default();
    for (limits, source, limit, text) in [
        (Limits { seconds: 0.2, ..usual }, "while True: pass", Limit::Seconds, "longer than 0.2 s"),
        (Limits { calls: 3, ..usual }, "for i in range(9): add(i, i)", Limit::Calls, "at most 3 are allowed"),
        (
            Limits { calls: 3, ..usual },
            "parallel(*[('add', i, i) for i in range(4)])",
            Limit::Calls,
            "4 host calls",
        ),
        (Limits { source_bytes: 10, ..usual }, "x = 1234567", Limit::Source, "11 bytes, and at most 10"),
        (Limits { value_bytes: 10, ..usual }, "return 'x' * 9", Limit::Value, "11 bytes, and at most 10"),
        (
            Limits { memory_mb: 8, ..usual },
            "a = []\nwhile True: a.append('x' * 10000 + str(len(a)))",
            Limit::Memory,
            "more than 8 MiB",
        ),
        (Limits { memory_mb: 8, ..usual }, "return len('x' * 10**9)", Limit::Memory, "more than 8 MiB"),
    ] {
        let (kind, message) = hit(limits, source).await;
        assert_eq!(kind, FailureKind::Limit(limit), "{source}: {message}");
        assert!(message.contains(text) && message.contains("hint:"), "{source}: {message}");
    }
}

/// Session 10's words, which have no hint. Calls are counted in the source, whether they would run or not.
#[tokio::test]
async fn calls_that_are_written_are_counted_before_any_runs() {
    let limits = Limits { written_calls: Some(2), ..Limits::default() };
    let (kind, message) = hit(limits, "add(1, 1)\nif False:\n    print(f'{len([])}')").await;
    assert_eq!(kind, FailureKind::Limit(Limit::WrittenCalls), "{message}");
    assert!(message.contains("Too many functions (3 > 2)"), "{message}");
}

#[tokio::test]
async fn memory_within_the_limit_may_be_used() {
    let ran = run_with(&Limits::default(), program("a = 'x' * 30_000_000\nreturn len(a)")).await;
    assert_eq!(*ran.value(), json!(30_000_000));
}

#[tokio::test]
async fn output_is_cut_and_the_code_goes_on() {
    let limits = Limits { output_bytes: 10, ..Limits::default() };
    let ran = run_with(&limits, program("print('äää')\nadd(1, 2)\nprint('äää')\nreturn 1")).await;
    assert_eq!(*ran.value(), json!(1));
    assert_eq!((ran.output.text.as_str(), ran.output.cut), ("äää\nä", 5));
}

#[tokio::test]
async fn arguments_that_are_too_large_are_an_error_that_the_code_may_catch() {
    let limits = Limits { value_bytes: 100, ..Limits::default() };
    let source = "try:\n    search('x' * 200)\nexcept ValueError as error:\n    return str(error)[:25]";
    assert_eq!(*run_with(&limits, program(source)).await.value(), json!("the arguments of search()"));
}

#[tokio::test]
async fn the_time_of_host_calls_does_not_count() {
    let limits = Limits { seconds: 0.3, ..Limits::default() };
    let source = "for i in range(4): add(i, i)\nreturn 1";
    let mut session = code().start(&limits, program(source)).await.unwrap();
    let mut step = session.next(Vec::new()).await.unwrap();
    // Together the host's calls take longer than the limit and the grace period.
    while let Step::Calls(calls) = step {
        let busy = hit(Limits { seconds: 0.4, ..Limits::default() }, "while True: pass").await;
        assert_eq!(busy.0, FailureKind::Limit(Limit::Seconds));
        let given = Answer { place: calls[0].place, result: HostResult::Value(json!(3)) };
        step = session.next(vec![given]).await.unwrap();
    }
    assert!(matches!(step, Step::Done { .. }), "{step:?}");
}

/// Whether a process is there, and no zombie.
fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

fn is_there(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// Waits for something that another process does.
async fn until(what: &str, done: impl Fn() -> bool) {
    for _ in 0..2000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{what} did not happen");
}

#[tokio::test]
async fn no_child_is_left_after_an_end() {
    let mut session = code().start(&Limits::default(), program("return 1")).await.unwrap();
    let pid = session.process_id().unwrap();
    assert!(lives(pid));
    session.next(Vec::new()).await.unwrap();
    assert!(!is_there(pid), "it was waited for");
}

#[tokio::test]
async fn a_dropped_session_kills_its_child_and_leaves_no_zombie() {
    let mut session = code().start(&Limits::default(), program("add(1, 2)")).await.unwrap();
    let pid = session.process_id().unwrap();
    session.next(Vec::new()).await.unwrap();
    drop(session);
    until("the end of the child", || !is_there(pid)).await;
    // While code runs, too.
    let limits = Limits { seconds: 600.0, ..Limits::default() };
    let mut session = code().start(&limits, program("while True: pass")).await.unwrap();
    let pid = session.process_id().unwrap();
    let stopped = tokio::time::timeout(Duration::from_millis(100), session.next(Vec::new())).await;
    assert!(stopped.is_err());
    drop(session);
    until("the end of the child", || !is_there(pid)).await;
}

#[tokio::test]
async fn a_killed_child_is_a_failure_of_the_step() {
    let mut session = code().start(&Limits::default(), program("add(1, 2)")).await.unwrap();
    let Step::Calls(calls) = session.next(Vec::new()).await.unwrap() else { panic!("no calls") };
    let pid = rustix::process::Pid::from_raw(session.process_id().unwrap().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let given = Answer { place: calls[0].place, result: HostResult::Value(json!(3)) };
    let Step::Failed { failure, .. } = session.next(vec![given]).await.unwrap() else { panic!("not failed") };
    assert_eq!(failure.kind, FailureKind::Crashed);
    assert!(failure.message.contains("signal: 9"), "{}", failure.message);
}

#[tokio::test]
async fn programs_that_cannot_run_code_are_told_apart() {
    assert!(matches!(Code::this_program(), Err(CodeError::NoProgram)));
    let start = |path: &str| {
        let code = Code::program(path);
        async move { code.start(&Limits::default(), Program::new("1")).await.unwrap_err() }
    };
    assert_eq!(start("/nowhere/windlass").await.code(), "code.spawn");
    let error = start("/bin/true").await;
    assert_eq!(
        error.to_string(),
        "/bin/true does not run code: it ended without a greeting (exit status: 0)"
    );
    assert!(error.help().is_some());
    assert_eq!(
        start("/bin/echo").await.to_string(),
        "/bin/echo does not run code: its first output is no greeting"
    );
}

#[tokio::test]
async fn names_that_the_code_could_not_tell_apart_are_refused() {
    let start =
        |program: Program| async move { code().start(&Limits::default(), program).await.unwrap_err() };
    let twice = Program::new("1").function(Function::new("a-b", ["x"])).function(Function::new("a_b", ["x"]));
    assert_eq!(start(twice).await.code(), "code.same_name");
    assert_eq!(start(Program::new("1").input("a b", 1)).await.code(), "code.input_name");
}

#[tokio::test]
async fn inputs_are_variables() {
    let program =
        Program::new("x['n'] += 1\nreturn [x, y]").input("x", json!({ "n": 1 })).input("y", json!([null]));
    assert_eq!(*run_with(&Limits::default(), program).await.value(), json!([{ "n": 2 }, [null]]));
}
