//! The calls of a run by name and arguments, which events name by id alone.

use std::collections::{HashMap, HashSet};

use serde_json::json;
use windlass_core::event::{
    CallDecided, CallFact, CodeFact, Decision, ModelFact, PlanFact, PlanMade, StepWork,
};
use windlass_core::message::{CallArgs, ToolCall};
use windlass_core::text::display_args;
use windlass_core::{CallId, Fact, Message, State, Text};

use super::{Cuts, name};

/// The calls of a run by id: tool and arguments, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    calls: HashMap<CallId, (Text, CallArgs)>,
    /// Those that are the code of a planned step.
    steps: HashSet<CallId>,
}

impl Calls {
    /// The calls of a conversation so far.
    pub fn of(state: &State) -> Self {
        let mut calls = Self::default();
        for message in state.history().iter() {
            if let Message::Assistant(message) = &**message {
                calls.add(&message.calls);
            }
        }
        calls
    }

    fn add(&mut self, calls: &[ToolCall]) {
        self.calls.extend(calls.iter().map(|call| (call.id.clone(), (call.name.clone(), call.args.clone()))));
    }

    /// Takes in what an event says of calls: new ones, and arguments that a person changed.
    pub fn learn(&mut self, fact: &Fact) {
        if let Fact::Model(ModelFact::Completed(turn)) = fact {
            self.add(&turn.calls);
        } else if let Fact::Call(CallFact::StepBranched(branched)) = fact {
            self.add(&branched.calls);
        } else if let Fact::Code(CodeFact::Called(code)) = fact {
            self.add(&code.calls);
        } else if let Fact::Plan(PlanFact::Made(made)) = fact {
            self.add_step(made);
        } else if let Fact::Call(CallFact::Verified(verified)) = fact
            && let (Some(args), Some((_, old))) = (&verified.args, self.calls.get_mut(&verified.call))
        {
            *old = args.clone().into();
        } else if let Fact::Call(CallFact::Decided(CallDecided { call, decision: Decision::Edited { args } })) =
            fact
            && let Some((_, old)) = self.calls.get_mut(call)
        {
            *old = args.clone().into();
        }
    }

    /// The code of a planned step goes by the step's number.
    fn add_step(&mut self, made: &PlanMade) {
        let Some((call, step)) = made.call.as_ref().zip(made.step.as_ref()) else { return };
        let StepWork::Code(code) = &step.work else { return };
        let args = CallArgs::from(Text::from(json!({ "code": &**code }).to_string()));
        self.calls.insert(call.clone(), (format!("step {}", step.index).into(), args));
        self.steps.insert(call.clone());
    }

    /// Whether the call is the code of a planned step.
    pub fn is_step(&self, call: &CallId) -> bool {
        self.steps.contains(call)
    }

    /// The name of the call's tool, or its id where the tool is unknown.
    pub fn name(&self, call: &CallId) -> String {
        self.calls.get(call).map_or_else(|| name(call.as_str()), |(called, _)| name(called))
    }

    /// The call's arguments on a line.
    pub fn args(&self, call: &CallId, cuts: &Cuts) -> Option<String> {
        self.calls.get(call).map(|(_, args)| cuts.line(&display_args(args)))
    }

    /// The call's arguments, however long.
    pub fn whole_args(&self, call: &CallId) -> Option<String> {
        self.calls.get(call).map(|(_, args)| display_args(args))
    }

    pub(super) fn with_args(&self, call: &CallId, cuts: &Cuts) -> String {
        let args = self.args(call, cuts).map(|args| format!(" with {args}")).unwrap_or_default();
        format!("`{}`{args}", self.name(call))
    }
}
