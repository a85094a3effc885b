//! Folds the start of a run: its inputs and its base.

use std::sync::Arc;

use crate::message::Message;
use crate::policy::CallersSystem;
use crate::start::{RunInput, RunStarted};
use crate::state::{Phase, State};

impl State {
    pub(super) fn started(&mut self, start: &RunStarted, at: u64, seq: u64) {
        self.clock.started_at = at;
        self.clock.deadline_seq = seq;
        self.setup.agent = Some(start.agent.clone());
        self.setup.session.clone_from(&start.session);
        self.setup.trace.clone_from(&start.trace);
        self.setup.policy = start.policy.clone();
        self.ledger.budget = start.budget;
        self.stay_within_budget();
        self.offer_tools(start.tools.clone());
        self.toolbox.seals.clone_from(&start.seals);
        self.setup.models = start.models.clone();
        self.setup.prompt = start.prompt.clone();
        self.setup.output.clone_from(&start.output);
        self.phase = Phase::Between;
        let below = self.below.take();
        if let Some(base) = &below {
            self.inherit_rules(start, base);
        }
        match &start.input {
            RunInput::Fork(fork) => {
                if let Phase::Stepping { seq: asked } = &mut self.phase {
                    *asked = seq;
                }
                if let Some(base) = below {
                    self.forked(&base, fork, at, seq);
                }
            }
            RunInput::Messages(messages) => {
                let merges = self.setup.policy.request.callers_system == CallersSystem::WithInstructions;
                if merges {
                    self.setup.prompt = start.input.instruct(&self.setup.prompt);
                }
                for message in messages.iter().filter(|message| !merges || !message.instructs()) {
                    if let Message::Assistant(said) = &**message {
                        said.calls
                            .iter()
                            .for_each(|call| self.conversation.call_ids.insert_mut(call.id.clone()));
                    }
                    if let Some(content) = message.content() {
                        self.keep_stored(content);
                    }
                    self.conversation.history.push(message.clone());
                }
            }
            RunInput::Continue(carried) => {
                self.ledger.carry(carried);
                self.clock.carried_ms = carried.elapsed_ms;
                if matches!(self.conversation.history.last().map(|last| &**last), Some(Message::Assistant(_)))
                {
                    self.conversation
                        .history
                        .push(Arc::new(Message::user("The limit was raised. Go on where you stopped.")));
                }
            }
        }
    }
}
