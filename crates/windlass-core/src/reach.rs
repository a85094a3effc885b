//! Tools that reach others by name (acorn): `branch` starts a branch of the agent, `call_parent_tool` calls a tool of
//! the agent that a branch came from. What they reach stands in their own description as data, so that every gate of a
//! call looks at what would really run.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::ids::{RunId, Text};
use crate::message::ToolCall;
use crate::open_call::{OpenCall, Origin};
use crate::state::State;
use crate::tool::{Offer, ToolKind, ToolSpec};
use windlass_text::json::read;
use windlass_text::xml::to_xml;

/// The name of the tool by which a model starts a branch.
pub const BRANCH_TOOL: &str = "branch";
/// The name of the tool by which a branch calls a tool of the agent that it came from.
pub const PARENT_TOOL: &str = "call_parent_tool";
/// The kind of an error that says that a branch, or a tool of the agent above it, cannot be had.
pub const BRANCH_ERROR: &str = "BranchError";
/// The most branches that a hook may ask for after one step, one round after another.
pub const MAX_STEP_BRANCHES: usize = 16;

/// The argument that says which one is meant.
const NAME: &str = "name";
/// The argument that says how a branch's end comes back.
const MERGE: &str = "merge";

/// How a branch's result is merged into the parent run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Merge {
    /// Its output, as XML. A branch that has none is summed up.
    #[default]
    EndResult,
    /// A summary of what it did, made by one model call, and its output.
    Summarize,
}

/// Target and merge mode of a call by name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reached {
    /// Name of the target.
    pub(crate) name: Text,
    /// Its arguments, as JSON text.
    pub(crate) args: Text,
    /// Merge mode, if the call names one.
    pub(crate) merge: Option<Merge>,
}

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

impl OpenCall {
    /// The name of what it runs: of the tool, branch or parent's tool that is reached by it, else of its own tool.
    pub fn target_name(&self) -> &Text {
        self.reached.as_ref().map_or(&self.call.name, |reached| &reached.name)
    }

    /// Whether it reaches something by name.
    pub fn reaches(&self) -> bool {
        self.reached.is_some()
    }

    /// Merge mode of the branch that the call starts, if the call names one.
    pub fn merge(&self) -> Option<Merge> {
        self.reached.as_ref().and_then(|reached| reached.merge)
    }

    /// Position of the conversation before the step that the call belongs to, as a run and its number of events. A branch
    /// started by the call continues from there.
    pub fn asked_at(&self) -> (RunId, u64) {
        self.asked_at
    }

    /// The origin of the call.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

impl State {
    /// The tool that a call runs: its own, or the target that it names. `None`: the run no longer has it.
    pub fn target(&self, open: &OpenCall) -> Option<&ToolSpec> {
        let tool = self.tool(&open.call.name)?;
        match &open.reached {
            None => Some(tool),
            Some(reached) => tool.targets.iter().find(|other| other.name == reached.name),
        }
    }

    /// Target of a call whose tool reaches others by name. A hook also reaches branches that are not offered to the model.
    pub(crate) fn reach(&self, call: &ToolCall, origin: &Origin) -> Option<Reached> {
        let tool = self.tool(&call.name).filter(|tool| tool.kind.reaches())?;
        let Value::Object(mut args) = read(&call.args).ok()? else { return None };
        let name = args.shift_remove(NAME)?;
        let known = tool.targets.iter().find(|other| name.as_str() == Some(&*other.name));
        let target = known.filter(|other| other.is_offered() || !origin.counts())?;
        let merge = if tool.kind == ToolKind::Branch { args.shift_remove(MERGE) } else { None };
        Some(Reached {
            name: target.name.clone(),
            args: Value::Object(args).to_string().into(),
            merge: merge.and_then(|merge| serde_json::from_value(merge).ok()),
        })
    }

    /// The list of targets, for a call of `branch` or `call_parent_tool` that names none.
    ///
    /// # Errors
    /// The call names an unknown target; the text says so and lists the known ones.
    pub fn listing(&self, open: &OpenCall) -> Result<String, String> {
        let Some(tool) = self.tool(&open.call.name) else { return Ok(String::new()) };
        let args = open.value();
        match args.get(NAME) {
            Some(name) => Err(self.not_there(tool, name)),
            None if tool.kind == ToolKind::Branch => Ok(branches_xml(self.offered_by(tool))),
            None => Ok(tools_json(self.offered_by(tool))),
        }
    }

    /// The targets of a tool that the model may know: a denied one is none of them, as a denied tool is not offered.
    fn offered_by<'t>(&'t self, tool: &'t ToolSpec) -> impl Iterator<Item = &'t ToolSpec> {
        let policy = &self.setup.policy;
        tool.targets.iter().filter(|other| other.is_offered() && policy.denied(&other.name).is_none())
    }

    /// Says which ones there are in place of one that is not.
    pub(crate) fn not_there(&self, tool: &ToolSpec, name: &Value) -> String {
        let what = if tool.kind == ToolKind::Branch { "Branch" } else { "Parent tool" };
        let name = name.as_str().map_or_else(|| name.to_string(), str::to_owned);
        let known: Vec<_> = self.offered_by(tool).map(|other| format!("'{}'", other.name)).collect();
        format!("{what} '{name}' not found. Available: [{}]", known.join(", "))
    }
}

/// acorn's list of branches: each with the fields of its input.
fn branches_xml<'t>(branches: impl Iterator<Item = &'t ToolSpec>) -> String {
    let branches = branches.map(|branch| {
        let required = |name: &str| {
            let all = branch.parameters.get("required").and_then(Value::as_array);
            all.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)))
        };
        let properties = branch.parameters.get("properties").and_then(Value::as_object);
        let fields = properties.into_iter().flatten().map(|(name, field)| {
            let description = field.get("description").and_then(Value::as_str).unwrap_or_default();
            json!({ NAME: name, "required": required(name), "description": description })
        });
        json!({
            NAME: &*branch.name,
            "description": &*branch.description,
            "input_schema": fields.collect::<Vec<_>>()
        })
    });
    let mut all = Map::new();
    all.insert("branches".to_owned(), branches.collect());
    to_xml("available_branches", &all, &Value::Null)
}

/// acorn's list of a parent's tools.
fn tools_json<'t>(tools: impl Iterator<Item = &'t ToolSpec>) -> String {
    let tools = tools.map(|tool| {
        let schema = json!({
            NAME: &*tool.name,
            "description": &*tool.description,
            "parameters": &*tool.parameters
        });
        json!({ NAME: &*tool.name, "schema": schema })
    });
    let tools: Vec<Value> = tools.collect();
    serde_json::to_string_pretty(&tools).unwrap_or_default()
}
