//! Patterns of `approve`, `deny` and `require`, and names of `tool_choice`, that match no tool. A mistyped pattern turns a safeguard off, so it is reported wherever
//! an agent is checked or started.

use std::fmt;

use windlass_core::Text;
use windlass_core::policy::EFFECTS;
use windlass_core::text::{covers, nearest};
use windlass_core::tool::{
    BRANCH_TOOL, FINISH_TOOL, PARENT_TOOL, READ_RESULT, RUN_CODE, SEARCH_TOOLS, UPDATE_BLACKBOARD,
};

use windlass_tools::ToolOverrides;
use windlass_tools::mcp::McpConfig;

use super::{AgentFile, DelegateEntry, ToolEntry};
use crate::yaml::{Node, Place};

/// Maximum number of patterns that are reported for one file.
const MOST: usize = 100;
/// Maximum number of names that a warning lists where no name is close.
const MOST_NAMES: usize = 5;

/// A list of tool patterns in the `loop` section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternList {
    /// `loop.approve`.
    Approve,
    /// `loop.deny`.
    Deny,
    /// `loop.require`.
    Require,
    /// The names in `loop.tool_choice`.
    ToolChoice,
}

impl PatternList {
    /// The key, as a dotted path.
    pub fn path(self) -> &'static str {
        match self {
            Self::Approve => "loop.approve",
            Self::Deny => "loop.deny",
            Self::Require => "loop.require",
            Self::ToolChoice => "loop.tool_choice",
        }
    }
}

/// A pattern of `approve`, `deny` or `require` that matches no tool of its agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmatchedPattern {
    /// The agent's name.
    pub agent: String,
    /// The agent's file.
    pub file: String,
    /// Position in the file; `None`: the pattern was added to the file's, for example by `--approve`.
    pub place: Option<Place>,
    /// The list.
    pub list: PatternList,
    /// The pattern.
    pub pattern: String,
    /// Tools with close names, nearest first.
    pub nearest: Vec<String>,
    /// The agent's tools, at most five of them.
    pub tools: Vec<String>,
}

impl fmt::Display for UnmatchedPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agent, file, place, list, pattern, nearest, tools } = self;
        if let Some(place) = place {
            write!(f, "{file}:{}:{}: ", place.line, place.column)?;
        }
        let effect = match list {
            PatternList::Approve => "requires no approval",
            PatternList::Deny => "denies nothing",
            PatternList::Require | PatternList::ToolChoice => "can never be met",
        };
        write!(f, "`{pattern}` in `{}` matches no tool of agent `{agent}` and {effect}; ", list.path())?;
        match (nearest.as_slice(), tools.as_slice()) {
            ([], []) => f.write_str("the agent has no tools"),
            ([], tools) => write!(f, "its tools include {}", tools.join(", ")),
            (nearest, _) => write!(f, "did you mean {}?", nearest.join(" or ")),
        }
    }
}

/// The tools of an agent's tool servers, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct ServedTools {
    /// Names of the tools of connected servers.
    pub names: Vec<String>,
    /// Beginnings of the names of tools of all other servers: the prefix and `__`, or nothing.
    pub unknown: Vec<String>,
}

impl AgentFile {
    /// Patterns of `approve`, `deny` and `require` that match no tool of this agent, those of its branches included. A pattern that may
    /// match a tool of a server that is not connected is not reported.
    pub fn unmatched_patterns(&self, served: &ServedTools) -> Vec<UnmatchedPattern> {
        let mut names = served.names.clone();
        self.callable(&mut names);
        let mut found = Vec::new();
        self.unmatched(&names, &served.unknown, &mut found);
        found.truncate(MOST);
        found
    }

    /// Servers of this agent whose tools no rule touches: none of `approve` and `deny` may match one, and their entry says nothing
    /// of approvals, effects or trust. Their tools run unasked.
    pub fn unguarded_servers(&self, served: &ServedTools) -> Vec<&str> {
        let keys = &self.loop_section.keys;
        let approve = keys.approve.iter().flat_map(|approvals| &approvals.0);
        let rules: Vec<&Text> = approve.chain(keys.deny.iter().flatten()).collect();
        let guarded = |server: &McpConfig| {
            let prefix = server.tool_prefix();
            let own = |name: &&String| name.starts_with(&prefix);
            let touches = |rule: &&Text| {
                &***rule == EFFECTS
                    || may_begin(rule, &prefix) && served.unknown.contains(&prefix)
                    || served.names.iter().filter(own).any(|name| covers(rule, name))
            };
            let ToolOverrides { approve, effect, .. } = &server.overrides;
            server.trust || approve.is_some() || effect.is_some() || rules.iter().any(touches)
        };
        let servers = self.tools.iter().filter_map(|entry| match entry {
            ToolEntry::Mcp(server) => Some(&server.config),
            ToolEntry::Builtin(_) | ToolEntry::Command(_) | ToolEntry::Service(_) => None,
        });
        servers.filter(|server| !guarded(server)).map(|server| server.name.as_str()).collect()
    }

    /// The servers of the file and its branches, none of them connected.
    pub fn unconnected(&self) -> ServedTools {
        let servers = self.tools.iter().filter_map(|entry| match entry {
            ToolEntry::Mcp(server) => Some(server.config.tool_prefix()),
            ToolEntry::Builtin(_) | ToolEntry::Command(_) | ToolEntry::Service(_) => None,
        });
        ServedTools {
            unknown: servers.chain(self.unconnected_of_branches().unknown).collect(),
            ..ServedTools::default()
        }
    }

    /// The servers of the file's branches, none of them connected.
    pub fn unconnected_of_branches(&self) -> ServedTools {
        let of_branches = self.branches().flat_map(|branch| branch.unconnected().unknown);
        ServedTools { unknown: of_branches.collect(), ..ServedTools::default() }
    }

    fn branches(&self) -> impl Iterator<Item = &Self> {
        self.agents.iter().filter_map(|entry| match entry {
            DelegateEntry::Branch { file, .. } => Some(&**file),
            DelegateEntry::File { .. } | DelegateEntry::A2a { .. } => None,
        })
    }

    /// Adds the names of all tools that need no server. The lists of an agent hold for its branches, and a branch reaches
    /// the tools of its agent, so that all of them have one set of names.
    fn callable(&self, names: &mut Vec<String>) {
        let own = self.tool_names().into_iter().chain(self.delegate_names());
        names.extend(own.map(|named| named.name));
        for branch in self.branches() {
            branch.callable(names);
        }
    }

    fn unmatched(&self, names: &[String], unknown: &[String], found: &mut Vec<UnmatchedPattern>) {
        let keys = &self.loop_section.keys;
        let chosen: Option<Vec<Text>> =
            keys.tool_choice.as_ref().map(|choices| choices.tools().cloned().collect());
        let lists = [
            (PatternList::Approve, keys.approve.as_ref().map(|approvals| &approvals.0)),
            (PatternList::Deny, keys.deny.as_ref()),
            (PatternList::Require, keys.require.as_ref()),
            (PatternList::ToolChoice, chosen.as_ref()),
        ];
        for (list, patterns) in lists {
            for (at, pattern) in patterns.into_iter().flatten().enumerate() {
                let by_effect = list == PatternList::Approve && &**pattern == EFFECTS;
                let matches = by_effect
                    || names.iter().map(String::as_str).chain(OFFERED).any(|name| covers(pattern, name));
                if found.len() >= MOST || matches || unknown.iter().any(|prefix| may_begin(pattern, prefix)) {
                    continue;
                }
                let place = match list {
                    PatternList::ToolChoice => self.node.at(list.path()).map(Node::place),
                    _ => self.node.at(&format!("{}.{at}", list.path())).map(Node::place),
                };
                found.push(UnmatchedPattern {
                    agent: self.name.clone(),
                    file: self.file.clone(),
                    place,
                    list,
                    pattern: pattern.to_string(),
                    nearest: near(pattern, names, unknown),
                    tools: names.iter().take(MOST_NAMES).cloned().collect(),
                });
            }
        }
        for branch in self.branches() {
            branch.unmatched(names, unknown, found);
        }
    }
}

/// Tools that the engine itself offers, depending on the run.
const OFFERED: [&str; 7] =
    [FINISH_TOOL, BRANCH_TOOL, PARENT_TOOL, READ_RESULT, RUN_CODE, SEARCH_TOOLS, UPDATE_BLACKBOARD];

/// Whether a pattern may match a name that begins like this.
fn may_begin(pattern: &str, prefix: &str) -> bool {
    match pattern.find(['*', '?']) {
        Some(end) => {
            let literal = pattern.get(..end).unwrap_or_default();
            literal.starts_with(prefix) || prefix.starts_with(literal)
        }
        None => pattern.starts_with(prefix),
    }
}

/// The nearest names. Of a server that is not connected only the prefix is known.
fn near(pattern: &str, names: &[String], unknown: &[String]) -> Vec<String> {
    let servers: Vec<String> = unknown.iter().map(|prefix| format!("{prefix}*")).collect();
    let literal = pattern.replace(['*', '?'], "");
    if literal.is_empty() {
        return Vec::new();
    }
    nearest(&literal, names.iter().chain(&servers).map(String::as_str))
}
