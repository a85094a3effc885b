//! Descriptions of tools, as data. The runtime runs them.

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use windlass_macros::Named;
use windlass_schema::{Checker, SchemaFault, plain_schema};

use crate::vocabulary::hosted::{Hosted, HostedTool};
use crate::vocabulary::ids::Text;

/// Effect of running a tool twice; decides what happens to a call that was running when the process died.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, Named)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "effect")]
#[named(all)]
pub enum Effect {
    /// Changes nothing: may run again.
    ReadOnly,
    /// A repeat with the same idempotency key has no further effect: may run again.
    Idempotent,
    /// Each run has an effect of its own. After a crash its `check` settles the call, or else a person does. The default,
    /// because a repeat is not known to be harmless.
    #[default]
    Once,
}

/// Whether an approval by effect covers a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectApproval {
    /// It does, if the tool has an effect.
    #[default]
    Covered,
    /// It does not: the tool's entry says `approve: false`.
    Exempt,
}

impl EffectApproval {
    /// The value for an entry that says so of approvals.
    pub fn of(approve: Option<bool>) -> Self {
        if approve == Some(false) { Self::Exempt } else { Self::Covered }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
    fn is_covered(&self) -> bool {
        *self == Self::Covered
    }
}

/// A hint by an untrusted server about one of its tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hint {
    /// Nothing.
    #[default]
    None,
    /// The tool only reads.
    ReadOnly,
}

impl Hint {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// How a call of a tool is carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// The edge runs it.
    #[default]
    Run,
    /// A question to a person; the answer is the result (the built-in `ask`).
    Ask,
    /// A look into a stored payload of the conversation, which the edge's log carries out
    /// ([`READ_RESULT`](crate::tool::READ_RESULT)).
    Read,
    /// A search among the tools, which the edge carries out ([`SEARCH_TOOLS`](crate::tool::SEARCH_TOOLS)).
    Search,
    /// Writes the blackboard: the call is done as it begins ([`UPDATE_BLACKBOARD`](crate::tool::UPDATE_BLACKBOARD)).
    Blackboard,
    /// A call of it ends the run with its arguments as the output, once they fit.
    Finish(OutputForm),
    /// Another agent, with one argument `task`; its answer is the result. Within [`ToolSpec::branches`]: a branch.
    Delegate,
    /// Starts a branch of the agent, by its name; without one it lists them ([`BRANCH_TOOL`](crate::tool::BRANCH_TOOL)).
    Branch,
    /// Calls a tool of the agent that a branch came from, by its name; without one it lists them
    /// ([`PARENT_TOOL`](crate::tool::PARENT_TOOL)).
    Parent,
    /// Runs code that a model wrote, whose calls are calls of the run ([`RUN_CODE`](crate::tool::RUN_CODE)).
    Code,
}

impl ToolKind {
    /// Whether calls of it reach something else by name.
    pub(crate) fn reaches(self) -> bool {
        matches!(self, Self::Branch | Self::Parent)
    }
}

/// How the arguments of a finish tool form the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputForm {
    /// No output.
    None,
    /// They are the output.
    Object,
    /// The output is no object: it is their only field, [`OUTPUT_FIELD`].
    Value,
}

/// The name of the tool that ends a typed run (acorn).
pub const FINISH_TOOL: &str = "__finish__";
/// The one argument of the finish tool where the output is no object.
pub const OUTPUT_FIELD: &str = "output";

/// A tool as data: what the model is told, and the policy of its calls.
#[derive(Debug, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about a tool")]
pub struct ToolSpec {
    /// The name that the model calls it by.
    pub name: Text,
    /// Description for the model.
    #[serde(default)]
    pub description: Text,
    /// JSON Schema 2020-12 of the arguments: an object.
    pub parameters: Arc<Value>,
    /// Effect of running it twice.
    #[serde(default)]
    pub effect: Effect,
    /// How a call is carried out.
    #[serde(default)]
    pub kind: ToolKind,
    /// The hint of its server. It counts where effects are shown, never for what is done with a call.
    #[serde(default, skip_serializing_if = "Hint::is_none")]
    pub hint: Hint,
    /// Timeout of one attempt, in milliseconds; `None`: the agent's `timeouts.tool_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Maximum number of retries of a failed call; `None`: the policy's `retries`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Results above this many bytes enter the conversation as a model's summary of them; `None`: they enter as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_above: Option<u64>,
    /// Whether a person must allow each call, beside the policy's `approve` patterns.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approve: bool,
    /// Whether the item `effects` of the policy's `approve` list covers it.
    #[serde(default, skip_serializing_if = "EffectApproval::is_covered")]
    pub effect_approval: EffectApproval,
    /// Whether equal calls in a row are legitimate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub poll: bool,
    /// Whether the provider holds calls of it to its schema; `None`: as the model's `strict` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// Whether the provider shows it to the model only once its [tool search](HostedTool::ToolSearch) has found it, where a request
    /// offers that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub defer: bool,
    /// Whether the model is offered it.
    #[serde(default, skip_serializing_if = "Offer::is_offered")]
    pub offer: Offer,
    /// Whether it can be asked, after a crash, if a call of it happened (effect `once`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_check: bool,
    /// Targets that its calls reach by name.
    #[serde(default, skip_serializing_if = "is_none")]
    pub targets: Arc<Vec<Self>>,
    /// The tool of the provider that it stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosted: Option<Arc<Hosted>>,
    /// Source of the tool, for messages about name clashes: `builtin`, `command`, `mcp files`, ….
    #[serde(default)]
    pub origin: Text,
    /// The schema as it was taken in, made at the first use.
    #[serde(skip)]
    checked: OnceLock<Arc<Checked>>,
    /// That of the spec that this one was cloned from.
    #[serde(skip)]
    before: Option<Arc<Checked>>,
}

/// Result of compiling a schema.
#[derive(Debug)]
struct Checked {
    parameters: Arc<Value>,
    checker: Arc<Result<Checker, SchemaFault>>,
}

fn is_none(targets: &Arc<Vec<ToolSpec>>) -> bool {
    targets.is_empty()
}

/// Whether a model is offered a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    /// It is offered.
    #[default]
    Offered,
    /// It is known, and offered once a hook adds it.
    Withheld,
    /// It is an agent that could not be reached when the run began: it is not offered, and a call of it tries again.
    Unreachable,
    /// The policy denies it: it is not offered, and a call of it is answered as denied.
    Denied,
    /// Its model's provider runs it within a model call ([`ToolSpec::hosted`]): the provider is told of it, and no reply calls it.
    Hosted,
}

impl Offer {
    /// Offered, or withheld for now.
    pub fn when(offered: bool) -> Self {
        if offered { Self::Offered } else { Self::Withheld }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
    fn is_offered(&self) -> bool {
        *self == Self::Offered
    }
}

impl ToolSpec {
    /// Whether a call of it runs code.
    pub fn runs_code(&self) -> bool {
        self.kind == ToolKind::Code
    }

    /// Whether models are offered it.
    pub fn is_offered(&self) -> bool {
        self.offer == Offer::Offered
    }

    /// Whether requests name it: models are offered it, or their provider runs it.
    pub fn is_named(&self) -> bool {
        self.is_offered() || self.hosted().is_some()
    }

    /// Whether a reply that names it calls it: it is offered, or denied.
    pub(crate) fn is_heard(&self) -> bool {
        matches!(self.offer, Offer::Offered | Offer::Denied)
    }

    /// Whether a call of it is answered by more than that it is unknown: it is offered, denied, or an agent that could not be
    /// reached.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self.offer, Offer::Withheld | Offer::Hosted)
    }

    /// The tool of the provider that a request is to offer; `None`: it is another tool, or denied.
    pub fn hosted(&self) -> Option<&Hosted> {
        self.hosted.as_deref().filter(|_| self.offer == Offer::Hosted)
    }

    /// A tool that the model's provider runs itself, by its name in Windlass, with the provider's options of it.
    pub fn hosted_by_provider(tool: HostedTool, options: Map<String, Value>) -> Self {
        let mut spec = Self::read_only(tool.name(), "", json!({}));
        spec.offer = Offer::Hosted;
        spec.hosted = Some(Arc::new(Hosted { tool, options }));
        spec.origin = "the provider".into();
        spec
    }

    /// The tool that ends a typed run with an output of that schema (acorn's `__finish__`).
    pub fn finish(output: Option<&Value>) -> Self {
        let done = "Call this function when you are done executing tools and want to complete the task.";
        let ready = "Call this function when you have the final output ready.";
        let (form, text, parameters) = match output {
            None => (OutputForm::None, done, json!({ "type": "object", "properties": {}, "required": [] })),
            Some(schema) => {
                let plain = plain_schema(schema);
                if is_object(&plain) {
                    (OutputForm::Object, ready, plain)
                } else {
                    let wrapped = json!({ "type": "object", "properties": { OUTPUT_FIELD: plain },
                        "required": [OUTPUT_FIELD], "additionalProperties": false });
                    (OutputForm::Value, ready, wrapped)
                }
            }
        };
        let mut spec = Self::read_only(FINISH_TOOL, text, parameters);
        spec.kind = ToolKind::Finish(form);
        spec.origin = "the agent's output".into();
        spec
    }

    /// A tool that changes nothing: a call of it may run again. Otherwise as [`ToolSpec::new`].
    pub fn read_only(name: impl Into<Text>, description: impl Into<Text>, parameters: Value) -> Self {
        Self { effect: Effect::ReadOnly, ..Self::new(name, description, parameters) }
    }

    /// A tool with defaults: effect `once`, offered, run by the edge.
    pub fn new(name: impl Into<Text>, description: impl Into<Text>, parameters: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters: Arc::new(parameters),
            effect: Effect::default(),
            kind: ToolKind::default(),
            hint: Hint::None,
            timeout_ms: None,
            retries: None,
            summary_above: None,
            approve: false,
            effect_approval: EffectApproval::Covered,
            poll: false,
            strict: None,
            defer: false,
            offer: Offer::Offered,
            has_check: false,
            targets: Arc::default(),
            hosted: None,
            origin: "".into(),
            checked: OnceLock::new(),
            before: None,
        }
    }

    /// Checker of the arguments. The schema is compiled at the first use, once for all clones.
    ///
    /// # Errors
    /// The schema is no JSON Schema, or costs too much.
    pub fn checker(&self) -> Result<&Checker, &SchemaFault> {
        let checked = self.kept().unwrap_or_else(|| {
            self.checked.get_or_init(|| {
                let (parameters, checker) = (self.parameters.clone(), Checker::new(&self.parameters));
                Arc::new(Checked { parameters, checker: Arc::new(checker) })
            })
        });
        (*checked.checker).as_ref()
    }

    /// Checks arguments from here on with what an equal tool has made of the same schema, so that it is not taken in twice.
    pub fn check_as(&self, other: &Self) {
        let Some(theirs) = other.kept().or_else(|| other.checked.get()) else { return };
        if self.kept().is_none() && self.parameters == other.parameters {
            let (parameters, checker) = (self.parameters.clone(), theirs.checker.clone());
            // An error says that it was taken in already.
            let _known = self.checked.set(Arc::new(Checked { parameters, checker }));
        }
    }

    /// The schema as the tool had it that this one was cloned from, unless it was changed since.
    fn kept(&self) -> Option<&Arc<Checked>> {
        self.before.as_ref().filter(|kept| Arc::ptr_eq(&kept.parameters, &self.parameters))
    }
}

/// Whether every value of that schema is an object: itself, or each of its choices (a union of types).
fn is_object(schema: &Value) -> bool {
    let choices = || ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.as_array());
    schema.get("type").map_or_else(
        || {
            choices().is_some_and(|all| !all.is_empty() && all.iter().all(is_object))
                || schema.get("properties").is_some()
        },
        |kind| kind == "object",
    )
}

impl Clone for ToolSpec {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            description: self.description.clone(),
            parameters: self.parameters.clone(),
            effect: self.effect,
            kind: self.kind,
            hint: self.hint,
            timeout_ms: self.timeout_ms,
            retries: self.retries,
            summary_above: self.summary_above,
            approve: self.approve,
            effect_approval: self.effect_approval,
            poll: self.poll,
            strict: self.strict,
            defer: self.defer,
            offer: self.offer,
            has_check: self.has_check,
            targets: self.targets.clone(),
            hosted: self.hosted.clone(),
            origin: self.origin.clone(),
            checked: OnceLock::new(),
            before: self.checked.get().or(self.before.as_ref()).cloned(),
        }
    }
}

impl PartialEq for ToolSpec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.description == other.description
            && self.parameters == other.parameters
            && self.effect == other.effect
            && self.kind == other.kind
            && self.timeout_ms == other.timeout_ms
            && self.retries == other.retries
            && self.summary_above == other.summary_above
            && self.approve == other.approve
            && self.effect_approval == other.effect_approval
            && self.poll == other.poll
            && self.strict == other.strict
            && self.defer == other.defer
            && self.offer == other.offer
            && self.has_check == other.has_check
            && self.targets == other.targets
            && self.hosted == other.hosted
            && self.origin == other.origin
    }
}
