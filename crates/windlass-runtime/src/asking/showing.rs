//! Which pieces of a reply subscribers see while it is being written.

use windlass_core::ActionId;
use windlass_core::text::AnswerPieces;
use windlass_models::Delta;

use crate::updates::Update;

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
        let Some(answer) = &mut self.answer else { return shown(self.action, delta) };
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
            | Delta::Usage(_)
            | Delta::Stop(_) => return shown(self.action, delta),
        };
        (!written.is_empty()).then(|| Update::Text { action: self.action, text: written.into() })
    }
}

/// The update for a piece, if it is visible.
fn shown(action: ActionId, delta: &Delta) -> Option<Update> {
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
        | Delta::Usage(_)
        | Delta::Stop(_)
        | Delta::Thought => None,
    }
}
