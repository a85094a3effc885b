//! Hooks: a program looks at each step and changes what follows (acorn's `on_step`).
//!
//! A hook runs after a step's tools have ended and before the next model call. Its edits become part of the log, so that
//! a replay runs no hook; a hook that was running when the process died is asked again.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::{Map, Value};
use windlass_core::event::{Adjusted, Millis, Splice};
use windlass_core::message::{Content, ToolCall, ToolMessage};
use windlass_core::model::{ModelChoice, Prices, Role};
use windlass_core::policy::Merge;
use windlass_core::run::{Branched, HookEnd, StepEdits};
use windlass_core::tool::Offer;
use windlass_core::{CallId, CallOutcome, Input, InputKind, Message, State, Text, ToolSpec, decide};

/// A hook that runs after the tools of each step.
pub trait StepHook: Send + Sync + std::fmt::Debug {
    /// Looks at a step and gives it back with what is to change.
    ///
    /// # Errors
    /// The text ends the run as failed, kind `hook`.
    fn on_step(&self, step: Step) -> BoxFuture<'_, Result<Step, String>>;
}

/// A step as its hook sees it: one model call and what its tools brought. Changes take effect before the next call.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its number, from 1: model calls so far.
    pub counter: u64,
    /// The model that is asked next.
    pub model: Text,
    /// Its temperature; `None`: the provider's default.
    pub temperature: Option<f64>,
    /// The most tokens of a reply; `None`: the provider's default.
    pub max_tokens: Option<u64>,
    /// The instructions: the text of the system message, empty if there is none.
    pub instructions: String,
    /// The conversation, results included. What is changed must leave each call with its one result.
    pub history: Vec<Arc<Message>>,
    tools: Vec<ToolSpec>,
    end: Option<HookEnd>,
    /// The branches that this hook asked for before, and have ended.
    branched: Vec<Branched>,
    /// Names of the branches requested now.
    requested: Vec<Text>,
}

impl Step {
    pub(crate) fn of(state: &State) -> Self {
        let first = state.models().first().cloned().unwrap_or_default();
        let instructions = match state.prompt().first().map(|message| &**message) {
            Some(Message::System { text }) => text.to_string(),
            _ => String::new(),
        };
        Self {
            counter: state.step().unwrap_or_default(),
            temperature: first.temperature_or(state.policy().request.temperature),
            model: first.name,
            max_tokens: first.max_tokens,
            instructions,
            history: state.history().iter().cloned().collect(),
            tools: state.tools().to_vec(),
            end: None,
            branched: state.branched().to_vec(),
            requested: Vec::new(),
        }
    }

    /// The names of the tools that are offered.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        let offered = self.tools.iter().filter(|tool| tool.is_named());
        offered.map(|tool| &*tool.name)
    }

    /// The model's reply of this step: its text as the model wrote it, with calls that were read from it, and its calls.
    pub fn response(&self) -> Option<(&Option<Text>, &[ToolCall])> {
        self.history.iter().rev().find_map(|message| {
            if let Message::Assistant(reply) = &**message {
                Some((&reply.text, reply.calls.as_slice()))
            } else {
                None
            }
        })
    }

    /// The results of this step's calls, in call order.
    pub fn results(&self) -> impl Iterator<Item = &ToolMessage> {
        let start = self
            .history
            .iter()
            .rposition(|message| matches!(&**message, Message::Assistant(_)))
            .map_or(self.history.len(), |at| at + 1);
        self.history
            .iter()
            .skip(start)
            .filter_map(|message| if let Message::Tool(result) = &**message { Some(result) } else { None })
    }

    /// Puts another result in the place of a call's. `false`: this step has no such call.
    pub fn set_result(&mut self, call: &CallId, content: impl Into<Content>) -> bool {
        let found = self.history.iter_mut().rev().find_map(|message| {
            if let Message::Tool(result) = &**message
                && result.call == *call
            {
                Some((result.clone(), message))
            } else {
                None
            }
        });
        match found {
            Some((result, message)) => {
                *message = Arc::new(Message::Tool(ToolMessage { content: content.into(), ..result }));
                true
            }
            None => false,
        }
    }

    /// Offers a tool that the agent knows from here on. `false`: it knows none of that name.
    pub fn add_tool(&mut self, name: &str) -> bool {
        self.offer(name, true)
    }

    /// Offers a tool no longer. `false`: the agent knows none of that name.
    pub fn remove_tool(&mut self, name: &str) -> bool {
        self.offer(name, false)
    }

    fn offer(&mut self, name: &str, offered: bool) -> bool {
        let tool = self.tools.iter_mut().find(|tool| *tool.name == *name);
        let offer = |tool: &ToolSpec| match tool.hosted {
            Some(_) if offered => Offer::Hosted,
            _ => Offer::when(offered),
        };
        tool.map(|tool| tool.offer = offer(tool)).is_some()
    }

    /// Adds a message at the end of the conversation.
    pub fn append(&mut self, message: Message) {
        self.history.push(Arc::new(message));
    }

    /// Keeps the last `count` messages at most: results whose call would go, go too.
    pub fn keep_last(&mut self, count: usize) {
        self.history.drain(..self.history.len().saturating_sub(count));
        let orphans =
            self.history.iter().take_while(|message| matches!(&***message, Message::Tool(_))).count();
        self.history.drain(..orphans);
    }

    /// Asks for a branch of the agent, also for one that its model is not offered
    /// ([`AgentBuilder::known_branch`](crate::AgentBuilder::known_branch)). `input` are the fields of its input; `merge` says how
    /// its end comes back; `None`: as the branch says.
    ///
    /// The first time this gives `None`: the hook returns, the branch runs as a run of its own, its result enters the
    /// conversation after `[Branch Result]`, and the hook is asked again about the same step. Then this gives the result, or the
    /// reason for its absence. Other edits are ignored when a hook requests branches. After one
    /// step there may be [`MAX_STEP_BRANCHES`](windlass_core::run::MAX_STEP_BRANCHES) branches.
    pub fn branch(
        &mut self,
        name: &str,
        merge: Option<Merge>,
        input: Map<String, Value>,
    ) -> Option<Result<String, String>> {
        let mut args = Map::from_iter([("name".to_owned(), Value::from(name))]);
        args.extend(merge.map(|merge| ("merge".to_owned(), serde_json::json!(merge))));
        args.extend(input.into_iter().filter(|(key, _)| key != "name" && key != "merge"));
        let args: Text = Value::Object(args).to_string().into();
        let Some(place) = self.branched.iter().position(|known| known.args == args) else {
            self.requested.push(args);
            return None;
        };
        Some(match self.branched.remove(place).outcome {
            CallOutcome::Ok { content } => Ok(content.text().into_owned()),
            CallOutcome::Error { message, .. } | CallOutcome::Malformed { message } => {
                Err(message.to_string())
            }
            CallOutcome::TimedOut { .. }
            | CallOutcome::Rejected { .. }
            | CallOutcome::UnknownTool { .. }
            | CallOutcome::Denied { .. }
            | CallOutcome::Skipped { .. }
            | CallOutcome::Interrupted
            | CallOutcome::Abandoned
            | CallOutcome::Unknown => Err("the branch was stopped".to_owned()),
        })
    }

    /// Whether it asks for branches, so that it will be asked again.
    pub fn asks_for_branches(&self) -> bool {
        !self.requested.is_empty()
    }

    /// Ends the run with this output, once it fits the agent's schema.
    pub fn finish(&mut self, output: Value) {
        self.end = Some(HookEnd::Finish(output));
    }

    /// The requested edits, relative to the state of the step.
    pub(crate) fn edits(self, state: &State, prices: &BTreeMap<Text, Prices>) -> StepEdits {
        if !self.requested.is_empty() {
            return StepEdits { branches: self.requested, ..StepEdits::default() };
        }
        StepEdits {
            branches: Vec::new(),
            adjusted: self.adjusted(state, prices),
            splices: splices(state.history().iter(), state.history().len(), &self.history),
            end: self.end,
        }
    }

    fn adjusted(&self, state: &State, prices: &BTreeMap<Text, Prices>) -> Option<Adjusted> {
        let before = Self::of(state);
        let tools = (self.tools != before.tools).then(|| Arc::new(self.tools.clone()));
        let same_settings = self.model == before.model
            && self.temperature == before.temperature
            && self.max_tokens == before.max_tokens;
        let models = (!same_settings).then(|| {
            let named = |choice: &&ModelChoice| choice.name == self.model;
            let known = state.models().iter().find(named).cloned();
            let wire = known.as_ref().and_then(|choice| choice.wire);
            // Another model never has the price of the one before it: it is paid, and admitted, at its own (contract 15).
            let own_prices = match &known {
                Some(choice) => choice.prices.clone(),
                None => prices.get(&self.model).cloned(),
            };
            let first = ModelChoice {
                name: self.model.clone(),
                role: Role::Main,
                temperature: self.temperature,
                max_tokens: self.max_tokens,
                structured: known.as_ref().and_then(|choice| choice.structured),
                wire,
                prices: own_prices,
                ..known.or_else(|| state.models().first().cloned()).unwrap_or_default()
            };
            // What the step sets holds for whichever model takes it in the end.
            let set = |mut choice: ModelChoice| {
                if self.temperature != before.temperature {
                    choice.temperature = self.temperature;
                }
                if self.max_tokens != before.max_tokens {
                    choice.max_tokens = self.max_tokens;
                }
                choice
            };
            let kept = |choice: &&ModelChoice| choice.role != Role::Main || choice.name != self.model;
            let others = state.models().iter().skip(1).filter(kept);
            Arc::new(std::iter::once(first).chain(others.cloned().map(set)).collect())
        });
        let prompt = (self.instructions != before.instructions).then(|| {
            let own = usize::from(state.prompt().first().is_some_and(|first| first.instructs()));
            let system = Arc::new(Message::system(self.instructions.as_str()));
            Arc::new(std::iter::once(system).chain(state.prompt().iter().skip(own).cloned()).collect())
        });
        let changed = tools.is_some() || models.is_some() || prompt.is_some();
        changed.then_some(Adjusted { tools, models, prompt, ..Adjusted::default() })
    }
}

/// The difference between two conversations as one change: what they have in common at both ends stays.
fn splices<'m>(
    before: impl Iterator<Item = &'m Arc<Message>>,
    len: usize,
    after: &[Arc<Message>],
) -> Vec<Splice> {
    let before: Vec<&Arc<Message>> = before.collect();
    let same = |(one, other): &(&&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(one, other) || **one == *other;
    let head = before.iter().zip(after).take_while(same).count();
    let most = len.min(after.len()) - head;
    let tail = before.iter().rev().zip(after.iter().rev()).take(most).take_while(same).count();
    let (remove, insert) = (len - head - tail, after.get(head..after.len() - tail).unwrap_or_default());
    if remove == 0 && insert.is_empty() {
        return Vec::new();
    }
    vec![Splice { at: head as u64, remove: remove as u64, insert: insert.to_vec() }]
}

/// The agent's own check of an output that matches the schema. The model gets the error's text and tries again (up to
/// `parse_retries` times).
pub type OutputCheck = dyn Fn(&Value) -> Result<(), String> + Send + Sync;

/// Checks that must all accept an output.
#[derive(Clone, Default)]
pub(crate) struct OutputChecks(Vec<Arc<OutputCheck>>);

impl std::fmt::Debug for OutputChecks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OutputChecks").field(&self.0.len()).finish()
    }
}

impl OutputChecks {
    pub(crate) fn add(&mut self, check: Arc<OutputCheck>) {
        self.0.push(check);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A reply with what the checks have against the output that the run would end with.
    pub(crate) fn look_at(&self, state: &State, at: Millis, what: InputKind) -> InputKind {
        if self.0.is_empty() || !matches!(what, InputKind::Replied { .. }) {
            return what;
        }
        let end = decide(state, Input { at, what: what.clone() }).ok();
        let output = end.as_ref().and_then(|end| end.state.ended()?.output.as_ref());
        let Some(objection) = output.and_then(|output| self.objection(output)) else { return what };
        let InputKind::Replied { action, reply, lost, .. } = what else { return what };
        InputKind::Replied { action, reply, objection: Some(objection.into()), lost }
    }

    /// The first objection. A check that panics has one.
    fn objection(&self, output: &Value) -> Option<String> {
        self.0.iter().find_map(|check| match catch_unwind(AssertUnwindSafe(|| check(output))) {
            Ok(checked) => checked.err(),
            Err(_) => Some("the check of the output panicked".to_owned()),
        })
    }
}

/// A hook as a function.
pub struct StepFn<F>(pub F);

impl<F> std::fmt::Debug for StepFn<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StepFn")
    }
}

impl<F> StepHook for StepFn<F>
where
    F: Fn(Step) -> Result<Step, String> + Send + Sync,
{
    fn on_step(&self, step: Step) -> BoxFuture<'_, Result<Step, String>> {
        let edited = (self.0)(step);
        Box::pin(async move { edited })
    }
}

/// Converts a hook's answer into edits.
pub(crate) fn edits(
    state: &State,
    prices: &BTreeMap<Text, Prices>,
    answer: Result<Step, String>,
) -> StepEdits {
    match answer {
        Ok(step) => step.edits(state, prices),
        Err(error) => StepEdits { end: Some(HookEnd::Abort(error.into())), ..StepEdits::default() },
    }
}
