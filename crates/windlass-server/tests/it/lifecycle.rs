//! E51, E70, E71: the end of a server, its start, and whether it can work.

use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use windlass_api::{EndReason, StreamEnd};
use windlass_server::{Server, Settings, Tokens};
use windlass_store::MemoryLog;
use windlass_testing::FaultLog;

use crate::ground::{Ground, question, settings, start, until};

#[tokio::test]
async fn e51_a_server_that_ends_parks_its_runs_and_the_next_one_goes_on() {
    let ground = Ground::new().await;
    let run = ground.run("wait").await;
    let waiting = start(&ground.client, "pay").await;
    let asked = question(&until(&ground.client, &waiting, "suspended").await);
    let mut stream = ground.client.follow(&run, None).await;
    let first = stream.next().await.unwrap();
    ground.stop();
    let rest = stream.rest().await;
    let end: StreamEnd = serde_json::from_str(&rest.last().unwrap().data).unwrap();
    assert_eq!(end.reason, EndReason::Restarting);
    let refused = tokio::net::TcpStream::connect(ground.client.address);
    let log = ground.end().await;
    drop(refused);

    let next = Ground::with(settings(), log).await;
    // The reader goes on where it was, and the run, too. The tool that had started runs again: it is free of effects.
    next.go_on.notify_one();
    until(&next.client, &run, "answered").await;
    let whole = next.client.follow(&run, None).await.rest().await;
    let back = next.client.follow(&run, Some(&end.position)).await.rest().await;
    let seen: Vec<_> = [vec![first], rest[..rest.len() - 1].to_vec(), back].concat();
    assert_eq!(seen, whole);
    let answer = json!({ "question": asked, "answer": "approve" });
    next.client.post(&format!("/v1/runs/{waiting}/answer"), &answer).await.good();
    until(&next.client, &waiting, "answered").await;
}

#[tokio::test]
async fn e70_ready_means_able() {
    let log = FaultLog::new(Arc::new(MemoryLog::new()));
    let ground = Ground::with(settings(), log.clone()).await;
    let ready = ground.client.get("/ready").await;
    assert_eq!((ready.status.as_u16(), &ready.json()["ready"]), (200, &json!(true)));
    log.broken(true);
    let began = std::time::Instant::now();
    loop {
        let reply = ground.client.get("/ready").await;
        if reply.status == 503 {
            let checks = reply.json()["checks"].clone();
            assert!(
                checks
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|check| check["ok"] == false && check["message"].is_string()),
                "{checks}"
            );
            break;
        }
        assert!(began.elapsed().as_secs() < 2, "it is still green");
    }
    assert_eq!(ground.client.get("/health").await.status, 200, "the process itself is well");
    assert_eq!(ground.client.get("/v1/runs").await.refusal().0, 500);
    log.broken(false);
    while ground.client.get("/ready").await.status != 200 {}
}

#[tokio::test]
async fn e70_a_server_that_can_let_nobody_in_is_not_ready() {
    let ground = Ground::new().await;
    assert_eq!(ground.client.get("/ready").await.status, 200);
    std::fs::write(ground.server.tokens().path(), "{").unwrap();
    let began = std::time::Instant::now();
    let reply = loop {
        let reply = ground.client.get("/ready").await;
        if reply.status == 503 {
            break reply.json();
        }
        assert!(began.elapsed().as_secs() < 2, "it is still green");
    };
    let failed: Vec<_> =
        reply["checks"].as_array().unwrap().iter().filter(|check| check["ok"] == false).collect();
    assert!(matches!(&*failed, [check] if check["name"] == "tokens"), "{reply}");
}

#[tokio::test]
async fn settings_with_which_nothing_would_go_on_keep_a_server_from_listening() {
    let refused = async |settings: Settings| {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::of_file(folder.path().join("tokens.json"));
        let server = Server::new(Arc::new(MemoryLog::new()), tokens, settings);
        server.listen().await.map(|_| ()).unwrap_err().to_string()
    };
    let silent = Settings { heartbeat_ms: 10_001, ..settings() };
    assert_eq!(refused(silent).await, "`heartbeat_ms` is 10001, expected 100 to 10000");
    let flood = Settings { heartbeat_ms: 99, ..settings() };
    assert_eq!(refused(flood).await, "`heartbeat_ms` is 99, expected 100 to 10000");
    let mut idle = settings();
    idle.limits.at_once = 0;
    assert_eq!(refused(idle).await, "`limits.at_once` is 0, expected 1 or more");
    let mut owners = settings();
    owners.limits.owner.at_once = Some(0);
    assert_eq!(refused(owners).await, "`limits.owner.at_once` is 0, expected 1 or more");
}

/// A stopped server takes nothing on any more.
#[tokio::test]
async fn e51_nothing_is_begun_once_the_server_is_to_end() {
    let ground = Ground::new().await;
    ground.run("hi").await;
    let client = ground.client.clone();
    ground.end().await;
    assert!(tokio::net::TcpStream::connect(client.address).await.is_err(), "nobody listens any more");
}

/// With so many listeners, one that is closed a moment later is found in use.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_ended_listens_nowhere_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("api.sock");
    let mut settings = Settings { socket: Some(socket.clone()), ..settings() };
    settings.listen = vec![settings.listen[0]; 64];
    for _ in 0..20 {
        let tokens = Tokens::of_file(folder.path().join("tokens.json"));
        let server = Server::new(Arc::new(MemoryLog::new()), tokens, settings.clone());
        let listening = server.listen().await.unwrap();
        settings.listen = listening.addresses();
        let stop = CancellationToken::new();
        stop.cancel();
        listening.run(stop).await;
        for address in &settings.listen {
            let free = std::net::TcpListener::bind(address);
            assert!(free.is_ok(), "{address}: {free:?}");
        }
        assert!(!socket.exists());
    }
}
