//! K29: spans and metrics over OTLP, taken by a collector that decodes them as any other would.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use crate::kit::{End, Home, PATIENCE, end};
use crate::server::{Reply, Server};
use crate::tool_server::ToolServer;

/// What was exported: the path, the headers and the body of each request.
struct Export {
    path: String,
    head: String,
    body: Vec<u8>,
}

struct Collector {
    url: String,
    exports: Receiver<Export>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (taken, exports) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, taken) = (stream.unwrap(), taken.clone());
                std::thread::spawn(move || take(stream, &taken));
            }
        });
        Self { url, exports }
    }

    /// All spans and the names of all metrics. The process that sent them has ended.
    fn taken(&self) -> (Vec<Span>, Vec<String>, Vec<String>) {
        let (mut spans, mut metrics, mut services) = (Vec::new(), Vec::new(), Vec::new());
        // The end of a command waits for its exports, so all of them are here.
        for export in self.exports.try_iter() {
            assert!(export.head.contains("content-type: application/x-protobuf"), "{}", export.head);
            if export.path == "/v1/traces" {
                for resource in ExportTraceServiceRequest::decode(&*export.body).unwrap().resource_spans {
                    services.push(text(&resource.resource.unwrap().attributes, "service.name"));
                    spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
                }
            } else {
                assert_eq!(export.path, "/v1/metrics");
                for resource in ExportMetricsServiceRequest::decode(&*export.body).unwrap().resource_metrics {
                    let all = resource.scope_metrics.into_iter().flat_map(|scope| scope.metrics);
                    metrics.extend(all.map(|metric| metric.name));
                }
            }
        }
        metrics.sort();
        metrics.dedup();
        (spans, metrics, services)
    }
}

fn take(stream: TcpStream, taken: &Sender<Export>) {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut head, mut first) = (String::new(), String::new());
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 || head == "\r\n" {
                break;
            }
        }
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        let path = first.split(' ').nth(1).unwrap().to_owned();
        taken.send(Export { path, head, body }).unwrap();
        reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    }
}

fn text(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|attribute| attribute.key == key);
    match found.and_then(|found| found.value.clone()?.value) {
        Some(Any::StringValue(text)) => text,
        Some(Any::IntValue(number)) => number.to_string(),
        Some(Any::BoolValue(truth)) => truth.to_string(),
        Some(Any::DoubleValue(number)) => number.to_string(),
        _ => String::new(),
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// The spans by name, each with the name of the one above it.
fn tree(spans: &[Span]) -> BTreeMap<String, String> {
    let name = |id: &[u8]| {
        spans.iter().find(|span| span.span_id == id).map_or_else(|| hex(id), |span| span.name.clone())
    };
    spans.iter().map(|span| (span.name.clone(), name(&span.parent_span_id))).collect()
}

const LEAD: &str = "\
name: lead
model: { use: openai/m, base_url: \"URL\" }
tools: [ { mcp: { name: docs, url: \"MCP/mcp\", prefix: \"\" } } ]
agents: [ ./worker.yaml ]
loop: { preset: text }
";
const ECHO: &str = "```tool_call\n{\"tool\": \"echo\", \"arguments\": {\"text\": \"secret words\"}}\n```";
const ASK: &str = "```delegate\n{\"agent\": \"worker\", \"task\": \"count\"}\n```";
/// The span that the test itself would be in.
const ABOVE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn run(home: &Home, collector: &Collector) -> End {
    let mut command = home.command(["run", "lead.yaml", "--session", "s", "hi"]);
    command
        .env("OTEL_SERVICE_NAME", "windlass-test")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)
        .env("TRACEPARENT", ABOVE)
        .env("WINDLASS_LOG", "info");
    end(command.output().unwrap())
}

#[test]
fn k29_spans_and_metrics_go_out_and_the_trace_goes_along() {
    let home = Home::new();
    let (collector, tools) = (Collector::start(), ToolServer::start());
    let model = Server::start(vec![
        Reply::Pieces(vec![ECHO]),
        Reply::Pieces(vec![ASK]),
        Reply::Pieces(vec!["three"]),
        Reply::Pieces(vec!["done"]),
    ]);
    home.write("lead.yaml", &LEAD.replace("URL", &model.url).replace("MCP", &tools.url));
    home.write(
        "worker.yaml",
        &format!("name: worker\nmodel: {{ use: openai/m, base_url: \"{}\" }}\n", model.url),
    );
    let done = run(&home, &collector);
    assert_eq!((done.code, done.stdout.lines().last()), (0, Some("done")), "{done:?}");
    let (spans, metrics, services) = collector.taken();
    assert!(services.iter().all(|service| service == "windlass-test") && !services.is_empty());
    assert!(spans.iter().all(|span| hex(&span.trace_id) == "0af7651916cd43dd8448eb211c80319c"), "one trace");
    let loops: Vec<&Span> = spans.iter().filter(|span| span.name == "agent.agentic_loop").collect();
    assert_eq!(loops.len(), 2, "the agent's and the worker's");
    let of = |agent: &str| *loops.iter().find(|span| text(&span.attributes, "agent.name") == agent).unwrap();
    let (lead, worker) = (of("lead"), of("worker"));
    assert_eq!(hex(&lead.parent_span_id), "b7ad6b7169203331", "below the span of the environment");
    assert_eq!(text(&lead.attributes, "session.id"), "s");
    assert_eq!(text(&lead.attributes, "agent.max_steps"), "5");
    assert_eq!(text(&lead.attributes, "windlass.status"), "answered");
    let tree = tree(&spans);
    assert_eq!(tree["tool.echo"], "agent.step.1");
    assert_eq!(tree["delegate.worker"], "agent.step.2");
    let delegation = spans.iter().find(|span| span.name == "delegate.worker").unwrap();
    assert_eq!(worker.parent_span_id, delegation.span_id, "the worker's run is below the delegation");
    let calls: Vec<&Span> = spans.iter().filter(|span| span.name == "model.inference").collect();
    assert_eq!(calls.len(), 4);
    assert!(calls.iter().all(|span| text(&span.attributes, "gen_ai.request.model") == "m"
        && text(&span.attributes, "gen_ai.provider.name") == "openai"
        && text(&span.attributes, "gen_ai.usage.input_tokens") == "12"));
    // The lead's preset is `text`, the worker's is not.
    for name in [
        "kaos.requests",
        "kaos.request.duration",
        "kaos.model.calls",
        "kaos.model.duration",
        "kaos.tool.calls",
        "kaos.tool.duration",
        "kaos.delegations",
        "kaos.delegation.duration",
        "windlass.requests",
        "windlass.request.duration",
        "windlass.model.calls",
        "windlass.model.duration",
        "gen_ai.client.operation.duration",
        "gen_ai.client.token.usage",
    ] {
        assert!(metrics.iter().any(|metric| metric == name), "{name} is not among {metrics:?}");
    }
    let own_tools = metrics.iter().find(|metric| metric.starts_with("windlass.tool"));
    assert_eq!(own_tools, None, "the worker called no tool");
    // E53: nothing that was said.
    assert!(!format!("{spans:?}").contains("secret words"));
    // Whoever was called knows the span of the call.
    let called = tools.calls.recv_timeout(PATIENCE).unwrap();
    let tool = spans.iter().find(|span| span.name == "tool.echo").unwrap();
    let expected = format!("00-{}-{}-01", hex(&tool.trace_id), hex(&tool.span_id));
    assert_eq!(called["_meta"]["traceparent"], expected.as_str());
    let head = model.heads.recv_timeout(PATIENCE).unwrap();
    let asked = head.lines().find_map(|line| line.strip_prefix("traceparent: ")).unwrap().to_owned();
    assert!(calls.iter().any(|span| asked.contains(&hex(&span.span_id))), "{asked}");
    // Log lines and the log name the trace.
    assert!(done.stderr.contains("trace_id=0af7651916cd43dd8448eb211c80319c span_id="), "{done:?}");
    let events = home.windlass(["sessions", "events", "s", "--json"]).stdout;
    let first: serde_json::Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
    assert_eq!(first["metadata"]["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(first["metadata"]["span_id"], hex(&lead.span_id).as_str());
    assert_eq!(home.windlass(["runs", "replay", "last"]).code, 0, "a trace makes no difference to replay");
}

const BRANCHING: &str = "\
name: lead
model: { use: openai/m, base_url: \"URL\" }
agents:
  - { name: dive, description: Looks closer., branch: { instructions: Look., loop: { preset: text } } }
loop: { preset: text }
";

#[test]
fn k29_the_span_of_a_branch_has_the_branch_s_name() {
    const BRANCH: &str = "```tool_call\n{\"tool\": \"branch\", \"arguments\": {\"name\": \"dive\"}}\n```";
    let home = Home::new();
    let collector = Collector::start();
    let replies = [BRANCH, "three", "It is three.", "done"].map(|text| Reply::Pieces(vec![text]));
    let model = Server::start(replies.into());
    home.write("lead.yaml", &BRANCHING.replace("URL", &model.url));
    let done = run(&home, &collector);
    assert_eq!((done.code, done.stdout.lines().last()), (0, Some("done")), "{done:?}");
    let (spans, ..) = collector.taken();
    assert_eq!(tree(&spans)["delegate.dive"], "agent.step.1");
    let begun = spans.iter().find(|span| span.name == "delegate.dive").unwrap();
    assert_eq!(text(&begun.attributes, "agent.delegation.target"), "dive");
}

#[test]
fn k29_without_a_service_name_nothing_is_sent_and_nothing_is_kept() {
    let home = Home::new();
    let collector = Collector::start();
    let model = Server::start(vec![Reply::Pieces(vec!["done"])]);
    home.write("agent.yaml", &model.agent());
    let mut command = home.command(["run", "agent.yaml", "--session", "s", "hi"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url).env("TRACEPARENT", ABOVE);
    assert_eq!(end(command.output().unwrap()).code, 0);
    assert_eq!(collector.exports.try_iter().count(), 0);
    assert!(!model.heads.recv_timeout(PATIENCE).unwrap().contains("traceparent"));
    assert!(!home.windlass(["sessions", "events", "s", "--json"]).stdout.contains("trace_id"));
}

#[test]
fn k29_a_collector_that_is_gone_changes_nothing() {
    let home = Home::new();
    let model = Server::start(vec![Reply::Pieces(vec!["done"])]);
    home.write("agent.yaml", &model.agent());
    let mut command = home.command(["run", "agent.yaml", "-q", "hi"]);
    command.env("OTEL_SERVICE_NAME", "x").env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
    let done = end(command.output().unwrap());
    assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (0, "done\n", ""), "{done:?}");
}
