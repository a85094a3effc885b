//! E47 and E6: lists of tools that change, and tools that are taken away.

use serde_json::json;
use windlass_tools::mcp::{Lifecycle, McpServer};

use crate::support::*;

async fn speaking(lifecycle: Lifecycle) -> McpServer {
    let mut config = config(&["normal"]);
    config.lifecycle = lifecycle;
    soon(McpServer::connect(config)).await.expect("a server")
}

#[tokio::test]
async fn e47_a_changed_list_is_followed_in_both_lifecycles() {
    for lifecycle in [Lifecycle::Initialize, Lifecycle::Discover] {
        let server = speaking(lifecycle).await;
        let mut changes = server.changes();
        let count = server.tools().len();
        let kept = tool(&server, "echo");
        call(&server, "grow", json!({})).await.expect("it grows");
        soon(changes.changed()).await.expect("a change");
        assert_eq!(server.tools().len(), count + 1, "{lifecycle:?}");
        assert_eq!(text(&server, "grown", json!({})).await, "I am new");
        assert!(std::ptr::eq(kept.spec(), tool(&server, "echo").spec()), "unchanged tools keep their schema");

        call(&server, "shrink", json!({})).await.expect("it shrinks");
        soon(changes.changed()).await.expect("a change");
        assert_eq!(server.tools().len(), count);
    }
}

#[tokio::test]
async fn e6_a_tool_that_was_taken_away_counts_as_unknown() {
    let server = connect(&["normal"]).await;
    let mut changes = server.changes();
    call(&server, "grow", json!({})).await.expect("it grows");
    soon(changes.changed()).await.expect("a change");
    let grown = tool(&server, "grown");
    call(&server, "shrink", json!({})).await.expect("it shrinks");
    soon(changes.changed()).await.expect("a change");
    let error = soon(grown.call(context(), json!({}))).await.expect_err("it is gone");
    assert!(error.unknown_tool);
    assert_eq!(error.message.as_ref(), "the MCP server `evil` no longer offers the tool `grown`");
}

#[tokio::test]
async fn e6_a_tool_that_was_taken_away_in_silence_counts_as_unknown_too() {
    let server = connect(&["secretive"]).await;
    let mut changes = server.changes();
    assert_eq!(text(&server, "grown", json!({})).await, "I am new");
    let grown = tool(&server, "grown");
    call(&server, "shrink", json!({})).await.expect("it shrinks");
    assert_eq!(server.tools().len(), 19, "nobody told");
    let error = soon(grown.call(context(), json!({}))).await.expect_err("it is gone");
    assert!(error.unknown_tool, "{error:?}");
    soon(changes.changed()).await.expect("a change");
    assert_eq!(server.tools().len(), 18);
}

#[tokio::test]
async fn e6_a_server_that_comes_back_with_fewer_tools_is_told_as_a_change() {
    let server = connect(&["normal"]).await;
    let mut changes = server.changes();
    call(&server, "grow", json!({})).await.expect("it grows");
    soon(changes.changed()).await.expect("a change");
    let grown = tool(&server, "grown");
    call(&server, "die", json!({"text": "x"})).await.expect_err("it died");
    let error = soon(grown.call(context(), json!({}))).await.expect_err("the new one has no such tool");
    assert!(error.unknown_tool, "{error:?}");
    soon(changes.changed()).await.expect("a change");
    assert_eq!(server.tools().len(), 18);
}

#[tokio::test]
async fn e47_two_servers_with_equal_tools_get_different_names() {
    let (one, mut second) = (connect(&["normal"]).await, config(&["normal"]));
    second.name = "other".to_owned();
    let two = soon(McpServer::connect(second)).await.expect("a server");
    let mut set = windlass_tools::ToolSet::new();
    for tool in one.tools().into_iter().chain(two.tools()) {
        set.add(tool).expect("no clash");
    }
    assert_eq!(set.len(), 36);
}
