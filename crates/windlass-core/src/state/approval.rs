//! The gate: the digest that an approval of a call is bound to.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use crate::state::State;
use crate::state::open_call::OpenCall;
use crate::vocabulary::binding::{BindingDigests, digest};
use crate::vocabulary::ids::Text;

/// Everything that decides what a call would do, as it stood when a person was asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Gate {
    /// SHA-256 over all parts, as the log has it.
    digest: Text,
    /// A digest of each part, by the part's name in words.
    parts: Vec<(Text, Text)>,
}

impl Gate {
    /// Its digest, for the log.
    pub(crate) fn into_digest(self) -> Text {
        self.digest
    }

    /// SHA-256 over all parts, as the log has it.
    pub(crate) fn digest(&self) -> &Text {
        &self.digest
    }

    /// The same under the digest that stands in the log: one of an earlier version may be another.
    pub(crate) fn under(mut self, digest: &Text) -> Self {
        self.digest = digest.clone();
        self
    }

    /// The parts that are not as they were, in words.
    pub(crate) fn changes(&self, now: &Self) -> Vec<Text> {
        let differs = |(name, digest): &&(Text, Text), others: &[(Text, Text)]| {
            !others.iter().any(|(other, found)| other == name && found == digest)
        };
        let fresh = now.parts.iter().filter(|part| differs(part, &self.parts));
        let gone = self.parts.iter().filter(|(name, _)| !now.parts.iter().any(|(other, _)| other == name));
        fresh.chain(gone).map(|(name, _)| name.clone()).collect()
    }
}

impl State {
    /// The gate that an approval of the call would be bound to now. It excludes timeouts and the availability of agents,
    /// because neither changes what the call does.
    pub(crate) fn gate(&self, open: &OpenCall) -> Gate {
        let parts = self.gate_parts(open, Some(open.args()));
        Gate { digest: digest_of(&parts), parts }
    }

    /// The digest of the gate without the arguments: what a rule of the session is bound to. The agent and the tool that reaches
    /// another one belong to it.
    pub(crate) fn tool_gate(&self, open: &OpenCall) -> Text {
        let agent = self.agent().map_or("", |agent| &*agent.name);
        let own = [("agent", agent), ("called by", &*open.call.name)];
        let mut parts = own.map(|(name, value)| (name.into(), digest([value.as_bytes()]))).to_vec();
        parts.extend(self.gate_parts(open, None));
        digest_of(&parts)
    }

    /// A digest of each part of a call's gate, by the part's name.
    fn gate_parts(&self, open: &OpenCall, args: Option<&str>) -> Vec<(Text, Text)> {
        let mut parts: Vec<(Text, Text)> = Vec::new();
        let mut part = |name: &str, value: &[u8]| parts.push((name.into(), digest([value])));
        part("name", open.target_name().as_bytes());
        if let Some(tool) = self.target(open) {
            part("description", tool.description.as_bytes());
            part("parameters", tool.parameters.to_string().as_bytes());
            let kept = json!([tool.effect, tool.kind, tool.has_check, tool.retries]);
            part("effect and retries", kept.to_string().as_bytes());
        }
        if let Some(args) = args {
            part("arguments", args.as_bytes());
        }
        let policy = json!([self.setup.policy().tools.approve, self.setup.policy().tools.deny]);
        part("lists of tools to approve and deny", policy.to_string().as_bytes());
        for (name, digest) in self.bound_parts(open).into_iter().flatten() {
            parts.push((name.clone(), digest.clone()));
        }
        parts
    }
}

fn digest_of(parts: &[(Text, Text)]) -> Text {
    digest(parts.iter().flat_map(|(name, digest)| [name.as_bytes(), digest.as_bytes()]))
}

impl State {
    /// The binding digests of the run's tools; `None`: nothing is bound.
    pub fn binding_digests(&self) -> Option<&Arc<BindingDigests>> {
        self.toolbox.binding_digests()
    }

    /// The bound parts of what a call runs.
    pub(crate) fn bound_parts(&self, open: &OpenCall) -> Option<&BTreeMap<Text, Text>> {
        let name = &open.call.name;
        match open.reached() {
            None => self.toolbox.binding_digests()?.parts(name),
            Some(reached) => self.toolbox.binding_digests()?.parts(&format!("{name}/{}", reached.name())),
        }
    }
}
