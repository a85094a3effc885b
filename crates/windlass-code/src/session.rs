//! A step of code as its parent sees it: a child process that runs between host calls.

mod ending;
mod launch;

pub use launch::Code;

use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::protocol::{self, HEADER_BYTES, Reply, Request, VERSION};
use crate::{
    Answer, CodeError, Failure, FailureKind, HostCall, HostResult, Limits, Output, Program, Recorded, Step,
};

/// Maximum time that a child takes to say that it is one.
const START: Duration = Duration::from_secs(10);
/// The child ends code at its limit by itself, with a traceback. It is killed if it has not done so this much later.
const GRACE: Duration = Duration::from_secs(1);

/// The process group of a child. It is killed with its session.
#[derive(Debug)]
struct Group(Option<Pid>);

impl Group {
    fn kill(&self) {
        if let Some(pid) = self.0 {
            // It may have ended by itself.
            kill_process_group(pid, Signal::KILL).ok();
        }
    }
}

/// Where a session is.
#[derive(Debug)]
enum State {
    /// The child waits for the program.
    Ready(Box<Program>),
    /// The code waits for the results of these calls. Some may be known from before.
    Waiting(Vec<(HostCall, Option<HostResult>)>),
    /// The step is at its end.
    Ended,
}

/// A step of code that runs in a child process. Dropping it kills the child.
#[derive(Debug)]
pub struct Session {
    child: Child,
    group: Group,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    limits: Limits,
    /// The time that the code has run, as seen from here.
    running: Duration,
    output: Output,
    state: State,
    recorded: BTreeMap<u32, Recorded>,
}

impl Drop for Session {
    fn drop(&mut self) {
        // A child that was waited for has no group any more, and its number may be another's.
        if self.child.id().is_some() {
            self.group.kill();
        }
    }
}

impl Session {
    /// Takes recorded calls with their results. The code gets these results without its host being asked; a call that is not
    /// the recorded one is an error. Calls may be missing, of those that were made at the same time.
    pub fn feed(&mut self, recorded: impl IntoIterator<Item = Recorded>) {
        self.recorded.extend(recorded.into_iter().map(|recorded| (recorded.call.place, recorded)));
    }

    /// Hands in the results of the calls of the last step, in any order, and runs the code up to its next calls or its end. The
    /// first time there are no results.
    ///
    /// # Errors
    /// The results are not those of the open calls, the code makes another call than the recorded one, or the child breaks the
    /// protocol. The session is at its end then.
    pub async fn next(&mut self, results: Vec<Answer>) -> Result<Step, CodeError> {
        let mut request = self.request(&results)?;
        loop {
            let step = match self.exchange(&request).await? {
                Step::Calls(calls) => self.known(calls)?,
                ended @ (Step::Done { .. } | Step::Failed { .. }) => {
                    self.ended(&ended)?;
                    return Ok(ended);
                }
            };
            match step {
                Next::Ask(calls) => return Ok(Step::Calls(calls)),
                Next::Answer(results) => request = Request::Results(results),
            }
        }
    }

    /// The output of the code so far, as far as it is known here.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// The time that the code has run, without its host calls.
    pub fn running(&self) -> Duration {
        self.running
    }

    /// The process id of the child, while it runs.
    pub fn process_id(&self) -> Option<u32> {
        self.child.id()
    }

    fn request(&mut self, results: &[Answer]) -> Result<Request, CodeError> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Ended => Err(CodeError::Ended),
            State::Ready(program) if results.is_empty() => {
                Ok(Request::Start { version: VERSION, limits: self.limits, program: *program })
            }
            State::Ready(program) => {
                self.state = State::Ready(program);
                Err(CodeError::Answers { expected: Vec::new(), found: places(results) })
            }
            State::Waiting(calls) => {
                if let Some(results) = merged(&calls, results) {
                    return Ok(Request::Results(results));
                }
                let open = calls.iter().filter(|(_, result)| result.is_none());
                let expected = open.map(|(call, _)| call.place).collect();
                self.state = State::Waiting(calls);
                Err(CodeError::Answers { expected, found: places(results) })
            }
        }
    }

    /// Calls of the code, some of which may be recorded.
    fn known(&mut self, calls: Vec<HostCall>) -> Result<Next, CodeError> {
        let mut all = Vec::with_capacity(calls.len());
        for call in calls {
            let Some(recorded) = self.recorded.remove(&call.place) else {
                all.push((call, None));
                continue;
            };
            if recorded.call != call {
                self.group.kill();
                return Err(CodeError::Diverged {
                    place: call.place,
                    expected: Box::new(recorded.call),
                    found: Some(Box::new(call)),
                });
            }
            all.push((call, Some(recorded.result)));
        }
        let open: Vec<HostCall> =
            all.iter().filter(|(_, result)| result.is_none()).map(|(call, _)| call.clone()).collect();
        if open.is_empty() {
            return Ok(Next::Answer(all.into_iter().filter_map(|(_, result)| result).collect()));
        }
        self.state = State::Waiting(all);
        Ok(Next::Ask(open))
    }

    /// The end of the code: nothing that is recorded may be left.
    fn ended(&mut self, ended: &Step) -> Result<(), CodeError> {
        // A child that was killed may have been slow this time.
        let killed =
            matches!(ended, Step::Failed { failure: Failure { kind: FailureKind::Crashed, .. }, .. });
        match self.recorded.pop_first() {
            Some((_, recorded)) if !killed => Err(CodeError::missing(recorded)),
            Some(_) | None => Ok(()),
        }
    }

    /// One request and its reply, within the time that is left.
    async fn exchange(&mut self, request: &Request) -> Result<Step, CodeError> {
        let started = Instant::now();
        let left = self.limits.running().saturating_sub(self.running) + GRACE;
        let reply = tokio::time::timeout(left, self.send_and_receive(request)).await;
        self.running += started.elapsed();
        let Ok(reply) = reply else {
            self.kill().await;
            return Ok(self.fail(ending::too_slow(&self.limits)));
        };
        match reply {
            Ok(Some(Reply::Calls { calls, output })) => {
                self.output.append(&output);
                Ok(Step::Calls(calls))
            }
            Ok(Some(Reply::Done { value, output })) => {
                self.output.append(&output);
                self.end().await;
                Ok(Step::Done { value, output: std::mem::take(&mut self.output) })
            }
            Ok(Some(Reply::Failed { failure, output })) => {
                self.output.append(&output);
                self.end().await;
                Ok(self.fail(failure))
            }
            Ok(Some(Reply::Refused { reason })) => self.broken(reason).await,
            Ok(Some(Reply::Hello { .. })) => self.broken("a second greeting".to_owned()).await,
            Ok(None) => Ok(self.died().await),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(self.died().await),
            Err(error) => self.broken(error.to_string()).await,
        }
    }

    async fn send_and_receive(&mut self, request: &Request) -> std::io::Result<Option<Reply>> {
        if let Some(stdin) = &mut self.stdin {
            // A child that died has closed it; what it said before counts.
            let sent = stdin.write_all(&protocol::frame(request)?).await;
            if sent.is_ok() {
                stdin.flush().await.ok();
            }
        }
        self.receive().await
    }

    async fn receive(&mut self) -> std::io::Result<Option<Reply>> {
        let mut header = Vec::with_capacity(HEADER_BYTES);
        (&mut self.stdout).take(HEADER_BYTES as u64).read_to_end(&mut header).await?;
        let Some(length) = protocol::length(&header)? else { return Ok(None) };
        let mut body = Vec::new();
        (&mut self.stdout).take(length as u64).read_to_end(&mut body).await?;
        protocol::message(&body, length).map(Some)
    }

    /// Waits for the child's greeting.
    async fn greet(&mut self, path: &std::path::Path) -> Result<(), CodeError> {
        let found = match tokio::time::timeout(START, self.receive()).await {
            Ok(Ok(Some(Reply::Hello { version: VERSION }))) => return Ok(()),
            Ok(Ok(Some(Reply::Hello { version }))) => {
                format!("it speaks version {version} of the protocol, expected {VERSION}")
            }
            Ok(Ok(None)) => {
                format!("it ended without a greeting ({})", ending::display_status(self.end().await))
            }
            Ok(Ok(Some(Reply::Refused { reason }))) => reason,
            Ok(Ok(Some(_)) | Err(_)) => "its first output is no greeting".to_owned(),
            Err(_) => format!("it said nothing for {} s", START.as_secs()),
        };
        self.kill().await;
        Err(CodeError::NotAChild { path: path.to_owned(), found })
    }

    fn fail(&mut self, failure: Failure) -> Step {
        Step::Failed { failure, output: std::mem::take(&mut self.output) }
    }

    async fn broken(&mut self, reason: String) -> Result<Step, CodeError> {
        self.kill().await;
        Err(CodeError::Protocol { reason })
    }

    /// The failure of a child that ended without a last word.
    async fn died(&mut self) -> Step {
        let status = self.end().await;
        let stderr = ending::last_words(self.child.stderr.take()).await;
        let failure = ending::of(status, &stderr, &self.limits);
        self.fail(failure)
    }

    /// Waits for a child that has said its last word. One that does not end by itself is killed.
    async fn end(&mut self) -> Option<ExitStatus> {
        self.stdin = None;
        if let Ok(status) = tokio::time::timeout(GRACE, self.child.wait()).await {
            return status.ok();
        }
        self.group.kill();
        self.child.wait().await.ok()
    }

    async fn kill(&mut self) {
        self.stdin = None;
        self.group.kill();
        // It is dead; there is nothing to do about a failure to hear of it.
        self.child.wait().await.ok();
    }
}

/// The consequence of calls of the code.
enum Next {
    /// The host is asked for these.
    Ask(Vec<HostCall>),
    /// All results are known.
    Answer(Vec<HostResult>),
}

fn places(results: &[Answer]) -> Vec<u32> {
    results.iter().map(|answer| answer.place).collect()
}

/// Results of all calls in their order; `None` if `given` does not have one for each that is open, and no others.
fn merged(calls: &[(HostCall, Option<HostResult>)], given: &[Answer]) -> Option<Vec<HostResult>> {
    let mut by_place: BTreeMap<u32, &HostResult> = BTreeMap::new();
    for answer in given {
        if by_place.insert(answer.place, &answer.result).is_some() {
            return None;
        }
    }
    let mut all = Vec::with_capacity(calls.len());
    for (call, known) in calls {
        match known {
            Some(result) => all.push(result.clone()),
            None => all.push(by_place.remove(&call.place)?.clone()),
        }
    }
    by_place.is_empty().then_some(all)
}
