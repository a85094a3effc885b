//! What a run waits for, read from its events and updates.

use std::collections::HashMap;

use windlass_core::event::{
    CallFinished, CodeFinished, DelegationFinished, InputRequested, Millis, TurnFailed, TurnHedged,
    TurnStarted,
};
use windlass_core::message::ToolCall;
use windlass_core::model::{FailureKind, Purpose};
use windlass_core::{CallId, Event, Fact, Message, QuestionId, RunState, State, Text};
use windlass_runtime::Update;

use crate::waiting::Wait;
use windlass_read::words::{count, name, span};

/// Maximum number of names in the line.
const NAMES: usize = 3;

/// Everything that a run waits for.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    models: Vec<Text>,
    calls: HashMap<CallId, Text>,
    open: Vec<Open>,
}

/// One wait.
#[derive(Debug)]
struct Open {
    who: Who,
    since: Millis,
}

/// The other side of a wait.
#[derive(Debug)]
enum Who {
    Model {
        ask: Ask,
        name: Text,
        doing: Doing,
    },
    /// A model is called again at that time.
    Retry {
        ask: Ask,
        name: Text,
        kind: FailureKind,
        at: Millis,
    },
    Tool(CallId),
    /// A tool is asked whether a lost call happened.
    Check(CallId),
    /// A tool is called again at that time.
    ToolRetry {
        call: CallId,
        at: Millis,
    },
    Agent {
        call: CallId,
        name: Text,
    },
    /// The agent waits for the quota of a model, and is asked again at that time.
    AgentQuota {
        call: CallId,
        model: Text,
        at: Millis,
    },
    Person {
        question: QuestionId,
        call: Option<CallId>,
    },
}

/// A model call: its purpose, and the tool call that it is about.
#[derive(Clone, Debug, PartialEq)]
struct Ask {
    purpose: Purpose,
    about: Option<CallId>,
}

/// What a model does, as far as its reply shows.
#[derive(Debug, PartialEq)]
enum Doing {
    /// Nothing has come yet.
    Asked,
    Reasoning,
    Writing,
    Calling(Text),
}

impl Who {
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

    /// Whether it ends with a limit or a cancel: nobody works on it.
    fn is_given_up(&self) -> bool {
        matches!(
            self,
            Self::Retry { .. } | Self::ToolRetry { .. } | Self::AgentQuota { .. } | Self::Person { .. }
        )
    }

    fn is_model(&self, asked: &Ask) -> bool {
        matches!(self, Self::Model { ask, .. } | Self::Retry { ask, .. } if ask == asked)
    }
}

impl Waits {
    /// A run that began earlier: the names of its models and calls, and its open questions.
    pub(super) fn recall(&mut self, state: &State) {
        self.models = state.models().iter().map(|model| model.name.clone()).collect();
        for message in state.history().iter() {
            if let Message::Assistant(message) = &**message {
                self.calls.extend(message.calls.iter().map(|call| (call.id.clone(), call.name.clone())));
            }
        }
        if state.run_state() == RunState::Suspended {
            let person = |id: &QuestionId, call: &Option<CallId>| Who::Person {
                question: id.clone(),
                call: call.clone(),
            };
            let asked = state.questions().iter().map(|open| person(&open.id, &open.call));
            self.open = asked.map(|who| Open { who, since: state.clock() }).collect();
        }
    }

    /// The wait that is going on.
    pub(crate) fn now(&self, now: Millis) -> Option<Wait> {
        let since = self.open.iter().map(|open| open.since).min()?;
        let tools: Vec<String> = self.open.iter().filter_map(|open| self.tool(open)).collect();
        let mut words: Vec<String> = self.open.iter().filter_map(|open| self.words(open, now)).collect();
        if !tools.is_empty() {
            let more = tools.len().saturating_sub(NAMES);
            let noun = if tools.len() == 1 { "tool" } else { "tools" };
            let more = if more > 0 { format!(" and {}", count(more as u64, "more")) } else { String::new() };
            let names: Vec<String> = tools.into_iter().take(NAMES).collect();
            words.push(format!("{noun} {}{more}", names.join(", ")));
        }
        Some(Wait { what: words.join("; "), since })
    }

    /// The name of a tool that is running.
    fn tool(&self, open: &Open) -> Option<String> {
        if let Who::Tool(call) = &open.who { Some(self.called(call)) } else { None }
    }

    /// Everything else in words.
    fn words(&self, open: &Open, now: Millis) -> Option<String> {
        let next = |at: Millis| format!("next try in {}", span(at.saturating_sub(now) / 1_000 * 1_000));
        Some(match &open.who {
            Who::Tool(_) => return None,
            Who::Model { ask, name: model, doing } => {
                let doing = match doing {
                    Doing::Asked => String::new(),
                    Doing::Reasoning => " (reasoning)".to_owned(),
                    Doing::Writing => " (writing)".to_owned(),
                    Doing::Calling(tool) => format!(" (writing a call of `{}`)", name(tool)),
                };
                let why = match ask.purpose {
                    Purpose::Act | Purpose::Merge => "",
                    Purpose::Summarise => " for a summary",
                    Purpose::Verify => " to judge a call",
                    Purpose::Judge => " to judge the answer",
                    Purpose::Perceive => " to perceive",
                    Purpose::Decide => " to decide",
                };
                format!("model {}{why}{doing}", name(model))
            }
            Who::Retry { name: model, kind: FailureKind::RateLimited, at, .. }
            | Who::AgentQuota { model, at, .. } => {
                format!("the quota of model {} ({})", name(model), next(*at))
            }
            Who::Retry { name: model, at, .. } => format!("model {} ({})", name(model), next(*at)),
            Who::Check(call) => format!("the check of tool {}", self.called(call)),
            Who::ToolRetry { call, at } => format!("tool {} ({})", self.called(call), next(*at)),
            Who::Agent { name: agent, .. } => format!("agent `{}`", name(agent)),
            Who::Person { question, .. } => format!("an answer to {question}"),
        })
    }

    fn called(&self, call: &CallId) -> String {
        format!("`{}`", name(self.calls.get(call).map_or(call.as_str(), |called| called)))
    }

    /// A piece of a reply.
    pub(super) fn update(&mut self, update: &Update) {
        let now = match update {
            Update::Text { .. } => Doing::Writing,
            Update::Reasoning { .. } => Doing::Reasoning,
            Update::Call { name: Some(name), .. } => Doing::Calling(name.as_ref().into()),
            Update::Void { .. } => Doing::Asked,
            Update::Call { .. }
            | Update::Partial { .. }
            | Update::Events(_)
            | Update::Log(_)
            | Update::Refused { .. } => return,
        };
        // Only replies in the run's own voice come in pieces.
        let speaks = |who: &&mut Who| matches!(who, Who::Model { ask, .. } if ask.purpose.speaks());
        if let Some(Who::Model { doing, .. }) = self.open.iter_mut().map(|open| &mut open.who).find(speaks) {
            *doing = now;
        }
    }

    fn begin(&mut self, who: Who, since: Millis) {
        self.open.push(Open { who, since });
    }

    fn end(&mut self, over: impl Fn(&Who) -> bool) {
        self.open.retain(|open| !over(&open.who));
    }

    fn end_ask(&mut self, purpose: Purpose, about: Option<&CallId>) -> Ask {
        let ask = Ask { purpose, about: about.cloned() };
        self.end(|who| who.is_model(&ask));
        ask
    }

    fn end_call(&mut self, call: &CallId) {
        self.end(|who| who.is_about(call));
    }

    fn know(&mut self, calls: &[ToolCall]) {
        self.calls.extend(calls.iter().map(|call| (call.id.clone(), call.name.clone())));
    }

    pub(super) fn event(&mut self, event: &Event) {
        let at = event.at;
        match &event.fact {
            Fact::RunStarted(start) => {
                self.models = start.models.iter().map(|model| model.name.clone()).collect();
            }
            Fact::Adjusted(adjusted) => {
                if let Some(models) = &adjusted.models {
                    self.models = models.iter().map(|model| model.name.clone()).collect();
                }
            }
            // Its holder begins the lost work again; questions stay open.
            Fact::RunResumed(_) => self.end(|who| !matches!(who, Who::Person { .. })),
            Fact::TurnStarted(turn) => self.turn_started(turn, at),
            Fact::TurnCompleted(turn) => {
                self.end_ask(turn.purpose, turn.about.as_ref());
                self.know(&turn.calls);
            }
            Fact::TurnFailed(failed) => self.turn_failed(failed, at),
            Fact::ProbeAnswered(probe) => drop(self.end_ask(probe.purpose, None)),
            Fact::TurnHedged(hedged) => self.turn_hedged(hedged, at),
            Fact::StepBranched(branched) => self.know(&branched.calls),
            Fact::CodeCalled(_)
            | Fact::PlanMade(_)
            | Fact::CodeStarted(_)
            | Fact::CodeFinished(_)
            | Fact::CallStarted(_)
            | Fact::CallRetried(_)
            | Fact::CallDoubted(_)
            | Fact::DelegationStarted(_)
            | Fact::DelegationWaits(_)
            | Fact::CallFinished(_)
            | Fact::DelegationFinished(_) => self.call_event(&event.fact, at),
            Fact::InputRequested(asked) => self.asked(asked, at),
            // A rule answers a question that was put before it was made.
            Fact::CallDecided(decided) => self.end_call(&decided.call),
            Fact::InputReceived(received) => {
                self.end(|who| matches!(who, Who::Person { question, .. } if *question == received.question));
            }
            // What waited for its next try is given up.
            Fact::LimitReached(_) | Fact::CancelRequested(_) => {
                self.end(Who::is_given_up);
            }
            Fact::RunEnded(_) => self.open.clear(),
            Fact::CallHeld(_)
            | Fact::ToolAllowed(_)
            | Fact::Perceived(_)
            | Fact::PlanProposed(_)
            | Fact::StepFinished(_)
            | Fact::Steered(_)
            | Fact::RunPaused(_)
            | Fact::MessageQueued(_)
            | Fact::HistoryEdited(_)
            | Fact::CallVerified(_)
            | Fact::ResultSummarised(_)
            | Fact::ContextMeasured(_)
            | Fact::HedgeSkipped(_)
            | Fact::ContextWarned(_)
            | Fact::Compacted(_)
            | Fact::CompactionSkipped(_)
            | Fact::OutputRejected(_)
            | Fact::IterationStarted(_)
            | Fact::Judged(_)
            | Fact::BoardSaved(_)
            | Fact::BoardRestored(_)
            | Fact::LimitRaised(_) => {}
        }
    }

    /// A person is asked.
    fn asked(&mut self, asked: &InputRequested, at: Millis) {
        if let Some(call) = &asked.call {
            self.end_call(call);
        }
        self.begin(Who::Person { question: asked.question.clone(), call: asked.call.clone() }, at);
    }

    /// A call begins, ends or waits.
    fn call_event(&mut self, fact: &Fact, at: Millis) {
        if let Fact::CodeCalled(code) = fact {
            self.end_call(&code.call);
            self.calls.extend(code.calls.iter().map(|call| (call.id.clone(), call.name.clone())));
        } else if let Fact::PlanMade(made) = fact {
            let code = |call: &CallId| (call.clone(), windlass_core::tool::RUN_CODE.into());
            self.calls.extend(made.call.iter().map(code));
        } else if let Fact::CodeStarted(started) = fact {
            self.end_call(&started.call);
            self.begin(Who::Tool(started.call.clone()), at);
        } else if let Fact::CallStarted(started) = fact {
            self.end_call(&started.call);
            self.begin(Who::Tool(started.call.clone()), at);
        } else if let Fact::CallRetried(retried) = fact {
            self.end_call(&retried.call);
            self.begin(Who::ToolRetry { call: retried.call.clone(), at: retried.retry_at }, at);
        } else if let Fact::CallDoubted(doubted) = fact {
            self.end_call(&doubted.call);
            self.begin(Who::Check(doubted.call.clone()), at);
        } else if let Fact::DelegationStarted(started) = fact {
            self.end_call(&started.call);
            self.begin(Who::Agent { call: started.call.clone(), name: started.agent.clone() }, at);
        } else if let Fact::DelegationWaits(waits) = fact {
            self.end_call(&waits.call);
            let (call, model) = (waits.call.clone(), waits.model.clone());
            self.begin(Who::AgentQuota { call, model, at: waits.until }, at);
        } else if let Fact::CodeFinished(CodeFinished { call, .. })
        | Fact::CallFinished(CallFinished { call, .. })
        | Fact::DelegationFinished(DelegationFinished { call, .. }) = fact
        {
            self.end_call(call);
        }
    }

    fn model(&self, place: u32) -> Text {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        self.models.get(place).cloned().unwrap_or_else(|| "?".into())
    }

    fn turn_started(&mut self, turn: &TurnStarted, at: Millis) {
        let ask = self.end_ask(turn.purpose, turn.about.as_ref());
        self.begin(Who::Model { ask, name: self.model(turn.model), doing: Doing::Asked }, at);
    }

    fn turn_hedged(&mut self, hedged: &TurnHedged, at: Millis) {
        let ask = Ask { purpose: hedged.purpose, about: hedged.about.clone() };
        self.begin(Who::Model { ask, name: self.model(hedged.model), doing: Doing::Asked }, at);
    }

    fn turn_failed(&mut self, failed: &TurnFailed, at: Millis) {
        if let Some(goes_on) = failed.beside {
            let (ask, left) =
                (Ask { purpose: failed.purpose, about: failed.about.clone() }, self.model(goes_on));
            self.end(|who| matches!(who, Who::Model { ask: of, name, .. } if *of == ask && *name != left));
            return;
        }
        let ask = self.end_ask(failed.purpose, failed.about.as_ref());
        if let Some(retry_at) = failed.retry_at {
            let name =
                failed.next_model.map_or_else(|| failed.failure.model.clone(), |place| self.model(place));
            self.begin(Who::Retry { ask, name, kind: failed.failure.kind, at: retry_at }, at);
        }
    }
}

#[cfg(test)]
mod tests;
