//! Folds the start of a run: its inputs and its base.

use std::sync::Arc;

use crate::policy::texts::INPUT;
use crate::policy::values::CallersSystem;
use crate::protocol::fact::run::{RunInput, RunStarted};
use crate::state::{Phase, State};
use crate::vocabulary::ids::Text;
use crate::vocabulary::message::Message;

impl State {
    /// The messages that wait in the session wait for the end of this run, except the one that it answers.
    fn inherit_queue(&mut self, start: &RunStarted, base: &Self) {
        let same = start.session.as_ref() == base.setup.session() && start.owner == *base.setup.owner();
        if start.session.is_some() && same {
            self.questions.inherit_queue(&base.questions, start.run);
        }
    }

    pub(crate) fn started(&mut self, start: &RunStarted, at: u64, seq: u64) {
        self.clock.started(at, seq);
        self.setup.started(start);
        self.ledger.borrow(start.budget);
        self.stay_within_budget();
        self.offer_tools(start.tools.clone());
        self.toolbox.bind(start.binding_digests.as_ref());
        self.phase = Phase::Between;
        let base = self.base.take();
        if let Some(base) = &base {
            self.inherit_rules(start, base);
            self.inherit_queue(start, base);
        }
        match &start.input {
            RunInput::Fork(fork) => {
                if let Phase::Stepping { seq: asked } = &mut self.phase {
                    *asked = seq;
                }
                if let Some(base) = base {
                    self.forked(&base, fork, at, seq);
                }
            }
            RunInput::Messages(messages) => {
                self.begin_with(start, messages);
            }
            RunInput::Continue(carried) => {
                self.ledger.carry(carried);
                let drafted = base.as_ref().is_some_and(|base| base.has_draft());
                if let Some(base) = base {
                    self.progress.clone_from(&base.progress);
                    self.ledger.inherit_proof(&base.ledger);
                    self.conversation.inherit_steering(&base.conversation);
                }
                self.plan_anew();
                self.clock.continued(carried.elapsed_ms);
                if matches!(
                    self.conversation.history().last().map(|last| &**last),
                    Some(Message::Assistant(_))
                ) && !drafted
                {
                    self.conversation
                        .push(Arc::new(Message::user("The limit was raised. Go on where you stopped.")));
                }
            }
        }
    }

    /// An input in the policy's words ([`Texts::input`](crate::policy::Texts)).
    fn worded(&self, message: &Arc<Message>) -> Arc<Message> {
        let template = &self.setup.policy().wording.texts.input;
        if &**template == INPUT {
            return message.clone();
        }
        let mut message = (**message).clone();
        if let Message::User { content, .. } | Message::TaskDelegation { content } = &mut message {
            content.word(template, INPUT);
        }
        Arc::new(message)
    }

    /// The messages that a run begins with.
    fn begin_with(&mut self, start: &RunStarted, messages: &[Arc<Message>]) {
        let merges = self.setup.policy().request.callers_system == CallersSystem::WithInstructions;
        if merges {
            self.setup.instructed(&start.input);
        }
        let splices = self.conversation.without_passing();
        if !splices.is_empty() {
            self.edited(&splices);
        }
        let first = self.conversation.history().len();
        self.conversation.track(|tracker| tracker.input_begins(first));
        // Of a conversation, the last message that somebody said is the input, unless it is a pinned rule.
        let input = messages.iter().rfind(|message| message.is_incoming() && !message.is_pinned());
        for message in messages.iter().filter(|message| !merges || !message.instructs()) {
            if let Message::Assistant(reply) = &**message {
                self.conversation.spoken_by(&Text::default());
                reply.calls.iter().for_each(|call| self.conversation.take_id(&call.id));
            }
            if let Some(content) = message.content() {
                self.keep_stored(content);
            }
            let is_input = input.is_some_and(|input| Arc::ptr_eq(input, message));
            let message = if is_input { self.worded(message) } else { message.clone() };
            self.conversation.push(message);
        }
        self.begin_plan(messages);
        self.progress.begin_with(first..self.conversation.history().len());
    }
}
