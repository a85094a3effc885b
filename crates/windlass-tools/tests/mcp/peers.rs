//! The MCP client against the reference servers from npm. Runs with `--ignored`, Node and
//! `WINDLASS_NPM_PEERS=<the folder with node_modules>`, into which
//! `npm i @modelcontextprotocol/server-filesystem @modelcontextprotocol/server-everything` went.

#![expect(clippy::expect_used, clippy::panic, reason = "the helpers of tests fail by panicking")]

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use windlass_core::message::Content;
use windlass_core::message::Part;
use windlass_core::tool::Effect;
use windlass_tools::ToolSet;
use windlass_tools::mcp::{Lifecycle, McpConfig, McpServer};

#[expect(dead_code, reason = "these tests need a part of it only")]
mod support;

use support::*;

fn folder() -> PathBuf {
    let folder = std::env::var_os("WINDLASS_NPM_PEERS")
        .expect("WINDLASS_NPM_PEERS names the folder with node_modules");
    // The tests run in the crate's folder, the variable is likely to be set in another.
    std::fs::canonicalize(folder).expect("the folder of WINDLASS_NPM_PEERS")
}

fn script(server: &str) -> String {
    let path = folder().join("node_modules/@modelcontextprotocol").join(server).join("dist/index.js");
    assert!(path.exists(), "npm i --prefix {} @modelcontextprotocol/{server}", folder().display());
    path.display().to_string()
}

/// The server, whose hints are believed.
async fn open(mut config: McpConfig) -> McpServer {
    config.trust = true;
    soon(McpServer::connect(config)).await.expect("a server")
}

/// server-everything over HTTP, ended with the guard.
struct Web(Child, u16);

impl Web {
    async fn start() -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let child = Command::new("node")
            .args([&script("server-everything"), "streamableHttp"])
            .env("PORT", port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("node");
        let web = Self(child, port);
        until("it listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
        web
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.end();
    }
}

/// What server-everything must do over any transport.
async fn everything(server: &McpServer) {
    assert_eq!(server.lifecycle(), Lifecycle::Initialize);
    let mut set = ToolSet::new();
    for tool in server.tools() {
        set.add(tool).expect("every tool can be offered");
    }
    assert!(set.len() >= 12, "{} tools", set.len());
    // The thirteenth only runs as a task.
    let warnings = server.warnings();
    let left_out: Vec<&str> = warnings.iter().filter(|tool| tool.left_out).map(|tool| &*tool.tool).collect();
    assert_eq!(left_out, ["simulate-research-query"], "{warnings:?}");
    assert_eq!(tool(server, "echo").spec().effect, Effect::ReadOnly);
    assert_eq!(tool(server, "gzip-file-as-resource").spec().effect, Effect::Idempotent);
    assert_eq!(tool(server, "toggle-simulated-logging").spec().effect, Effect::Once);
    assert_eq!(text(server, "echo", json!({"message": "hé"})).await, "Echo: hé");
    assert_eq!(text(server, "get-sum", json!({"a": 20, "b": 22})).await, "The sum of 20 and 22 is 42.");
    let Ok(Content::Parts(parts)) = call(server, "get-tiny-image", json!({})).await else { panic!("parts") };
    assert!(parts.iter().any(|part| matches!(part, Part::Image(image) if &*image.media_type == "image/png")));
    let links = text(server, "get-resource-links", json!({"count": 2})).await;
    assert_eq!(links.matches("[resource link ").count(), 2, "{links}");
    let blob = call(server, "get-resource-reference", json!({"resourceType": "Blob", "resourceId": 1})).await;
    let Ok(Content::Parts(parts)) = blob else { panic!("{blob:?}") };
    assert!(parts.iter().any(|part| matches!(part, Part::File(_))), "{parts:?}");
    let weather = text(server, "get-structured-content", json!({"location": "Chicago"})).await;
    assert!(weather.contains("temperature"), "{weather}");
    let error = call(server, "get-sum", json!({"a": "x"})).await.expect_err("a number is wanted");
    assert!(!error.unknown_tool && error.message.contains("-32602"), "{error:?}");
}

#[tokio::test]
#[ignore = "needs Node and npm's servers at WINDLASS_NPM_PEERS"]
async fn peers_everything_over_stdio() {
    let server = open(McpConfig::stdio("evil", ["node", &script("server-everything"), "stdio"])).await;
    everything(&server).await;
    let environment: Value = serde_json::from_str(&text(&server, "get-env", json!({})).await).expect("JSON");
    let names: Vec<&str> = environment.as_object().expect("a map").keys().map(String::as_str).collect();
    assert!(names.iter().all(|name| ["HOME", "PATH"].contains(name)), "E48: {names:?}");
    soon(server.close()).await;
}

#[tokio::test]
#[ignore = "needs Node and npm's servers at WINDLASS_NPM_PEERS"]
async fn peers_everything_over_http_and_after_its_restart() {
    let mut web = Web::start().await;
    let server = open(McpConfig::http("evil", format!("http://127.0.0.1:{}/mcp", web.1))).await;
    everything(&server).await;
    web.end();
    let error = call(&server, "echo", json!({"message": "x"})).await.expect_err("nobody is there");
    assert!(error.message.contains(&format!("http://127.0.0.1:{}/mcp", web.1)), "E46: {error}");
    web.0 = Command::new("node")
        .args([&script("server-everything"), "streamableHttp"])
        .env("PORT", web.1.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("node");
    until("it listens", || std::net::TcpStream::connect(("127.0.0.1", web.1)).is_ok()).await;
    assert_eq!(text(&server, "echo", json!({"message": "back"})).await, "Echo: back");
    soon(server.close()).await;
}

#[tokio::test]
#[ignore = "needs Node and npm's servers at WINDLASS_NPM_PEERS"]
async fn peers_a_restarted_server_knows_no_session_and_gets_a_new_one() {
    let mut web = Web::start().await;
    let server = open(McpConfig::http("evil", format!("http://127.0.0.1:{}/mcp", web.1))).await;
    for round in ["one", "two"] {
        web.end();
        web.0 = Command::new("node")
            .args([&script("server-everything"), "streamableHttp"])
            .env("PORT", web.1.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("node");
        until("it listens", || std::net::TcpStream::connect(("127.0.0.1", web.1)).is_ok()).await;
        let mut result = call(&server, "echo", json!({"message": round})).await;
        if result.is_err() {
            // A connection that was kept may have been found dead first.
            result = call(&server, "echo", json!({"message": round})).await;
        }
        assert_eq!(text_of(result), format!("Echo: {round}"));
    }
    soon(server.close()).await;
}

#[tokio::test]
#[ignore = "needs Node and npm's servers at WINDLASS_NPM_PEERS"]
async fn peers_a_long_operation_can_be_given_up() {
    let server = open(McpConfig::stdio("evil", ["node", &script("server-everything"), "stdio"])).await;
    let long = tool(&server, "trigger-long-running-operation");
    let context = context();
    context.cancelled.cancel();
    let error =
        soon(long.call(context, json!({"duration": 600, "steps": 600}))).await.expect_err("cancelled");
    assert_eq!(error.kind.as_deref(), Some("cancelled"));
    assert_eq!(text(&server, "echo", json!({"message": "next"})).await, "Echo: next");
}

#[tokio::test]
#[ignore = "needs Node and npm's servers at WINDLASS_NPM_PEERS"]
async fn peers_filesystem_reads_and_writes_its_folder_only() {
    let scratch = Scratch::new();
    let root = scratch.path("root");
    std::fs::create_dir(&root).expect("a folder");
    let root = std::fs::canonicalize(root).expect("the folder").display().to_string();
    let server = open(McpConfig::stdio("files", ["node", &script("server-filesystem"), &root])).await;
    assert_eq!(tool(&server, "read_text_file").spec().effect, Effect::ReadOnly);
    assert_eq!(tool(&server, "create_directory").spec().effect, Effect::Idempotent);
    assert_eq!(tool(&server, "write_file").spec().effect, Effect::Once, "it is destructive");
    let path = format!("{root}/a.txt");
    text(&server, "write_file", json!({"path": path, "content": "hello"})).await;
    assert_eq!(text(&server, "read_text_file", json!({"path": path})).await, "hello");
    assert_eq!(text(&server, "list_directory", json!({"path": root})).await, "[FILE] a.txt");
    let error = call(&server, "read_text_file", json!({"path": "/etc/passwd"})).await.expect_err("outside");
    assert!(error.message.contains("outside allowed directories"), "{error}");
    let error =
        call(&server, "read_text_file", json!({"path": format!("{root}/b")})).await.expect_err("no file");
    assert!(!error.unknown_tool, "a file that is not found is no unknown tool: {error:?}");
}

#[tokio::test]
#[ignore = "needs Node and npm's servers at WINDLASS_NPM_PEERS"]
async fn peers_npx_and_all_that_it_starts_go_with_the_server() {
    let scratch = Scratch::new();
    let root = scratch.path("a-root-that-nobody-else-has");
    std::fs::create_dir(&root).expect("a folder");
    let root = root.display().to_string();
    let package = "@modelcontextprotocol/server-filesystem";
    let config = McpConfig::stdio("files", ["npx", "-y", "--offline", package, &root]).folder(folder());
    let server = open(config).await;
    let processes = || {
        let all = std::fs::read_dir("/proc").expect("processes").flatten();
        let pids = all.filter_map(|entry| entry.file_name().into_string().ok());
        let ours = |pid: &String| {
            std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains(&root))
        };
        pids.filter(ours).collect::<Vec<_>>()
    };
    let started = processes();
    assert!(started.len() >= 2, "npx and the server: {started:?}");
    assert!(text(&server, "list_allowed_directories", json!({})).await.contains(&root));
    drop(server);
    until("all are dead", || started.iter().all(|pid| !runs(pid))).await;
}
