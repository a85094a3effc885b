//! Owns which of the offered tools fits an intent, and with what arguments: by name, description and schema alone.

use serde_json::{Map, Value};
use windlass_core::{Text, ToolSpec};

use super::intent::Intent;

/// Ability that an intent needs of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Calculate,
    Now,
    List,
    Read,
    /// Say which folders may be used (the MCP file server's `list_allowed_directories`).
    Allowed,
}

/// A call that the tour makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) name: Text,
    pub(super) args: String,
}

/// The offered tool that fits a need best.
pub(super) fn tool_for(tools: &[ToolSpec], need: Need) -> Option<&ToolSpec> {
    let offered = tools.iter().filter(|spec| spec.is_offered());
    let scored = offered.map(|spec| (score(spec, need), spec)).filter(|(score, _)| *score > 0);
    // Of equal ones the first: `max_by_key` would give the last.
    scored.rev().max_by_key(|(score, _)| *score).map(|(_, spec)| spec)
}

/// The need that a tool serves, if it is one of those known here.
pub(super) fn need_of(spec: &ToolSpec) -> Option<Need> {
    [Need::Calculate, Need::Now, Need::List, Need::Read, Need::Allowed]
        .into_iter()
        .find(|need| score(spec, *need) > 0)
}

/// The call that serves an intent; `base` is a folder that relative paths start from.
pub(super) fn plan(tools: &[ToolSpec], intent: &Intent, base: Option<&str>) -> Option<Planned> {
    let based = |path: &str| match base {
        Some(base) if !path.starts_with('/') => {
            let path = path.trim_start_matches("./");
            let base = base.trim_end_matches('/');
            if path == "." { base.to_owned() } else { format!("{base}/{path}") }
        }
        _ => path.to_owned(),
    };
    let (need, text) = match intent {
        Intent::Sum { expression, .. } => (Need::Calculate, expression.clone()),
        Intent::Time => (Need::Now, String::new()),
        Intent::List(path) => (Need::List, based(path)),
        Intent::Read(path) => (Need::Read, based(path)),
    };
    let spec = tool_for(tools, need);
    let filled = spec.and_then(|spec| Some((spec, arguments(spec, &text)?)));
    let (spec, args) = match (filled, intent) {
        (Some(found), _) => found,
        (None, Intent::Sum { expression, .. }) => two_numbers(tools, expression)?,
        (None, _) => return None,
    };
    Some(Planned { name: spec.name.clone(), args: Value::Object(args).to_string() })
}

/// The tool that says which folders may be used, if the tool for files comes from the same server.
pub(super) fn allowed_folders_tool<'t>(tools: &'t [ToolSpec], file_tool: &str) -> Option<&'t ToolSpec> {
    let server = |name: &str| name.rsplit_once("__").map(|(server, _)| server.to_owned());
    tool_for(tools, Need::Allowed).filter(|spec| server(&spec.name) == server(file_tool))
}

/// From 0 (does not fit): the fewer words a fitting name has beside the needed ones, the better.
fn score(spec: &ToolSpec, need: Need) -> usize {
    const BEST: usize = 20;
    let words = words(&spec.name);
    let has = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    let by_name = match need {
        Need::Calculate => {
            has(&["calculate", "calculator", "calc", "evaluate", "eval", "math", "arithmetic", "compute"])
        }
        Need::Now => has(&["now", "time", "date", "datetime", "clock", "today"]) && !has(&["convert"]),
        Need::List => {
            has(&["list", "ls", "dir"])
                && (words.len() == 1 || has(&["files", "file", "directory", "dir", "folder", "folders"]))
                && !has(&["allowed", "sizes", "tree", "write"])
        }
        Need::Read => {
            has(&["read", "open", "cat", "view", "get"])
                && has(&["file", "text", "document"])
                && !has(&["multiple", "media"])
        }
        Need::Allowed => has(&["allowed"]) && has(&["directories", "directory", "folders"]),
    };
    if by_name && (need == Need::Allowed || arguments(spec, ".").is_some()) {
        return BEST.saturating_sub(words.len()).max(2);
    }
    let description = spec.description.to_lowercase();
    let described = match need {
        Need::Calculate => {
            description.contains("arithmetic") || description.contains("mathematical expression")
        }
        Need::Now => description.contains("current time") || description.contains("current date"),
        Need::List | Need::Read | Need::Allowed => false,
    };
    usize::from(described && arguments(spec, ".").is_some())
}

/// The words of a name: `files__readTextFile` has files, read, text and file.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small_before = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && small_before) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        small_before = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Arguments for the required parameters: the text goes to the one string, a time zone is UTC, a choice its first
/// value. A tool that needs more does not fit.
fn arguments(spec: &ToolSpec, text: &str) -> Option<Map<String, Value>> {
    let required = required(spec);
    let mut left = Some(text);
    let mut args = Map::new();
    for name in &required {
        let schema = property(spec, name);
        let given = ["const", "default"].iter().find_map(|key| schema.get(key));
        let first = schema.get("enum").and_then(Value::as_array).and_then(|values| values.first());
        let value = match (given.or(first), kind(schema)) {
            (Some(value), _) => value.clone(),
            (None, "string") if ["timezone", "tz", "time_zone"].contains(name) => Value::from("UTC"),
            (None, "string") => Value::from(left.take().filter(|text| !text.is_empty())?),
            (None, "boolean") => Value::from(false),
            _ => return None,
        };
        args.insert((*name).to_owned(), value);
    }
    if let Some(text) = left.filter(|text| !text.is_empty() && required.is_empty())
        && let Some(name) = text_property(spec)
    {
        args.insert(name.to_owned(), Value::from(text));
    }
    Some(args)
}

/// Arguments for a tool of two numbers that does just what a plain sum needs, such as `add`.
fn two_numbers<'t>(tools: &'t [ToolSpec], expression: &str) -> Option<(&'t ToolSpec, Map<String, Value>)> {
    let parts: Vec<&str> = expression.split(' ').collect();
    let &[a, sign, b] = parts.as_slice() else { return None };
    let names: &[&str] = match sign {
        "+" => &["add", "plus", "sum"],
        "-" => &["subtract", "minus"],
        "*" => &["multiply", "times", "product"],
        "/" => &["divide"],
        _ => return None,
    };
    let numeric = |spec: &ToolSpec| {
        let required = required(spec);
        let all = required.iter().all(|name| matches!(kind(property(spec, name)), "number" | "integer"));
        all && required.len() == 2
    };
    let mut fitting = tools.iter().filter(|spec| spec.is_offered() && numeric(spec));
    let spec = fitting.find(|spec| words(&spec.name).iter().any(|word| names.contains(&word.as_str())))?;
    let values = [a, b].map(|number| serde_json::from_str::<Value>(number).ok());
    let mut args = Map::new();
    for (name, value) in required(spec).into_iter().zip(values) {
        args.insert(name.to_owned(), value?);
    }
    Some((spec, args))
}

fn required(spec: &ToolSpec) -> Vec<&str> {
    let names = spec.parameters.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn property<'s>(spec: &'s ToolSpec, name: &str) -> &'s Value {
    spec.parameters.get("properties").and_then(|all| all.get(name)).unwrap_or(&Value::Null)
}

/// The optional parameter that takes the text, such as a path with a default.
fn text_property(spec: &ToolSpec) -> Option<&str> {
    let all = spec.parameters.get("properties").and_then(Value::as_object)?;
    let texts = || all.iter().filter(|(_, schema)| kind(schema) == "string").map(|(name, _)| name.as_str());
    let common = ["path", "expression", "file", "directory", "folder", "dir", "filename"];
    texts()
        .find(|name| common.contains(name))
        .or_else(|| Some(texts().next()?).filter(|_| texts().count() == 1))
}

/// The type of a schema; of several, the first that is not null.
fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default()
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests;
