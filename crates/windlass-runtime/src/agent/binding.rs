//! Digests and binding digests that an agent and the approvals of its calls are bound to.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use windlass_agent_file::Written;
use windlass_core::Text;
use windlass_core::event::BindingDigests;
use windlass_core::secret::Secret;
use windlass_tools::Bound;

/// Under which name what belongs to the agent as a whole is bound: no tool has it.
pub(crate) const WHOLE_AGENT: &str = "";
/// The part that is literal text of the agent's file: it is another agent where that changes.
pub(crate) const LITERALS: &str = "literal values of its file";

/// The literal values of an agent's file as one.
pub(crate) fn literals_of(written: &Written) -> Option<Bound> {
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
pub(crate) type DigestParts = (String, Vec<(Text, Option<Text>)>);

/// The parts of something with a name for the digest of an agent; `None`: it has none.
pub(crate) fn digest_parts(name: &str, parts: &[Bound]) -> Option<DigestParts> {
    let parts: Vec<_> = parts.iter().map(|part| (part.what.clone(), part.cleartext.clone())).collect();
    (!parts.is_empty()).then(|| (name.to_owned(), parts))
}

/// Texts as one, so that no two lists look the same.
pub(crate) fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut all = String::new();
    for text in texts {
        all.push_str(&text.len().to_string());
        all.push(' ');
        all.push_str(text);
    }
    all
}

/// The binding digests of these parts; `None`: there are none.
pub(crate) fn digested(salt: &Text, parts: &[(Text, Vec<Bound>)]) -> Option<Arc<BindingDigests>> {
    let mut binding_digests = BindingDigests::new(salt.clone());
    for (name, parts) in parts {
        binding_digests.add(name.clone(), parts.iter().map(|part| (part.what.clone(), part.value.expose())));
    }
    (!binding_digests.digests.is_empty()).then(|| Arc::new(binding_digests))
}
