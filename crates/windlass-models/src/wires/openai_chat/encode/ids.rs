//! Owns the ids of calls as this wire's servers take them, whoever made them.

use std::borrow::Cow;

use windlass_core::CallId;

use crate::wires::Dialect;
use crate::wires::own_ids::OwnIds;

/// The longest id that OpenAI takes ("string too long: maximum length 40").
const MAX_ID_BYTES: usize = 40;

/// The length of an id where the server demands nine letters and digits (Mistral, "Function calling").
const SHORT: usize = 9;

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Whether OpenAI takes an id for too long.
pub(in crate::wires::openai_chat) fn is_long(id: &str) -> bool {
    id.len() > MAX_ID_BYTES
}

/// An id that the server takes: as it is, or a digest of it. The same id gives the same one in every request.
pub(super) fn call_id<'i>(dialect: &Dialect, own: &OwnIds, id: &'i CallId) -> Cow<'i, str> {
    if own.has(id) {
        return id.as_str().into();
    }
    translated(dialect, id.as_str())
}

fn translated<'i>(dialect: &Dialect, id: &'i str) -> Cow<'i, str> {
    if dialect.quirks.short_ids {
        let fits = id.len() == SHORT && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        return if fits { id.into() } else { digest(id, SHORT).into() };
    }
    if is_long(id) { format!("call_{}", digest(id, 20)).into() } else { id.into() }
}

/// So many letters and digits that depend on all of the id (FNV-1a, 64 bits, continued for each letter).
fn digest(id: &str, length: usize) -> String {
    let mut state: u64 = 0xcbf2_9ce4_8422_2325;
    let mut mix = |byte: u8| {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        state
    };
    for byte in id.bytes() {
        mix(byte);
    }
    (0..length)
        .map(|at| {
            let state = mix(at as u8);
            // The high bits of a product depend on all of its factors.
            let place = usize::try_from((state >> 32) % 62).unwrap_or(0);
            LETTERS.get(place).map_or('0', |letter| char::from(*letter))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::translated as call_id;
    use crate::wires::{Dialect, Quirks};

    #[test]
    fn e58_ids_of_other_providers_are_translated_and_stay_apart() {
        let mistral = Dialect { quirks: Quirks { short_ids: true, ..Quirks::NONE }, ..Dialect::default() };
        let ids: BTreeSet<String> =
            (0..2_000).map(|at| call_id(&mistral, &format!("toolu_01A{at}")).into_owned()).collect();
        assert_eq!(ids.len(), 2_000, "they stay apart");
        assert!(ids.iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())));
        assert_eq!(call_id(&mistral, "D681PevKs"), "D681PevKs");
        assert_eq!(call_id(&mistral, "call_1"), call_id(&mistral, "call_1"));
        let dialect = Dialect::default();
        assert_eq!(call_id(&dialect, "functions.get_weather:0"), "functions.get_weather:0");
        let long = "x".repeat(64);
        assert!(call_id(&dialect, &long).len() <= 40);
        assert_ne!(call_id(&dialect, &long), call_id(&dialect, &"x".repeat(65)));
    }
}
