//! Tools that a model's provider runs itself, within a model call.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windlass_macros::Named;

/// A tool that providers run themselves: the model calls it within its own reply, and no call of it reaches the run. Each API has
/// a name and a form of its own for it, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Named)]
#[serde(rename_all = "snake_case")]
#[named(all)]
pub enum HostedTool {
    /// Searches the web.
    WebSearch,
    /// Reads pages at addresses that stand in the conversation.
    Url,
    /// Runs code in a sandbox of the provider.
    Code,
    /// Searches files that were uploaded to the provider.
    FileSearch,
    /// Makes images.
    Image,
    /// Searches among the tools of the request.
    ToolSearch,
    /// Operates a computer.
    Computer,
    /// Calls a tool of an MCP server.
    Mcp,
    /// Another one, which only a reply can name.
    #[default]
    Other,
}

/// Prices of one use each, in pico-dollars (10⁻¹² USD). The price of a tool that is not among them is unknown, or it has none.
pub type HostedPrices = BTreeMap<HostedTool, u64>;

/// A tool that the provider runs, as an agent has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hosted {
    /// The tool.
    pub tool: HostedTool,
    /// The provider's own options of it, merged into its entry in the request.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
}
