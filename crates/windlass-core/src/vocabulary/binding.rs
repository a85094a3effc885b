//! Binding digests: salted digests of what decides what a tool's calls do, beside its spec and the arguments.
//!
//! An approval is bound to them. The values themselves (commands, variables, headers, addresses) never enter the log.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::vocabulary::ids::Text;

/// The binding digests of all tools of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindingDigests {
    /// Random prefix of every digest: prevents a lookup of a value by its digest in another log.
    pub salt: Text,
    /// The binding digests, one entry for all tools whose parts are equal. Tools without parts have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub digests: Vec<BindingDigest>,
}

/// The parts that decide what some tools do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindingDigest {
    /// The tools: by name, or `call_parent_tool/NAME` and `branch/NAME` for what these reach.
    pub tools: Vec<Text>,
    /// The digest of each part, by the part's name: `command`, `variable TOKEN`, `folders`, ….
    pub parts: BTreeMap<Text, Text>,
}

impl BindingDigests {
    /// Binding digests without parts.
    pub fn new(salt: impl Into<Text>) -> Self {
        Self { salt: salt.into(), digests: Vec::new() }
    }

    /// Adds the parts of a tool: names with their values.
    pub fn add<'v>(&mut self, tool: Text, parts: impl IntoIterator<Item = (Text, &'v str)>) {
        let parts: BTreeMap<Text, Text> =
            parts.into_iter().map(|(part, value)| (part.clone(), self.digest_of(&part, value))).collect();
        if parts.is_empty() {
            return;
        }
        match self.digests.iter_mut().find(|digest| digest.parts == parts) {
            Some(digest) => digest.tools.push(tool),
            None => self.digests.push(BindingDigest { tools: vec![tool], parts }),
        }
    }

    /// The parts of a tool.
    pub fn parts(&self, tool: &str) -> Option<&BTreeMap<Text, Text>> {
        let digest = self.digests.iter().find(|digest| digest.tools.iter().any(|other| **other == *tool))?;
        Some(&digest.parts)
    }

    fn digest_of(&self, part: &str, value: &str) -> Text {
        digest([self.salt.as_bytes(), part.as_bytes(), value.as_bytes()])
    }
}

/// SHA-256 over parts, each with its length before it.
pub(crate) fn digest<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Text {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> Text {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
        .into()
}
