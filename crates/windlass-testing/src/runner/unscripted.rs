//! Calls of the agents' own tools that the case says nothing about: a case that passes with them would test nothing.

mod party;
mod source;

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;
use windlass_core::event::{CallFact, CodeFact, DelegationFact, ModelFact, PlanFact, StepWork};
use windlass_core::message::ToolCall;
use windlass_core::tool::{CODE_FIELD, PARENT_TOOL, RUN_CODE};
use windlass_core::{CallId, CallOutcome, Event, Fact, RunId};
use windlass_store::Batch;

use crate::fixture::{Case, Mismatch};
use party::Party;

/// The kind of the error of code that could not be read, and the words of one that calls too much: nothing of such code ran.
const UNREAD: &str = "syntax";
const REFUSED: &str = "Too many functions";

/// A call of an agent's own tool that has no entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unscripted {
    /// The tool.
    tool: String,
    /// The agents below the case's own that lead to the caller.
    path: Vec<String>,
}

impl Unscripted {
    pub(super) fn miss(&self) -> Mismatch {
        let (tool, path) = (&self.tool, self.path.join("/"));
        let by = if path.is_empty() { String::new() } else { format!(" by the agent `{path}`") };
        let place = if path.is_empty() { "the case" } else { "the case, or of that agent under `peers:`" };
        let found = format!(
            "`{tool}` was called{by}, which has none: it needs an entry under `tools:` of {place}, or `unknown: true` at the case"
        );
        Mismatch::new("an entry for each of the agent's own tools that is called", found).under("script")
    }
}

/// The first call of a run, or of one that it handed a task to, that belongs to its agent, has no entry in the case and reached
/// nothing for that.
pub(super) fn call(case: &Case, run: &[Batch], read: &dyn Fn(RunId) -> Vec<Batch>) -> Option<Unscripted> {
    if case.unknown {
        return None;
    }
    let mut search = Search { read, seen: BTreeSet::new() };
    search.run(run, &[Party::root(case)?])
}

struct Search<'r> {
    read: &'r dyn Fn(RunId) -> Vec<Batch>,
    /// The runs that were looked at: a take-over continues the same one.
    seen: BTreeSet<RunId>,
}

/// The calls and the code of a run so far, by the ids of calls.
#[derive(Default)]
struct Made<'e> {
    calls: HashMap<&'e CallId, &'e ToolCall>,
    sources: HashMap<&'e CallId, String>,
}

impl Search<'_> {
    /// `line` is the agent of the run, last, after those above it.
    fn run(&mut self, batches: &[Batch], line: &[Party<'_>]) -> Option<Unscripted> {
        let (own, ancestors) = line.split_last()?;
        let mut made = Made::default();
        for event in batches.iter().flat_map(|batch| batch.events.iter()) {
            made.note(event);
            if let Some(tool) = made.lacking(event, own, ancestors) {
                let path = line.iter().filter_map(|party| party.name.clone()).collect();
                return Some(Unscripted { tool, path });
            }
            if let Fact::Delegation(DelegationFact::Started(started)) = &event.fact
                && self.seen.insert(started.run)
                && let Some(child) = own.child(&started.agent)
            {
                let mut longer = line.to_vec();
                longer.push(child);
                let found = self.run(&(self.read)(started.run), &longer);
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }
}

impl<'e> Made<'e> {
    /// The tool without an entry that an event tells of.
    fn lacking(&self, event: &Event, own: &Party<'_>, ancestors: &[Party<'_>]) -> Option<String> {
        if let Fact::Call(CallFact::Finished(finished)) = &event.fact
            && reached_nothing(&finished.outcome)
        {
            let (tool, of_parent) = meant(self.calls.get(&finished.call)?);
            let lacks =
                if of_parent { ancestors.iter().any(|party| party.lacks(&tool)) } else { own.lacks(&tool) };
            return lacks.then_some(tool);
        }
        if let Fact::Code(CodeFact::Finished(finished)) = &event.fact
            && ran(&finished.outcome)
        {
            let written = source::names(self.sources.get(&finished.call)?);
            return written.into_iter().find(|tool| own.lacks_in_code(tool));
        }
        None
    }

    fn note(&mut self, event: &'e Event) {
        if let Fact::Model(ModelFact::Completed(turn)) = &event.fact {
            for call in &turn.calls {
                self.calls.insert(&call.id, call);
                if *call.name == *RUN_CODE
                    && let Some(code) = argument(call, CODE_FIELD)
                {
                    self.sources.insert(&call.id, code);
                }
            }
        } else if let Fact::Code(CodeFact::Called(code)) = &event.fact {
            self.calls.extend(code.calls.iter().map(|call| (&call.id, call)));
        } else if let Fact::Plan(PlanFact::Made(made)) = &event.fact
            && let (Some(call), Some(step)) = (&made.call, &made.step)
            && let StepWork::Code(code) = &step.work
        {
            self.sources.insert(call, code.to_string());
        }
    }
}

fn argument(call: &ToolCall, field: &str) -> Option<String> {
    let args: Value = serde_json::from_str(&call.args).ok()?;
    args.get(field)?.as_str().map(str::to_owned)
}

/// The tool that a call is for, and whether it is one of the agent above.
fn meant(call: &ToolCall) -> (String, bool) {
    if *call.name == *PARENT_TOOL
        && let Some(tool) = argument(call, "name")
    {
        return (tool, true);
    }
    (call.name.to_string(), false)
}

/// Whether a call ended before anything was called.
fn reached_nothing(outcome: &CallOutcome) -> bool {
    matches!(outcome, CallOutcome::UnknownTool { .. } | CallOutcome::Malformed { .. })
}

/// Whether a piece of code ran at all.
fn ran(outcome: &CallOutcome) -> bool {
    let CallOutcome::Error { kind, message } = outcome else { return true };
    kind.as_deref() != Some(UNREAD) && !message.starts_with(REFUSED)
}
