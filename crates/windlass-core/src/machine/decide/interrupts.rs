//! Interrupts of a running agent by people: messages, and pauses.

use std::sync::Arc;

use crate::machine::decision::{Decided, Decision};
use crate::protocol::fact::interrupts::{RunPaused, Steered};
use crate::protocol::fact::turns::TurnStarted;
use crate::protocol::fact::{InputRequested, MessageQueued};
use crate::protocol::invalid_input::InvalidInput;
use crate::state::Phase;
use crate::state::model_calls::ModelCall;
use crate::vocabulary::ids::{QuestionId, Text};
use crate::vocabulary::message::Message;
use crate::vocabulary::purpose::Place;
use crate::vocabulary::question::{Answer, QuestionKind};

/// The question of a pause for which no reason was given.
const PAUSED: &str = "The run is paused.";

/// The reason that the question of a pause has.
pub(crate) fn pause_reason(question: &Text) -> Option<Text> {
    (**question != *PAUSED).then(|| question.clone())
}

impl Decision {
    pub(crate) fn steer(&mut self, steered: Steered) -> Decided {
        if self.state.stopping() {
            return Err(InvalidInput::Stopping { run: self.state.run, found: "a steering message" });
        }
        self.record(steered);
        Ok(())
    }

    /// The run ends, and what it has not heard waits for runs of its own where the session keeps messages (E61).
    pub(crate) fn queue_unheard(&mut self) {
        for steered in self.state.conversation.steering().to_vec() {
            let Some(run) = steered.run else { continue };
            let content = steered.content(steered.text.clone());
            let message = Message::User { content, pinned: steered.pinned };
            self.record(MessageQueued { run, request_digest: None, messages: vec![Arc::new(message)] });
        }
    }

    /// Asks for a pause: nothing is stopped by it, so nothing is lost.
    pub(crate) fn pause(&mut self, reason: Option<Text>) -> Decided {
        let run = self.state.run;
        if self.state.stopping() {
            return Err(InvalidInput::Stopping { run, found: "a request to pause" });
        }
        if let Some(open) = self.state.questions.pause() {
            return Err(InvalidInput::AlreadyPaused { run, question: open.id.clone() });
        }
        let question = self.next_question();
        self.record(InputRequested {
            question,
            kind: QuestionKind::Pause,
            call: None,
            text: reason.unwrap_or_else(|| PAUSED.into()),
            suggestions: vec!["resume".into()],
            child_question: None,
            next: None,
        });
        // What waits for a quota is going on for nobody: the pause has taken effect.
        if let Some(next) = self
            .state
            .turns_model_call()
            .filter(|model_call| model_call.waits_for_quota())
            .map(ModelCall::again)
        {
            self.record(RunPaused { next: Some(next) });
        }
        Ok(())
    }

    /// Whether a model call waits for the end of a pause. One that was lost with its process begins again all the same: the
    /// pause waits for its reply.
    pub(crate) fn is_held_back(&mut self, next: &TurnStarted) -> bool {
        next.purpose.place() == Place::Turn && !next.after_loss && self.deferred_by_pause(Some(next))
    }

    /// Whether the run is to be paused: then it is recorded what it goes on with. `None` is the loop's next turn.
    pub(crate) fn deferred_by_pause(&mut self, next: Option<&TurnStarted>) -> bool {
        if self.state.questions.pause().is_none() {
            return false;
        }
        self.record(RunPaused { next: next.cloned() });
        true
    }

    /// A person ends the pause: the run goes on where it stood, and hears what was said meanwhile.
    pub(crate) fn resumed_by_answer(&mut self, question: QuestionId, answer: Answer) {
        let paused = self.state.questions.paused().cloned();
        let message = if let Answer::Resume { text } = &answer { text.clone() } else { None };
        self.received(question, answer);
        if let Some(text) = message {
            self.record(Steered::from(text));
        }
        // An answer may have brought work meanwhile, which the run goes on from.
        let Some(paused) = paused.filter(|_| self.state.phase == Phase::Between) else { return };
        let heard = !self.state.conversation.steering().is_empty() && self.state.ending.closing().is_none();
        match paused.into_next() {
            // What comes next depends on what was said.
            Some(next) if !heard => self.begin(next),
            Some(_) | None => self.next_turn(),
        }
    }
}
