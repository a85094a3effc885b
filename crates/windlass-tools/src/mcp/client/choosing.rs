//! Chooses among the tools that a server lists.

use windlass_core::text::{covers, nearest};
use windlass_core::tool::Effect;

use crate::mcp::choice::ToolChoice;

impl ToolChoice {
    /// Whether a tool is used.
    pub(super) fn takes(&self, remote: &str) -> bool {
        let covered = |patterns: &[String]| patterns.iter().any(|pattern| covers(pattern, remote));
        self.only.as_ref().is_none_or(|only| covered(only)) && !covered(&self.without)
    }

    /// The name of a tool before its prefix.
    pub(super) fn renamed<'n>(&'n self, remote: &'n str) -> &'n str {
        self.rename.get(remote).map_or(remote, String::as_str)
    }

    /// The effect of a tool, if one is chosen.
    pub(super) fn effect(&self, remote: &str) -> Option<Effect> {
        self.effects.iter().find(|(pattern, _)| covers(pattern, remote)).map(|(_, effect)| *effect)
    }

    /// The names and patterns that cover none of the tools that a server lists: the key, what it has, and the nearest names.
    pub(super) fn unlisted(&self, listed: &[&str]) -> Vec<(&'static str, &str, Vec<String>)> {
        let only = self.only.iter().flatten().map(|pattern| ("tools.only", pattern));
        let without = self.without.iter().map(|pattern| ("tools.without", pattern));
        let rename = self.rename.keys().map(|name| ("tools.rename", name));
        let effects = self.effects.iter().map(|(pattern, _)| ("tools.effects", pattern));
        let all = only.chain(without).chain(rename).chain(effects);
        let stray = all.filter(|(key, pattern)| {
            let names = |name: &&str| {
                if *key == "tools.rename" { **name == **pattern } else { covers(pattern, name) }
            };
            !listed.iter().any(names)
        });
        stray
            .map(|(key, pattern)| {
                let literal = pattern.replace(['*', '?'], "");
                (key, pattern.as_str(), nearest(&literal, listed.iter().copied()))
            })
            .collect()
    }
}
