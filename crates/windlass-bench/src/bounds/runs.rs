//! Whole runs with input at its bounds: how long another task of the driver's thread has to wait.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use windlass::models::{Delta, Deltas, HttpModel, HttpModelConfig, ModelRequest};
use windlass::runtime::{AgentBuilder, DriveOptions};
use windlass::tools::builtin::{Fetch, MAX_BODY};
use windlass::tools::command::{CommandSettings, CommandTool};
use windlass::tools::mcp::{Lifecycle, McpConfig, McpServer};
use windlass::tools::{ToolContext, ToolResult};
use windlass::{Agent, Model, SqliteLog, Store, Tool, Tour};
use windlass_core::message::Content;
use windlass_core::message::Part;
use windlass_core::model::Usage;
use windlass_core::run::MAX_CALLS;
use windlass_core::{Answer, ToolSpec};

use super::replies::Unused;
use super::wait::during;
use super::{OUTPUT, REPLY, peer, prose, secrets};
use crate::log::Outcome;

/// A model whose replies are given.
#[derive(Debug)]
struct Given {
    replies: Vec<Vec<Delta>>,
    next: AtomicUsize,
}

impl Model for Given {
    fn provider(&self) -> &str {
        "bench"
    }

    fn call(&self, _: ModelRequest) -> Deltas {
        let done = vec![Delta::Text("done".to_owned())];
        let deltas = self.replies.get(self.next.fetch_add(1, Relaxed)).cloned().unwrap_or(done);
        Box::pin(futures_util::stream::iter(deltas.into_iter().map(Ok)))
    }
}

/// A tool that gives the content that it was made with.
#[derive(Debug)]
struct Gives(ToolSpec, Mutex<Option<Content>>);

impl Tool for Gives {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, _: ToolContext, _: Value) -> futures_util::future::BoxFuture<'_, ToolResult> {
        let content = self.1.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(std::future::ready(Ok(content.unwrap_or_else(|| "done".into()))))
    }
}

fn echo() -> Gives {
    gives("done".into())
}

fn gives(content: Content) -> Gives {
    let spec = ToolSpec::read_only("echo", "Says it again.", json!({ "type": "object" }));
    Gives(spec, Mutex::new(Some(content)))
}

fn call(name: &str, args: String) -> Delta {
    Delta::Call { index: None, id: None, name: Some(name.to_owned()), args }
}

/// A run that is measured, with its conditions.
struct Scenario {
    what: &'static str,
    builder: AgentBuilder,
    /// Whether somebody looks at the pieces of replies.
    heard: bool,
}

fn scenario(what: &'static str, builder: AgentBuilder) -> Scenario {
    Scenario { what, builder, heard: false }
}

/// A run of an agent whose model says that and then ends.
fn saying(what: &'static str, builder: AgentBuilder, reply: Vec<Delta>) -> Scenario {
    scenario(
        what,
        builder.model(("given", Arc::new(Given { replies: vec![reply], next: AtomicUsize::new(0) }))),
    )
}

impl Scenario {
    fn heard(self) -> Self {
        Self { heard: true, ..self }
    }

    /// Drives one run, and prints the row.
    async fn drive(self) -> Outcome<windlass::Run> {
        let agent = self.builder.build()?;
        let prepared = agent.prepare("Go", DriveOptions::default()).await?;
        let waited = if self.heard {
            let mut updates = prepared.updates();
            tokio::spawn(async move { while updates.next().await.is_some() {} });
            during(prepared.drive()).await
        } else {
            during(prepared.drive()).await
        };
        row(self.what, waited.took_ms, waited.longest_ms);
        Ok(waited.output?)
    }
}

fn row(what: &str, took_ms: f64, longest_ms: f64) {
    println!("| {what} | {took_ms:.0} | {longest_ms:.1} |");
}

/// Prints a table of all of them.
pub(super) fn all() -> Outcome<()> {
    let _masked = secrets();
    println!("| run | took ms | another task of the thread waited at most ms |\n|---|---|---|");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        replies().await?;
        results().await?;
        servers().await?;
        logs().await
    })
}

async fn replies() -> Outcome<()> {
    let plain = || Agent::builder("plain").tool(echo());
    let whole = || prose(REPLY - 1_000);
    let args = || json!({ "text": whole() }).to_string();
    let list = || format!("{{\"list\":[{}0]}}", "0,".repeat(240_000));
    saying("16 MiB of text in one piece", plain(), vec![Delta::Text(whole())]).drive().await?;
    saying("16 MiB of text in one piece, heard", plain(), vec![Delta::Text(whole())]).heard().drive().await?;
    let pieces = || {
        whole()
            .as_bytes()
            .chunks(16 * 1024)
            .map(|piece| Delta::Text(String::from_utf8_lossy(piece).into_owned()))
            .collect()
    };
    saying("16 MiB of text in pieces of 16 KiB, heard", plain(), pieces()).heard().drive().await?;
    saying("a call with 16 MiB", plain(), vec![call("echo", args())]).drive().await?;
    saying("a call with 250,000 values", plain(), vec![call("echo", list())]).drive().await?;
    let many = |args: &str| (0..MAX_CALLS).map(|_| call("echo", args.to_owned())).collect::<Vec<_>>();
    saying("1,024 calls", plain(), many("{}")).drive().await?;
    let schema =
        json!({ "type": "object", "anyOf": vec![json!({ "type": "object", "required": ["x"] }); 4_000] });
    let costly = Agent::builder("costly").tool(Unused(ToolSpec::read_only("echo", "", schema)));
    saying("1,024 calls, a costly schema", costly, many("{}")).drive().await?;
    let fenced = Agent::builder("fenced").settings(&json!({ "wire": "fenced" })).tool(echo());
    let block = format!(
        "```tool_call\n{{\"tool\": \"echo\", \"arguments\": {}}}\n```",
        json!({ "text": prose(REPLY - 2_000) })
    );
    saying("16 MiB in a fenced block", fenced, vec![Delta::Text(block)]).drive().await?;
    let output = json!({ "type": "object", "properties": { "text": { "type": "string" }, "list": { "type": "array" } } });
    let typed = || Agent::builder("typed").output_schema(output.clone());
    saying("an output of 16 MiB, heard", typed(), vec![call("__finish__", args())]).heard().drive().await?;
    saying("an output of 250,000 values, heard", typed(), vec![call("__finish__", list())])
        .heard()
        .drive()
        .await?;
    let checked = typed().validate(|_| Ok(()));
    saying("an output of 16 MiB with a check of one's own", checked, vec![call("__finish__", args())])
        .drive()
        .await?;
    let tools = (0..1_000).fold(Agent::builder("many").search_tools(), |builder, number| {
        let words: Vec<String> = (0..260).map(|word| format!("w{}", number * 7 + word * 13)).collect();
        builder.tool(Unused(ToolSpec::read_only(
            format!("tool-{number}"),
            words.join(" "),
            json!({ "type": "object" }),
        )))
    });
    let query: Vec<String> = (0..150).map(|word| format!("q{word}a w{word}")).collect();
    let args = json!({ "query": query.join(" "), "limit": 1_000 }).to_string();
    saying("`search_tools` among 1,000", tools, vec![call("search_tools", args)]).drive().await?;
    approval().await
}

/// A person who allows a call with long arguments.
async fn approval() -> Outcome<()> {
    let args = json!({ "text": prose(REPLY - 1_000) }).to_string();
    let model = Arc::new(Given { replies: vec![vec![call("echo", args)]], next: AtomicUsize::new(0) });
    let builder =
        Agent::builder("asks").settings(&json!({ "approve": ["echo"] })).tool(echo()).model(("given", model));
    let agent = builder.build()?;
    let prepared = agent.prepare("Go", DriveOptions::default()).await?;
    let asked = during(prepared.drive()).await;
    row("a call with 16 MiB that a person must allow", asked.took_ms, asked.longest_ms);
    let run = asked.output?;
    let Some(question) = run.questions().first().map(|question| question.id.clone()) else {
        return Err("no question".into());
    };
    agent.answer(run.id(), question, Answer::Approve).await?;
    let resumed = agent.resume(run.id()).prepare().await?;
    let allowed = during(resumed.drive()).await;
    row("the same, once it is allowed", allowed.took_ms, allowed.longest_ms);
    allowed.output?;
    Ok(())
}

async fn results() -> Outcome<()> {
    let asks = || vec![call("echo", "{}".to_owned())];
    let long = Agent::builder("long").tool(gives(prose(OUTPUT).into()));
    saying("a result of 50 MB", long, asks()).drive().await?;
    let parts: Vec<Part> = (0..200_000).map(|_| Part::Text { text: "part of a result".into() }).collect();
    saying("a result of 200,000 parts", Agent::builder("parts").tool(gives(Content::Parts(parts))), asks())
        .drive()
        .await?;
    let settings = CommandSettings {
        name: "echo".to_owned(),
        run: ["head", "-c", "49000000", "/dev/zero"].map(str::to_owned).to_vec(),
        ..CommandSettings::default()
    };
    let command = CommandTool::new(&settings, std::path::Path::new("/"))?;
    saying("a command that writes 49 MB", Agent::builder("command").tool(command), asks()).drive().await?;
    page("<p>text <b>bold</b> &amp; more</p>").await?;
    page("<a href=x").await?;
    let tour = Agent::builder("tour").model(Tour).tool(echo()).build()?;
    let prepared = tour.prepare(prose(REPLY), DriveOptions::default()).await?;
    let waited = during(prepared.drive()).await;
    row("the offline tour, asked 16 MiB", waited.took_ms, waited.longest_ms);
    waited.output?;
    Ok(())
}

/// A page of 1 MiB that is fetched.
async fn page(piece: &'static str) -> Outcome<()> {
    let text = piece.repeat(MAX_BODY / piece.len());
    let url = peer::http(move |_| Some(("text/html", text.clone())))?;
    let fetch = Fetch::new(&[url.trim_start_matches("http://").to_owned()])?;
    let what = if piece.ends_with('>') { "a page of 1 MiB" } else { "a page of 1 MiB without an end" };
    let asks = vec![call("fetch", json!({ "url": url }).to_string())];
    saying(what, Agent::builder("page").tool(fetch), asks).drive().await?;
    Ok(())
}

fn chat(url: &str) -> Outcome<Arc<HttpModel>> {
    let mut config = HttpModelConfig::openai_chat("openai", url);
    config.key = Some("benchmark".into());
    Ok(Arc::new(HttpModel::new(config)?))
}

async fn servers() -> Outcome<()> {
    let escapes = "\\u0061".repeat(8 * 1024 * 1024);
    let whole =
        format!("{{\"choices\":[{{\"message\":{{\"content\":\"{escapes}\"}},\"finish_reason\":\"stop\"}}]}}");
    let event = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{escapes}\"}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n"
    );
    let url = peer::http(move |_| Some(("application/json", whole.clone())))?;
    scenario("a model server's body of 48 MiB", Agent::builder("whole").model(("m", chat(&url)?)))
        .drive()
        .await?;
    let url = peer::http(move |_| Some(("text/event-stream", event.clone())))?;
    scenario("a model server's event of 48 MiB, heard", Agent::builder("event").model(("m", chat(&url)?)))
        .heard()
        .drive()
        .await?;
    for kind in ["text", "numbers", "parts", "image"] {
        let program = std::env::current_exe()?.to_string_lossy().into_owned();
        let config = McpConfig::stdio("bench", [program.as_str(), "bounds", "peer", kind]);
        tool_server(&format!("a tool server's answer of 16 MiB: {kind}"), config).await?;
    }
    for (kind, events) in [("text", false), ("numbers", false), ("text", true), ("numbers", true)] {
        let url = peer::tool_server(kind, events)?;
        let how = if events { "an event" } else { "a body" };
        tool_server(
            &format!("a tool server's answer of 16 MiB over HTTP in {how}: {kind}"),
            McpConfig::http("bench", url),
        )
        .await?;
    }
    Ok(())
}

async fn tool_server(what: &str, mut config: McpConfig) -> Outcome<()> {
    config.lifecycle = Lifecycle::Initialize;
    let server = Arc::new(McpServer::connect(config).await?);
    let model =
        Given { replies: vec![vec![call("bench__long", "{}".to_owned())]], next: AtomicUsize::new(0) };
    let agent = Agent::builder("tools").model(("given", Arc::new(model))).source(server.clone()).build()?;
    let prepared = agent.prepare("Go", DriveOptions::default()).await?;
    let waited = during(prepared.drive()).await;
    row(what, waited.took_ms, waited.longest_ms);
    waited.output?;
    server.close().await;
    Ok(())
}

/// A conversation of four long replies, in SQLite: written, resumed by a session and sent.
async fn logs() -> Outcome<()> {
    let folder = std::env::temp_dir().join(format!("windlass-bounds-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let log: Arc<dyn Store> = Arc::new(SqliteLog::open(folder.join("log.db"))?);
    let usage = Usage { input: 1, output: 1, ..Usage::default() };
    let long =
        || vec![call("echo", json!({ "text": prose(REPLY - 1_000) }).to_string()), Delta::Usage(usage)];
    let model = Arc::new(Given { replies: vec![long(), long(), long(), long()], next: AtomicUsize::new(0) });
    let options = || DriveOptions { session: Some("s".into()), ..DriveOptions::default() };
    let agent = Agent::builder("logged")
        .settings(&json!({ "repetition": "off" }))
        .tool(echo())
        .model(("given", model))
        .log(log.clone())
        .build()?;
    let first = agent.prepare("Go", options()).await?;
    let waited = during(first.drive()).await;
    row("four calls with 16 MiB, kept in SQLite", waited.took_ms, waited.longest_ms);
    waited.output?;
    let url = peer::http(|_| {
        Some((
            "application/json",
            "{\"choices\":[{\"message\":{\"content\":\"done\"},\"finish_reason\":\"stop\"}]}".to_owned(),
        ))
    })?;
    let next = Agent::builder("logged").tool(echo()).model(("m", chat(&url)?)).log(log).build()?;
    let waited = during(async { next.prepare("And?", options()).await?.drive().await }).await;
    row("the session goes on: 64 MiB loaded and sent", waited.took_ms, waited.longest_ms);
    waited.output?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
