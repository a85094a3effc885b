use serde_json::json;
use sha2::Digest as _;

use super::*;
use crate::mcp::client::server::Shared;

/// A server that is gone.
fn no_server() -> Weak<dyn Remote> {
    Weak::<Shared>::new()
}

fn listed(name: &str) -> ServerTool {
    serde_json::from_value(json!({"name": name, "description": "d", "inputSchema": {"type": "object"}}))
        .expect("a tool")
}

fn spec_of(config: &McpConfig, tool: &ServerTool) -> ToolSpec {
    let offered = offered(config, &[&tool.name]).remove(0);
    spec(config, tool, offered)
}

fn hinted(hints: Value) -> ServerTool {
    let mut tool = listed("t");
    tool.annotations = Some(serde_json::from_value(hints).expect("hints"));
    tool
}

fn catalog(config: &McpConfig, names: &[&str]) -> Catalog {
    let listed = names.iter().map(|name| listed(name)).collect();
    Catalog::new(config, listed, &Catalog::default(), &no_server())
}

fn names(config: &McpConfig, listed: &[&str]) -> Vec<String> {
    let catalog = catalog(config, listed);
    catalog.tools.iter().map(|tool| tool.spec_ref().name.to_string()).collect()
}

#[test]
fn e53_what_a_server_says_of_its_tools_is_masked() {
    let config = McpConfig::stdio("s", ["x"]).env("TOKEN", "tok-catalog-0123456789");
    let base64 = "dG9rLWNhdGFsb2ctMDEyMzQ1Njc4OQ==";
    let listed: ServerTool = serde_json::from_value(json!({
        "name": "leak_tok-catalog-0123456789",
        "description": format!("uses tok-catalog-0123456789, or {base64}"),
        "inputSchema": {
            "type": "object", "title": "tok-catalog-0123456789",
            "properties": { "tok-catalog-0123456789": { "enum": [base64, "other"], "default": "tok%2Dcatalog%2D0123456789" } },
            "required": ["tok-catalog-0123456789"],
        },
    }))
    .expect("a tool");
    let catalog = Catalog::new(&config, vec![listed], &Catalog::default(), &no_server());
    let tool = &catalog.tools[0];
    let spec = serde_json::to_value(tool.spec_ref()).expect("JSON");
    assert!(!spec.to_string().contains("0123456789") && !spec.to_string().contains(base64), "{spec}");
    assert_eq!(tool.spec_ref().description.as_ref(), "uses ***, or ***");
    let expected = json!({ "***": { "enum": ["***", "other"], "default": "***" } });
    assert_eq!(spec["parameters"]["properties"], expected);
    assert_eq!(tool.remote(), "leak_tok-catalog-0123456789", "the server knows it by its name");
}

#[test]
fn names_have_the_prefix_and_only_plain_characters() {
    let mut config = McpConfig::stdio("files", ["x"]);
    assert_eq!(
        names(&config, &["read_file", "a.b/c", "ls", "get-sum", "é", "查找", "查询", "a.b", "--"]),
        [
            "files__read_file",
            "files__a_b_c",
            "files__ls",
            "files__get-sum",
            "files____4a9955",
            "files_____300331",
            "files_____bcd677",
            "files__a_b_2e7336",
            "files__--_d8156b",
        ]
    );
    config.prefix = Some("f s".to_owned());
    assert_eq!(names(&config, &["read"]), ["f_s__read"]);
    config.prefix = Some(String::new());
    assert_eq!(names(&config, &["read"]), ["read"]);
    config.overrides.prefix = Some("my_".into());
    assert_eq!(names(&config, &["read"]), ["my_read"]);
}

#[test]
fn long_names_are_cut_and_stay_different() {
    let config = McpConfig::stdio("files", ["x"]);
    let (one, two) = ("x".repeat(100), format!("{}y", "x".repeat(99)));
    let names = names(&config, &[&one, &two]);
    assert!(
        names.iter().all(|name| name.len() == crate::set::MAX_NAME && crate::set::valid_name(name)),
        "{names:?}"
    );
    assert_ne!(names[0], names[1]);
}

#[test]
fn p30_names_that_would_be_equal_are_told_apart_and_say_what_they_were() {
    let config = McpConfig::stdio("files", ["x"]);
    let listed = vec![listed("a.b"), listed("a_b"), listed("查"), listed("abc")];
    let catalog = Catalog::new(&config, listed, &Catalog::default(), &no_server());
    let tools: Vec<_> = catalog.tools.iter().map(|tool| tool.spec_ref()).collect();
    let names: std::collections::HashSet<_> = tools.iter().map(|spec| spec.name.clone()).collect();
    assert_eq!(names.len(), 4);
    let digest = |name: &str| {
        let digest = sha2::Sha256::digest(name);
        format!("{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2])
    };
    assert_eq!(tools[0].name.as_ref(), format!("files__a_b_{}", digest("a.b")));
    assert_eq!(tools[1].name.as_ref(), format!("files__a_b_{}", digest("a_b")));
    let descriptions: Vec<_> = tools.iter().map(|spec| spec.description.as_ref()).collect();
    assert_eq!(descriptions, ["a.b: d", "a_b: d", "查: d", "d"]);
    assert!(catalog.warnings.is_empty());
}

#[test]
fn tools_are_chosen_by_the_servers_own_names() {
    let mut config = McpConfig::stdio("files", ["x"]);
    config.tools.only = Some(vec!["read_*".to_owned(), "list".to_owned(), "files__write".to_owned()]);
    config.tools.without = vec!["*_secret".to_owned()];
    config.tools.rename = [("list".to_owned(), "dir".to_owned())].into();
    config.tools.effects =
        vec![("read_a".to_owned(), Effect::Idempotent), ("read_*".to_owned(), Effect::ReadOnly)];
    config.overrides.effect = Some(Effect::Once);
    let listed: Vec<_> =
        ["read_a", "write", "list", "read_secret", "read_b"].iter().map(|name| listed(name)).collect();
    let catalog = Catalog::new(&config, listed, &Catalog::default(), &no_server());
    let tools: Vec<_> =
        catalog.tools.iter().map(|tool| (tool.spec_ref().name.to_string(), tool.spec_ref().effect)).collect();
    let expected = [
        ("files__read_a".to_owned(), Effect::Idempotent),
        ("files__dir".to_owned(), Effect::Once),
        ("files__read_b".to_owned(), Effect::ReadOnly),
    ];
    assert_eq!(tools, expected);
    assert_eq!(catalog.tools[1].remote(), "list", "it is called by its own name");
    let warnings: Vec<_> = catalog.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        ["tool `files__write` of server `files` is not listed by it; did you mean write? (at `tools.only`)"]
    );
}

#[test]
fn names_that_are_not_listed_are_warned_of_with_the_nearest() {
    let mut config = McpConfig::stdio("files", ["x"]);
    config.tools.without = vec!["delte".to_owned()];
    config.tools.rename = [("lst".to_owned(), "dir".to_owned())].into();
    config.tools.effects = vec![("raed_*".to_owned(), Effect::ReadOnly)];
    let catalog = catalog(&config, &["delete", "list", "read_a"]);
    let warnings: Vec<_> = catalog.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "tool `delte` of server `files` is not listed by it; did you mean delete? (at `tools.without`)",
            "tool `lst` of server `files` is not listed by it; did you mean list? (at `tools.rename`)",
            "tool `raed_*` of server `files` is not listed by it; did you mean read_a? (at `tools.effects`)",
        ]
    );
    assert_eq!(catalog.tools.len(), 3);
}

#[test]
fn hints_of_a_trusted_server_become_effects_and_an_override_wins() {
    let mut config = McpConfig::stdio("s", ["x"]);
    let effect_of = |config: &McpConfig, tool: &ServerTool| spec_of(config, tool).effect;
    for hints in [json!({"readOnlyHint": true}), json!({"idempotentHint": true, "destructiveHint": false})] {
        assert_eq!(effect_of(&config, &hinted(hints)), Effect::Once, "its server is not trusted");
    }
    config.trust = true;
    assert_eq!(effect_of(&config, &listed("t")), Effect::Once);
    assert_eq!(effect_of(&config, &hinted(json!({"readOnlyHint": true}))), Effect::ReadOnly);
    assert_eq!(effect_of(&config, &hinted(json!({"idempotentHint": true}))), Effect::Once);
    let careful = hinted(json!({"idempotentHint": true, "destructiveHint": false}));
    assert_eq!(effect_of(&config, &careful), Effect::Idempotent);
    assert_eq!(effect_of(&config, &hinted(json!({"destructiveHint": false}))), Effect::Once);
    config.overrides.effect = Some(Effect::Once);
    assert_eq!(
        effect_of(&config, &hinted(json!({"readOnlyHint": true}))),
        Effect::Once,
        "explicit beats trust"
    );
    config.trust = false;
    config.overrides.effect = Some(Effect::ReadOnly);
    assert_eq!(effect_of(&config, &listed("t")), Effect::ReadOnly);
}

#[test]
fn overrides_and_a_missing_type_are_filled_in() {
    let mut config = McpConfig::stdio("s", ["x"]);
    config.overrides.timeout_ms = Some(5);
    config.overrides.approve = Some(true);
    config.overrides.retries = Some(2);
    let tool: ServerTool = serde_json::from_value(json!({"name": "t", "inputSchema": {}})).expect("a tool");
    let spec = spec_of(&config, &tool);
    assert_eq!((spec.timeout_ms, spec.approve, spec.retries), (Some(5), true, Some(2)));
    assert_eq!(*spec.parameters, json!({"type": "object"}));
    assert_eq!(spec.origin.as_ref(), "mcp s");
}

#[test]
fn e47_unchanged_tools_are_taken_over() {
    let config = McpConfig::stdio("s", ["x"]);
    let before = catalog(&config, &["a", "b"]);
    let next = |names: &[&str]| {
        let listed = names.iter().map(|name| listed(name)).collect();
        Catalog::new(&config, listed, &before, &no_server())
    };
    assert!(next(&["a", "b"]).is_as(&before));
    assert!(!next(&["a"]).is_as(&before) && !next(&["a", "c"]).is_as(&before));
    assert!(Arc::ptr_eq(&next(&["a", "c"]).tools[0], &before.tools[0]));
    assert!(before.offers("a") && !before.offers("s__a"));
}

fn with_schema(name: &str, schema: &Value) -> ServerTool {
    serde_json::from_value(json!({ "name": name, "inputSchema": schema })).expect("a tool")
}

/// Definitions that each refer twice to the one before.
fn bomb() -> Value {
    let twice = |n: u32| json!({ "allOf": vec![json!({ "$ref": format!("#/$defs/d{n}") }); 2] });
    let mut definitions: serde_json::Map<String, Value> =
        (1..=40).map(|n| (format!("d{n}"), twice(n - 1))).collect();
    definitions.insert("d0".to_owned(), json!(true));
    json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d40" } }, "$defs": definitions })
}

#[test]
fn a_tool_whose_schema_costs_too_much_is_left_out_and_the_others_stay() {
    let config = McpConfig::stdio("files", ["x"]);
    let pattern =
        json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "^(?!x)(a+)+$" } } });
    let listed = vec![listed("one"), with_schema("two", &bomb()), with_schema("three", &pattern)];
    let catalog = Catalog::new(&config, listed, &Catalog::default(), &no_server());
    let names: Vec<_> = catalog.tools.iter().map(|tool| tool.spec_ref().name.to_string()).collect();
    assert_eq!(names, ["files__one", "files__three"]);
    let warnings: Vec<_> = catalog.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "tool `files__two` of server `files` is left out: more than 64 subschemas apply to one value, each within \
             the one before (at `tools[1].inputSchema`)",
            "tool `files__three` of server `files` is offered, but its arguments are only partly checked: the pattern \
             `^(?!x)(a+)+$` cannot be matched in linear time: it is not a regular expression, or has look-around or back \
             references (at `tools[2].inputSchema`)",
        ]
    );
    // The pattern of the third has look-ahead: the tool stays, and the pattern goes unchecked.
    let checker = catalog.tools[1].spec_ref().checker().expect("a checker");
    assert_eq!(checker.unchecked().len(), 1);
    assert!(checker.check(&json!({ "a": "xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!" })).is_ok());
}

#[test]
fn the_schemas_of_one_server_have_a_bound_together() {
    let config = McpConfig::stdio("files", ["x"]);
    let bombs = (0..60).map(|n| with_schema(&format!("b{n}"), &bomb()));
    let listed: Vec<_> = bombs.chain([listed("late")]).collect();
    let catalog = Catalog::new(&config, listed, &Catalog::default(), &no_server());
    assert!(catalog.tools.is_empty());
    assert_eq!(catalog.warnings.len(), 61);
    let last = catalog.warnings.last().expect("a warning").to_string();
    assert!(
        last.ends_with(
            "is left out: the schemas before it have more than 1000000 keywords (at `tools[60].inputSchema`)"
        ),
        "{last}"
    );
}
