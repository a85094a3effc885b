//! The hashes of an export. The line of an event carries a SHA-256 over its own content and the hash before it in its run, so
//! that an import finds any letter that was changed on the way. The hashes have no key: they find damage, not forgery.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use windlass_core::RunId;

/// The hashed fields of an event's line.
#[derive(Debug)]
pub(super) struct Line<'l> {
    pub(super) run: RunId,
    pub(super) seq: u64,
    pub(super) at: u64,
    pub(super) event: &'l str,
    pub(super) data: &'l Value,
    pub(super) append: u64,
    /// The cause of the append, where the event is its first.
    pub(super) cause: Option<&'l Value>,
}

/// The hash of the last line of a run, in lower-case hexadecimal; empty before the first.
#[derive(Debug, Default)]
pub(super) struct Hashes(String);

impl Hashes {
    /// The hash of the next line. It is made of values, not of bytes: spaces and escapes may change on the way.
    pub(super) fn next(&mut self, line: &Line<'_>) -> &str {
        let Line { run, seq, at, event, data, append, cause } = line;
        let mut hash = Sha256::new();
        hash.update(&self.0);
        hash.update(json!([run, seq, at, event, data, append, cause]).to_string());
        self.0.clear();
        for byte in hash.finalize() {
            // Writing to a string cannot fail.
            let _ = write!(self.0, "{byte:02x}");
        }
        &self.0
    }
}
