//! Tools that the model's provider runs, as agents have them.

use std::sync::Arc;

use serde_json::json;
use windlass_core::tool::HostedTool;
use windlass_error::Diagnostic as _;
use windlass_runtime::Agent;
use windlass_testing::{FnModel, FnTool};

#[test]
fn a_loop_cannot_ask_of_a_hosted_tool_what_only_calls_keep_to() {
    let built = |settings: serde_json::Value| {
        let agent = Agent::builder("reader")
            .model(("m", Arc::new(FnModel::script([]))))
            .hosted(HostedTool::WebSearch, serde_json::Map::new())
            .code_program("/bin/false");
        agent.tool(FnTool::new("look", |_, _| async { Ok("seen".into()) })).settings(&settings).build()
    };
    for (settings, key) in [
        (json!({ "approve": ["web_*"] }), "loop.approve"),
        (json!({ "require": ["web_search"] }), "loop.require"),
        (json!({ "tool_choice": { "first": "web_search", "then": "auto" } }), "loop.tool_choice"),
        (json!({ "wire": "fenced" }), "loop.wire"),
        (json!({ "preset": "plan" }), "loop.preset"),
    ] {
        let error = built(settings.clone()).expect_err("refused");
        assert_eq!(error.code(), "agent.hosted_loop", "{settings}: {error}");
        assert!(error.to_string().contains(key) && error.to_string().contains("`web_search`"), "{error}");
    }
    for settings in
        [json!({}), json!({ "approve": "effects" }), json!({ "deny": ["web_search"], "approve": ["*"] })]
    {
        let agent = built(settings.clone()).expect("an agent");
        let offered: Vec<_> =
            agent.tools().iter().map(|tool| (tool.name.to_string(), tool.hosted().is_some())).collect();
        assert_eq!(offered, [("look".to_owned(), false), ("web_search".to_owned(), true)], "{settings}");
    }
}
