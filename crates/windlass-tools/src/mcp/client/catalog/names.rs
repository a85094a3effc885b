//! Owns the names under which a server's tools are offered.

use std::collections::HashMap;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use windlass_core::secret::mask;

use crate::mcp::config::McpConfig;
use crate::set::MAX_NAME;

/// Separator between the prefix and the server's name of a tool.
const SEPARATOR: &str = "__";

/// Number of digest characters that end a shortened name.
const DIGEST_CHARS: usize = 8;

/// Number of digest characters that tell apart what would be the same, or nothing.
const MARK_CHARS: usize = 6;

/// Minimum number of letters and digits that make a name that was changed.
const MIN_LEFT: usize = 3;

/// The name under which a tool is offered.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) name: String,
    /// Whether it says too little of the server's own name.
    pub(super) marked: bool,
}

/// The names for tools of these names of their server, in their order. Letters and digits stay, with `_` and `-`, and each
/// other character becomes `_`. Six digits of the digest of the server's own name are added to names that would be equal,
/// and to those of which too little is left.
pub(super) fn offered(config: &McpConfig, remotes: &[&str]) -> Vec<Offered> {
    let plain: Vec<(String, bool)> =
        remotes.iter().map(|remote| plain(config.tools.renamed(remote))).collect();
    let mut count: HashMap<&str, usize> = HashMap::new();
    for (name, _) in &plain {
        *count.entry(name).or_default() += 1;
    }
    let each = plain.iter().zip(remotes).map(|((name, poor), remote)| {
        let marked = *poor || count.get(name.as_str()).is_some_and(|count| *count > 1);
        let own = if marked { format!("{name}_{}", digest(remote, MARK_CHARS)) } else { name.clone() };
        Offered { name: prefixed(config, &own), marked }
    });
    each.collect()
}

/// A name with only the characters that all providers take, and whether little is left of it.
fn plain(name: &str) -> (String, bool) {
    let name = mask(name);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let changed: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let left = changed.chars().filter(char::is_ascii_alphanumeric).count();
    // A name such as `ls` says what it says; one without a letter says nothing.
    let poor = left < MIN_LEFT && (changed != *name || left == 0);
    (changed, poor)
}

/// `{prefix}__{tool}`. A name that is too long keeps its beginning and ends in a digest of the whole.
fn prefixed(config: &McpConfig, name: &str) -> String {
    let before = config.overrides.prefix.as_deref().unwrap_or_default();
    let prefix = config.prefix.as_deref().unwrap_or(&config.name);
    let separator = if prefix.is_empty() { "" } else { SEPARATOR };
    let whole = format!("{before}{prefix}{separator}{name}");
    let (mut name, _) = plain(&whole);
    if name.len() > MAX_NAME {
        name.truncate(MAX_NAME - DIGEST_CHARS - 1);
        name.push('_');
        name.push_str(&digest(&whole, DIGEST_CHARS));
    }
    name
}

fn digest(text: &str, chars: usize) -> String {
    let mut digits = String::new();
    for byte in Sha256::digest(text).iter().take(chars.div_ceil(2)) {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits.truncate(chars);
    digits
}
