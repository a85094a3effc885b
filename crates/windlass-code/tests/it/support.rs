//! A host for tests: its tools answer at once.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use windlass_code::{
    Answer, Code, Failure, Function, HostCall, HostResult, Limits, Output, Program, Recorded, Session, Step,
};

/// A child program that does nothing else.
pub(crate) fn code() -> Code {
    Code::program(env!("CARGO_BIN_EXE_windlass-code-child"))
}

/// Writes a program in another process: one that this process has open for writing would be busy (ETXTBSY) if a test
/// beside this one forks meanwhile.
pub(crate) fn executable(path: &Path, text: &str) {
    let mut install = Command::new("install")
        .args(["-m", "755", "/dev/stdin"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    install.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(install.wait().unwrap().success());
}

/// A program with the tools of these tests.
pub(crate) fn program(source: &str) -> Program {
    Program::new(source)
        .function(Function::new("add", ["a", "b"]))
        .function(Function::new("search", ["query", "limit"]))
        .function(Function::new("broken", ["why"]))
        .function(Function::new("get-weather", ["city"]))
        .function(Function::new("nothing", [""; 0]))
}

/// What the tools of these tests answer.
pub(crate) fn answer(call: &HostCall) -> HostResult {
    let arg = |name: &str| call.args.get(name).cloned().unwrap_or_default();
    HostResult::Value(match call.name.as_str() {
        "add" => json!(arg("a").as_i64().unwrap_or(0) + arg("b").as_i64().unwrap_or(0)),
        "search" => json!({ "query": arg("query"), "found": [1, 2] }),
        "get-weather" => json!(format!("sunny in {}", arg("city").as_str().unwrap_or("?"))),
        "broken" => return HostResult::Error(format!("it broke: {}", arg("why").as_str().unwrap_or("?"))),
        _ => Value::Null,
    })
}

/// A step that came to its end.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) ended: Result<Value, Failure>,
    pub(crate) output: Output,
    /// Calls in the batches in which they were made.
    pub(crate) batches: Vec<Vec<HostCall>>,
    pub(crate) recorded: Vec<Recorded>,
}

impl Ran {
    /// The value of code that must not fail.
    pub(crate) fn value(&self) -> &Value {
        self.ended.as_ref().unwrap_or_else(|failure| panic!("{}", failure.message))
    }

    /// The failure of code that must fail.
    pub(crate) fn failure(&self) -> &Failure {
        self.ended.as_ref().expect_err("the code did not fail")
    }

    /// All calls as short texts.
    pub(crate) fn calls(&self) -> Vec<String> {
        let calls = self.batches.iter().flatten();
        calls.map(|call| format!("{}{}", call.name, Value::Object(call.args.clone()))).collect()
    }
}

/// Drives a session to its end.
pub(crate) async fn drive(mut session: Session) -> Ran {
    let (mut batches, mut recorded) = (Vec::new(), Vec::new());
    let mut results = Vec::new();
    loop {
        match session.next(results).await.unwrap() {
            Step::Calls(calls) => {
                results =
                    calls.iter().map(|call| Answer { place: call.place, result: answer(call) }).collect();
                recorded
                    .extend(calls.iter().map(|call| Recorded { call: call.clone(), result: answer(call) }));
                batches.push(calls);
            }
            Step::Done { value, output } => return Ran { ended: Ok(value), output, batches, recorded },
            Step::Failed { failure, output } => {
                return Ran { ended: Err(failure), output, batches, recorded };
            }
        }
    }
}

pub(crate) async fn run_with(limits: &Limits, program: Program) -> Ran {
    drive(code().start(limits, program).await.unwrap()).await
}

pub(crate) async fn run(source: &str) -> Ran {
    run_with(&Limits::default(), program(source)).await
}
