//! Servers at URLs that answer in other ways than the protocol has it: by hand, because no library would.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use windlass_error::Diagnostic as _;
use windlass_tools::mcp::{Lifecycle, McpConfig, McpServer, Restart};

use crate::support::*;

/// The answer to a call: status, content type and body, with the call's id for `ID`.
type Said = (u16, &'static str, String);

/// A server of MCP 2025-11-25 with one tool.
#[derive(Clone, Default)]
struct Odd {
    /// What the next calls are answered with; a good answer after that.
    calls: Arc<Mutex<Vec<Said>>>,
    /// The body of the answer to a notification.
    notified: &'static str,
    /// The session of the moment; those before it are forgotten.
    session: Arc<AtomicUsize>,
    /// Number of calls that were served.
    served: Arc<AtomicUsize>,
    /// Number of sessions that were begun.
    opened: Arc<AtomicUsize>,
    /// Whether a new session is never ready.
    stuck: Arc<AtomicBool>,
    /// What a forgotten session is told; `None`: sessions do not matter.
    forgets: Option<(u16, &'static str)>,
}

impl Odd {
    fn answer(&self, message: &Value, headers: &HeaderMap) -> Response {
        let id = message.get("id").cloned().unwrap_or_default();
        let session = headers.get("mcp-session-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
        let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
        let current = self.session.load(Ordering::SeqCst).to_string();
        if method != "initialize"
            && session != current
            && let Some((status, body)) = self.forgets
        {
            return said((status, "application/json", body.to_owned()), &id);
        }
        match method {
            "initialize" => {
                self.opened.fetch_add(1, Ordering::SeqCst);
                let body = result(json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "odd", "version": "0"}}));
                ([("content-type", "application/json"), ("mcp-session-id", current.as_str())], body)
                    .into_response()
            }
            "tools/list" => said(
                (200, "application/json", result(json!({"tools": [{"name": "t", "inputSchema": {}}]}))),
                &id,
            ),
            "tools/call" => {
                let mut calls = self.calls.lock().expect("no panic");
                self.served.fetch_add(1, Ordering::SeqCst);
                if calls.is_empty() {
                    return said((200, "application/json", GOOD.to_owned()), &id);
                }
                said(calls.remove(0), &id)
            }
            _ if id.is_null() => (StatusCode::OK, self.notified).into_response(),
            _ => said((400, "text/plain", "what?".to_owned()), &id),
        }
    }
}

/// A body that breaks off.
const CUT: &str = "(cut)";

const GOOD: &str = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"good"}]}}"#;

fn said((status, kind, body): Said, id: &Value) -> Response {
    let status = StatusCode::from_u16(status).expect("a status");
    if body == CUT {
        let broken =
            futures_util::stream::iter([Ok(Bytes::from_static(b"{")), Err(std::io::Error::other("cut"))]);
        return (status, [("content-type", kind)], axum::body::Body::from_stream(broken)).into_response();
    }
    (status, [("content-type", kind)], body.replace("ID", &id.to_string())).into_response()
}

async fn serve(State(odd): State<Odd>, method: Method, headers: HeaderMap, body: Bytes) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let begins = message.get("method").is_some_and(|method| method == "initialize");
    if begins && odd.stuck.load(Ordering::SeqCst) {
        std::future::pending::<()>().await;
    }
    if method == Method::POST {
        odd.answer(&message, &headers)
    } else {
        StatusCode::METHOD_NOT_ALLOWED.into_response()
    }
}

async fn start(app: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/mcp")
}

async fn open(odd: &Odd) -> McpServer {
    open_within(odd, None).await
}

/// A server whose calls have so many milliseconds.
async fn open_within(odd: &Odd, call_ms: Option<u64>) -> McpServer {
    let url = start(Router::new().fallback(serve).with_state(odd.clone())).await;
    let mut config = McpConfig::http("odd", url);
    config.lifecycle = Lifecycle::Initialize;
    config.call_ms = call_ms;
    config.restart = Restart { first_ms: 1, max_ms: 10, tries: 1_000 };
    soon(McpServer::connect(config)).await.expect("a server")
}

#[tokio::test]
async fn e46_the_response_to_a_request_belongs_to_it() {
    let odd = Odd::default();
    let server = open(&odd).await;
    let json = "application/json";
    let events = "text/event-stream";
    let error = |id: &str| format!(r#"{{"jsonrpc":"2.0"{id},"error":{{"code":-32000,"message":"m"}}}}"#);
    let (refused, own) = ("m (JSON-RPC error -32000)", ",\"id\":ID");
    for (said, expected) in [
        ((200, json, error("")), Err(("mcp_error", refused))),
        ((200, json, error(",\"id\":null")), Err(("mcp_error", refused))),
        ((200, json, error(",\"id\":\"server-error\"")), Err(("mcp_error", refused))),
        ((200, json, error(own)), Err(("mcp_error", refused))),
        ((422, json, error(",\"id\":null")), Err(("mcp_error", refused))),
        ((200, events, format!("data: {}\n\n", error(",\"id\":null"))), Err(("mcp_error", refused))),
        ((200, events, format!("data: {}\r\n\r\n", error(",\"id\":99"))), Err(("mcp_error", refused))),
        ((200, events, format!(": ping\n\nid: 1\ndata: {GOOD}\n\n")), Ok("good")),
        ((200, json, GOOD.replace("\"id\":ID", "\"id\":99")), Ok("good")),
        ((200, json, GOOD.replace("good", "a\\ud83d")), Ok("a\u{fffd}")),
        ((200, events, format!("data: {}\n\n", GOOD.replace("good", "a\\ud83d"))), Ok("a\u{fffd}")),
        ((200, "", GOOD.to_owned()), Ok("good")),
        (
            (200, json, "{\"jsonrpc\":\"2.0\",\"result\":".to_owned()),
            Err(("mcp_unreadable", "which is no JSON")),
        ),
        ((200, json, String::new()), Err(("mcp_unreadable", "it is empty"))),
        ((200, "text/plain", "done".to_owned()), Err(("mcp_unreadable", "\"done\", which is no answer"))),
        (
            (200, events, "data: {\"jsonrpc\":\"2.0\",\"result\":\n\n".to_owned()),
            Err(("mcp_unreadable", "no JSON")),
        ),
        (
            (200, "text/html", "<html><title>Log in</title>".to_owned()),
            Err(("mcp_not_mcp", "a web page, \"Log in\"")),
        ),
        ((500, json, error(own)), Err(("mcp_http", "answered HTTP 500: m"))),
        (
            (503, "text/html", "<!DOCTYPE html>".to_owned()),
            Err(("mcp_http", "answered HTTP 503: a web page")),
        ),
        ((408, json, error(own)), Err(("mcp_http", "answered HTTP 408: m"))),
        (
            (200, json, CUT.to_owned()),
            Err(("mcp_connection_lost", "the connection to the MCP server `odd` at http://127.0.0.1:")),
        ),
        ((200, events, CUT.to_owned()), Err(("mcp_connection_lost", " ended before the answer"))),
        ((404, json, CUT.to_owned()), Err(("mcp_connection_lost", " ended before the answer: "))),
        ((301, "text/plain", String::new()), Err(("mcp_http", "answered HTTP 301"))),
    ] {
        odd.calls.lock().expect("no panic").push(said.clone());
        match (call(&server, "t", json!({})).await, expected) {
            (result @ Ok(_), Ok(text)) => assert_eq!(text_of(result), text, "{said:?}"),
            (Err(error), Err((kind, words))) => {
                assert_eq!(error.kind.as_deref(), Some(kind), "{said:?}: {error}");
                assert!(error.message.contains(words), "{said:?}: {error}");
            }
            (result, _) => panic!("{said:?}: {result:?}"),
        }
        assert_eq!(text(&server, "t", json!({})).await, "good", "after {said:?}");
    }
}

#[tokio::test]
async fn e46_a_notification_may_be_answered_with_anything() {
    for notified in ["", "OK", "<html></html>", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "{}"] {
        let odd = Odd { notified, ..Odd::default() };
        let server = open(&odd).await;
        assert_eq!(text(&server, "t", json!({})).await, "good", "{notified}");
    }
}

#[tokio::test]
async fn e46_a_forgotten_session_is_made_anew_once() {
    // The official TypeScript server, the Python one, and a gateway.
    for forgets in [
        (
            400,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID"},"id":null}"#,
        ),
        (
            404,
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}"#,
        ),
        (400, "Bad Request"),
    ] {
        let odd = Odd { forgets: Some(forgets), ..Odd::default() };
        let server = open(&odd).await;
        for _ in 0..3 {
            odd.session.fetch_add(1, Ordering::SeqCst);
            let served = odd.served.load(Ordering::SeqCst);
            assert_eq!(text(&server, "t", json!({})).await, "good", "{forgets:?}");
            assert_eq!(odd.served.load(Ordering::SeqCst), served + 1);
        }
        // A request that is refused in the new session, too, is not sent for ever.
        let bad = (
            400,
            "application/json",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"bad"}}"#,
        );
        odd.calls
            .lock()
            .expect("no panic")
            .extend([(bad.0, bad.1, bad.2.to_owned()), (bad.0, bad.1, bad.2.to_owned())]);
        let served = odd.served.load(Ordering::SeqCst);
        let error = call(&server, "t", json!({})).await.expect_err("refused twice");
        assert_eq!(error.message.as_ref(), "bad (JSON-RPC error -32600)");
        assert_eq!(odd.served.load(Ordering::SeqCst), served + 2);
        // One that names the request is the answer to it, and not sent again.
        let own = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no such city"}}"#;
        odd.calls.lock().expect("no panic").push((400, "application/json", own.to_owned()));
        let error = call(&server, "t", json!({})).await.expect_err("refused");
        assert_eq!(error.message.as_ref(), "no such city (JSON-RPC error -32602)");
        assert_eq!(odd.served.load(Ordering::SeqCst), served + 3);
    }
}

#[tokio::test]
async fn e30_an_answer_that_names_its_request_is_sent_once_under_any_status() {
    let odd = Odd { forgets: Some((404, "")), ..Odd::default() };
    let server = open(&odd).await;
    let (json, events) = ("application/json", "text/event-stream");
    let error = |id: &str, what: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{what}"}}}}"#);
    let failed = |id: &str, text: &str| {
        let content = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"isError":true,"content":{content}}}}}"#)
    };
    let long = "x".repeat(100_000);
    for status in [400, 404, 409, 422] {
        for (kind, body, words, doubt) in [
            (
                json,
                error("ID", "-32602,\"message\":\"no order 7"),
                "no order 7 (JSON-RPC error -32602)",
                false,
            ),
            (
                json,
                error("\"ID\"", "-32000,\"message\":\"no money"),
                "no money (JSON-RPC error -32000)",
                false,
            ),
            (json, error("ID.0", "7,\"message\":\"no money"), "no money (JSON-RPC error 7)", false),
            (
                json,
                error("ID", "\"E1\",\"message\":\"no money"),
                "E1: no money (JSON-RPC error -32603)",
                false,
            ),
            (json, format!("[{}]", failed("ID", "declined")), "declined", false),
            (json, failed("ID", "declined"), "declined", false),
            (json, failed("ID", &long), &long, false),
            (events, format!("event: message\ndata: {}\n\n", failed("ID", "declined")), "declined", false),
            (json, error("ID", "-32001,\"message\":\"Request timed out"), "Request timed out", true),
            (json, error("ID", "-32602,\"message\":\"a\\ud83d"), "a\u{fffd} (JSON-RPC error -32602)", false),
            (json, r#"{"jsonrpc":"2.0","id":ID,"error":{"code":"#.to_owned(), "cannot be read", true),
        ] {
            let said = format!("{status} {kind} {}", body.chars().take(90).collect::<String>());
            let (served, session) = (odd.served.load(Ordering::SeqCst), odd.opened.load(Ordering::SeqCst));
            odd.calls.lock().expect("no panic").push((status, kind, body));
            let error = call(&server, "t", json!({})).await.expect_err(&said);
            assert!(error.message.contains(words), "{said}: {error}");
            assert_eq!(error.in_doubt, doubt, "{said}: {error}");
            let sent = odd.served.load(Ordering::SeqCst) - served;
            assert_eq!((sent, odd.opened.load(Ordering::SeqCst)), (1, session), "{said}");
        }
        let good = (status, json, GOOD.to_owned());
        odd.calls.lock().expect("no panic").push(good);
        assert_eq!(text(&server, "t", json!({})).await, "good", "it was done, whatever the status");
    }
    // Whoever says that the session is over is believed for the calls that follow.
    for status in [400, 404] {
        let (served, session) = (odd.served.load(Ordering::SeqCst), odd.opened.load(Ordering::SeqCst));
        let over = error("ID", "-32001,\"message\":\"Session not found");
        odd.calls.lock().expect("no panic").push((status, json, over));
        let error = call(&server, "t", json!({})).await.expect_err("refused");
        assert_eq!(
            (error.message.as_ref(), error.in_doubt),
            ("Session not found (JSON-RPC error -32001)", false)
        );
        assert_eq!(text(&server, "t", json!({})).await, "good");
        assert_eq!(odd.served.load(Ordering::SeqCst), served + 2);
        assert_eq!(odd.opened.load(Ordering::SeqCst), session + 1);
    }
}

#[tokio::test]
async fn e30_a_call_that_waits_for_a_new_session_was_refused_before_it_began() {
    let odd = Odd { forgets: Some((404, "")), ..Odd::default() };
    let server = open_within(&odd, Some(500)).await;
    odd.session.fetch_add(1, Ordering::SeqCst);
    odd.stuck.store(true, Ordering::SeqCst);
    let error = call(&server, "t", json!({})).await.expect_err("no new session");
    assert_eq!((error.kind.as_deref(), error.in_doubt, error.unsent), (Some("mcp_unreachable"), false, true));
    let start = "the MCP server `odd` cannot be reached: the call ended before it was sent";
    assert!(error.message.starts_with(start), "{error}");
    assert_eq!(odd.served.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn e46_what_is_no_such_server_is_named_as_what_it_is() {
    use axum::routing::{any, get};

    let old = || async { ([("content-type", "text/event-stream")], "event: endpoint\ndata: /messages\n\n") };
    let page = || async { ([("content-type", "text/html")], "<!doctype html><title>Shop</title>") };
    let missing =
        || async { (StatusCode::NOT_FOUND, [("content-type", "text/html")], "<html><title>404</title>") };
    for (app, kind, words) in [
        (Router::new().route("/mcp", get(old)), "mcp_not_mcp", "it speaks HTTP+SSE, the transport before"),
        (Router::new().route("/mcp", any(page)), "mcp_not_mcp", "it answers with a web page, \"Shop\""),
        (Router::new().route("/mcp", any(missing)), "mcp_http", "answered HTTP 404: a web page, \"404\""),
        (Router::new().route("/mcp", get(page)), "mcp_http", "answered HTTP 405"),
    ] {
        let error = refusal(McpConfig::http("web", start(app).await)).await;
        assert_eq!(error.code(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        if kind == "mcp_not_mcp" {
            let start = error.to_string();
            assert!(start.starts_with("the address http://127.0.0.1:"), "{error}");
            assert!(start.contains(" of the MCP server `web` is not one of an MCP server"), "{error}");
        }
        assert!(error.help().expect("a help").contains("check the server's `url`"), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_has_moved_is_followed_within_its_origin_alone() {
    use axum::routing::any;

    let to = |place: String| any(move || async { (StatusCode::TEMPORARY_REDIRECT, [("location", place)]) });
    let odd = Odd::default();
    let app = Router::new().route("/mcp", to("/moved?x=1".to_owned()));
    let moved = Router::new().fallback(serve).with_state(odd.clone());
    let url = start(app.fallback_service(moved)).await;
    let mut config = McpConfig::http("odd", url.clone());
    config.lifecycle = Lifecycle::Initialize;
    let server = soon(McpServer::connect(config)).await.expect("a server");
    assert_eq!(text(&server, "t", json!({})).await, "good");
    // What is sent holds secrets of its origin, and another port is another one.
    for place in [url, "/mcp".to_owned()] {
        let error =
            refusal(McpConfig::http("web", start(Router::new().route("/mcp", to(place.clone()))).await))
                .await;
        assert_eq!(error.code(), "mcp_http", "{error}");
        assert!(error.to_string().contains(&format!("the address has moved to {place}")), "{error}");
    }
    assert_eq!(odd.opened.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn e30_what_leaves_a_call_in_doubt() {
    let odd = Odd::default();
    let server = open(&odd).await;
    let (json, html, events) = ("application/json", "text/html", "text/event-stream");
    let error = |code: i32, message: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":ID,"error":{{"code":{code},"message":"{message}"}}}}"#)
    };
    let page = "<!doctype html><html><title>Oops</title></html>".to_owned();
    let failed = r#"{"jsonrpc":"2.0","id":ID,"result":{"isError":true,"content":[{"type":"text","text":"timed out"}]}}"#;
    let cases = [
        // The server's own word.
        (200, json, error(-32000, "no money"), false),
        (400, json, error(-32050, "no money"), false),
        (200, json, failed.to_owned(), false),
        // Refused before it began.
        (200, json, error(-32601, "no such method"), false),
        (200, json, error(-32602, "timed out is no argument"), false),
        (401, json, "{}".to_owned(), false),
        (403, html, page.clone(), false),
        (422, "text/plain", "no".to_owned(), false),
        (429, json, error(-32000, "request timed out").replace("ID", "null"), false),
        (422, json, error(-32000, "request timed out").replace("ID", "99"), false),
        (403, json, error(-32050, "no money"), false),
        // Everything else.
        (200, json, error(-32000, "Connection closed"), true),
        (200, json, error(-32001, "Request timed out"), true),
        (401, json, error(-32001, "Request timed out"), true),
        (403, json, error(-32001, "Request timed out"), true),
        (429, json, error(-32000, "request timed out"), true),
        (499, json, error(-32000, "request timed out"), true),
        (403, json, r#"{"jsonrpc":"2.0","id":ID,"result":{"#.to_owned(), true),
        (500, json, error(-32050, "no money"), true),
        (502, html, page.clone(), true),
        (503, "text/plain", String::new(), true),
        (504, json, "{}".to_owned(), true),
        (408, json, error(-32602, "no such argument"), true),
        (302, html, page.clone(), true),
        (200, html, page, true),
        (200, json, String::new(), true),
        (202, "text/plain", String::new(), true),
        (204, json, String::new(), true),
        (202, json, "\r\n".to_owned(), true),
        (206, json, String::new(), true),
        (
            200,
            json,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#
                .to_owned(),
            true,
        ),
        (200, json, r#"{"jsonrpc":"2.0","id":ID,"method":"ping"}"#.to_owned(), true),
        (
            200,
            json,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"LONG"}}"#
                .replace("LONG", &"x".repeat(20_000)),
            true,
        ),
        (200, json, r#"{"jsonrpc":"2.0","id":ID,"resu"#.to_owned(), true),
        (200, events, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,".to_owned(), true),
    ];
    for (status, kind, body, doubt) in cases {
        let said = format!("{status} {kind} {body}");
        odd.calls.lock().expect("no panic").push((status, kind, body));
        let error = call(&server, "t", json!({})).await.expect_err(&said);
        assert_eq!(error.in_doubt, doubt, "{said}: {error:?}");
    }
    // A response that is accepted with a body has its answer there.
    odd.calls.lock().expect("no panic").push((202, json, GOOD.to_owned()));
    assert_eq!(text(&server, "t", json!({})).await, "good");
}
