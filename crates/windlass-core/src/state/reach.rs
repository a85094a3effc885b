//! Tools that reach others by name (acorn): `branch` starts a branch of the agent, `call_parent_tool` calls a tool of
//! the agent that a branch came from. What they reach stands in their own description as data, so that every gate of a
//! call looks at what would really run.

use serde_json::{Map, Value, json};
use windlass_text::json::read;
use windlass_text::xml::to_xml;

use crate::policy::own_tools::branch::{MERGE, NAME};
use crate::state::State;
use crate::state::open_call::{OpenCall, Origin};
use crate::vocabulary::ids::Text;
use crate::vocabulary::merge::Merge;
use crate::vocabulary::message::ToolCall;
use crate::vocabulary::tool::{ToolKind, ToolSpec};

/// Target and merge mode of a call by name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reached {
    /// Name of the target.
    name: Text,
    /// Its arguments, as JSON text.
    args: Text,
    /// Merge mode, if the call names one.
    merge: Option<Merge>,
}

impl Reached {
    /// Name of the target.
    pub(crate) fn name(&self) -> &Text {
        &self.name
    }

    /// Its arguments, as JSON text.
    pub(crate) fn args(&self) -> &Text {
        &self.args
    }
}

impl OpenCall {
    /// The name of what it runs: of the tool, branch or parent's tool that is reached by it, else of its own tool.
    pub fn target_name(&self) -> &Text {
        self.reached().map_or(&self.call.name, |reached| &reached.name)
    }

    /// Whether it reaches something by name.
    pub fn reaches(&self) -> bool {
        self.reached().is_some()
    }

    /// Merge mode of the branch that the call starts, if the call names one.
    pub fn merge(&self) -> Option<Merge> {
        self.reached().and_then(|reached| reached.merge)
    }
}

impl State {
    /// The tool that a call runs: its own, or the target that it names. `None`: the run no longer has it.
    pub fn target(&self, open: &OpenCall) -> Option<&ToolSpec> {
        let tool = self.tool(&open.call.name)?;
        match open.reached() {
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
        let policy = self.setup.policy();
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
