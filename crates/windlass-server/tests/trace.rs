//! E60: one trace over client, server and run. It is set for the whole process, so these tests stand alone.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what is shared by tests fails them as they would fail themselves"
)]

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use opentelemetry::global;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use windlass_core::Message;
use windlass_core::tool::Effect;
use windlass_runtime::host::Host;
use windlass_runtime::{Agent, AgentDelegate, set_telemetry};
use windlass_server::{NewToken, Server, Settings, Tokens};
use windlass_store::{MemoryLog, RunFilter, Store};
use windlass_testing::{FnModel, FnTool, called, text_reply};

/// The span of a client of each test, and of another one.
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const FAMILY: &str = "00-1bf7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01";
const OTHER: &str = "00-2cf7651916cd43dd8448eb211c80319c-d7ad6b7169203331-01";

/// The spans that have ended in this process.
#[derive(Clone, Debug, Default)]
struct Spans(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Spans {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().unwrap().extend(batch);
        Ok(())
    }
}

/// Keeps the spans of this process.
fn kept() -> Spans {
    static KEPT: OnceLock<Spans> = OnceLock::new();
    let keep = || {
        let spans = Spans::default();
        global::set_text_map_propagator(TraceContextPropagator::new());
        global::set_tracer_provider(SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build());
        set_telemetry(true);
        spans
    };
    KEPT.get_or_init(keep).clone()
}

/// The trace of a span as its header names it.
fn trace_of(traceparent: &str) -> &str {
    traceparent.split('-').nth(1).unwrap()
}

/// A server with agents.
struct Serving {
    address: SocketAddr,
    token: String,
    stop: CancellationToken,
    done: JoinHandle<()>,
    _folder: TempDir,
}

impl Serving {
    async fn start(log: &Arc<dyn Store>, agents: &[Agent]) -> Self {
        let host = Host::builder(log.clone()).build();
        for agent in agents {
            host.registry().add(agent.clone());
        }
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::of_file(folder.path().join("tokens.json"));
        let (_, token) = tokens.make(NewToken::default()).unwrap();
        let settings = Settings { listen: vec!["127.0.0.1:0".parse().unwrap()], ..Settings::default() };
        let listening = Server::of_host(host, tokens, settings).listen().await.unwrap();
        let address = listening.addresses()[0];
        let stop = CancellationToken::new();
        let done = tokio::spawn(listening.run(stop.clone()));
        Self { address, token, stop, done, _folder: folder }
    }

    async fn end(self) {
        self.stop.cancel();
        self.done.await.unwrap();
    }

    async fn send(&self, method: &str, path: &str, traceparent: &str, body: &str) -> Value {
        let stream = tokio::net::TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .header("traceparent", traceparent)
            .body(Full::new(Bytes::from(body.to_owned())))
            .unwrap();
        let reply = sender.send_request(request).await.unwrap();
        let status = reply.status();
        let reply = reply.into_body().collect().await.unwrap().to_bytes();
        assert!(status.is_success(), "{status} {reply:?}");
        serde_json::from_slice(&reply).unwrap()
    }

    /// Starts a run of an agent.
    async fn run(&self, agent: &str, traceparent: &str) -> String {
        let body = json!({ "agent": agent, "input": "hi" }).to_string();
        self.send("POST", "/v1/runs", traceparent, &body).await["run"].as_str().unwrap().to_owned()
    }

    /// Reads a run until it is in that state.
    async fn until(&self, run: &str, status: &str) -> Value {
        let mut from = "0".to_owned();
        loop {
            let read = self.send("GET", &format!("/v1/runs/{run}"), OTHER, "").await;
            if read["status"] == status {
                return read;
            }
            let path = format!("/v1/runs/{run}/updates?from={from}&wait_ms=100");
            let updates = self.send("GET", &path, OTHER, "").await;
            updates["position"].as_str().unwrap().clone_into(&mut from);
        }
    }
}

#[tokio::test]
async fn e60_a_run_that_a_request_begins_belongs_to_the_trace_of_its_client() {
    kept();
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let agent =
        Agent::builder("a").model(("m", Arc::new(FnModel::new(|_| text_reply("hi"))))).log(log.clone());
    let serving = Serving::start(&log, &[agent.build().unwrap()]).await;
    let run = serving.run("a", PARENT).await.parse().unwrap();
    let start = windlass_read::start_of(&*log, run).await.unwrap();
    let trace = start.traceparent.unwrap();
    assert_eq!(trace_of(&trace), trace_of(PARENT), "{trace}");
    assert_ne!(trace.split('-').nth(2), PARENT.split('-').nth(2), "it is a span of its own");
    serving.end().await;
}

/// The agent `boss`, who hands a task to `worker`, whose tool must be allowed, says that it has begun, and ends when it is told to.
fn family(log: &Arc<dyn Store>, begun: &Arc<Notify>, go_on: &Arc<Notify>) -> [Agent; 2] {
    let calls_once = |tool: &'static str| {
        FnModel::new(move |request| match request.messages.iter().last().map(|last| &**last) {
            Some(Message::Tool(_)) => text_reply("done"),
            _ => called(&[(tool, r#"{"task": "go"}"#)]),
        })
    };
    let (begun, go_on) = (begun.clone(), go_on.clone());
    let wait = FnTool::new("wait", move |_, _| {
        let (begun, go_on) = (begun.clone(), go_on.clone());
        async move {
            begun.notify_one();
            go_on.notified().await;
            Ok("waited".into())
        }
    });
    let wait = wait.effect(Effect::ReadOnly).spec(|spec| spec.approve = true);
    let named = |name: &str, model| {
        Agent::builder(name).description("Works.").model(("m", Arc::new(model))).log(log.clone())
    };
    let worker = named("worker", calls_once("wait")).tool(wait).build().unwrap();
    let delegate = Arc::new(AgentDelegate::new(worker.clone()));
    [named("boss", calls_once("worker")).delegate(delegate).build().unwrap(), worker]
}

#[tokio::test]
async fn e60_a_delegates_run_belongs_to_the_trace_of_the_request_also_after_a_restart() {
    let spans = kept();
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let serving = Serving::start(&log, &family(&log, &begun, &go_on)).await;
    let run = serving.run("boss", FAMILY).await;
    let asks = serving.until(&run, "suspended").await;
    let open = &asks["questions"][0];
    let seen = format!("{}@{}", open["id"].as_str().unwrap(), open["digest"].as_str().unwrap());
    let answer = json!({ "question": seen, "answer": "approve" }).to_string();
    // Whoever answers has a trace of its own, and the run stays in that of the request that began it.
    serving.send("POST", &format!("/v1/runs/{run}/answer"), OTHER, &answer).await;
    begun.notified().await;
    serving.end().await;
    let before = spans.0.lock().unwrap().len();
    let serving = Serving::start(&log, &family(&log, &begun, &go_on)).await;
    begun.notified().await;
    go_on.notify_one();
    serving.until(&run, "answered").await;
    serving.end().await;

    let runs = log.list(RunFilter::default()).await.unwrap().items;
    assert_eq!(runs.len(), 2, "{runs:?}");
    for run in &runs {
        let start = windlass_read::start_of(&*log, run.run).await.unwrap();
        assert_eq!(trace_of(&start.traceparent.unwrap()), trace_of(FAMILY), "{}", run.agent);
    }
    let spans = spans.0.lock().unwrap().clone();
    let of_runs = |spans: &[SpanData]| -> BTreeSet<(String, String)> {
        let named = |span: &SpanData| {
            let of = |key: &str| span.attributes.iter().find(|pair| pair.key.as_str() == key);
            let agent = of("agent.name")?.value.to_string();
            ["boss", "worker"].contains(&agent.as_str()).then(|| (agent, span.name.to_string()))
        };
        spans.iter().filter_map(named).collect()
    };
    for (when, some) in [("before", &spans[..before]), ("after", &spans[before..])] {
        let names = of_runs(some);
        for (agent, name) in [
            ("boss", "agent.agentic_loop"),
            ("boss", "delegate.worker"),
            ("worker", "agent.agentic_loop"),
            ("worker", "tool.wait"),
        ] {
            assert!(
                names.contains(&(agent.to_owned(), name.to_owned())),
                "{when}: {name} of {agent}: {names:?}"
            );
        }
    }
    let known = [trace_of(PARENT), trace_of(FAMILY)];
    for span in spans {
        let trace = span.span_context.trace_id().to_string();
        assert!(known.contains(&trace.as_str()), "{} is in another trace: {trace}", span.name);
    }
}
