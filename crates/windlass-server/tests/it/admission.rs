//! E52, E66: who is let in, to what.

use std::os::unix::fs::MetadataExt as _;

use serde_json::{Value, json};
use windlass_core::Owner;
use windlass_error::Diagnostic as _;
use windlass_server::{NewToken, Token, Tokens, Verb};

use crate::client::Client;
use crate::ground::{Ground, question, start, until};

/// Every operation of the document: its method, path and verb.
fn operations() -> Vec<(String, String, Option<Verb>)> {
    let document = windlass_server::openapi();
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, methods): (&String, &Value)| {
        let methods = methods.as_object().unwrap().clone();
        let path = path.clone();
        methods.into_iter().map(move |(method, operation)| {
            let verb = operation["x-verb"].as_str().map(|name| Verb::from_name(name).unwrap());
            (method.to_uppercase(), path.clone(), verb)
        })
    };
    let all: Vec<_> = paths.iter().flat_map(of_path).collect();
    assert!(all.len() > 25);
    all
}

/// A path with a run, and with other things that need not be there.
fn filled(path: &str, run: &str) -> String {
    let sha256 = "0".repeat(64);
    path.replace("{run}", run)
        .replace("{agent}", "clerk")
        .replace("{session}", "s")
        .replace("{sha256}", &sha256)
        + &match path.rsplit('/').next() {
            Some("compare") => format!("?with={run}"),
            Some("switch") => "?with=clerk".to_owned(),
            _ => String::new(),
        }
}

fn body(path: &str) -> Value {
    match path.rsplit('/').next().unwrap() {
        "runs" => json!({ "agent": "clerk", "input": "hi" }),
        "answer" => json!({ "question": "q1@0", "answer": "approve" }),
        "steer" => json!({ "message": "hurry" }),
        "fork" => json!({ "at": 1, "message": "and?" }),
        _ => json!({}),
    }
}

async fn ask(client: &Client, method: &str, path: &str, run: &str) -> crate::client::Answer {
    match method {
        "GET" => client.get(&filled(path, run)).await,
        _ => client.post(&filled(path, run), &body(path)).await,
    }
}

#[tokio::test]
async fn e52_nothing_but_health_and_the_document_is_open() {
    let ground = Ground::new().await;
    let run = ground.run("hi").await;
    for token in [None, Some("wl_00000000_x".to_owned()), Some("nonsense".to_owned()), Some(String::new())] {
        let stranger = Client { token: token.clone(), ..ground.client.clone() };
        for (method, path, verb) in operations() {
            let reply = ask(&stranger, &method, &path, &run).await;
            if verb.is_none() {
                assert!(["/health", "/ready", "/openapi.json"].contains(&&*path), "{path} is open");
                assert_eq!(reply.status, 200);
                continue;
            }
            let (status, code) = reply.refusal();
            assert_eq!(status, 401, "{method} {path}");
            assert!(["token.missing", "token.unknown"].contains(&&*code), "{code}");
            assert_eq!(reply.headers["www-authenticate"], "Bearer");
        }
    }
    let all = ground.client.get("/v1/runs").await.good().json();
    assert_eq!(all["items"].as_array().unwrap().len(), 1, "nobody has started anything");
}

#[tokio::test]
async fn e66_each_verb_needs_its_scope() {
    let ground = Ground::new().await;
    let run = ground.run("hi").await;
    until(&ground.client, &run, "answered").await;
    for (method, path, verb) in operations() {
        let Some(verb) = verb else { continue };
        let others: Vec<_> = Verb::ALL.iter().copied().filter(|other| *other != verb).collect();
        let (status, code) = ask(&ground.only(&others), &method, &path, &run).await.refusal();
        assert_eq!((status, code.as_str()), (403, "token.scope"), "{method} {path}");
        let reply = ask(&ground.only(&[verb]), &method, &path, &run).await;
        assert_ne!(reply.status, 403, "{method} {path}: {:?}", reply.body);
        assert_ne!(reply.status, 500, "{method} {path}: {:?}", reply.body);
    }
}

/// A run of another owner is as unknown as one that is not there.
#[tokio::test]
async fn e52_another_owners_run_is_not_there() {
    let ground = Ground::new().await;
    let (ada, bob) = (ground.owner("ada"), ground.owner("bob"));
    let run = start(&ada, "pay").await;
    let waiting = until(&ada, &run, "suspended").await;
    let missing = uuid::Uuid::now_v7().to_string();
    for (method, path, _) in operations().into_iter().filter(|(_, path, _)| path.contains("{run}")) {
        let theirs = ask(&bob, &method, &path, &run).await;
        let none = ask(&bob, &method, &path, &missing).await;
        let (status, code) = theirs.refusal();
        assert_eq!((status, &*code), (404, "store.unknown_run"), "{method} {path}");
        let words = |answer: &crate::client::Answer, run: &str| {
            String::from_utf8_lossy(&answer.body).replace(run, "RUN")
        };
        assert_eq!(words(&theirs, &run), words(&none, &missing), "{method} {path}");
    }
    let answer = json!({ "question": question(&waiting), "answer": "approve" });
    assert_eq!(bob.post(&format!("/v1/runs/{run}/answer"), &answer).await.refusal().0, 404);
    for path in ["/v1/runs", "/v1/runs?owner=ada", "/v1/sessions", "/v1/questions", "/v1/questions?owner=ada"]
    {
        let listed = bob.get(path).await.good().json();
        assert_eq!(listed["items"].as_array().unwrap().len(), 0, "{path}");
    }
    assert_eq!(ada.get("/v1/questions").await.good().json()["items"].as_array().unwrap().len(), 1);
    let everybody = ground.token(NewToken { owner: "eve".into(), sees_all: true, ..NewToken::default() });
    assert_eq!(
        everybody.get("/v1/questions?owner=ada").await.good().json()["items"].as_array().unwrap().len(),
        1
    );
    ground.server.host().registry().names();
}

#[tokio::test]
async fn e66_a_token_for_other_agents_sees_neither_the_agent_nor_its_runs() {
    let ground = Ground::new().await;
    let run = ground.run("hi").await;
    let other = ground.token(NewToken { agents: vec!["librarian".into()], ..NewToken::default() });
    assert_eq!(other.get("/v1/agents").await.good().json()["items"], json!([]));
    assert_eq!(other.get("/v1/agents/clerk").await.refusal(), (404, "agent.unknown".to_owned()));
    let started = other.post("/v1/runs", &json!({ "agent": "clerk", "input": "hi" })).await;
    assert_eq!(started.refusal(), (404, "agent.unknown".to_owned()));
    assert_eq!(other.get(&format!("/v1/runs/{run}")).await.refusal().0, 404);
    assert_eq!(other.get("/v1/runs").await.good().json()["items"], json!([]));
    assert_eq!(other.post(&format!("/v1/runs/{run}/fork"), &json!({ "at": 1 })).await.refusal().0, 404);
}

#[tokio::test]
async fn e52_tokens_expire_are_rotated_and_taken_back_while_the_server_runs() {
    let ground = Ground::new().await;
    let tokens = ground.server.tokens();
    let reads = async |token: &str| {
        let client = Client { token: Some(token.to_owned()), ..ground.client.clone() };
        let reply = client.get("/v1/runs").await;
        if reply.status == 200 { "good".to_owned() } else { reply.refusal().1 }
    };
    let past = NewToken { expires_at: Some(1), ..NewToken::default() };
    let (_, expired) = tokens.make(past).unwrap();
    assert_eq!(reads(&expired).await, "token.expired");
    let new = NewToken { owner: Owner::from("ada"), verbs: vec![Verb::Read], ..NewToken::default() };
    let (token, text) = tokens.make(new).unwrap();
    assert_eq!(reads(&text).await, "good");
    let far = token.created_at + 3_600_000;
    let (next, next_text) = tokens.rotate(&token.id, far, None).unwrap().unwrap();
    assert_eq!((next.owner.as_str(), &next.verbs), ("ada", &token.verbs), "the rights are the same");
    assert_eq!((reads(&text).await, reads(&next_text).await), ("good".to_owned(), "good".to_owned()));
    tokens.rotate(&next.id, 0, None).unwrap().unwrap();
    assert_eq!(reads(&next_text).await, "token.expired", "at once");
    assert!(tokens.revoke(&token.id).unwrap() && !tokens.revoke(&token.id).unwrap());
    assert_eq!(reads(&text).await, "token.unknown");
    let kept = std::fs::read_to_string(tokens.path()).unwrap();
    assert!(!kept.contains(text.rsplit('_').next().unwrap()), "only hashes are kept");
}

/// Rotation renews: a token of 30 days is one of 30 days from now on, unless it is said otherwise.
#[test]
fn e52_a_rotated_token_is_good_for_as_long_again() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = Tokens::of_file(folder.path().join("tokens.json"));
    let (for_ever, _) = tokens.make(NewToken::default()).unwrap();
    let (ended, _) = tokens.make(NewToken { expires_at: Some(1), ..NewToken::default() }).unwrap();
    let soon = for_ever.created_at + 60_000;
    let (short, _) = tokens.make(NewToken { expires_at: Some(soon), ..NewToken::default() }).unwrap();
    let next = |token: &Token, expires_at| tokens.rotate(&token.id, 0, expires_at).unwrap().unwrap().0;
    assert_eq!(next(&for_ever, None).expires_at, None);
    let (was, renewed) = (soon - short.created_at, next(&short, None));
    assert_eq!(renewed.expires_at, Some(renewed.created_at + was));
    assert_eq!(next(&renewed, Some(soon + 1)).expires_at, Some(soon + 1));
    let dead = next(&ended, None);
    assert_eq!(dead.expires_at, Some(dead.created_at), "it was made for no time");
}

/// Root makes a token for a server that is another user: it must still be able to read the file.
#[test]
fn e52_tokens_that_root_makes_belong_to_the_user_of_the_service() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let owner = |path: &std::path::Path| (path.metadata().unwrap().uid(), path.metadata().unwrap().gid());
    std::os::unix::fs::chown(folder.path(), Some(4_711), Some(4_712)).unwrap();
    let tokens = Tokens::of_file(folder.path().join("tokens.json"));
    for _ in 0..2 {
        tokens.make(NewToken::default()).unwrap();
        assert_eq!(owner(tokens.path()), (4_711, 4_712));
        assert_eq!(owner(&folder.path().join("tokens.json.lock")), (4_711, 4_712));
    }
    // Whose the file is, and not whose the folder is, counts once it is there.
    std::os::unix::fs::chown(tokens.path(), Some(4_713), Some(4_714)).unwrap();
    tokens.make(NewToken::default()).unwrap();
    assert_eq!(owner(tokens.path()), (4_713, 4_714));
}

/// The folder belongs to the user of the service: no link that this user lays there leads root elsewhere.
#[test]
fn e52_tokens_are_written_through_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = Tokens::of_file(folder.path().join("tokens.json"));
    let other = folder.path().join("other");
    for ending in ["new", "lock"] {
        std::fs::write(&other, "kept").unwrap();
        let link = folder.path().join(format!("tokens.json.{ending}"));
        drop(std::fs::remove_file(&link));
        std::os::unix::fs::symlink(&other, link).unwrap();
        let made = tokens.make(NewToken::default());
        assert_eq!(made.is_ok(), ending == "new", "{made:?}");
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "kept");
    }
    assert_eq!(tokens.all().unwrap().len(), 1);
}

#[test]
fn e52_tokens_that_cannot_be_written_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = Tokens::of_file(folder.path().join("tokens.json"));
    let (token, _) = tokens.make(NewToken::default()).unwrap();
    std::fs::create_dir(folder.path().join("tokens.json.new")).unwrap();
    let error = tokens.make(NewToken::default()).unwrap_err();
    assert_eq!(error.code(), "token.unwritten");
    assert!(error.to_string().ends_with("tokens.json were not changed"), "{error}");
    assert!(tokens.all().unwrap().keys().eq([&token.id]));
}

#[tokio::test]
async fn a_file_of_tokens_that_cannot_be_read_lets_nobody_in() {
    let ground = Ground::new().await;
    ground.client.get("/v1/runs").await.good();
    std::fs::write(ground.server.tokens().path(), "{").unwrap();
    let reply = ground.client.get("/v1/runs").await;
    assert_eq!(reply.refusal(), (503, "token.file".to_owned()));
    assert!(reply.headers.contains_key("retry-after"));
}

/// The pages of strangers reach a loopback server by their browser: by its address from another origin, or by a name of their own.
#[tokio::test]
async fn e66_pages_of_other_origins_and_rebound_names_are_refused() {
    let ground = Ground::new().await;
    for host in
        ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "x@127.0.0.1", ""]
    {
        let reply = ground.client.send("GET", "/v1/runs", &[("host", host)], "").await;
        assert_eq!(reply.refusal(), (421, "request.host".to_owned()), "{host:?}");
    }
    let two = [("host", "127.0.0.1"), ("host", "evil.example")];
    assert_eq!(
        ground.client.send("GET", "/v1/runs", &two, "").await.refusal(),
        (400, "request.head".to_owned())
    );
    let two = [("host", "127.0.0.1"), ("origin", "https://evil.example"), ("origin", "https://evil.example")];
    assert_eq!(ground.client.send("GET", "/v1/runs", &two, "").await.refusal().0, 403);
    for host in ["localhost", "localhost:9", "127.0.0.1", "127.0.0.2:80", "[::1]:7400", "LOCALHOST"] {
        ground.client.send("GET", "/v1/runs", &[("host", host)], "").await.good();
    }
    for origin in ["https://evil.example", "null", "http://localhost:3000"] {
        for path in ["/v1/runs", "/health"] {
            let reply = ground.client.send("GET", path, &[("origin", origin)], "").await;
            assert_eq!(reply.refusal(), (403, "request.origin".to_owned()), "{origin}");
            assert!(!reply.headers.contains_key("access-control-allow-origin"));
        }
    }
    let form = [("content-type", "text/plain")];
    let reply = ground.client.send("POST", "/v1/runs", &form, r#"{"agent":"clerk","input":"hi"}"#).await;
    assert_eq!(reply.refusal(), (415, "request.media_type".to_owned()));
    let asked =
        ground.client.send("OPTIONS", "/v1/runs", &[("access-control-request-method", "POST")], "").await;
    assert_eq!(asked.refusal(), (405, "request.method".to_owned()));
}
