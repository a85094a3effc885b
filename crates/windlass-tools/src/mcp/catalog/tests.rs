use serde_json::json;

use super::*;

fn listed(name: &str) -> ServerTool {
    serde_json::from_value(json!({"name": name, "description": "d", "inputSchema": {"type": "object"}}))
        .expect("a tool")
}

fn hinted(hints: Value) -> ServerTool {
    let mut tool = listed("t");
    tool.annotations = Some(serde_json::from_value(hints).expect("hints"));
    tool
}

fn catalog(config: &McpConfig, names: &[&str]) -> Result<Catalog, McpError> {
    let listed = names.iter().map(|name| listed(name)).collect();
    Catalog::new(config, listed, &Catalog::default(), &Weak::new())
}

fn names(config: &McpConfig, listed: &[&str]) -> Vec<String> {
    let catalog = catalog(config, listed).expect("a catalog");
    catalog.tools.iter().map(|tool| tool.spec_ref().name.to_string()).collect()
}

#[test]
fn names_have_the_prefix_and_only_plain_characters() {
    let mut config = McpConfig::stdio("files", ["x"]);
    assert_eq!(
        names(&config, &["read_file", "a.b/c", "é"]),
        ["files__read_file", "files__a_b_c", "files___"]
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
    assert!(names.iter().all(|name| name.len() == MAX_NAME && crate::set::valid_name(name)), "{names:?}");
    assert_ne!(names[0], names[1]);
}

#[test]
fn e47_a_collision_names_both_tools() {
    let config = McpConfig::stdio("files", ["x"]);
    let error = catalog(&config, &["a.b", "a_b"]).expect_err("both would be files__a_b");
    let text = "the tools `a.b` and `a_b` of the MCP server `files` would both be named `files__a_b`";
    assert_eq!(error.to_string(), text);
    let mut config = config;
    config.tools = Some(vec!["a.b".to_owned()]);
    assert_eq!(names(&config, &["a.b", "a_b"]), ["files__a_b"]);
}

#[test]
fn the_allow_list_matches_own_and_prefixed_names() {
    let mut config = McpConfig::stdio("files", ["x"]);
    config.tools = Some(vec!["read_*".to_owned(), "files__list".to_owned()]);
    let listed = ["read_a", "write_a", "list", "read_b"];
    assert_eq!(names(&config, &listed), ["files__read_a", "files__list", "files__read_b"]);
}

#[test]
fn hints_become_effects_and_an_override_wins() {
    let mut config = McpConfig::stdio("s", ["x"]);
    let effect_of = |config: &McpConfig, tool: &ServerTool| spec(config, tool).effect;
    assert_eq!(effect_of(&config, &listed("t")), Effect::Once);
    assert_eq!(effect_of(&config, &hinted(json!({"readOnlyHint": true}))), Effect::ReadOnly);
    assert_eq!(effect_of(&config, &hinted(json!({"idempotentHint": true}))), Effect::Once);
    let careful = hinted(json!({"idempotentHint": true, "destructiveHint": false}));
    assert_eq!(effect_of(&config, &careful), Effect::Idempotent);
    assert_eq!(effect_of(&config, &hinted(json!({"destructiveHint": false}))), Effect::Once);
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
    let spec = spec(&config, &tool);
    assert_eq!((spec.timeout_ms, spec.approve, spec.retries), (Some(5), true, Some(2)));
    assert_eq!(*spec.parameters, json!({"type": "object"}));
    assert_eq!(spec.origin.as_ref(), "mcp s");
}

#[test]
fn e47_unchanged_tools_are_taken_over() {
    let config = McpConfig::stdio("s", ["x"]);
    let before = catalog(&config, &["a", "b"]).expect("a catalog");
    let next = |names: &[&str]| {
        let listed = names.iter().map(|name| listed(name)).collect();
        Catalog::new(&config, listed, &before, &Weak::new()).expect("a catalog")
    };
    assert!(next(&["a", "b"]).is_as(&before));
    assert!(!next(&["a"]).is_as(&before) && !next(&["a", "c"]).is_as(&before));
    assert!(Arc::ptr_eq(&next(&["a", "c"]).tools[0], &before.tools[0]));
    assert!(before.offers("a") && !before.offers("s__a"));
}
