//! Results that are too large for events: stored before the core sees the input that brings them, so that what is
//! durable never refers to what is not. What people and other agents say is sent to the model whole, whatever its size.

use std::ops::Range;
use std::sync::Arc;

use windlass_core::event::RunInput;
use windlass_core::message::{Content, Media, MediaSource, Part, Ref, shortened};
use windlass_core::model::FailureDetail;
use windlass_core::run::Found;
use windlass_core::{CallOutcome, InputKind, Message, Text};
use windlass_store::{Payloads, StoreError};
use windlass_text::find::base64;

use crate::platform::environment::Environment;
use crate::platform::retry::again;

/// Where large results go.
#[derive(Clone, Copy)]
pub(crate) struct To<'s> {
    pub(crate) log: &'s dyn Payloads,
    /// Above how many bytes they are large.
    pub(crate) most: u64,
    pub(crate) environment: &'s dyn Environment,
}

/// Whether an input may have something that is stored ([`spill`]).
pub(crate) fn may_spill(what: &InputKind, most: u64) -> bool {
    what.text_bytes() >= most.min(base64::LEAST as u64)
}

/// Stores what is longer than the bound and puts references in its place.
pub(crate) async fn spill(to: To<'_>, what: &mut InputKind) -> Result<(), StoreError> {
    match what {
        InputKind::Start(start) => {
            if let RunInput::Messages(messages) = &mut start.input {
                for message in messages.iter_mut().filter(|message| is_long_result(message, to.most)) {
                    if let Message::Tool(result) = Arc::make_mut(message) {
                        spill_content(to, &mut result.content).await?;
                    }
                }
            }
        }
        InputKind::CallEnded { outcome, .. }
        | InputKind::CallLost { outcome, .. }
        | InputKind::CodeEnded { outcome, .. }
        | InputKind::DelegateEnded { outcome, .. }
        | InputKind::Checked { found: Found::Happened(outcome), .. } => {
            spill_outcome(to, outcome).await?;
        }
        InputKind::ModelFailed { failure, .. } => {
            if let Some(FailureDetail { reply: Some(reply), .. }) = failure.detail.as_deref_mut()
                && let Content::Text(text) = reply
                && text.len() as u64 > to.most
            {
                // It is kept as it came: no model reads it, and base64 in it stays where it is.
                *reply = Content::Parts(vec![Part::Stored(store(to, text).await?)]);
            }
        }
        InputKind::Resumed { .. }
        | InputKind::Replied { .. }
        | InputKind::CodeCalls { .. }
        | InputKind::DelegateAsks { .. }
        | InputKind::DelegateDeferred { .. }
        | InputKind::Checked { .. }
        | InputKind::HookEnded { .. }
        | InputKind::Answered { .. }
        | InputKind::Steer(_)
        | InputKind::Pause { .. }
        | InputKind::Queue { .. }
        | InputKind::Cancel { .. }
        | InputKind::ToolsChanged { .. }
        | InputKind::TimerFired { .. } => {}
    }
    Ok(())
}

/// Whether a message is a tool's result with a text or data of more than `most` bytes.
fn is_long_result(message: &Message, most: u64) -> bool {
    let Message::Tool(result) = message else { return false };
    match &result.content {
        Content::Text(text) => text.len() as u64 > most,
        Content::Parts(parts) => parts.iter().any(|part| match part {
            Part::Text { text } => text.len() as u64 > most,
            Part::Image(media) | Part::File(media) => is_long_data(media, most),
            Part::Stored(_) => false,
        }),
    }
}

fn is_long_data(media: &Media, most: u64) -> bool {
    matches!(&media.source, MediaSource::Base64(data) if data.len() as u64 > most)
}

async fn spill_outcome(to: To<'_>, outcome: &mut CallOutcome) -> Result<(), StoreError> {
    match outcome {
        CallOutcome::Ok { content } => spill_content(to, content).await,
        CallOutcome::Error { message, .. } => {
            shorten_error(to, message).await;
            Ok(())
        }
        CallOutcome::TimedOut { .. }
        | CallOutcome::Malformed { .. }
        | CallOutcome::Rejected { .. }
        | CallOutcome::UnknownTool { .. }
        | CallOutcome::Denied { .. }
        | CallOutcome::Skipped { .. }
        | CallOutcome::Interrupted
        | CallOutcome::Abandoned
        | CallOutcome::Unknown => Ok(()),
    }
}

/// An error's words are for the model to act on: base64 and what does not fit are of no use to it, and are not kept.
async fn shorten_error(to: To<'_>, message: &mut Text) {
    let data = base64_in(to, message).await;
    if !data.is_empty() {
        let (mut words, mut from) = (String::new(), 0);
        for data in data {
            words.push_str(message.get(from..data.start).unwrap_or_default());
            words.extend(["[", &data.len().to_string(), " characters of base64 are left out here]"]);
            from = data.end;
        }
        words.push_str(message.get(from..).unwrap_or_default());
        *message = words.into();
    }
    if message.len() as u64 > to.most {
        *message = shortened(message, to.most).into();
    }
}

async fn spill_content(to: To<'_>, content: &mut Content) -> Result<(), StoreError> {
    match content {
        Content::Text(text) => {
            if let Some(parts) = spill_text(to, text).await? {
                *content = Content::Parts(parts);
            }
        }
        Content::Parts(parts) => {
            let mut at = 0;
            while let Some(part) = parts.get_mut(at) {
                at += 1;
                match part {
                    Part::Text { text } => {
                        if let Some(spilt) = spill_text(to, text).await? {
                            let (from, count) = (at - 1, spilt.len());
                            parts.splice(from..at, spilt);
                            at = from + count;
                        }
                    }
                    Part::Image(media) | Part::File(media) if is_long_data(media, to.most) => {
                        store_data(to, media).await?;
                    }
                    Part::Image(_) | Part::File(_) | Part::Stored(_) => {}
                }
            }
        }
    }
    Ok(())
}

/// The parts that stand for a text: its base64 is of no use to a model, and the rest is cut where it is too long. `None`: the text
/// itself.
async fn spill_text(to: To<'_>, text: &Text) -> Result<Option<Vec<Part>>, StoreError> {
    let data = base64_in(to, text).await;
    if data.is_empty() && text.len() as u64 <= to.most {
        return Ok(None);
    }
    let mut parts = Vec::new();
    let mut from = 0;
    for data in data {
        let between = text.get(from..data.start).unwrap_or_default();
        parts.extend(cut(to, between).await?);
        from = data.end;
        let data: Arc<[u8]> = text.get(data).unwrap_or_default().as_bytes().into();
        let bytes = data.len() as u64;
        parts.push(Part::Stored(Ref::to_data(put(to, &data).await?, bytes)));
    }
    parts.extend(cut(to, text.get(from..).unwrap_or_default()).await?);
    Ok(Some(parts))
}

/// Where a text has base64. What a model reads of a stored result, which has no bound, is what it asked for.
async fn base64_in(to: To<'_>, text: &Text) -> Vec<Range<usize>> {
    if to.most == u64::MAX || text.len() < base64::LEAST {
        return Vec::new();
    }
    let (text, bytes) = (text.clone(), text.len() as u64);
    if to.environment.has_threads() {
        // Boxed: short texts pay nothing for the room of long ones.
        Box::pin(windlass_threads::off_thread(bytes, move || base64::found(&text))).await
    } else {
        base64::found(&text)
    }
}

/// A text, or what stands for one that is too long; nothing for nothing.
async fn cut(to: To<'_>, text: &str) -> Result<Option<Part>, StoreError> {
    if text.is_empty() {
        return Ok(None);
    }
    let text = Text::from(text);
    let is_long = text.len() as u64 > to.most;
    Ok(Some(if is_long { Part::Stored(store(to, &text).await?) } else { Part::Text { text } }))
}

/// Stores bytes. The same bytes are stored once, however often they are sent.
async fn put(to: To<'_>, bytes: &Arc<[u8]>) -> Result<Text, StoreError> {
    again(to.environment, || to.log.put(bytes.clone())).await
}

async fn store(to: To<'_>, text: &Text) -> Result<Ref, StoreError> {
    let sha256 = put(to, &Arc::from(text.clone())).await?;
    Ok(Ref::to_text(sha256, text, to.most))
}

async fn store_data(to: To<'_>, media: &mut Media) -> Result<(), StoreError> {
    if let MediaSource::Base64(data) = &media.source {
        let sha256 = put(to, &Arc::from(data.clone())).await?;
        media.source = MediaSource::Stored(Ref::to_data(sha256, data.len() as u64));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
