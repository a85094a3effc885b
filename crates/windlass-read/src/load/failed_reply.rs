//! The body that a server sent with a failed model call.

use windlass_core::event::ModelFact;
use windlass_core::message::Content;
use windlass_core::message::Part;
use windlass_core::{Fact, Text};
use windlass_store::Payloads;

use crate::error::Error;

/// The body of a failed model call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedReply {
    /// The body as the server sent it, with secrets masked.
    pub text: Text,
    /// Whether the server sent more.
    pub is_cut: bool,
}

/// The body that a failed model call keeps; `None`: the fact is no such failure, or the server sent none.
///
/// # Errors
/// The log failed, or lacks the body.
pub async fn failed_reply(log: &dyn Payloads, fact: &Fact) -> Result<Option<FailedReply>, Error> {
    let Fact::Model(ModelFact::Failed(turn)) = fact else { return Ok(None) };
    let Some(detail) = turn.failure.detail.as_deref() else { return Ok(None) };
    let text = match &detail.reply {
        None => return Ok(None),
        Some(Content::Text(text)) => text.clone(),
        Some(Content::Parts(parts)) => {
            let mut text = String::new();
            for part in parts {
                if let Part::Stored(stored) = part {
                    let bytes = log.get(&stored.sha256, 0, usize::MAX).await?;
                    text.push_str(&String::from_utf8_lossy(&bytes));
                } else if let Part::Text { text: more } = part {
                    text.push_str(more);
                }
            }
            text.into()
        }
    };
    Ok(Some(FailedReply { text, is_cut: detail.is_cut }))
}
