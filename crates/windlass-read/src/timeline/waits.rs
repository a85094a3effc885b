//! The waits of a run: for models, tools, agents, quotas, retries and people.

use std::collections::HashMap;

use windlass_core::event::{
    CallFact, CallFinished, CodeFact, CodeFinished, DelegationFact, DelegationFinished, InputRequested,
    LimitFact, Millis, ModelAttempt, ModelFact, PeopleFact, PlanFact, RunFact, TurnFailed,
};
use windlass_core::message::ToolCall;
use windlass_core::model::{FailureKind, Purpose};
use windlass_core::{CallId, Event, Fact, Message, QuestionId, RunState, State, Text};
use windlass_macros::Named;

/// A wait of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Its number among the waits that were read, from 1.
    pub number: u64,
    /// Its cause.
    pub on: WaitOn,
    /// When it began.
    pub since: Millis,
    /// When it ended; `None`: it goes on.
    pub ended: Option<Millis>,
}

/// The other side of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitOn {
    /// The reply of a model.
    Model {
        /// The model call.
        ask: ModelAsk,
        /// The model.
        name: Text,
    },
    /// The next try of a model call, after a failure.
    Retry {
        /// The model call.
        ask: ModelAsk,
        /// The model that is asked then.
        name: Text,
        /// The kind of the failure.
        failure: FailureKind,
        /// Whether it is the time at which a quota opens, and the run is suspended until then.
        for_quota: bool,
        /// The time of the next try.
        at: Millis,
    },
    /// The end of a tool call.
    Tool(CallId),
    /// The answer of a tool that is asked whether a lost call happened.
    Check(CallId),
    /// The next try of a tool call.
    ToolRetry {
        /// The call.
        call: CallId,
        /// The time of the next try.
        at: Millis,
    },
    /// The end of a task of another agent.
    Agent {
        /// The call.
        call: CallId,
        /// The agent.
        name: Text,
    },
    /// The quota of a model that another agent waits for.
    AgentQuota {
        /// The call.
        call: CallId,
        /// The model.
        model: Text,
        /// When the agent goes on.
        at: Millis,
    },
    /// The answer of a person.
    Person {
        /// The question.
        question: QuestionId,
        /// The call that it is about.
        call: Option<CallId>,
    },
}

/// A model call: its purpose, and the tool call that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAsk {
    /// Its purpose.
    pub purpose: Purpose,
    /// The tool call.
    pub about: Option<CallId>,
}

/// Kind of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum WaitKind {
    /// A model replies.
    Model,
    /// A tool works.
    Tool,
    /// Another agent works.
    Agent,
    /// The next try after a rate limit.
    RateLimit,
    /// A quota opens.
    Quota,
    /// The next try after another failure.
    Retry,
    /// A person answers.
    Person,
}

impl WaitKind {
    /// Whether nobody works meanwhile: the run waits for a time or for a person.
    pub fn is_idle(self) -> bool {
        matches!(self, Self::RateLimit | Self::Quota | Self::Retry | Self::Person)
    }
}

impl WaitOn {
    /// Its kind.
    pub fn kind(&self) -> WaitKind {
        match self {
            Self::Model { .. } => WaitKind::Model,
            Self::Retry { for_quota: true, .. } | Self::AgentQuota { .. } => WaitKind::Quota,
            Self::Retry { failure: FailureKind::RateLimited, .. } => WaitKind::RateLimit,
            Self::Retry { .. } | Self::ToolRetry { .. } => WaitKind::Retry,
            Self::Tool(_) | Self::Check(_) => WaitKind::Tool,
            Self::Agent { .. } => WaitKind::Agent,
            Self::Person { .. } => WaitKind::Person,
        }
    }

    /// The time at which it ends by itself.
    pub fn until(&self) -> Option<Millis> {
        match self {
            Self::Retry { at, .. } | Self::ToolRetry { at, .. } | Self::AgentQuota { at, .. } => Some(*at),
            Self::Model { .. }
            | Self::Tool(_)
            | Self::Check(_)
            | Self::Agent { .. }
            | Self::Person { .. } => None,
        }
    }

    fn is_about(&self, id: &CallId) -> bool {
        match self {
            Self::Tool(call)
            | Self::Check(call)
            | Self::ToolRetry { call, .. }
            | Self::Agent { call, .. }
            | Self::AgentQuota { call, .. } => call == id,
            Self::Person { call, .. } => call.as_ref() == Some(id),
            Self::Model { .. } | Self::Retry { .. } => false,
        }
    }

    fn is_model(&self, asked: &ModelAsk) -> bool {
        matches!(self, Self::Model { ask, .. } | Self::Retry { ask, .. } if ask == asked)
    }
}

/// Follows what a run waits for.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    models: Vec<Text>,
    calls: HashMap<CallId, Text>,
    open: Vec<Wait>,
    /// Those that the event which is being read has ended.
    over: Vec<Wait>,
    /// The time of that event.
    now: Millis,
    count: u64,
}

impl Waits {
    /// Those of a run that began earlier: the names of its models and calls, and its open questions.
    pub fn of(state: &State) -> Self {
        let mut waits = Self { now: state.clock(), ..Self::default() };
        waits.models = state.models().iter().map(|model| model.name.clone()).collect();
        for message in state.history().iter() {
            if let Message::Assistant(message) = &**message {
                waits.know(&message.calls);
            }
        }
        if state.run_state() == RunState::Suspended {
            for open in state.questions() {
                waits.begin(WaitOn::Person { question: open.id.clone(), call: open.call.clone() });
            }
        }
        waits
    }

    /// Takes in an event. Gives the waits that it ends.
    pub fn learn(&mut self, event: &Event) -> Vec<Wait> {
        self.now = event.at;
        self.event(&event.fact);
        std::mem::take(&mut self.over)
    }

    /// Those that go on, in the order in which they began.
    pub fn open(&self) -> &[Wait] {
        &self.open
    }

    /// The first wait for a reply in the run's own voice: the one that comes in pieces.
    pub fn speaking(&self) -> Option<&Wait> {
        self.open.iter().find(|wait| matches!(&wait.on, WaitOn::Model { ask, .. } if ask.purpose.speaks()))
    }

    /// The name of a call's tool, or its id where the tool is unknown.
    pub fn called<'w>(&'w self, call: &'w CallId) -> &'w str {
        self.calls.get(call).map_or(call.as_str(), |called| called)
    }

    fn begin(&mut self, on: WaitOn) {
        self.count += 1;
        self.open.push(Wait { number: self.count, on, since: self.now, ended: None });
    }

    fn end(&mut self, over: impl Fn(&WaitOn) -> bool) {
        let ended = self.open.extract_if(.., |wait| over(&wait.on));
        let now = Some(self.now);
        self.over.extend(ended.map(|wait| Wait { ended: now, ..wait }));
    }

    fn end_ask(&mut self, purpose: Purpose, about: Option<&CallId>) -> ModelAsk {
        let ask = ModelAsk { purpose, about: about.cloned() };
        self.end(|on| on.is_model(&ask));
        ask
    }

    fn end_call(&mut self, call: &CallId) {
        self.end(|on| on.is_about(call));
    }

    fn know(&mut self, calls: &[ToolCall]) {
        self.calls.extend(calls.iter().map(|call| (call.id.clone(), call.name.clone())));
    }

    fn event(&mut self, fact: &Fact) {
        if let Some(attempt) = fact.attempt() {
            return self.attempt_begins(attempt);
        }
        match fact {
            Fact::Run(RunFact::Started(start)) => {
                self.models = start.models.iter().map(|model| model.name.clone()).collect();
            }
            Fact::Run(RunFact::Adjusted(adjusted)) => {
                if let Some(models) = &adjusted.models {
                    self.models = models.iter().map(|model| model.name.clone()).collect();
                }
            }
            // Its holder begins the lost work again; questions stay open.
            Fact::Run(RunFact::Resumed(_)) => self.end(|on| !matches!(on, WaitOn::Person { .. })),
            Fact::Model(ModelFact::Completed(turn)) => {
                self.end_ask(turn.purpose, turn.about.as_ref());
                self.know(&turn.calls);
            }
            Fact::Model(ModelFact::Failed(failed)) => self.turn_failed(failed),
            Fact::Model(ModelFact::ProbeAnswered(probe)) => drop(self.end_ask(probe.purpose, None)),
            Fact::Call(CallFact::StepBranched(branched)) => self.know(&branched.calls),
            Fact::Code(CodeFact::Called(_) | CodeFact::Started(_) | CodeFact::Finished(_))
            | Fact::Plan(PlanFact::Made(_))
            | Fact::Call(
                CallFact::Started(_) | CallFact::Retried(_) | CallFact::Doubted(_) | CallFact::Finished(_),
            )
            | Fact::Delegation(
                DelegationFact::Started(_) | DelegationFact::Deferred(_) | DelegationFact::Finished(_),
            ) => self.call_event(fact),
            Fact::People(PeopleFact::InputRequested(asked)) => self.asked(asked),
            // A rule answers a question that was put before it was made.
            Fact::Call(CallFact::Decided(decided)) => self.end_call(&decided.call),
            Fact::People(PeopleFact::InputReceived(received)) => {
                self.end(
                    |on| matches!(on, WaitOn::Person { question, .. } if *question == received.question),
                );
            }
            // What waited for its next try is given up.
            Fact::Limit(LimitFact::Reached(_)) | Fact::People(PeopleFact::CancelRequested(_)) => {
                self.end(|on| on.kind().is_idle());
            }
            Fact::Run(RunFact::Ended(_)) => self.end(|_| true),
            _ => {}
        }
    }

    /// A person is asked.
    fn asked(&mut self, asked: &InputRequested) {
        if let Some(call) = &asked.call {
            self.end_call(call);
        }
        self.begin(WaitOn::Person { question: asked.question.clone(), call: asked.call.clone() });
    }

    /// A call begins, ends or waits.
    fn call_event(&mut self, fact: &Fact) {
        if let Fact::Code(CodeFact::Called(code)) = fact {
            self.end_call(&code.call);
            self.know(&code.calls);
        } else if let Fact::Plan(PlanFact::Made(made)) = fact {
            let code = |call: &CallId| (call.clone(), windlass_core::tool::RUN_CODE.into());
            self.calls.extend(made.call.iter().map(code));
        } else if let Fact::Code(CodeFact::Started(started)) = fact {
            self.end_call(&started.call);
            self.begin(WaitOn::Tool(started.call.clone()));
        } else if let Fact::Call(CallFact::Started(started)) = fact {
            self.end_call(&started.call);
            self.begin(WaitOn::Tool(started.call.clone()));
        } else if let Fact::Call(CallFact::Retried(retried)) = fact {
            self.end_call(&retried.call);
            self.begin(WaitOn::ToolRetry { call: retried.call.clone(), at: retried.retry_at });
        } else if let Fact::Call(CallFact::Doubted(doubted)) = fact {
            self.end_call(&doubted.call);
            self.begin(WaitOn::Check(doubted.call.clone()));
        } else if let Fact::Delegation(DelegationFact::Started(started)) = fact {
            self.end_call(&started.call);
            self.begin(WaitOn::Agent { call: started.call.clone(), name: started.agent.clone() });
        } else if let Fact::Delegation(DelegationFact::Deferred(waits)) = fact {
            self.end_call(&waits.call);
            let (call, model) = (waits.call.clone(), waits.model.clone());
            self.begin(WaitOn::AgentQuota { call, model, at: waits.until });
        } else if let Fact::Code(CodeFact::Finished(CodeFinished { call, .. }))
        | Fact::Call(CallFact::Finished(CallFinished { call, .. }))
        | Fact::Delegation(DelegationFact::Finished(DelegationFinished { call, .. })) = fact
        {
            self.end_call(call);
        }
    }

    fn model(&self, place: u32) -> Text {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        self.models.get(place).cloned().unwrap_or_else(|| "?".into())
    }

    fn attempt_begins(&mut self, attempt: ModelAttempt<'_>) {
        let ModelAttempt { purpose, about, model, alongside } = attempt;
        let ask = if alongside {
            ModelAsk { purpose, about: about.cloned() }
        } else {
            self.end_ask(purpose, about)
        };
        self.begin(WaitOn::Model { ask, name: self.model(model) });
    }

    fn turn_failed(&mut self, failed: &TurnFailed) {
        if let Some(goes_on) = failed.remaining_model {
            let (ask, left) =
                (ModelAsk { purpose: failed.purpose, about: failed.about.clone() }, self.model(goes_on));
            self.end(|on| matches!(on, WaitOn::Model { ask: of, name, .. } if *of == ask && *name != left));
            return;
        }
        let ask = self.end_ask(failed.purpose, failed.about.as_ref());
        if let Some(retry_at) = failed.retry_at {
            let name =
                failed.next_model.map_or_else(|| failed.failure.model.clone(), |place| self.model(place));
            self.begin(WaitOn::Retry {
                ask,
                name,
                failure: failed.failure.kind,
                for_quota: failed.for_quota,
                at: retry_at,
            });
        }
    }
}

#[cfg(test)]
mod tests;
