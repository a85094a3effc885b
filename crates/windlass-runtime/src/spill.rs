//! Results that are too large for events: stored before the core sees the input that brings them, so that what is
//! durable never refers to what is not. What people and other agents say is sent to the model whole, whatever its size.

use std::sync::Arc;

use windlass_core::event::RunInput;
use windlass_core::message::Part;
use windlass_core::message::{Content, Media, MediaSource, Ref, shortened};
use windlass_core::run::Found;
use windlass_core::{CallOutcome, InputKind, Message, Text};
use windlass_store::{Payloads, StoreError};

/// Stores what is longer than `most` bytes and puts references in its place.
pub(crate) async fn spill(log: &dyn Payloads, most: u64, what: &mut InputKind) -> Result<(), StoreError> {
    match what {
        InputKind::Start(start) => {
            if let RunInput::Messages(messages) = &mut start.input {
                for message in messages.iter_mut().filter(|message| is_long_result(message, most)) {
                    if let Message::Tool(result) = Arc::make_mut(message) {
                        spill_content(log, most, &mut result.content).await?;
                    }
                }
            }
        }
        InputKind::CallEnded { outcome, .. }
        | InputKind::CodeEnded { outcome, .. }
        | InputKind::Delegated { outcome, .. }
        | InputKind::Checked { found: Found::Happened(outcome), .. } => {
            spill_outcome(log, most, outcome).await?;
        }
        InputKind::Resumed { .. }
        | InputKind::ResumedWithTools { .. }
        | InputKind::Adopted { .. }
        | InputKind::Replied { .. }
        | InputKind::Objected { .. }
        | InputKind::Raced { .. }
        | InputKind::ModelFailed { .. }
        | InputKind::CodeCalls { .. }
        | InputKind::DelegateAsks { .. }
        | InputKind::DelegateWaits { .. }
        | InputKind::Checked { .. }
        | InputKind::Stepped { .. }
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

async fn spill_outcome(log: &dyn Payloads, most: u64, outcome: &mut CallOutcome) -> Result<(), StoreError> {
    match outcome {
        CallOutcome::Ok { content } => spill_content(log, most, content).await,
        // An error's words are for the model to act on: what does not fit is of no use to it.
        CallOutcome::Error { message, .. } if message.len() as u64 > most => {
            *message = shortened(message, most).into();
            Ok(())
        }
        CallOutcome::Error { .. }
        | CallOutcome::TimedOut { .. }
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

async fn spill_content(log: &dyn Payloads, most: u64, content: &mut Content) -> Result<(), StoreError> {
    match content {
        Content::Text(text) if text.len() as u64 > most => {
            *content = Content::Parts(vec![Part::Stored(store(log, most, text).await?)]);
        }
        Content::Text(_) => {}
        Content::Parts(parts) => {
            for part in parts {
                match part {
                    Part::Text { text } if text.len() as u64 > most => {
                        *part = Part::Stored(store(log, most, text).await?);
                    }
                    Part::Image(media) | Part::File(media) if is_long_data(media, most) => {
                        store_data(log, media).await?;
                    }
                    Part::Text { .. } | Part::Image(_) | Part::File(_) | Part::Stored(_) => {}
                }
            }
        }
    }
    Ok(())
}

async fn store(log: &dyn Payloads, most: u64, text: &Text) -> Result<Ref, StoreError> {
    let sha256 = log.put(Arc::from(text.clone())).await?;
    Ok(Ref::to_text(sha256, text, most))
}

async fn store_data(log: &dyn Payloads, media: &mut Media) -> Result<(), StoreError> {
    if let MediaSource::Base64(data) = &media.source {
        let sha256 = log.put(Arc::from(data.clone())).await?;
        media.source = MediaSource::Stored(Ref::to_data(sha256, data.len() as u64));
    }
    Ok(())
}
