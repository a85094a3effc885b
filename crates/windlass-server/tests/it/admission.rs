//! E52, E66: who is let in, to what.

use serde_json::{Value, json};
use windlass_core::Owner;
use windlass_server::{NewToken, Verb};

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
    let (next, next_text) = tokens.rotate(&token.id, far).unwrap().unwrap();
    assert_eq!((next.owner.as_str(), &next.verbs), ("ada", &token.verbs), "the rights are the same");
    assert_eq!((reads(&text).await, reads(&next_text).await), ("good".to_owned(), "good".to_owned()));
    tokens.rotate(&next.id, 0).unwrap().unwrap();
    assert_eq!(reads(&next_text).await, "token.expired", "at once");
    assert!(tokens.revoke(&token.id).unwrap() && !tokens.revoke(&token.id).unwrap());
    assert_eq!(reads(&text).await, "token.unknown");
    let kept = std::fs::read_to_string(tokens.path()).unwrap();
    assert!(!kept.contains(text.rsplit('_').next().unwrap()), "only hashes are kept");
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
