//! The attribute `#[tool]`.
#![expect(clippy::unused_async, reason = "what is tested is that tools may be async")]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass_core::CallOutcome;
use windlass_core::message::Content;
use windlass_core::tool::Effect;
use windlass_tools::{Tool, ToolContext, ToolError, ToolSet, tool};

use crate::context::context;

/// Adds two numbers.
#[tool(crate = windlass_tools)]
async fn add(
    /// The first number.
    a: i64,
    /// The second number.
    b: i64,
) -> i64 {
    a + b
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    Newest,
    Oldest,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Span {
    from: u32,
    to: Option<u32>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Node {
    value: i32,
    children: Vec<Node>,
}

/// Searches the archive.
///
/// Gives titles only.
#[tool(crate = windlass_tools, name = "search-archive", effect = "once", timeout_ms = 5_000, retries = 2, approve, poll, check = was_searched)]
#[expect(clippy::too_many_arguments, reason = "one of each kind")]
async fn search(
    context: &ToolContext,
    /// What to look for.
    query: &str,
    #[default(10)] limit: u32,
    #[default("en")] language: String,
    #[default(Order::Newest)] order: Order,
    #[default] tags: Vec<String>,
    span: Option<Span>,
    r#type: Option<String>,
) -> Result<Vec<String>, SearchError> {
    if query.is_empty() {
        return Err(SearchError::NothingToFind { limit });
    }
    let span = span.map(|span| (span.from, span.to));
    Ok(vec![format!(
        "{} {query} {limit} {language} {order:?} {tags:?} {span:?} {:?}",
        context.attempt, r#type
    )])
}

#[derive(Debug)]
enum SearchError {
    NothingToFind { limit: u32 },
    Unsure(std::io::Error),
}

impl fmt::Display for SearchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToFind { limit } => write!(f, "no query for {limit} results"),
            Self::Unsure(_) => f.write_str("the archive cannot be read"),
        }
    }
}

impl std::error::Error for SearchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unsure(error) => Some(error),
            Self::NothingToFind { .. } => None,
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "the tool's")]
async fn was_searched(
    context: &ToolContext,
    query: &str,
    _limit: u32,
    _language: String,
    _order: Order,
    _tags: Vec<String>,
    _span: Option<Span>,
    _type: Option<String>,
) -> Result<Option<Vec<String>>, SearchError> {
    match query {
        "lost" => Err(SearchError::Unsure(std::io::Error::other("disk gone"))),
        "new" => Ok(None),
        _ => Ok(Some(vec![context.idempotency_key.to_string()])),
    }
}

#[tool(crate = windlass_tools)]
fn blocking_id() -> String {
    format!("{:?}", std::thread::current().id())
}

#[tool(crate = windlass_tools)]
fn walk(node: Node) -> i32 {
    node.value + node.children.into_iter().map(walk).sum::<i32>()
}

#[tool(crate = windlass_tools)]
async fn nothing() {}

#[tool(crate = windlass_tools)]
async fn plain_content() -> Content {
    "as it is".into()
}

#[tool(crate = windlass_tools)]
async fn sorted() -> Result<BTreeMap<&'static str, i32>, String> {
    Ok(BTreeMap::from([("b", 2), ("a", 1)]))
}

type Hidden = Result<(), &'static str>;

#[tool(crate = windlass_tools)]
async fn hidden_result() -> Hidden {
    Err("only a text")
}

#[tool(crate = windlass_tools)]
async fn own_error() -> Result<(), ToolError> {
    Err(ToolError { unknown_tool: true, ..ToolError::of_kind("Gone", "no more") })
}

#[tool(crate = windlass_tools)]
async fn any_error() -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    Err("boxed".into())
}

#[tool(crate = windlass_tools)]
async fn io_error() -> std::io::Result<String> {
    std::fs::read_to_string("/nonexistent/file")
}

#[tool(crate = windlass_tools)]
async fn number_error() -> Result<u8, std::num::ParseIntError> {
    "x".parse()
}

#[tool(crate = windlass_tools)]
async fn json_error() -> Result<u8, serde_json::Error> {
    serde_json::from_str("{")
}

/// Written by macro for one condition: the other must not clash with it.
#[cfg(any())]
#[tool(crate = windlass_tools)]
async fn nothing() {}

async fn run(tool: impl Tool, args: Value) -> Result<String, ToolError> {
    let checker = tool.spec().checker().unwrap();
    assert_eq!(checker.check(&args), Ok(()), "{args} against {}", tool.spec().parameters);
    tool.call(context(), args).await.map(|content| content.text().into_owned())
}

#[tokio::test]
async fn a23_a_function_becomes_a_tool_and_stays_a_function() {
    assert_eq!(run(add, json!({ "a": 2, "b": 5 })).await.unwrap(), "7");
    assert_eq!(add(2, 5).await, 7);
    assert_eq!(walk(Node { value: 1, children: vec![Node { value: 2, children: vec![] }] }), 3);
    let node = json!({ "node": { "value": 1, "children": [{ "value": 2, "children": [] }] } });
    assert_eq!(run(walk, node).await.unwrap(), "3");
    let mut set = ToolSet::new();
    set.add(Arc::new(add)).unwrap();
    assert_eq!(set.get("add").unwrap().spec().description.as_ref(), "Adds two numbers.");
    assert_eq!(add.spec().origin.as_ref(), "code it::macro_tool");
}

#[test]
fn a23_the_schema_is_plain_and_in_order() {
    assert_eq!(
        add.spec().parameters.to_string(),
        json!({
            "type": "object",
            "properties": {
                "a": { "type": "integer", "description": "The first number." },
                "b": { "type": "integer", "description": "The second number." },
            },
            "required": ["a", "b"],
            "additionalProperties": false,
        })
        .to_string()
    );
    assert_eq!(
        *nothing.spec().parameters,
        json!({ "type": "object", "properties": {}, "additionalProperties": false })
    );
}

#[test]
fn the_schema_of_every_kind_of_parameter() {
    let spec = search.spec();
    assert_eq!(spec.description.as_ref(), "Searches the archive.\n\nGives titles only.");
    assert_eq!(
        *spec.parameters,
        json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "What to look for." },
                "limit": { "type": "integer", "minimum": 0, "default": 10 },
                "language": { "type": "string", "default": "en" },
                "order": { "type": "string", "enum": ["newest", "oldest"], "default": "newest" },
                "tags": { "type": "array", "items": { "type": "string" }, "default": [] },
                "span": {
                    "type": ["object", "null"],
                    "properties": { "from": { "type": "integer", "minimum": 0 }, "to": { "type": ["integer", "null"], "minimum": 0 } },
                    "required": ["from"],
                },
                "type": { "type": ["string", "null"] },
            },
            "required": ["query"],
            "additionalProperties": false,
        })
    );
    let schema = &walk.spec().parameters;
    assert_eq!(schema["properties"]["node"]["properties"]["value"], json!({ "type": "integer" }));
    assert_eq!(schema["$defs"]["Node"]["properties"]["value"], json!({ "type": "integer" }));
}

#[test]
fn the_attributes_arguments_reach_the_spec() {
    let spec = search.spec();
    assert_eq!(spec.name.as_ref(), "search-archive");
    assert_eq!((spec.effect, spec.timeout_ms, spec.retries), (Effect::Once, Some(5_000), Some(2)));
    assert!(spec.approve && spec.poll && spec.has_check);
    let plain = add.spec();
    assert_eq!((plain.timeout_ms, plain.retries), (None, None));
    assert!(!plain.approve && !plain.poll && !plain.has_check && plain.is_offered());
}

#[tokio::test]
async fn defaults_stand_in_for_what_is_missing() {
    assert_eq!(
        run(search, json!({ "query": "bees" })).await.unwrap(),
        r#"["1 bees 10 en Newest [] None None"]"#
    );
    let all = json!({ "query": "bees", "limit": 1, "language": "de", "order": "oldest", "tags": ["x"],
        "span": { "from": 3 }, "type": "book" });
    assert_eq!(
        run(search, all).await.unwrap(),
        r#"["1 bees 1 de Oldest [\"x\"] Some((3, None)) Some(\"book\")"]"#
    );
    assert_eq!(
        run(search, json!({ "query": "b", "span": null, "type": null })).await.unwrap(),
        r#"["1 b 10 en Newest [] None None"]"#
    );
}

#[tokio::test]
async fn a26_plain_functions_do_not_run_on_the_runtimes_thread() {
    let here = format!("{:?}", std::thread::current().id());
    assert_ne!(run(blocking_id, json!({})).await.unwrap(), here);
}

#[tokio::test]
async fn results_of_all_kinds_become_content() {
    assert_eq!(run(nothing, json!({})).await.unwrap(), "done");
    assert_eq!(run(plain_content, json!({})).await.unwrap(), "as it is");
    assert_eq!(run(sorted, json!({})).await.unwrap(), r#"{"a":1,"b":2}"#);
}

#[tokio::test]
async fn errors_have_the_kind_of_their_variant_or_type() {
    let error = run(search, json!({ "query": "" })).await.unwrap_err();
    assert_eq!(error, ToolError::of_kind("NothingToFind", "no query for 10 results"));
    assert_eq!(run(hidden_result, json!({})).await.unwrap_err(), ToolError::new("only a text"));
    assert_eq!(run(any_error, json!({})).await.unwrap_err(), ToolError::new("boxed"));
    let own = run(own_error, json!({})).await.unwrap_err();
    assert!(own.unknown_tool && own.kind.as_deref() == Some("Gone"));
    let io = run(io_error, json!({})).await.unwrap_err();
    assert_eq!(io.kind.as_deref(), Some("NotFound"));
    assert_eq!(run(number_error, json!({})).await.unwrap_err().kind.as_deref(), Some("ParseIntError"));
    assert_eq!(run(json_error, json!({})).await.unwrap_err().kind.as_deref(), Some("serde_json::Error"));
}

#[tokio::test]
async fn a_check_says_whether_the_call_happened() {
    let check = |query: &str| search.check(context(), json!({ "query": query }));
    let Some(CallOutcome::Ok { content }) = check("bees").await.unwrap() else { panic!("it happened") };
    assert_eq!(content.text(), r#"["key-1"]"#);
    assert_eq!(check("new").await.unwrap(), None);
    let error = check("lost").await.unwrap_err();
    assert_eq!(error, ToolError::of_kind("Unsure", "the archive cannot be read: disk gone"));
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_named() {
    for (args, message) in [
        (json!({ "a": 1 }), "the argument `b` is missing"),
        (json!({ "a": 1, "b": "x" }), "invalid argument `b`: invalid type: string \"x\", expected i64"),
        (json!([1, 2]), "expected an object of arguments, found [1,2]"),
    ] {
        let error = add.call(context(), args).await.unwrap_err();
        assert_eq!(error, ToolError::of_kind("InvalidArguments", message));
    }
}
