//! Which pieces of a reply subscribers see while it is being written, and when.

use windlass_core::model::ModelFailure;
use windlass_core::text::AnswerPieces;
use windlass_core::{ActionId, InputKind};
use windlass_models::Delta;

use super::Taking;
use crate::driver::updates::Update;
use crate::platform::environment::Environment;

/// Follows a reply.
#[derive(Debug)]
pub(super) struct Showing {
    pub(super) action: ActionId,
    /// The reply is by schema: only the answer in it is shown as text.
    pub(super) answer: Option<AnswerPieces>,
}

impl Showing {
    /// The update for a piece, if it is visible.
    pub(super) fn update(&mut self, delta: &Delta) -> Option<Update> {
        let Some(answer) = &mut self.answer else { return visible_update(self.action, delta) };
        let written = match delta {
            Delta::Text(text) => answer.push(text),
            Delta::Whole(reply) => answer.push(reply.text.as_deref()?),
            Delta::Thought => {
                *answer = answer.anew();
                return None;
            }
            Delta::Reasoning(_)
            | Delta::Call { .. }
            | Delta::Sealed(_)
            | Delta::Media(_)
            | Delta::Annotation(_)
            | Delta::Usage(_)
            | Delta::Stop(_) => return visible_update(self.action, delta),
        };
        (!written.is_empty()).then(|| Update::Text { action: self.action, text: written.into() })
    }
}

impl Taking {
    /// The text that was shown is reasoning: it is void, and shown once more as such.
    pub(super) fn show_again(&mut self) {
        let reasoning = self.assembler.reasoning();
        if reasoning.is_empty() {
            return;
        }
        let again = Update::Reasoning { action: self.action, text: reasoning.into() };
        if !self.published {
            // Of a reply that is held back, only that is shown later.
            if !self.withheld.is_empty() {
                self.withheld = vec![again];
            }
            return;
        }
        self.publish(Update::Void { action: self.action });
        self.publish(again);
    }

    /// Shows a piece, unless another attempt at the same call is shown.
    pub(super) fn show(&mut self, update: Update) {
        if !self.display.takes(self.action) {
            self.withheld.push(update);
            return;
        }
        self.published = true;
        self.show_withheld();
        self.publish(update);
    }

    fn show_withheld(&mut self) {
        for update in std::mem::take(&mut self.withheld) {
            self.publish(update);
        }
    }

    /// It has brought the reply: the pieces of another attempt are void.
    pub(super) fn wins(&mut self) {
        if self.withheld.is_empty() {
            return;
        }
        if let Some(other) = self.display.won_by(self.action) {
            self.publish(Update::Void { action: other });
        }
        self.show_withheld();
    }

    fn publish(&mut self, update: Update) {
        match &mut self.unpublished {
            Some(unpublished) => unpublished.push(update),
            None => self.publisher.send(update),
        }
    }

    pub(super) fn failed(self, failure: ModelFailure, environment: &dyn Environment) -> InputKind {
        let failure = ModelFailure { usage: self.spent.paid(&failure, &self.assembler), ..failure };
        if self.display.leaves(self.action) && self.published {
            self.publisher.send(Update::Void { action: self.action });
        }
        InputKind::ModelFailed {
            action: self.action,
            failure: Box::new(failure),
            jitter: environment.chance(),
        }
    }
}

/// The update for a piece, if it is visible.
fn visible_update(action: ActionId, delta: &Delta) -> Option<Update> {
    match delta {
        Delta::Text(text) if !text.is_empty() => Some(Update::Text { action, text: text.as_str().into() }),
        Delta::Reasoning(text) if !text.is_empty() => {
            Some(Update::Reasoning { action, text: text.as_str().into() })
        }
        Delta::Call { index, name, args, .. } => Some(Update::Call {
            action,
            index: *index,
            name: name.as_deref().map(Into::into),
            args: args.as_str().into(),
        }),
        Delta::Whole(reply) => {
            let text = reply.text.clone().filter(|text| !text.is_empty())?;
            Some(Update::Text { action, text })
        }
        Delta::Text(_)
        | Delta::Reasoning(_)
        | Delta::Sealed(_)
        | Delta::Media(_)
        | Delta::Annotation(_)
        | Delta::Usage(_)
        | Delta::Stop(_)
        | Delta::Thought => None,
    }
}
