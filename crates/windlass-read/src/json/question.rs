//! The digest of a question, with which an answer says what its sender read (E75).

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use windlass_core::Text;
use windlass_core::run::OpenQuestion;

/// The bytes of a digest that are shown.
const BYTES: usize = 4;

/// The digest of a question: the first eight hexadecimal digits of SHA-256 over its id, kind, call, words and suggestions. An answer
/// that names it is refused where the question is another one than the person read.
pub fn question_digest(open: &OpenQuestion) -> Text {
    let OpenQuestion { id, kind, call, text, suggestions, .. } = open;
    let whole = serde_json::to_vec(&(id, kind, call, text, suggestions)).unwrap_or_default();
    let digest = Sha256::digest(whole);
    let mut hex = String::with_capacity(2 * BYTES);
    for byte in digest.iter().take(BYTES) {
        // Writing into a String cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex.into()
}
