//! Digests and binding digests that an agent and the approvals of its calls are bound to.

use std::sync::Arc;

use serde_json::json;
use sha2::{Digest, Sha256};
use windlass_agent_file::Written;
use windlass_core::event::BindingDigests;
use windlass_core::secret::Secret;
use windlass_core::tool::{BRANCH_TOOL, PARENT_TOOL};
use windlass_core::{Text, ToolSpec};
use windlass_tools::{Bound, ToolSet};

use crate::agent::{Agent, ModelSet, Toolset};
use crate::branches::Above;

/// Under which name what belongs to the agent as a whole is bound: no tool has it.
pub(crate) const WHOLE_AGENT: &str = "";
/// The part that is literal text of the agent's file: it is another agent where that changes.
pub(crate) const LITERALS: &str = "literal values of its file";
/// Name of the digest's part for tools lent by parent agents.
const LENT: &str = "tools of the agent above";

/// The literal values of an agent's file as one.
fn literals_of(written: &Written) -> Option<Bound> {
    let literals = written.literals.iter().map(Secret::expose);
    (!written.literals.is_empty()).then(|| Bound::hidden(LITERALS, joined(literals)))
}

/// SHA-256 over the JSON of something.
pub(crate) fn digest(parts: &impl serde::Serialize) -> Text {
    let json = serde_json::to_vec(parts).unwrap_or_default();
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(json) {
        use std::fmt::Write as _;
        // Writing into a String cannot fail.
        let _infallible = write!(text, "{byte:02x}");
    }
    text.into()
}

/// The parts of something with a name, as they enter the digest of an agent.
pub(crate) type Said = (String, Vec<(Text, Option<Text>)>);

/// Adds parts to the digest of an agent.
pub(crate) fn said(name: &str, parts: &[Bound]) -> Option<Said> {
    let parts: Vec<_> = parts.iter().map(|part| (part.what.clone(), part.said.clone())).collect();
    (!parts.is_empty()).then(|| (name.to_owned(), parts))
}

/// Texts as one, so that no two lists look the same.
fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut all = String::new();
    for text in texts {
        all.push_str(&text.len().to_string());
        all.push(' ');
        all.push_str(text);
    }
    all
}

impl Toolset {
    /// Everything with a name that is bound, with its parts, where these are its tools now.
    pub(crate) fn bound(&self, tools: &ToolSet, written: &Written) -> Vec<(Text, Vec<Bound>)> {
        let own = tools.iter().map(|tool| (tool.spec().name.clone(), tool.binding()));
        let delegates = self.delegates.iter().map(|delegate| (delegate.name().into(), delegate.binding()));
        let higher: Vec<(ToolSpec, Vec<Bound>)> = self.above.iter().flat_map(reached).collect();
        let lent = (!self.branches.is_empty()).then(|| lent(tools, &higher));
        let branches = self.branches.iter().map(|branch| {
            let name = format!("{BRANCH_TOOL}/{}", branch.agent.name()).into();
            (name, branch.agent.binding().into_iter().chain(lent.clone()).collect())
        });
        let reached =
            higher.iter().map(|(spec, parts)| (format!("{PARENT_TOOL}/{}", spec.name).into(), parts.clone()));
        let whole = literals_of(written).map(|part| (WHOLE_AGENT.into(), vec![part]));
        let all = own.chain(delegates).chain(branches).chain(reached).chain(whole);
        all.filter(|(_, parts)| !parts.is_empty()).collect()
    }
}

/// The tools of the agents above one, with their parts.
fn reached(above: &Above) -> impl Iterator<Item = (ToolSpec, Vec<Bound>)> {
    above.tools().into_iter().map(|spec| {
        let tool = above.tool(&spec.name);
        (spec, tool.map(|tool| tool.binding()).unwrap_or_default())
    })
}

/// The tools of parent agents that a branch may call, as one part: descriptions and bindings.
fn lent(own: &ToolSet, higher: &[(ToolSpec, Vec<Bound>)]) -> Bound {
    let own = own.iter().map(|tool| (tool.spec(), tool.binding()));
    let higher = higher.iter().map(|(spec, parts)| (spec, parts.clone()));
    let lines = own.chain(higher).map(|(spec, parts)| {
        let settings = json!([spec.effect, spec.kind, spec.has_check, spec.retries]);
        let said = json!([spec.name, spec.description, spec.parameters, settings]).to_string();
        let values = parts.iter().flat_map(|part| [&*part.what, part.value.expose()]);
        joined(std::iter::once(&*said).chain(values))
    });
    let lines: Vec<String> = lines.collect();
    Bound::hidden(LENT, joined(lines.iter().map(String::as_str)))
}

/// The binding digests of these parts; `None`: there are none.
pub(crate) fn digested(salt: &Text, parts: &[(Text, Vec<Bound>)]) -> Option<Arc<BindingDigests>> {
    let mut binding_digests = BindingDigests::new(salt.clone());
    for (name, parts) in parts {
        binding_digests.add(name.clone(), parts.iter().map(|part| (part.what.clone(), part.value.expose())));
    }
    (!binding_digests.digests.is_empty()).then(|| Arc::new(binding_digests))
}

impl ModelSet {
    /// Addresses of the agent's models. The part has no name of its own, because whether there are addresses depends on what
    /// `auto` finds.
    fn bound(&self) -> String {
        let bound = self.by_name.iter().map(|(name, model)| (name, model.binding()));
        let of = |(name, parts): (&Text, Vec<(String, Secret)>)| {
            let parts = parts.iter().flat_map(|(part, value)| [part.as_str(), value.expose()]);
            joined(std::iter::once(&**name).chain(parts))
        };
        let all: Vec<String> = bound.filter(|(_, parts)| !parts.is_empty()).map(of).collect();
        joined(all.iter().map(String::as_str))
    }
}

impl Agent {
    /// Binding of the agent's tasks: everything that its digest covers, and the values that its tools use.
    pub(crate) fn binding(&self) -> Vec<Bound> {
        let identity = &self.spec().identity;
        let parts = self.toolset().bound(&self.toolbox().tools, &self.spec().written);
        let values = |literal: bool| {
            let all = parts.iter().flat_map(|(_, parts)| parts);
            let wanted = all.filter(move |part| (*part.what == *LITERALS) == literal);
            joined(wanted.map(|part| part.value.expose()))
        };
        let models = self.model_set().bound();
        let mut all = vec![Bound {
            what: "agent".into(),
            said: Some(identity.clone()),
            value: Secret::unmasked(format!("{identity}{}{models}", values(false))),
        }];
        let literals = values(true);
        if !literals.is_empty() {
            all.push(Bound::hidden(LITERALS, literals));
        }
        all
    }

    /// The binding digests of its tools under the salt of a run.
    pub(crate) fn binding_digests(&self, salt: Option<&Text>) -> Option<Arc<BindingDigests>> {
        let toolbox = self.toolbox();
        match salt.filter(|salt| **salt != self.spec().salt) {
            None => toolbox.digests.clone(),
            Some(salt) => digested(salt, &self.toolset().bound(&toolbox.tools, &self.spec().written)),
        }
    }

    /// The binding digests for a run that has these, if they have changed.
    pub(crate) fn changed_binding_digests(
        &self,
        known: Option<&Arc<BindingDigests>>,
    ) -> Option<Arc<BindingDigests>> {
        let fresh = self.binding_digests(known.map(|binding_digests| &binding_digests.salt));
        match (fresh, known) {
            (Some(fresh), Some(known)) => (fresh != *known).then_some(fresh),
            (Some(fresh), None) => Some(fresh),
            (None, Some(known)) if known.digests.is_empty() => None,
            (None, Some(known)) => Some(Arc::new(BindingDigests::new(known.salt.clone()))),
            (None, None) => None,
        }
    }
}
