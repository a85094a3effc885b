//! Code that a model wrote: carried out in a child process, which waits between its calls.
//!
//! The truth about code is its source and the recorded results of its calls. The child that waits is a cache: without it the code
//! runs again with these results, and no call is made twice.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{Either, select};
use futures_util::pin_mut;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use windlass_code::{
    Answer, Code, CodeError, Failure, FailureKind, Function, Limits, Output, Program, Recorded, Session, Step,
};
use windlass_core::message::{Content, Part};
use windlass_core::policy::CodeMode;
use windlass_core::run::{HostCall, MAX_CALLS, OpenCall};
use windlass_core::tool::{CODE_FIELD, CODE_LIMIT, DIVERGED};
use windlass_core::{ActionId, CallId, CallOutcome, InputKind, State, Text};
use windlass_error::Diagnostic as _;
use windlass_store::Payloads;

use crate::driver::work::Running;
use crate::platform::environment::Environment;

/// The children of a run that wait for the results of their calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct CodeSessions(Arc<Mutex<BTreeMap<CallId, Waiting>>>);

/// A child that waits.
#[derive(Debug)]
struct Waiting {
    /// Number of calls whose results it has.
    answered: usize,
    /// Number of calls that its code has made.
    made: usize,
    session: Session,
}

impl CodeSessions {
    /// Kills the children of code that is over.
    pub(crate) fn keep_open(&self, state: &State) {
        self.locked().retain(|call, _| state.open_call(call).is_some_and(|open| open.outcome().is_none()));
    }

    /// The child that waits for the results of that many calls.
    fn take(&self, call: &CallId, made: usize) -> Option<Waiting> {
        self.locked().remove(call).filter(|waiting| waiting.made == made)
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<CallId, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Code from its last calls to its next ones, or to its end.
pub(crate) struct CodeWork {
    pub(crate) action: ActionId,
    pub(crate) call: CallId,
    /// The program that runs code; `None`: the agent has none.
    pub(crate) code: Option<Code>,
    pub(crate) program: Program,
    pub(crate) limits: Limits,
    /// The calls that the code has made, all with their results.
    pub(crate) made: Vec<OpenCall>,
    pub(crate) sessions: CodeSessions,
    pub(crate) log: Arc<dyn Payloads>,
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) cancel: CancellationToken,
}

impl CodeWork {
    /// The work of an action; `None`: the code is no longer there.
    pub(crate) fn of(
        run: &Running<'_>,
        action: ActionId,
        sessions: CodeSessions,
        cancel: CancellationToken,
    ) -> Option<Self> {
        let (agent, state) = (run.agent, run.state);
        let open = state.running_code(action)?;
        let source = open.value().get(CODE_FIELD)?.as_str()?.to_owned();
        let functions = state.functions().map(|tool| Function::new(&*tool.name, tool.function_params()));
        let program = functions.fold(Program::new(source), Program::function);
        let own = state.policy().calls.code.limits().unwrap_or_default();
        // The core counts the calls, and says so in the preset's words.
        let calls = own.calls.saturating_add(u32::try_from(MAX_CALLS).unwrap_or(u32::MAX));
        // A plan's piece of code has a bound on what is written in it, too, as S has it.
        let written_calls = matches!(state.policy().calls.code, CodeMode::Steps(_)).then_some(own.calls);
        let (seconds, memory_mb) = (own.seconds, own.memory_mb);
        let limits = Limits { seconds, memory_mb, calls, written_calls, ..Limits::default() };
        let call = open.call.id.clone();
        let made = state.code_calls(&call).cloned().collect();
        let (code, environment) = (agent.code().cloned(), agent.environment().clone());
        let log: Arc<dyn Payloads> = agent.log().clone();
        Some(Self { action, call, code, program, limits, made, sessions, log, environment, cancel })
    }

    pub(crate) async fn run(self) -> InputKind {
        let (action, cancel) = (self.action, self.cancel.clone());
        let (stopped, step) = (cancel.cancelled(), self.step());
        pin_mut!(stopped);
        pin_mut!(step);
        // Dropping the step kills its child.
        match select(step, stopped).await {
            Either::Left((step, _)) => input(action, step),
            Either::Right(_) => {
                InputKind::CodeEnded { action, outcome: CallOutcome::Interrupted, stdout: None }
            }
        }
    }

    async fn step(self) -> Result<Step, CodeError> {
        let mut recorded = Vec::with_capacity(self.made.len());
        for (place, open) in self.made.iter().enumerate() {
            recorded.push(recorded_call(place, open, &*self.log).await);
        }
        if self.environment.has_threads() {
            return self.advance(recorded).await;
        }
        // A simulated world has no processes: the whole step is one moment of it.
        std::thread::scope(|scope| {
            let work = || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let runtime = runtime.map_err(|error| CodeError::Protocol { reason: error.to_string() })?;
                runtime.block_on(self.again(recorded)).map(|(step, _)| step)
            };
            let worker = scope.spawn(work).join();
            worker.unwrap_or_else(|_| Err(CodeError::Protocol { reason: "the step panicked".to_owned() }))
        })
    }

    /// Goes on with the child that waits, or with a new one.
    async fn advance(self, recorded: Vec<Recorded>) -> Result<Step, CodeError> {
        let (call, sessions, made) = (self.call.clone(), self.sessions.clone(), recorded.len());
        let waiting = sessions.take(&call, made);
        let (step, session) = match waiting {
            Some(Waiting { answered, mut session, .. }) => {
                let answers = recorded
                    .into_iter()
                    .skip(answered)
                    .map(|recorded| Answer { place: recorded.call.place, result: recorded.result });
                (session.next(answers.collect()).await?, session)
            }
            None => self.again(recorded).await?,
        };
        if let Step::Calls(calls) = &step {
            let waiting = Waiting { answered: made, made: made + calls.len(), session };
            sessions.locked().insert(call, waiting);
        }
        Ok(step)
    }

    /// Runs the code from its beginning, with the recorded results.
    async fn again(self, recorded: Vec<Recorded>) -> Result<(Step, Session), CodeError> {
        let mut session = self.code.ok_or(CodeError::NoProgram)?.start(&self.limits, self.program).await?;
        session.feed(recorded);
        let step = session.next(Vec::new()).await?;
        Ok((step, session))
    }
}

/// A call of code with its result, as the code gets it.
async fn recorded_call(place: usize, open: &OpenCall, log: &dyn Payloads) -> Recorded {
    let args: Map<String, Value> = serde_json::from_str(&open.call.args).unwrap_or_default();
    let name = open.call.name.to_string();
    let call = windlass_code::HostCall { place: u32::try_from(place).unwrap_or(u32::MAX), name, args };
    let content = open.outcome().and_then(CallOutcome::content);
    let result = match content {
        Some(content) => match whole(content, log).await {
            Ok(text) => windlass_code::HostResult::Value(value(text)),
            Err(message) => windlass_code::HostResult::Error(message),
        },
        None => windlass_code::HostResult::Error(open.failure().unwrap_or_default()),
    };
    Recorded { call, result }
}

/// A JSON object or list is one in the code, too; everything else is text.
fn value(text: String) -> Value {
    let structured = text.trim_start().starts_with(['{', '[']);
    let read = structured.then(|| serde_json::from_str(&text).ok()).flatten();
    read.unwrap_or(Value::String(text))
}

/// The whole text of a result, also where it is stored as a payload.
async fn whole(content: &Content, log: &dyn Payloads) -> Result<String, String> {
    let parts = match content {
        Content::Text(text) => return Ok(text.to_string()),
        Content::Parts(parts) => parts,
    };
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        if let Part::Stored(stored) = part {
            let bytes = usize::try_from(stored.bytes).unwrap_or(usize::MAX);
            let read = log.get(&stored.sha256, 0, bytes).await;
            let read = read.map_err(|error| format!("cannot read the result: {error}"))?;
            all.push(String::from_utf8_lossy(&read).into_owned());
        } else if let Part::Text { text } = part {
            all.push(text.to_string());
        } else {
            all.push("[data that is no text]".to_owned());
        }
    }
    Ok(all.join("\n"))
}

fn input(action: ActionId, step: Result<Step, CodeError>) -> InputKind {
    let ended = |outcome, output: Output| InputKind::CodeEnded { action, outcome, stdout: printed(output) };
    let failed =
        |kind: &str, message: String| CallOutcome::Error { kind: Some(kind.into()), message: message.into() };
    match step {
        Ok(Step::Calls(calls)) => {
            let calls = calls.into_iter().map(|call| HostCall {
                name: call.name.into(),
                args: Value::Object(call.args).to_string().into(),
            });
            InputKind::CodeCalls { action, calls: calls.collect() }
        }
        Ok(Step::Done { value, output }) => {
            let text: Text = match value {
                Value::Null => "".into(),
                Value::String(text) => text.into(),
                value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                    value.to_string().into()
                }
            };
            ended(CallOutcome::Ok { content: text.to_string().into() }, output)
        }
        Ok(Step::Failed { failure, output }) => {
            let kind = kind_of(&failure).to_owned();
            ended(failed(&kind, failure.message), output)
        }
        Err(error @ CodeError::Diverged { .. }) => {
            ended(failed(DIVERGED, error.to_string()), Output::default())
        }
        Err(error) => ended(failed(error.code(), error.to_string()), Output::default()),
    }
}

fn kind_of(failure: &Failure) -> &str {
    match &failure.kind {
        FailureKind::Syntax => "syntax",
        FailureKind::Unsupported => "unsupported",
        FailureKind::Raised(kind) => kind,
        FailureKind::Limit(_) => CODE_LIMIT,
        FailureKind::Crashed => "crashed",
    }
}

fn printed(output: Output) -> Option<Text> {
    let mut text = output.text;
    if output.cut > 0 {
        // Writing into a String cannot fail.
        let _infallible = write!(text, "\n… {} more bytes were printed", output.cut);
    }
    (!text.is_empty()).then(|| text.into())
}
