//! Code mode: the tool by which a model writes code that calls its other tools, and how these look in Python.

use std::fmt::Write as _;

use serde_json::{Value, json};
use windlass_text::python::name_in_code;

use crate::policy::code::CodeMode;
use crate::vocabulary::tool::{Offer, ToolKind, ToolSpec};

/// The name of the tool that runs code.
pub const RUN_CODE: &str = "run_code";
/// Its one argument.
pub const CODE_FIELD: &str = "code";
/// The kind of the error of code that made another call than the recorded one.
pub const DIVERGED: &str = "diverged";
/// The kind of the error of code that ran into one of its limits.
pub const CODE_LIMIT: &str = "limit";

/// The tool's description for the model, beside the functions.
const ABOUT: &str = "Runs Python code that calls the functions below, and returns its value. Call functions with positional or \
    keyword arguments; `await` before a call is allowed. `parallel((\"name\", arg, ...), ...)` makes several calls at once and \
    returns their results as a list. A function that fails raises ToolError. A result that is a JSON object or list is a dict or \
    list, any other result is a str. End with `return VALUE`; what is printed is returned, too. Variables do not outlive the \
    code. There are no files, no network and no other modules than Python's math, re and json.";

impl ToolSpec {
    /// The tool that runs code, which calls `tools`. Under [`CodeMode::Steps`] no model is offered it.
    pub fn run_code(tools: &[Self], mode: CodeMode) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": { CODE_FIELD: { "type": "string", "description": "Python source" } },
            "required": [CODE_FIELD],
            "additionalProperties": false
        });
        let mut about = ABOUT.to_owned();
        about.push_str("\n\n");
        about.push_str(&functions(tools));
        let mut spec = Self::read_only(RUN_CODE, about, parameters);
        (spec.kind, spec.origin) = (ToolKind::Code, "windlass".into());
        if let CodeMode::Steps(_) = mode {
            spec.offer = Offer::Withheld;
        } else {
            // The model sees the error, and writes the code anew.
            spec.retries = Some(0);
        }
        spec
    }

    /// Whether code can call it.
    pub fn is_function(&self) -> bool {
        matches!(self.kind, ToolKind::Run | ToolKind::Ask | ToolKind::Delegate) && self.is_known()
    }

    /// The name that code calls it by.
    pub fn name_in_code(&self) -> String {
        name_in_code(&self.name)
    }

    /// The names of its parameters, in the order of positional arguments: required ones first.
    pub fn function_params(&self) -> Vec<&str> {
        let properties = self.parameters.get("properties").and_then(Value::as_object);
        let names = || properties.into_iter().flat_map(|all| all.keys()).map(String::as_str);
        names()
            .filter(|name| self.requires(name))
            .chain(names().filter(|name| !self.requires(name)))
            .collect()
    }

    fn requires(&self, name: &str) -> bool {
        let required = self.parameters.get("required").and_then(Value::as_array);
        required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)))
    }

    /// Its signature and description in Python.
    fn function(&self) -> String {
        let properties = self.parameters.get("properties");
        let params: Vec<String> = self
            .function_params()
            .into_iter()
            .map(|name| {
                let kind = python_type(properties.and_then(|all| all.get(name)));
                if self.requires(name) { format!("{name}: {kind}") } else { format!("{name}: {kind} = None") }
            })
            .collect();
        let mut text = format!("def {}({})", self.name_in_code(), params.join(", "));
        if !self.description.is_empty() {
            let _infallible = write!(text, "\n    \"\"\"{}\"\"\"", self.description);
        }
        for name in self.function_params() {
            let about = properties.and_then(|all| all.get(name)?.get("description")?.as_str());
            if let Some(about) = about {
                let _infallible = write!(text, "\n    # {name}: {}", about.replace('\n', " "));
            }
        }
        text
    }
}

/// The functions that code can call, as Python with documentation.
pub fn functions(tools: &[ToolSpec]) -> String {
    let offered = tools.iter().filter(|tool| tool.is_function() && tool.is_offered());
    offered.map(ToolSpec::function).collect::<Vec<_>>().join("\n\n")
}

/// The Python type of a value of that schema.
fn python_type(schema: Option<&Value>) -> &'static str {
    match schema.and_then(|schema| schema.get("type")).and_then(Value::as_str) {
        Some("string") => "str",
        Some("integer") => "int",
        Some("number") => "float",
        Some("boolean") => "bool",
        Some("array") => "list",
        Some("object") => "dict",
        _ => "object",
    }
}
