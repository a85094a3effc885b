//! E46: servers that die, hang, answer garbage, flood, never start or are not there.

use serde_json::json;
use windlass_error::Diagnostic as _;
use windlass_tools::mcp::{Lifecycle, McpConfig, McpServer, Restart};

use crate::support::*;

#[tokio::test]
async fn e46_a_server_that_dies_in_mid_call_fails_it_and_is_started_again() {
    let server = connect(&["normal"]).await;
    let before = text(&server, "pid", json!({})).await;
    let error = call(&server, "die", json!({"text": "out of disk"})).await.expect_err("it died");
    assert_eq!(error.message.as_ref(), "the MCP server `evil` ended (exit code 3): out of disk");
    assert_eq!((error.kind.as_deref(), error.unknown_tool), (Some("mcp_ended"), false));
    assert!(error.in_doubt, "it may have done its work before (E30)");
    let refused = call(&server, "refuse", json!({"text": "x"})).await.expect_err("it refuses");
    let failed = call(&server, "fail", json!({"text": "x"})).await.expect_err("it fails");
    assert!(!refused.in_doubt && !failed.in_doubt, "its own word leaves no doubt");
    assert_ne!(text(&server, "pid", json!({})).await, before);
}

#[tokio::test]
async fn e46_all_pending_calls_fail_when_the_server_dies() {
    let server = connect(&["normal"]).await;
    let scratch = Scratch::new();
    let hang = tool(&server, "hang");
    let args = |n: u32| json!({"started": scratch.text(&n.to_string()), "cancelled": scratch.text("c")});
    let calls = futures_util::future::join_all((0..5).map(|n| hang.call(context(), args(n))));
    let die = async {
        until("all calls are there", || (0..5).all(|n| scratch.path(&n.to_string()).exists())).await;
        call(&server, "die", json!({"text": "x"})).await
    };
    let (results, _) = soon(futures_util::future::join(calls, die)).await;
    for result in results {
        let error = result.expect_err("it died");
        assert_eq!(
            (error.kind.as_deref(), error.in_doubt),
            (Some("mcp_ended"), true),
            "because of another call"
        );
    }
}

#[tokio::test]
async fn e46_calls_at_once_after_a_death_share_one_new_server() {
    let server = connect(&["normal"]).await;
    call(&server, "die", json!({"text": "x"})).await.expect_err("it died");
    let pid = tool(&server, "pid");
    let calls = (0..10).map(|_| pid.call(context(), json!({})));
    let pids = soon(futures_util::future::join_all(calls)).await;
    let pids: std::collections::HashSet<String> = pids.into_iter().map(text_of).collect();
    assert_eq!(pids.len(), 1);
}

#[tokio::test]
async fn e46_a_broken_answer_fails_its_call_and_nothing_else() {
    let server = connect(&["normal"]).await;
    let pid = text(&server, "pid", json!({})).await;
    let scratch = Scratch::new();
    let hang = tool(&server, "hang");
    let args = json!({"started": scratch.text("started"), "cancelled": scratch.text("cancelled")});
    let mut beside = hang.call(context(), args);
    tokio::select! {
        result = &mut beside => panic!("{result:?}"),
        () = until("it runs", || scratch.path("started").exists()) => {}
    }
    let error = tokio::select! {
        result = &mut beside => panic!("{result:?}"),
        result = call(&server, "garbage", json!({})) => result.expect_err("garbage"),
    };
    let start = "the MCP server `evil` gave an answer that cannot be read: \"{";
    assert!(error.message.starts_with(start), "{error}");
    assert_eq!(error.kind.as_deref(), Some("mcp_unreadable"));
    assert_eq!(text(&server, "pid", json!({})).await, pid, "the process lives");
}

#[tokio::test]
async fn e47_odd_tools_cost_nothing_but_themselves() {
    let list = json!([
        {"name": "good", "inputSchema": {"type": "object"}},
        {"name": "no_schema"},
        {"name": "null_schema", "inputSchema": null},
        {"name": "any_schema", "inputSchema": true},
        {"name": "array", "inputSchema": {"type": "array"}},
        {"name": "text", "inputSchema": "object"},
        {"name": "described", "inputSchema": {}, "description": 7, "icons": "x", "title": []},
        {"name": "hinted", "inputSchema": {}, "annotations": {"readOnlyHint": "yes", "idempotentHint": null}},
        {"inputSchema": {}},
        {"name": 7, "inputSchema": {}},
        "what",
        {"name": "good", "inputSchema": {}},
        {"name": "查", "inputSchema": {}},
        {"name": "找", "inputSchema": {}},
        {"name": "task", "inputSchema": {}, "execution": {"taskSupport": "required"}},
        {"name": "maybe_task", "inputSchema": {"type": ["object", "null"]}, "execution": {"taskSupport": "optional"}},
    ]);
    let mut config = config(&["old", "listing", &list.to_string()]);
    config.lifecycle = Lifecycle::Initialize;
    let server = soon(McpServer::connect(config)).await.expect("a server");
    let names: Vec<_> = server.tools().iter().map(|tool| tool.spec().name.to_string()).collect();
    let plain = ["good", "no_schema", "null_schema", "any_schema", "described", "hinted"];
    let plain = plain.map(|name| format!("evil__{name}"));
    assert_eq!((names.len(), &names[..6], names[8].as_str()), (9, &plain[..], "evil__maybe_task"));
    assert!(names[6] != names[7], "{names:?}");
    assert!(server.tools().iter().all(|tool| windlass_tools::ToolSet::new().add(tool.clone()).is_ok()));
    let warnings: Vec<_> = server.warnings().iter().map(ToString::to_string).collect();
    for words in [
        "tool `array` of server `evil` is left out: its arguments would be no object but \"array\" (at `tools[4].inputSchema.type`)",
        "tool `text` of server `evil` is left out: its `inputSchema` is no schema that an object could fit (at `tools[5].inputSchema`)",
        "a tool of server `evil` is left out: it has no name (at `tools[8].name`)",
        "a tool of server `evil` is left out: it has no name (at `tools[9].name`)",
        "a tool of server `evil` is left out: it is no object (at `tools[10]`)",
        "tool `good` of server `evil` is left out: it is listed twice (at `tools[11].name`)",
        "tool `task` of server `evil` is left out: it only runs as a task, and tasks are not supported (at `tools[14].execution.taskSupport`)",
        "tool `evil__no_schema` of server `evil` is offered, but its `inputSchema` is missing, so that any arguments are let through (at `tools[1].inputSchema`)",
        "tool `evil__described` of server `evil` is offered, but its `title` is no text and does not count (at `tools[6].title`)",
        "tool `evil__hinted` of server `evil` is offered, but its `readOnlyHint` is neither true nor false and does not count (at `tools[7].annotations.readOnlyHint`)",
    ] {
        assert!(warnings.iter().any(|warning| warning == words), "{words}\n{warnings:#?}");
    }
    assert_eq!(text(&server, "good", json!({})).await, "called");
}

#[tokio::test]
async fn e47_a_list_that_goes_in_circles_ends_with_what_came() {
    let pages = |kind: &str| config(&["old", "pages", kind]);
    for (kind, expected) in
        [("empty", 2), ("cursor", 2), ("page", 1), ("breaks", 1), ("listless", 1), ("never", 0), ("map", 2)]
    {
        let mut config = pages(kind);
        config.lifecycle = Lifecycle::Initialize;
        let server = soon(McpServer::connect(config)).await.expect("a server");
        assert_eq!(server.tools().len(), expected, "{kind}");
    }
}

/// A server that answers its one tool with the given lines.
async fn odd() -> McpServer {
    let mut config = config(&["old", "odd"]);
    config.lifecycle = Lifecycle::Initialize;
    soon(McpServer::connect(config)).await.expect("a server")
}

#[tokio::test]
async fn e46_an_answer_with_an_odd_part_keeps_the_rest() {
    let server = odd().await;
    let fine = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"fine"}]}}"#;
    for (line, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"a\ud83d!"}]}}"#,
            Ok("a\u{fffd}!"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"x"}]},"error":null}"#,
            Ok("x"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":ID,"result":null,"error":{"code":-32000,"message":"m"}}"#,
            Err(("mcp_error", "m (JSON-RPC error -32000)")),
        ),
        (r#"{"jsonrpc":"2.0","id":ID,"error":"m"}"#, Err(("mcp_error", "m (JSON-RPC error -32603)"))),
        (
            r#"{"jsonrpc":"2.0","id":ID,"error":{"code":"-32000","message":"m"}}"#,
            Err(("mcp_error", "m (JSON-RPC error -32000)")),
        ),
        (
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#,
            Err(("mcp_error", "m (JSON-RPC error -32700)")),
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#,
            Err(("mcp_error", "m (JSON-RPC error -32700)")),
        ),
        (r#"{"jsonrpc":"2.0","id":ID,"result":{"structuredContent":{"a":NaN}}}"#, Ok(r#"{"a":null}"#)),
        (
            r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"hologram"},{"type":"text","text":"x"}]}}"#,
            Ok("[an item of type hologram was omitted: it cannot be read]\nx"),
        ),
        (r#"{"jsonrpc":"2.0","id":ID,"result":"#, Err(("mcp_unreadable", "which is no JSON"))),
        (r#"{"jsonrpc":"2.0","id":ID}"#, Err(("mcp_unreadable", "neither a result nor an error"))),
        (r#"{"jsonrpc":"2.0","id":ID,"result":{}}"#, Err(("mcp_unreadable", "no result of such a request"))),
        (
            r#"{"jsonrpc":"2.0","id":ID,"result":"fine"}"#,
            Err(("mcp_unreadable", "no result of such a request")),
        ),
        (r#"{"jsonrpc":"2.0","result":{"content":["#, Err(("mcp_unreadable", "which is no JSON"))),
        (r#"{"jsonrpc":"2.0","method":{},"id":[]}"#, Ok("fine")),
        (r#"{"jsonrpc":"2.0","id":987654,"result":{"content":["#, Ok("fine")),
    ] {
        // What goes on after an answer that is taken belongs to nobody.
        let result = call(&server, "ping", json!({"lines": [line, fine]})).await;
        match (result, expected) {
            (result @ Ok(_), Ok(text)) => assert_eq!(text_of(result), text, "{line}"),
            (Err(error), Err((kind, said))) => {
                assert_eq!(error.kind.as_deref(), Some(kind), "{line}: {error}");
                assert!(error.message.contains(said), "{line}: {error}");
            }
            (result, _) => panic!("{line}: {result:?}"),
        }
    }
    let log = "Zurück auf der Straße";
    let result = call(&server, "ping", json!({"latin": [log], "lines": [fine]})).await;
    assert_eq!(text_of(result), "fine", "a line of a log in Latin-1");
    let latin = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"é"}]}}"#;
    assert_eq!(text_of(call(&server, "ping", json!({ "latin": [latin] })).await), "\u{fffd}");
}

#[tokio::test]
async fn e46_an_answer_shares_its_line_with_other_text() {
    let mut config = config(&["old", "odd"]);
    config.lifecycle = Lifecycle::Initialize;
    config.call_ms = Some(20_000);
    let server = soon(McpServer::connect(config)).await.expect("a server");
    let fine = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"fine"}]}}"#;
    let turned = r#"{"id":ID,"result":{"content":[{"type":"text","text":"fine"}]},"jsonrpc":"2.0"}"#;
    let told = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    let echoed = r#"got {"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"ping"}}"#;
    let record = r#"{"level":20,"sent":{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}}"#;
    for lines in [
        vec![format!("paying... {fine}")],
        vec![format!("[1/2] {{x}} zahle für {turned}")],
        vec![format!("100%{}", fine.replace("{\"json", "{ \"json"))],
        vec![format!("{{\"level\":30}}{fine}")],
        vec![format!("{told}{fine}")],
        vec![format!("{fine} done.")],
        vec![format!("paying... {fine} done.")],
        vec![format!(r#"{{"jsonrpc":"2.0","id":99,"result":{{}}}}{fine}"#)],
        vec![echoed.to_owned(), record.to_owned(), fine.to_owned()],
        vec![r#"sent {"jsonrpc":"2.0","result":{"#.to_owned(), fine.to_owned()],
    ] {
        let result = call(&server, "ping", json!({ "latin": lines })).await;
        assert_eq!(text_of(result), "fine", "{lines:?}");
    }
    let line = r#"paying... {"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no order 7"}}"#;
    let error = call(&server, "ping", json!({"lines": [line]})).await.expect_err("its word");
    assert_eq!(error.message.as_ref(), "no order 7 (JSON-RPC error -32602)");
    let line = r#"paying... {"jsonrpc":"2.0","id":ID,"result":{"content":[{"#;
    let error = call(&server, "ping", json!({"lines": [line]})).await.expect_err("broken");
    assert_eq!((error.kind.as_deref(), error.in_doubt), (Some("mcp_unreadable"), true), "{error}");
}

#[tokio::test]
async fn e46_a_beginning_that_lacks_something_is_used_or_named() {
    let begins = |result: &str| {
        let mut config = config(&["old", "begins", result]);
        config.lifecycle = Lifecycle::Initialize;
        config
    };
    for result in [
        r#"{"protocolVersion":"2024-11-05","capabilities":{"tools":{}}}"#,
        r#"{"protocolVersion":"2024-11-05","serverInfo":{"name":"a","version":"1"}}"#,
        r#"{"protocolVersion":"2024-11-05"}"#,
        r#"{"protocolVersion":"2024-11-05","capabilities":{"tools":true,"logging":null},"serverInfo":{"name":5},"instructions":7}"#,
    ] {
        let server = soon(McpServer::connect(begins(result))).await.expect(result);
        text(&server, "ping", json!({})).await;
    }
    for result in
        [r#"{"capabilities":{"tools":{}},"serverInfo":{"name":"a","version":"1"}}"#, "{}", "\"hello\"", "7"]
    {
        let error = refusal(begins(result)).await;
        assert_eq!(
            error.to_string(),
            "the MCP server `evil` violates the protocol: its answer to `initialize` has no `protocolVersion`, \
             `capabilities` and `serverInfo`, as the result must have",
            "{result}"
        );
    }
}

#[tokio::test]
async fn e46_what_is_nested_too_deep_is_left_out_of_an_answer() {
    let server = odd().await;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let meta = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"paid"}],"_meta":{"a":DEEP}}}"#;
    let result = call(&server, "ping", json!({"lines": [meta.replace("DEEP", &deep)]})).await;
    assert_eq!(text_of(result), "paid");
    let data = r#"{"jsonrpc":"2.0","id":ID,"result":{"structuredContent":{"a":DEEP,"b":1}}}"#;
    let said = text_of(call(&server, "ping", json!({"lines": [data.replace("DEEP", &deep)]})).await);
    assert!(said.contains("[omitted: it is nested too deep]") && said.contains("\"b\":1"), "{said}");
}

#[tokio::test]
async fn e46_an_endless_line_fails_the_call() {
    let server = connect(&["normal"]).await;
    let error = call(&server, "long_line", json!({})).await.expect_err("too long");
    assert!(error.message.contains("a line of more than 16777216 bytes"), "{error}");
}

#[tokio::test]
async fn e46_stray_lines_between_the_messages_are_skipped() {
    let server = connect(&["normal"]).await;
    assert_eq!(text(&server, "noise", json!({})).await, "after the noise");
}

#[tokio::test]
async fn e46_a_server_that_asks_for_ever_and_reads_nothing_is_ended() {
    let mut config = config(&["old", "curious"]);
    config.lifecycle = Lifecycle::Initialize;
    let server = soon(McpServer::connect(config)).await.expect("a server");
    let error = call(&server, "ping", json!({})).await.expect_err("it never answers");
    let why = "it does not read the answers to its requests; 1000 are waiting";
    assert!(error.message.ends_with(why), "{error}");
}

#[tokio::test]
async fn a_server_that_asks_at_length_is_ended_at_once() {
    // The answers repeat the ids: a thousand of them waited to be read, 600 MB.
    let mut config = config(&["old", "pushy"]);
    config.lifecycle = Lifecycle::Initialize;
    let server = soon(McpServer::connect(config)).await.expect("a server");
    let error = call(&server, "ping", json!({})).await.expect_err("it never answers");
    assert!(error.message.ends_with("its request has 600042 bytes, the maximum is 16384"), "{error}");
}

#[tokio::test]
async fn e46_a_server_that_only_babbles_is_refused() {
    let error = refusal(config(&["babble"])).await;
    assert!(error.to_string().contains("it writes text instead of messages, such as \"y\""), "{error}");
}

#[tokio::test]
async fn e46_a_flood_on_stderr_blocks_nothing_and_its_end_is_kept() {
    let server = connect(&["normal"]).await;
    assert_eq!(text(&server, "flood_stderr", json!({})).await, "flooded");
    let error = call(&server, "die", json!({"text": "and now this"})).await.expect_err("it died");
    assert!(error.message.ends_with("the end of the flood\nand now this"), "{error}");
    assert!(error.message.len() < 5_000, "only the end is kept: {} bytes", error.message.len());
}

#[tokio::test]
async fn e46_a_hanging_call_ends_at_its_limit_and_the_server_is_told() {
    let mut config = config(&["normal"]);
    config.call_ms = Some(300);
    let server = soon(McpServer::connect(config)).await.expect("a server");
    let scratch = Scratch::new();
    let args = json!({"started": scratch.text("started"), "cancelled": scratch.text("cancelled")});
    let error = call(&server, "hang", args).await.expect_err("it hangs");
    assert!(error.in_doubt && !error.unsent);
    assert_eq!(error.message.as_ref(), "the MCP server `evil` did not answer within 300 ms");
    until("the server knows", || scratch.path("cancelled").exists()).await;
}

#[tokio::test]
async fn e46_a_server_that_never_gets_ready_is_given_up() {
    for mode in ["silent", "deaf"] {
        let mut config = config(&[mode]);
        config.start_ms = 500;
        let error = refusal(config).await;
        let said = if mode == "silent" { ": still loading" } else { "" };
        assert_eq!(error.to_string(), format!("the MCP server `evil` was not ready within 500 ms{said}"));
        assert_eq!(error.code(), "mcp_slow");
    }
}

#[tokio::test]
async fn e46_a_server_that_ends_at_once_says_why() {
    let error = refusal(config(&["exit"])).await;
    assert_eq!(error.to_string(), "the MCP server `evil` ended (exit code 7): no configuration found");
}

#[tokio::test]
async fn e46_a_command_that_is_not_installed_is_named() {
    let error = refusal(McpConfig::stdio("files", ["npx-of-nowhere", "-y", "server"])).await;
    assert_eq!(error.to_string(), "the command `npx-of-nowhere` of the MCP server `files` is not installed");
    assert!(error.help().expect("a help").contains("PATH"));
    let mut config = config(&["normal"]).folder("/nowhere/at/all");
    config.name = "f".to_owned();
    let wrong = "invalid configuration of the MCP server `f`: its folder `/nowhere/at/all` does not exist";
    assert_eq!(refusal(config).await.to_string(), wrong);
    assert_eq!(refusal(McpConfig::stdio("e", Vec::<String>::new())).await.code(), "mcp_bad_config");
}

#[tokio::test]
async fn e46_a_server_that_does_not_come_back_is_given_up_after_some_tries() {
    let scratch = Scratch::new();
    let mut config = config(&["once", &scratch.text("started")]);
    config.restart = Restart { first_ms: 1, max_ms: 3_600_000, tries: 3 };
    let server = soon(McpServer::connect(config)).await.expect("it starts once");
    let mut errors = Vec::new();
    for _ in 0..5 {
        errors.push(call(&server, "die", json!({"text": "x"})).await.expect_err("it is dead").message);
    }
    let not_again = "the MCP server `evil` ended (exit code 9): not again";
    assert_eq!(errors[0].as_ref(), "the MCP server `evil` ended (exit code 3): x");
    assert_eq!((errors[1].as_ref(), errors[2].as_ref()), (not_again, not_again));
    let given_up = format!(
        "the MCP server `evil` failed 3 times in a row and is not restarted now; last error: {not_again}"
    );
    assert_eq!((errors[3].as_ref(), errors[4].as_ref()), (given_up.as_str(), given_up.as_str()));
}

#[tokio::test]
async fn e30_a_call_that_waited_for_its_server_was_not_sent() {
    let scratch = Scratch::new();
    let mut config = config(&["once", &scratch.text("started")]);
    config.restart = Restart { first_ms: 3_600_000, max_ms: 3_600_000, tries: 9 };
    config.call_ms = Some(300);
    let server = soon(McpServer::connect(config)).await.expect("it starts once");
    let died = call(&server, "die", json!({"text": "x"})).await.expect_err("it died");
    assert!(died.in_doubt && !died.unsent);
    let timed = call(&server, "echo", json!({"text": "x"})).await.expect_err("it waits for the restart");
    let (echo, context) = (tool(&server, "echo"), context());
    let stop = context.cancelled.clone();
    let cancel = async {
        tokio::task::yield_now().await;
        stop.cancel();
    };
    let (stopped, ()) =
        soon(futures_util::future::join(echo.call(context, json!({"text": "x"})), cancel)).await;
    let unreached = "the MCP server `evil` cannot be reached: the call ended before it was sent; last error: it ended (exit code 3)";
    let stopped = stopped.expect_err("it is stopped");
    for (error, kind, words) in [
        (timed, "mcp_unreachable", unreached),
        (stopped, "cancelled", "the call was cancelled before it was sent"),
    ] {
        assert_eq!((error.kind.as_deref(), error.message.as_ref()), (Some(kind), words));
        assert!(!error.in_doubt && error.unsent);
    }
}

#[tokio::test]
async fn e46_a_server_that_does_not_survive_the_probe_is_spoken_to_without() {
    let server = connect(&["old", "touchy"]).await;
    assert_eq!(server.lifecycle(), Lifecycle::Initialize);
    text(&server, "ping", json!({})).await;
}

#[tokio::test]
async fn e46_a_server_silent_to_the_probe_costs_the_wait_once() {
    let scratch = Scratch::new();
    let script = format!("echo start >> {}; exec {} old", scratch.text("starts"), peer());
    let mut config = McpConfig::stdio("evil", ["sh", "-c", &script]);
    config.restart.first_ms = 1;
    let start = std::time::Instant::now();
    let server = soon(McpServer::connect(config)).await.expect("a server");
    let first = start.elapsed();
    let starts = || std::fs::read_to_string(scratch.path("starts")).expect("starts").lines().count();
    assert_eq!(starts(), 1, "its late answer to the probe did no harm");
    assert!(first.as_secs() >= 10, "rmcp waits 10 s for the probe: {first:?}");
    assert_eq!(server.lifecycle(), Lifecycle::Initialize);
    let pid = text(&server, "ping", json!({})).await;
    // The same server, ended from outside.
    let killed = std::process::Command::new("kill").args(["-9", &pid]).status().expect("kill");
    assert!(killed.success());
    until("it is dead", || !runs(&pid)).await;
    let start = std::time::Instant::now();
    let mut next = call(&server, "ping", json!({})).await;
    if next.is_err() {
        // The call may have come before the pipe broke.
        next = call(&server, "ping", json!({})).await;
    }
    assert_ne!(text_of(next), pid);
    assert!(start.elapsed() < first, "the outcome is remembered: {:?}", start.elapsed());
    assert_eq!(starts(), 2);
}

#[tokio::test]
async fn e46_a_closed_server_fails_calls_clearly() {
    let server = connect(&["normal"]).await;
    let (echo, scratch) = (tool(&server, "echo"), Scratch::new());
    let hang = tool(&server, "hang");
    let pending = hang.call(context(), json!({"started": scratch.text("s"), "cancelled": scratch.text("c")}));
    let close = async {
        until("the call is there", || scratch.path("s").exists()).await;
        server.close().await;
    };
    let (result, ()) = soon(futures_util::future::join(pending, close)).await;
    assert_eq!(result.expect_err("closed").message.as_ref(), "the MCP server `evil` was closed");
    for _ in 0..2 {
        let error = soon(echo.call(context(), json!({}))).await.expect_err("closed");
        assert_eq!(error.kind.as_deref(), Some("mcp_closed"));
    }
    drop(server);
    assert_eq!(
        soon(echo.call(context(), json!({}))).await.expect_err("gone").kind.as_deref(),
        Some("mcp_closed")
    );
}
