//! E48: what a child sees, and that its whole process group goes with its server.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_tools::mcp::{McpConfig, McpServer, Restart};

use crate::support::*;

#[tokio::test]
async fn e48_the_child_sees_only_path_home_and_what_the_config_names() {
    // The tests' own environment is full of others (CARGO_… for one).
    assert!(std::env::vars().any(|(name, _)| name.starts_with("CARGO")));
    let config = config(&["normal"]).env("TOKEN", "s3cret-value");
    assert!(!format!("{config:?}").contains("s3cret-value"));
    let server = soon(McpServer::connect(config)).await.expect("a server");
    let seen: BTreeMap<String, String> =
        serde_json::from_str(&text(&server, "env", json!({})).await).expect("a map");
    let names: Vec<&str> = seen.keys().map(String::as_str).collect();
    assert_eq!(names, ["HOME", "PATH", "TOKEN"]);
    assert_eq!(
        (&seen["TOKEN"], &seen["PATH"]),
        (&"s3cret-value".to_owned(), &std::env::var("PATH").expect("PATH"))
    );

    let error = call(&server, "die", json!({"text": "bad token s3cret-value"})).await.expect_err("it died");
    assert!(error.message.ends_with("bad token ***"), "{error}");
    let error = call(&server, "fail", json!({"text": "s3cret-value"})).await.expect_err("it fails");
    assert_eq!(error.message.as_ref(), "no such file: ***");
}

#[tokio::test]
async fn k27_a_server_that_is_absent_is_sought_until_it_is_there() {
    let scratch = Scratch::new();
    let flag = scratch.path("ready");
    let wait = format!("test -e '{}' && exec '{}' normal", flag.display(), peer());
    let mut config = McpConfig::stdio("peer", ["sh", "-c", &wait]);
    config.restart = Restart { first_ms: 0, max_ms: 0, tries: 1 };
    let (server, absent) = soon(McpServer::connect_or_absent(config)).await;
    assert!(absent.is_some() && server.tools().is_empty() && !server.is_alive(), "{absent:?}");
    let changes = server.changes();
    server.seek();
    std::fs::write(&flag, "").expect("a flag");
    until("it is found", || {
        server.seek();
        !server.tools().is_empty()
    })
    .await;
    assert!(changes.has_changed().expect("a living server") && server.is_alive());
    assert_eq!(text(&server, "echo", json!({"text": "here"})).await, "here");
}

#[tokio::test]
async fn e48_the_child_works_in_its_folder() {
    let scratch = Scratch::new();
    let folder = scratch.path("work");
    std::fs::create_dir(&folder).expect("a folder");
    let server = soon(McpServer::connect(config(&["normal"]).folder(&folder))).await.expect("a server");
    let args = json!({"started": "here", "cancelled": "over"});
    let hang = tool(&server, "hang");
    let call = hang.call(context(), args);
    tokio::select! {
        result = call => panic!("{result:?}"),
        () = until("it writes in its folder", || folder.join("here").exists()) => {}
    }
}

#[tokio::test]
async fn e48_a_dropped_server_takes_its_grandchildren_with_it() {
    let server = connect(&["normal"]).await;
    let (child, grandchild) =
        (text(&server, "pid", json!({})).await, text(&server, "spawn", json!({})).await);
    assert!(runs(&child) && runs(&grandchild));
    let kept = tool(&server, "echo");
    drop(server);
    until("both are dead", || !runs(&child) && !runs(&grandchild)).await;
    drop(kept);
}

#[tokio::test]
async fn e48_a_dropped_server_fails_the_calls_that_are_going_on() {
    let server = connect(&["normal"]).await;
    let child = text(&server, "pid", json!({})).await;
    let (hang, scratch) = (tool(&server, "hang"), Scratch::new());
    let call = hang.call(context(), json!({"started": scratch.text("s"), "cancelled": scratch.text("c")}));
    let drops = async {
        until("the call is there", || scratch.path("s").exists()).await;
        drop(server);
    };
    let (result, ()) = soon(futures_util::future::join(call, drops)).await;
    assert_eq!(result.expect_err("it is gone").kind.as_deref(), Some("mcp_closed"));
    until("the child is dead", || !runs(&child)).await;
}

#[tokio::test]
async fn e48_a_closed_server_is_dead_when_close_returns() {
    let server = connect(&["normal"]).await;
    let (child, grandchild) =
        (text(&server, "pid", json!({})).await, text(&server, "spawn", json!({})).await);
    soon(server.close()).await;
    assert!(!runs(&child) && !runs(&grandchild));
}

#[tokio::test]
async fn e48_who_ignores_the_request_to_end_is_killed_after_the_grace() {
    // What is ignored stays so across exec: neither the server nor its helper hears SIGTERM.
    let script = format!("trap '' TERM; exec {} normal", peer());
    let server =
        soon(McpServer::connect(McpConfig::stdio("evil", ["sh", "-c", &script]))).await.expect("a server");
    let grandchild = text(&server, "spawn", json!({})).await;
    let start = Instant::now();
    soon(server.close()).await;
    let took = start.elapsed();
    assert!(took >= Duration::from_secs(2), "it had its grace: {took:?}");
    until("the helper is dead", || !runs(&grandchild)).await;
}

#[tokio::test]
async fn e48_the_helpers_of_a_server_that_died_go_too() {
    let server = connect(&["normal"]).await;
    let grandchild = text(&server, "spawn", json!({})).await;
    call(&server, "die", json!({"text": "x"})).await.expect_err("it died, though the helper held its pipes");
    until("the helper is dead", || !runs(&grandchild)).await;
}

#[tokio::test]
async fn e48_a_helper_that_left_the_group_does_not_keep_calls_waiting() {
    // `setsid` takes the helper out of the group, with the server's pipes in its hands.
    let scratch = Scratch::new();
    let script =
        format!("setsid sh -c 'echo $$ > {}; exec sleep 1000' & exec {} normal", scratch.text("pid"), peer());
    let server =
        soon(McpServer::connect(McpConfig::stdio("evil", ["sh", "-c", &script]))).await.expect("a server");
    until("the helper runs", || {
        std::fs::read_to_string(scratch.path("pid")).is_ok_and(|pid| pid.ends_with('\n'))
    })
    .await;
    let error = call(&server, "die", json!({"text": "x"})).await.expect_err("it died");
    assert_eq!(error.kind.as_deref(), Some("mcp_ended"), "{error}");
    let pid = std::fs::read_to_string(scratch.path("pid")).expect("a pid");
    std::process::Command::new("kill").args(["-9", pid.trim()]).status().expect("kill");
}

#[tokio::test]
async fn e48_a_connect_that_is_given_up_leaves_nothing_behind() {
    let scratch = Scratch::new();
    // It does not look at its input, so the end of that does not end it.
    let script = format!("echo $$ > {}; exec {} deaf", scratch.text("pid"), peer());
    let connect = McpServer::connect(McpConfig::stdio("evil", ["sh", "-c", &script]));
    let pid = || std::fs::read_to_string(scratch.path("pid")).ok().filter(|pid| pid.ends_with('\n'));
    tokio::select! {
        result = connect => panic!("{result:?}"),
        () = until("the child runs", || pid().is_some()) => {}
    }
    let pid = pid().expect("a pid");
    until("the child is dead", || !runs(pid.trim())).await;
}

#[test]
fn e48_a_runtime_that_ends_takes_the_servers_with_it() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (server, child, grandchild) = runtime.block_on(async {
        let server = connect(&["normal"]).await;
        let (child, grandchild) =
            (text(&server, "pid", json!({})).await, text(&server, "spawn", json!({})).await);
        (server, child, grandchild)
    });
    runtime.shutdown_background();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(until("both are dead", || !runs(&child) && !runs(&grandchild)));
    drop(server);
}
