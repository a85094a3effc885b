//! Tools that reach others by name: `branch`, and `call_parent_tool`.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::vocabulary::ids::Text;
use crate::vocabulary::tool::{Offer, ToolKind, ToolSpec};

/// The name of the tool by which a model starts a branch.
pub const BRANCH_TOOL: &str = "branch";

/// The name of the tool by which a branch calls a tool of the agent that it came from.
pub const PARENT_TOOL: &str = "call_parent_tool";

/// The kind of an error that says that a branch, or a tool of the agent above it, cannot be had.
pub const BRANCH_ERROR: &str = "BranchError";

/// The most branches that a hook may ask for after one step, one round after another.
pub const MAX_STEP_BRANCHES: usize = 16;

/// The argument that says which one is meant.
pub(crate) const NAME: &str = "name";

/// The argument that says how a branch's end comes back.
pub(crate) const MERGE: &str = "merge";

impl ToolSpec {
    /// The tool that starts branches. Each of them is described like a tool: its name, what it is for, and its input.
    pub fn branches(branches: Vec<Self>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                NAME: { "type": "string", "description": "Name of the branch to spawn" },
                MERGE: {
                    "type": "string",
                    "enum": ["summarize", "end_result"],
                    "description": "How to merge branch results. Default: end_result"
                }
            },
            "additionalProperties": true
        });
        let text = "Spawn a sub-agent branch. IMPORTANT: You MUST first call branch() with no arguments to discover \
                    available branches and their exact input parameter names. Do NOT guess parameter names. After \
                    discovery, call with 'name' set to the branch name and the branch's required input parameters \
                    using the exact names from the discovery response.";
        let mut spec = Self::read_only(BRANCH_TOOL, text, parameters);
        spec.kind = ToolKind::Branch;
        spec.origin = "branches".into();
        spec.offer = Offer::when(branches.iter().any(Self::is_offered));
        spec.targets = Arc::new(branches);
        spec
    }

    /// A branch, as [`ToolSpec::branches`] describes it. `input`: JSON Schema of its typed input.
    pub fn one_branch(name: impl Into<Text>, description: impl Into<Text>, input: Option<&Value>) -> Self {
        let any = || json!({ "type": "object" });
        let mut spec = Self::read_only(name, description, input.map_or_else(any, Value::clone));
        spec.kind = ToolKind::Delegate;
        spec.origin = "branches".into();
        spec
    }

    /// The tool by which a branch calls those of the agent that it came from.
    pub fn parent_tools(tools: Vec<Self>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": { NAME: { "type": "string", "description": "Name of the parent tool to call" } },
            "additionalProperties": true
        });
        let text = "Call a tool from the parent module. Call with no args to list available parent tools. Call with \
                    name and the tool's args to execute it.";
        let mut spec = Self::read_only(PARENT_TOOL, text, parameters);
        spec.kind = ToolKind::Parent;
        spec.origin = "the agent above".into();
        spec.targets = Arc::new(tools);
        spec
    }
}
