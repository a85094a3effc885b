use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::{Value, json};
use windlass_core::ToolSpec;
use windlass_core::tool::Effect;
use windlass_error::Diagnostic as _;

use super::*;
use crate::overrides::ToolOverrides;
use crate::tool::{ToolContext, ToolResult};

#[derive(Debug)]
struct Named(ToolSpec);

impl Tool for Named {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, _context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move { Ok(args.to_string().into()) })
    }
}

fn tool_of(name: &str, origin: &str, parameters: Value) -> Arc<dyn Tool> {
    let mut spec = ToolSpec::new(name, "", parameters);
    spec.origin = origin.into();
    Arc::new(Named(spec))
}

fn tool(name: &str, origin: &str) -> Arc<dyn Tool> {
    tool_of(name, origin, json!({ "type": "object" }))
}

fn names(set: &ToolSet) -> Vec<String> {
    set.specs().iter().map(|spec| spec.name.to_string()).collect()
}

#[test]
fn tools_are_kept_in_order_and_found_by_name() {
    let mut set = ToolSet::new();
    assert!(set.is_empty());
    for name in ["search", "add", "Read-2"] {
        set.add(tool(name, "code")).unwrap();
    }
    assert_eq!(names(&set), ["search", "add", "Read-2"]);
    assert_eq!(set.len(), 3);
    assert_eq!(set.get("add").unwrap().spec().name.as_ref(), "add");
    assert!(set.get("Add").is_none());
    assert_eq!(set.nearest("serch"), ["search"]);
}

#[test]
fn l21_e10_equal_names_are_refused_with_both_origins() {
    let mut set = ToolSet::new();
    set.add(tool("read", "mcp files")).unwrap();
    let error = set.add(tool("read", "mcp disk")).unwrap_err();
    assert_eq!(error.to_string(), "Duplicate tool name: read (one is from mcp files, one from mcp disk)");
    assert_eq!(error.code(), "tool_clash");
    assert!(error.help().unwrap().contains("prefix"));
    assert_eq!(names(&set), ["read"]);
}

#[test]
fn e10_reserved_names_and_names_of_delegates_are_refused() {
    let mut set = ToolSet::new();
    for name in RESERVED {
        let error = set.add(tool(name, "builtin")).unwrap_err();
        assert!(error.to_string().contains(name) && error.to_string().contains("builtin"), "{error}");
    }
    set.reserve("writer", "agent ./writer.yaml").unwrap();
    let error = set.add(tool("writer", "command")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Duplicate tool name: writer (one is from agent ./writer.yaml, one from command)"
    );
    set.add(tool("add", "code")).unwrap();
    let error = set.reserve("add", "agent ./add.yaml").unwrap_err();
    assert_eq!(error.to_string(), "Duplicate tool name: add (one is from code, one from agent ./add.yaml)");
    assert_eq!(set.reserve("read_result", "agent x").unwrap_err().code(), "tool_reserved");
    for name in ["search_tools", "branch", "update_blackboard"] {
        let mut free = ToolSet::new();
        free.add(tool(name, "mcp git")).unwrap();
    }
    set.add_own(tool("read_result", "windlass")).unwrap();
    assert_eq!(names(&set), ["add", "read_result"]);
}

#[test]
fn e10_a_prefix_parts_equal_names_where_it_is_asked_for() {
    let mut set = ToolSet::new();
    set.add(tool("read", "mcp files")).unwrap();
    let prefix = ToolOverrides { prefix: Some("disk__".into()), ..ToolOverrides::default() };
    set.add(prefix.apply(tool("read", "mcp disk"))).unwrap();
    assert_eq!(names(&set), ["read", "disk__read"]);
}

#[test]
fn names_that_no_provider_takes_are_refused() {
    let mut set = ToolSet::new();
    let long = "x".repeat(65);
    for name in ["", "a b", "ä", "a.b", "a/b", &long] {
        assert_eq!(set.add(tool(name, "code")).unwrap_err().code(), "tool_bad_name", "{name}");
    }
    set.add(tool(&"x".repeat(64), "code")).unwrap();
}

#[test]
fn schemas_that_describe_no_object_are_refused() {
    for schema in [
        json!(true),
        json!({}),
        json!({ "type": "string" }),
        json!({ "type": ["object", "null"] }),
        json!({ "type": "object", "properties": { "a": { "type": "nonsense" } } }),
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/missing" } } }),
        json!({ "type": "object", "required": "a" }),
    ] {
        let mut set = ToolSet::new();
        let error = set.add(tool_of("bad", "mcp x", schema.clone())).unwrap_err();
        assert_eq!(error.code(), "tool_bad_schema", "{schema}");
        assert!(
            error.to_string().starts_with("the parameters of `bad`, from mcp x, are not a JSON Schema"),
            "{error}"
        );
        assert!(set.is_empty());
    }
}

#[test]
fn a_tool_can_be_replaced_and_removed_in_its_place() {
    let mut set = ToolSet::new();
    for name in ["a", "b", "c"] {
        set.add(tool(name, "code")).unwrap();
    }
    let before = set.clone();
    set.replace(tool("b", "script")).unwrap();
    set.replace(tool("d", "script")).unwrap();
    assert_eq!(names(&set), ["a", "b", "c", "d"]);
    assert_eq!(set.get("b").unwrap().spec().origin.as_ref(), "script");
    assert_eq!(set.specs()[1].origin.as_ref(), "script");
    assert!(set.remove("a").is_some() && set.remove("a").is_none());
    assert_eq!(names(&set), ["b", "c", "d"]);
    assert_eq!(set.get("d").unwrap().spec().name.as_ref(), "d");
    assert_eq!(names(&before), ["a", "b", "c"]);
    assert_eq!(before.specs()[1].origin.as_ref(), "code");
}

#[test]
fn overrides_change_what_they_name_and_nothing_else() {
    let plain = tool("a", "code");
    assert!(Arc::ptr_eq(&ToolOverrides::default().apply(plain.clone()), &plain));
    let overrides: ToolOverrides = serde_json::from_value(
        json!({ "timeout_ms": 5, "effect": "once", "approve": true, "retries": 2, "poll": true }),
    )
    .unwrap();
    let changed = overrides.apply(plain.clone());
    let spec = changed.spec();
    assert_eq!((spec.timeout_ms, spec.retries, spec.effect), (Some(5), Some(2), Effect::Once));
    assert!(spec.approve && spec.poll && !spec.has_check);
    assert_eq!((spec.name.as_ref(), spec.origin.as_ref()), ("a", "code"));
    assert_eq!(plain.spec().timeout_ms, None);
}
