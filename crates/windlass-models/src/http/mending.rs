//! Owns the repair of JSON that servers write against its specification: halves of surrogate pairs, numbers that are none, bytes
//! that are no UTF-8. A reply that was paid for is read in spite of them.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use windlass_core::model::FailureKind;

pub(super) use self::halves::Halves;
use self::lenient::readable;
use crate::wires::{DecodeError, PiecedTexts, quoted};

mod halves;
mod lenient;
mod scan;

/// Reads a body that is a whole, once more in a mended form if it cannot be read as it is.
pub(super) fn tolerant<T>(
    data: &[u8],
    read: impl FnMut(&[u8]) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    // Halves of pairs are replaced before, because a reader that passes over them unread would lose the whole text.
    let halves = Halves::new(&PiecedTexts::NONE).take(data).and_then(|mended| mended.data);
    lenient(data, halves.as_deref().unwrap_or(data), read)
}

/// Reads data that came in this form, once more in a mended form if they are no JSON.
pub(super) fn lenient<T>(
    came: &[u8],
    data: &[u8],
    mut read: impl FnMut(&[u8]) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let error = match read(data) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let mut last = Cow::Borrowed(data);
    // A failure that is none of the syntax comes from a part of the data that was read, and stays.
    let is_json = |data: &[u8]| serde_json::from_slice::<IgnoredAny>(data).is_ok();
    let mends = error.kind == FailureKind::Protocol && !is_json(data);
    // Words and pages in place of JSON are told as they came.
    let again = if mends { readable(data).filter(|mended| is_json(mended)) } else { None };
    let error = match again {
        Some(mended) => match read(&mended) {
            Ok(value) => return Ok(value),
            Err(error) => {
                last = Cow::Owned(mended);
                error
            }
        },
        None => error,
    };
    // A person looks for the bytes in what the server sent.
    let message =
        if *last == *came { error.message } else { error.message.replace(&quoted(&last), &quoted(came)) };
    Err(DecodeError { message, ..error })
}

#[cfg(test)]
mod tests;
