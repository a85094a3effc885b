//! Owns which of a server's tools are used, and as what.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_core::tool::Effect;

/// Which tools of a server are used, under which names and with which effects. All names and patterns (`*`, `?`) are the
/// server's own. `only` comes first, then `without`, `rename`, and the prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolChoice {
    /// Patterns of the tools to use; `None`: all.
    pub only: Option<Vec<String>>,
    /// Patterns of the tools to leave out.
    pub without: Vec<String>,
    /// Other names for tools.
    pub rename: BTreeMap<String, String>,
    /// Effects of tools by pattern; the first pattern that covers a tool counts. They beat hints and the entry's effect.
    pub effects: Vec<(String, Effect)>,
}
