//! Runs a step of code up to its next host calls, in this thread. It knows nothing of processes.

mod calls;
mod compile;
mod errors;
mod hints;
mod output;
mod rewrite;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use monty::{FunctionCall, ResolveFutures, RunProgress};
use monty_types::{
    ExcType, ExtFunctionResult, MontyException, MontyObject, NameLookupResult, PrintWriter, ResourceTracker,
};

use crate::{Failure, FailureKind, HostCall, HostResult, Limit, Limits, Output, Program};
use calls::Functions;
use output::Printed;
use rewrite::{LATER, PARALLEL};
use values::{Foreign, from_json, to_json};

/// The memory that the code's values may take, in bytes.
pub(crate) fn memory(limits: &Limits) -> u64 {
    limits.memory_mb.saturating_mul(1 << 20)
}

/// The next action of the code.
#[derive(Debug)]
pub(crate) enum Turn {
    Calls(Vec<HostCall>),
    Done(serde_json::Value),
    Failed(Failure),
}

/// The results that the interpreter waits for.
#[derive(Debug)]
enum Waiting {
    /// The result of one call.
    One(Box<FunctionCall>),
    /// The results of a call of `parallel`, by their places in its list.
    Parallel(Box<FunctionCall>, Vec<Item>),
    /// The results of deferred calls.
    Futures(Box<ResolveFutures>, Vec<u32>),
}

/// An item of a call of `parallel`.
#[derive(Debug)]
enum Item {
    /// A call that is made now.
    Call(HostCall),
    /// A deferred call, by the interpreter's number.
    Future(u32),
    /// A value as it is.
    Value(MontyObject),
}

/// A step of code.
#[derive(Debug)]
pub(crate) struct Interpreter {
    limits: Limits,
    source: String,
    functions: Functions,
    printed: Printed,
    /// Deferred calls without a result, by the interpreter's number.
    deferred: BTreeMap<u32, HostCall>,
    /// Results of deferred calls that `parallel` has made already.
    early: BTreeMap<u32, HostResult>,
    waiting: Option<Waiting>,
    next_place: u32,
    running: Duration,
}

type Progress = Result<RunProgress, MontyException>;

/// The consequence of a stop of the interpreter.
enum Stop {
    /// The code waits, or is at its end.
    Turn(Turn),
    /// The code went on at once, up to its next stop.
    Passed(Box<Progress>),
}

impl Interpreter {
    /// Compiles a program, and runs it up to its first host calls.
    pub(crate) fn start(limits: &Limits, program: Program) -> (Self, Turn) {
        let functions = Functions::new(program.functions);
        let mut this = Self {
            limits: *limits,
            functions,
            printed: Printed::new(limits.output_bytes),
            deferred: BTreeMap::new(),
            early: BTreeMap::new(),
            waiting: None,
            next_place: 0,
            running: Duration::ZERO,
            source: program.source,
        };
        let turn = match this.compile(program.inputs) {
            Ok((run, inputs)) => {
                let tracker = ResourceTracker::new(this.resources());
                let progress = this.timed(|print| run.start(inputs, tracker, print));
                this.drive(progress)
            }
            Err(turn) => turn,
        };
        (this, turn)
    }

    /// Takes the results of the last host calls, in their order, and runs the code up to the next ones.
    pub(crate) fn resume(&mut self, results: Vec<HostResult>) -> Turn {
        let mut results = results.into_iter();
        let progress = match self.waiting.take() {
            None => {
                Err(MontyException::new(ExcType::RuntimeError, Some("the code waits for nothing".to_owned())))
            }
            Some(Waiting::One(call)) => {
                let result = outcome(results.next());
                self.timed(|print| call.resume(result, print))
            }
            Some(Waiting::Parallel(call, items)) => {
                let result = self.parallel_result(items, &mut results);
                self.timed(|print| call.resume(result, print))
            }
            Some(Waiting::Futures(futures, ids)) => {
                let all = ids.into_iter().map(|id| (id, self.future_result(id, &mut results))).collect();
                self.timed(|print| futures.resume(all, print))
            }
        };
        self.drive(progress)
    }

    /// The output since this was last called.
    pub(crate) fn take_output(&mut self) -> Output {
        self.printed.take()
    }

    fn timed(&mut self, run: impl FnOnce(PrintWriter<'_>) -> Progress) -> Progress {
        let started = Instant::now();
        let progress = run(PrintWriter::Callback(&mut self.printed));
        self.running += started.elapsed();
        progress
    }

    /// Lets the code go on at once.
    fn pass(&mut self, run: impl FnOnce(PrintWriter<'_>) -> Progress) -> Stop {
        Stop::Passed(Box::new(self.timed(run)))
    }

    fn drive(&mut self, mut progress: Progress) -> Turn {
        loop {
            progress = match progress {
                Err(error) => return Turn::Failed(self.failed(&error)),
                Ok(RunProgress::Complete(value)) => return self.done(value),
                Ok(RunProgress::FunctionCall(call)) => match self.called(call) {
                    Stop::Turn(turn) => return turn,
                    Stop::Passed(progress) => *progress,
                },
                Ok(RunProgress::ResolveFutures(futures)) => match self.awaited(futures) {
                    Stop::Turn(turn) => return turn,
                    Stop::Passed(progress) => *progress,
                },
                Ok(RunProgress::OsCall(call)) => {
                    let name = call.function_call.name();
                    let text = format!("{name} is not allowed: {}", hints::of_system_call(name));
                    let refused = MontyException::new(ExcType::PermissionError, Some(text));
                    self.timed(|print| call.resume(refused, print))
                }
                Ok(RunProgress::NameLookup(lookup)) => {
                    let answer =
                        unknown(&lookup.name).map_or(NameLookupResult::Undefined, NameLookupResult::Error);
                    self.timed(|print| lookup.resume(answer, print))
                }
            };
        }
    }

    fn failed(&self, error: &MontyException) -> Failure {
        errors::running(error, &self.source, &self.limits, self.running)
    }

    fn done(&self, value: MontyObject) -> Turn {
        let value = match to_json(value, Foreign::Repr) {
            Ok(value) => value,
            Err(why) => {
                return limited(
                    Limit::Depth,
                    format!("the result cannot be returned: {why}\nhint: return less"),
                );
            }
        };
        let (found, most) = (value.to_string().len(), self.limits.value_bytes);
        if found > most {
            let message = format!(
                "the result has {found} bytes, and at most {most} are allowed\nhint: return less of it"
            );
            return limited(Limit::Value, message);
        }
        Turn::Done(value)
    }

    /// A call of a function that is none of the interpreter's: a turn, or the code goes on at once.
    fn called(&mut self, call: FunctionCall) -> Stop {
        let (name, later) = match call.function_name.strip_prefix(LATER) {
            Some(name) => (name, true),
            None => (call.function_name.as_str(), false),
        };
        if name == PARALLEL {
            return self.called_parallel(call);
        }
        if !self.functions.has(name) {
            let missing = unknown(name).unwrap_or_else(|| self.no_tool(name));
            return self.pass(|print| call.resume(missing, print));
        }
        let most = self.limits.value_bytes;
        match self.functions.call(name, call.args.clone(), call.kwargs.clone(), most) {
            Err(error) => self.pass(|print| call.resume(error, print)),
            Ok(host) if later => {
                self.deferred.insert(call.call_id, host);
                self.pass(|print| call.resume_pending(print))
            }
            Ok(host) => Stop::Turn(self.ask(vec![host], |_| Waiting::One(Box::new(call)))),
        }
    }

    /// The error of a call of a name that does not exist.
    fn no_tool(&self, name: &str) -> MontyException {
        let tools: Vec<&str> = self.functions.names().collect();
        let text = format!("name '{name}' is not defined; the tools are {}", tools.join(", "));
        MontyException::new(ExcType::NameError, Some(text))
    }

    fn called_parallel(&mut self, call: FunctionCall) -> Stop {
        let items = match self.functions.parallel(call.args.clone(), &call.kwargs, self.limits.value_bytes) {
            Ok(items) => items,
            Err(error) => return self.pass(|print| call.resume(error, print)),
        };
        let calls: Vec<HostCall> = items.iter().filter_map(|item| self.open_call(item)).collect();
        if calls.is_empty() {
            let result = self.parallel_result(items, &mut Vec::new().into_iter());
            return self.pass(|print| call.resume(result, print));
        }
        Stop::Turn(self.ask(calls, |_| Waiting::Parallel(Box::new(call), items)))
    }

    /// The host call that an item still needs.
    fn open_call(&self, item: &Item) -> Option<HostCall> {
        match item {
            Item::Call(call) => Some(call.clone()),
            Item::Future(id) => self.deferred.get(id).cloned(),
            Item::Value(_) => None,
        }
    }

    fn awaited(&mut self, futures: ResolveFutures) -> Stop {
        // The interpreter lists them in no order.
        let ids: BTreeSet<u32> = futures.pending_call_ids().iter().copied().collect();
        let ids: Vec<u32> = ids.into_iter().collect();
        let calls: Vec<HostCall> = ids.iter().filter_map(|id| self.deferred.get(id).cloned()).collect();
        if calls.is_empty() {
            let none = &mut Vec::new().into_iter();
            let all = ids.into_iter().map(|id| (id, self.future_result(id, none))).collect();
            return self.pass(|print| futures.resume(all, print));
        }
        Stop::Turn(self.ask(calls, |_| Waiting::Futures(Box::new(futures), ids)))
    }

    /// Numbers the calls and hands them out, if their number is allowed.
    fn ask(&mut self, mut calls: Vec<HostCall>, wait: impl FnOnce(&Self) -> Waiting) -> Turn {
        for call in &mut calls {
            call.place = self.next_place;
            self.next_place = self.next_place.saturating_add(1);
        }
        if self.next_place > self.limits.calls {
            let message = format!(
                "the code made {} host calls, and at most {} are allowed\nhint: call less, or in several steps",
                self.next_place, self.limits.calls
            );
            return limited(Limit::Calls, message);
        }
        self.waiting = Some(wait(self));
        Turn::Calls(calls)
    }

    fn parallel_result(
        &mut self,
        items: Vec<Item>,
        results: &mut impl Iterator<Item = HostResult>,
    ) -> ExtFunctionResult {
        let mut all = Vec::with_capacity(items.len());
        let mut failed = None;
        for item in items {
            let result = match item {
                Item::Value(value) => ExtFunctionResult::Return(value),
                Item::Call(_) => outcome(results.next()),
                Item::Future(id) => {
                    let result = if self.deferred.remove(&id).is_some() {
                        results.next()
                    } else {
                        self.early.get(&id).cloned()
                    };
                    self.early.extend(result.clone().map(|result| (id, result)));
                    outcome(result)
                }
            };
            match result {
                ExtFunctionResult::Return(value) => all.push(value),
                error @ (ExtFunctionResult::Error(_)
                | ExtFunctionResult::Future(_)
                | ExtFunctionResult::NotFound(_)) => failed = failed.or(Some(error)),
            }
        }
        failed.unwrap_or(ExtFunctionResult::Return(MontyObject::List(all)))
    }

    fn future_result(
        &mut self,
        id: u32,
        results: &mut impl Iterator<Item = HostResult>,
    ) -> ExtFunctionResult {
        outcome(if self.deferred.remove(&id).is_some() { results.next() } else { self.early.remove(&id) })
    }
}

/// A host's result in the interpreter.
fn outcome(result: Option<HostResult>) -> ExtFunctionResult {
    match result {
        Some(HostResult::Value(value)) => ExtFunctionResult::Return(from_json(value)),
        Some(HostResult::Error(text)) => MontyException::new(ExcType::RuntimeError, Some(text)).into(),
        None => MontyException::new(ExcType::RuntimeError, Some("the call has no result".to_owned())).into(),
    }
}

/// The error of a name that Python has and this interpreter has not.
fn unknown(name: &str) -> Option<MontyException> {
    let hint = hints::of_name(name)?;
    Some(MontyException::new(ExcType::NameError, Some(format!("name '{name}' is not defined here: {hint}"))))
}

fn limited(limit: Limit, message: String) -> Turn {
    Turn::Failed(Failure { kind: FailureKind::Limit(limit), message, line: None })
}

#[cfg(test)]
mod tests;
