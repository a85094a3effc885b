//! Payloads: what stores promise, their digests, and which of them events need.

use std::collections::BTreeSet;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use windlass_core::{Event, RunId, Text};

use crate::error::{Answer, StoreError};

/// The most bytes of one payload (1 GiB). More are refused ([`StoreError::TooLarge`]).
pub const PAYLOAD_BYTES: u64 = 1 << 30;

/// Keeps bytes that are too large for events.
pub trait Payloads: Send + Sync + std::fmt::Debug {
    /// Keeps bytes once, however often they are given, under their SHA-256 in lower-case hexadecimal. Durable when the
    /// future ends well. They stay as long as an event refers to them ([`Fact::refs`](windlass_core::Fact::refs)); an
    /// append whose events refer to bytes that are not there is refused ([`StoreError::UnknownPayload`]).
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] above [`PAYLOAD_BYTES`].
    fn put(&self, bytes: Arc<[u8]>) -> Answer<'_, Text>;

    /// Up to `max` bytes of a payload, starting at byte `from` (0 is the first); fewer only at its end.
    ///
    /// # Errors
    /// [`StoreError::UnknownPayload`].
    fn get(&self, sha256: &str, from: u64, max: usize) -> Answer<'_, Vec<u8>>;

    /// The size in bytes of a payload that an event of a run refers to; `None`: no event of the run does, or there is no such run. Found
    /// without reading events, so that whoever gives payloads by run can ask it for each piece.
    fn size_in(&self, run: RunId, sha256: &str) -> Answer<'_, Option<u64>>;
}

/// SHA-256 of a payload.
pub(crate) type Digest = [u8; 32];

/// The name under which bytes are kept ([`Payloads::put`]).
pub fn payload_name(bytes: &[u8]) -> Text {
    name(&Sha256::digest(bytes).into())
}

/// The digest of bytes that are not too many.
pub(crate) fn digest(bytes: &[u8]) -> Result<Digest, StoreError> {
    let count = bytes.len() as u64;
    if count > PAYLOAD_BYTES {
        return Err(StoreError::TooLarge { bytes: count, max: PAYLOAD_BYTES });
    }
    Ok(Sha256::digest(bytes).into())
}

/// A digest as events write it: lower-case hexadecimal.
pub(crate) fn name(digest: &Digest) -> Text {
    use std::fmt::Write as _;
    let mut name = String::with_capacity(digest.len() * 2);
    for byte in digest {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name.into()
}

/// Reads what [`name`] wrote.
pub(crate) fn parse(name: &str) -> Result<Digest, StoreError> {
    let unknown = || StoreError::UnknownPayload { sha256: name.to_owned() };
    let mut digest = Digest::default();
    if name.len() != digest.len() * 2 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(unknown());
    }
    for (place, byte) in digest.iter_mut().enumerate() {
        let pair = name.get(place * 2..place * 2 + 2).ok_or_else(unknown)?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| unknown())?;
    }
    Ok(digest)
}

/// The payloads that these events refer to, each once.
pub(crate) fn needed(events: &[Event]) -> Result<Vec<Digest>, StoreError> {
    let mut needed = BTreeSet::new();
    for event in events {
        for stored in event.fact.refs() {
            needed.insert(parse(&stored.sha256)?);
        }
    }
    Ok(needed.into_iter().collect())
}
