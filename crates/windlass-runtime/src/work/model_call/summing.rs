//! Stored results, as a model reads them that sums one up: whole, or without their middle.

use std::sync::Arc;

use windlass_core::message::{Content, Part, Ref};
use windlass_core::model::SUMMED_BYTES;
use windlass_core::{ActionId, Message, State, Text};
use windlass_models::ModelRequest;
use windlass_store::Payloads;

/// The texts that a call sums up and the state only names, by digest. One that cannot be read stays what the state holds of
/// it: its beginning and its end.
pub(super) async fn stored_texts(
    state: &State,
    action: ActionId,
    payloads: &dyn Payloads,
) -> Vec<(Text, String)> {
    let named = state.summed_result(action).into_iter().flat_map(Content::refs);
    let named: Vec<Ref> = named.cloned().collect();
    let mut texts = Vec::with_capacity(named.len());
    for stored in named {
        if let Some(text) = read(&stored, payloads).await {
            texts.push((stored.sha256, text));
        }
    }
    texts
}

/// A text; a long one without its middle.
async fn read(stored: &Ref, payloads: &dyn Payloads) -> Option<String> {
    if stored.bytes <= SUMMED_BYTES {
        let bytes = payloads.get(&stored.sha256, 0, usize::try_from(stored.bytes).ok()?).await.ok()?;
        return Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    let (head, tail) = (SUMMED_BYTES / 4 * 3, SUMMED_BYTES / 4);
    let first = payloads.get(&stored.sha256, 0, usize::try_from(head).ok()?).await.ok()?;
    let last = payloads.get(&stored.sha256, stored.bytes - tail, usize::try_from(tail).ok()?).await.ok()?;
    let (first, last) = (String::from_utf8_lossy(&first), String::from_utf8_lossy(&last));
    let left = stored.bytes - head - tail;
    Some(format!("{first}\n[... {left} of {} bytes are left out ...]\n{last}", stored.bytes))
}

/// The request with these texts in place of their names.
pub(super) fn with_texts(request: ModelRequest, texts: &[(Text, String)]) -> ModelRequest {
    if texts.is_empty() {
        return request;
    }
    let messages = request.messages.iter().map(|message| match &**message {
        Message::User { content: Content::Parts(parts), pinned } => {
            let parts = parts.iter().map(|part| whole(part, texts)).collect();
            Arc::new(Message::User { content: Content::Parts(parts), pinned: *pinned })
        }
        Message::System { .. }
        | Message::User { .. }
        | Message::TaskDelegation { .. }
        | Message::Assistant(_)
        | Message::Tool(_) => message.clone(),
    });
    let messages = messages.collect();
    ModelRequest { messages, ..request }
}

fn whole(part: &Part, texts: &[(Text, String)]) -> Part {
    let Part::Stored(stored) = part else { return part.clone() };
    let found = texts.iter().find(|(digest, _)| *digest == stored.sha256);
    found.map_or_else(|| part.clone(), |(_, text)| Part::Text { text: text.as_str().into() })
}
