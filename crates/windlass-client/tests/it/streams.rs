//! Streams come back by themselves: what a reader sees is the same however often it was cut.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use windlass_api::{EndReason, Update};
use windlass_client::{Client, Follow};
use windlass_core::RunId;
use windlass_models::Delta;
use windlass_runtime::Agent;
use windlass_runtime::host::{Host, Start};
use windlass_store::{MemoryLog, Store};
use windlass_testing::{FnModel, FnTool, called, text_reply};

use crate::kit::{Proxy, Serving, impatient};

/// What a reader has seen: the numbers of the events, and the text of each reply.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    events: Vec<u64>,
    texts: std::collections::BTreeMap<u64, String>,
}

async fn seen(client: &Client, run: RunId, follow: Follow) -> (Seen, Option<EndReason>) {
    let mut following = client.follow(run, follow);
    let mut seen = Seen::default();
    while let Some(next) = following.next().await.unwrap() {
        match next.update {
            Update::Events { events } => seen.events.extend(events.iter().map(|event| event.seq)),
            Update::Text { action, text } => seen.texts.entry(action).or_default().push_str(&text),
            Update::Void { action } => drop(seen.texts.remove(&action)),
            _ => {}
        }
    }
    (seen, following.end())
}

async fn ended_run(log: &Arc<dyn Store>) -> RunId {
    let words = "another word ".repeat(400);
    let model = FnModel::script([called(&[("look", "{}")]), called(&[("look", "{}")]), text_reply(&words)]);
    let look = FnTool::new("look", |_, _| async { Ok("there".into()) });
    let agent =
        Agent::builder("a").model(("m", Arc::new(model))).log(log.clone()).tool(look).build().unwrap();
    agent.run("go").await.unwrap().id()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_cut_at_every_place_is_read_without_a_gap_or_a_repeat() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let run = ended_run(&log).await;
    let serving = Serving::start(log, &[]).await;
    let (expected, end) = seen(&serving.client(), run, Follow::default()).await;
    assert_eq!(end, Some(EndReason::Finished));
    assert_eq!(expected.events, (1..=*expected.events.last().unwrap()).collect::<Vec<_>>());
    // Each connection gets a little further than the one before, so that cuts fall everywhere.
    let proxy = Proxy::before(serving.address, |place| Some(600 + place * 137)).await;
    let (found, end) = seen(&serving.client_at(proxy.address), run, Follow::default()).await;
    assert_eq!((found, end), (expected, Some(EndReason::Finished)));
    assert!(proxy.connections.load(Ordering::SeqCst) > 3);
    serving.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_a_live_run_sees_each_piece_once_over_a_restart() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let serving = Serving::start(log.clone(), &[]).await;
    let client = serving.client();
    let (go, gate) = tokio::sync::watch::channel(0);
    let model = FnModel::streaming(move |_, _| {
        let gate = gate.clone();
        Box::pin(futures_util::stream::unfold(0, move |place| {
            let mut gate = gate.clone();
            async move {
                // A piece, and the rest only once the test says so.
                let piece = match place {
                    0 => Delta::Text("Hello ".into()),
                    1 => {
                        gate.wait_for(|go| *go > 0).await.ok()?;
                        Delta::Text("world".into())
                    }
                    2 => Delta::Stop(windlass_core::model::StopReason::Stop),
                    _ => return None,
                };
                Some((Ok(piece), place + 1))
            }
        }))
    });
    // The run lives in a host of its own: the server is only a door to its log, and may end at any time.
    let agent = Agent::builder("a").model(("m", Arc::new(model))).log(log.clone()).build().unwrap();
    let host = Host::builder(log).keeps_pieces().build();
    let windlass_runtime::Admitted::Started(mut live) = host.start(Start::new(&agent, "go")).await.unwrap()
    else {
        panic!()
    };
    let run = live.id();
    let mut following = client.follow(run, Follow::default());
    let first = following.next().await.unwrap().unwrap();
    assert!(matches!(first.update, Update::Events { .. }), "{first:?}");
    let mut events = match first.update {
        Update::Events { events } => events.len() as u64,
        _ => 0,
    };
    let serving = serving.restart().await;
    go.send(1).unwrap();
    live.ended().await.unwrap();
    while let Some(next) = following.next().await.unwrap() {
        if let Update::Events { events: new } = next.update {
            for event in new {
                events += 1;
                assert_eq!(event.seq, events);
            }
        }
    }
    assert_eq!(following.end(), Some(EndReason::Finished));
    serving.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_may_begin_with_an_event_and_with_causes() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let run = ended_run(&log).await;
    let serving = Serving::start(log, &[]).await;
    let follow = Follow { from_event: Some(4), causes: true, ..Follow::default() };
    let mut following = serving.client().follow(run, follow);
    let next = following.next().await.unwrap().unwrap();
    let Update::Events { events } = next.update else { panic!("{next:?}") };
    assert_eq!(events[0].seq, 4);
    assert!(events[0].cause.is_some());
    serving.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_run_is_refused_and_a_server_that_was_never_there_is_not_waited_for() {
    let serving = Serving::start(Arc::new(MemoryLog::new()), &[]).await;
    let client = serving.client();
    let run = RunId::from_number(9);
    let error = client.follow(run, Follow::default()).next().await.unwrap_err();
    assert_eq!(error.reason(), "store.unknown_run");
    serving.end().await;
    let client = impatient(client);
    let error = client.follow(run, Follow::default()).next().await.unwrap_err();
    assert_eq!(error.reason(), "client.unreachable");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_of_a_later_version_is_passed_over_and_its_position_is_kept() {
    const STREAM: &str = "\
id: 1
event: text
data: {\"type\":\"text\",\"action\":2,\"text\":\"a\"}

id: 2
event: sketch
data: {\"type\":\"sketch\",\"lines\":[]}

id: 3
event: void
data: {\"type\":\"void\",\"action\":5}

id: 4
event: sketch
data: {\"type\":\"sketch\",\"lines\":[]}

id: 4
event: end
data: {\"reason\":\"finished\",\"position\":\"4\"}

";
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::new(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let serving = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            assert!(socket.read_buf(&mut head).await.unwrap() > 0);
        }
        let length = STREAM.len();
        let reply = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\r\n{STREAM}"
        );
        socket.write_all(reply.as_bytes()).await.unwrap();
    });
    let mut following = client.follow(RunId::from_number(9), Follow::default());
    let text = following.next().await.unwrap().unwrap();
    assert_eq!(text.update, Update::Text { action: 2, text: "a".to_owned() });
    let void = following.next().await.unwrap().unwrap();
    assert_eq!((void.position.as_str(), void.update), ("3", Update::Void { action: 5 }));
    assert_eq!(following.next().await.unwrap(), None);
    assert_eq!((following.position(), following.end()), (Some("4"), Some(EndReason::Finished)));
    serving.await.unwrap();
}
