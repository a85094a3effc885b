//! SHA-256 of bytes, in lower-case hexadecimal.

use sha2::{Digest as _, Sha256};

pub(super) fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        // Writing into a String cannot fail.
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}
