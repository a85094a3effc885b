//! What a tool's calls are bound to, beside its spec and their arguments: commands, variables, folders, hosts, servers.

use std::fmt::Display;
use std::sync::Arc;

use windlass_core::{Secret, Text};

/// One thing that decides what a tool's calls do. A change of it is a change of the agent, and an approval that was asked
/// for before does not count after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// What it is, in words: `command`, `variable TOKEN`, `folders`.
    pub what: Text,
    /// How it enters the digest of the agent, in clear. `None`: only that it is there, since its value may be a secret, or
    /// change while the agent stays the same.
    pub said: Option<Text>,
    /// Its value as it will be used. It enters the log as a salted digest only.
    pub value: Secret,
}

impl Bound {
    /// Something that is no secret.
    pub fn open(what: impl Into<Text>, value: impl Display) -> Self {
        let value = value.to_string();
        Self { what: what.into(), said: Some(value.as_str().into()), value: Secret::unmasked(value) }
    }

    /// Something that may be a secret, or change while the agent stays the same.
    pub fn hidden(what: impl Into<Text>, value: impl Into<Arc<str>>) -> Self {
        // Whoever took a secret from a file or a program had it masked then.
        Self { what: what.into(), said: None, value: Secret::unmasked(value) }
    }
}
