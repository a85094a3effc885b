//! Owns what is kept of the body of a failed call, for people who look for the reason.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use windlass_core::message::Content;
use windlass_core::model::{FailureDetail, KEPT_REPLY_BYTES, ModelFailure};
use windlass_core::secret::{Masker, SECRET_MARGIN, mask, mask_first};

use super::frames::Frames;
use crate::Delta;
use crate::wires::{Dialect, Wire};

/// Maximum number of bytes that are read of a body that is kept: a secret at the cut is masked as a whole.
pub(super) const READ_BYTES: usize = KEPT_REPLY_BYTES + SECRET_MARGIN;

/// Replacement for the body of a stream whose pieces together contain a secret: no mask finds it in the body.
const LEFT_OUT: &str = "[left out: its pieces hold a credential of this agent]";

/// The beginning of a body that is being read.
#[derive(Debug, Default)]
pub(super) struct Received(Vec<u8>);

impl Received {
    /// Adds bytes as they came.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let room = READ_BYTES - self.0.len();
        self.0.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    /// The failure with the body of its stream.
    pub(super) fn of_stream(
        &self,
        failure: ModelFailure,
        wire: &dyn Wire,
        dialect: &Dialect,
    ) -> ModelFailure {
        let mut failure = of_body(failure, &self.0);
        if let Some(detail) = &mut failure.detail
            && let Some(Content::Text(body)) = &detail.reply
            && holds_split_secret(body, wire, dialect)
        {
            detail.reply = Some(LEFT_OUT.into());
        }
        failure
    }
}

/// The failure with a body of the server, as far as it was read.
pub(super) fn of_body(mut failure: ModelFailure, body: &[u8]) -> ModelFailure {
    if body.is_empty() {
        return failure;
    }
    let (text, is_cut) = mask_first(body.get(..READ_BYTES).unwrap_or(body), KEPT_REPLY_BYTES);
    let reply = Some(Content::Text(text.into()));
    let tool = failure.tool().cloned();
    failure.detail = Some(Box::new(FailureDetail { tool, setting: None, reply, is_cut }));
    failure
}

/// Whether the pieces of a stream contain a secret together that none of them contains alone.
fn holds_split_secret(body: &str, wire: &dyn Wire, dialect: &Dialect) -> bool {
    if Masker::of_process().is_empty() {
        return false;
    }
    let mut frames = Frames::bounded(wire.facts().framing, READ_BYTES * 3);
    let (mut decoder, mut queue) = (wire.decoder(dialect), VecDeque::new());
    if frames.push(body.as_bytes()).is_err() {
        return true;
    }
    frames.end();
    while frames.find().is_some() && decoder.event(frames.data(), &mut queue).is_ok() {}
    let mut texts: BTreeMap<(u8, Option<u32>), String> = BTreeMap::new();
    for delta in queue {
        let (of, text) = match delta {
            Delta::Text(text) => ((0, None), text),
            Delta::Reasoning(text) => ((1, None), text),
            Delta::Call { index, args, .. } => ((2, index), args),
            Delta::Sealed(_)
            | Delta::Media(_)
            | Delta::Annotation(_)
            | Delta::Usage(_)
            | Delta::Stop(_)
            | Delta::Whole(_)
            | Delta::Thought => continue,
        };
        texts.entry(of).or_default().push_str(&text);
    }
    texts.values().any(|text| matches!(mask(text), Cow::Owned(_)))
}

#[cfg(test)]
mod tests;
