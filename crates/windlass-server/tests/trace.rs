//! E60: one trace over client, server and run. It is set for the whole process, so it stands alone.

use std::sync::Arc;

use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use opentelemetry::global;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use windlass_runtime::host::Host;
use windlass_runtime::{Agent, set_telemetry};
use windlass_server::{NewToken, Server, Settings, Tokens};
use windlass_store::{MemoryLog, Store};
use windlass_testing::{FnModel, text_reply};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[tokio::test]
async fn e60_a_run_that_a_request_begins_belongs_to_the_trace_of_its_client() {
    global::set_text_map_propagator(TraceContextPropagator::new());
    global::set_tracer_provider(SdkTracerProvider::builder().build());
    set_telemetry(true);
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let agent =
        Agent::builder("a").model(("m", Arc::new(FnModel::new(|_| text_reply("hi"))))).log(log.clone());
    let host = Host::builder(log.clone()).build();
    host.registry().add(agent.build().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let tokens = Tokens::of_file(folder.path().join("tokens.json"));
    let (_, token) = tokens.make(NewToken::default()).unwrap();
    let settings = Settings { listen: vec!["127.0.0.1:0".parse().unwrap()], ..Settings::default() };
    let listening = Server::of_host(host, tokens, settings).listen().await.unwrap();
    let address = listening.addresses()[0];
    let stop = CancellationToken::new();
    let serving = tokio::spawn(listening.run(stop.clone()));

    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = http::Request::post("/v1/runs")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .header("traceparent", PARENT)
        .body(Full::new(bytes::Bytes::from(json!({ "agent": "a", "input": "hi" }).to_string())))
        .unwrap();
    let reply = sender.send_request(request).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    let reply: Value = serde_json::from_slice(&reply).unwrap();
    let run = reply["run"].as_str().unwrap().parse().unwrap();
    let start = windlass_read::start_of(&*log, run).await.unwrap();
    let trace = start.traceparent.unwrap();
    assert_eq!(trace.split('-').nth(1), PARENT.split('-').nth(1), "{trace}");
    assert_ne!(trace.split('-').nth(2), PARENT.split('-').nth(2), "it is a span of its own");
    stop.cancel();
    serving.await.unwrap();
}
