//! Seals: salted digests of what decides what a tool's calls do, beside its spec and the arguments.
//!
//! An approval is bound to them. The values themselves (commands, variables, headers, addresses) never enter the log.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ids::Text;
use crate::open_call::OpenCall;
use crate::state::{State, hex};

/// The seals of all tools of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seals {
    /// Random prefix of every digest: prevents a lookup of a value by its digest in another log.
    pub salt: Text,
    /// The seals, one entry for all tools whose parts are equal. Tools without parts have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<Sealed>,
}

/// The parts that decide what some tools do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// The tools: by name, or `call_parent_tool/NAME` and `branch/NAME` for what these reach.
    pub tools: Vec<Text>,
    /// The digest of each part, by the part's name: `command`, `variable TOKEN`, `folders`, ….
    pub parts: BTreeMap<Text, Text>,
}

impl Seals {
    /// Seals without parts.
    pub fn new(salt: impl Into<Text>) -> Self {
        Self { salt: salt.into(), of: Vec::new() }
    }

    /// Adds the parts of a tool: names with their values.
    pub fn add<'v>(&mut self, tool: Text, parts: impl IntoIterator<Item = (Text, &'v str)>) {
        let parts: BTreeMap<Text, Text> =
            parts.into_iter().map(|(part, value)| (part.clone(), self.seal(&part, value))).collect();
        if parts.is_empty() {
            return;
        }
        match self.of.iter_mut().find(|sealed| sealed.parts == parts) {
            Some(sealed) => sealed.tools.push(tool),
            None => self.of.push(Sealed { tools: vec![tool], parts }),
        }
    }

    /// The parts of a tool.
    pub fn parts(&self, tool: &str) -> Option<&BTreeMap<Text, Text>> {
        let sealed = self.of.iter().find(|sealed| sealed.tools.iter().any(|other| **other == *tool))?;
        Some(&sealed.parts)
    }

    fn seal(&self, part: &str, value: &str) -> Text {
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

impl State {
    /// The seals of the run's tools; `None`: nothing is sealed.
    pub fn seals(&self) -> Option<&Arc<Seals>> {
        self.toolbox.seals.as_ref()
    }

    /// The sealed parts of what a call runs.
    pub(crate) fn sealed_parts(&self, open: &OpenCall) -> Option<&BTreeMap<Text, Text>> {
        let name = &open.call.name;
        match &open.reached {
            None => self.toolbox.seals.as_ref()?.parts(name),
            Some(reached) => self.toolbox.seals.as_ref()?.parts(&format!("{name}/{}", reached.name)),
        }
    }
}
