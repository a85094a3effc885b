//! A real MCP server, made with rmcp, whose tools do what a server must not: die, hang, flood, break its messages.

use std::io::Write as _;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ServerCapabilities, ServerConfig,
    SubscriptionFilter, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{Peer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::watch;

/// A tool that comes and goes.
const GROWN: &str = "grown";

/// What each tool does is in [`Evil::serve`].
const TOOLS: [&str; 18] = [
    "echo",
    "meta",
    "env",
    "pid",
    "mixed",
    "structured",
    "fail",
    "refuse",
    "die",
    "hang",
    "flood_stderr",
    "garbage",
    "noise",
    "long_line",
    "grow",
    "shrink",
    "spawn",
    "ask",
];

/// The server. Clones share the list of tools.
#[derive(Clone, Debug)]
pub(crate) struct Evil {
    /// How often the list changed, and whether it holds [`GROWN`] now.
    list: Arc<watch::Sender<(u64, bool)>>,
    /// Whether changes are told; a server may keep them to itself.
    tells: bool,
}

impl Evil {
    /// A server that tells of changes of its list; or one that does not, and has [`GROWN`] at the start.
    pub(crate) fn new(tells: bool) -> Self {
        Self { list: Arc::new(watch::Sender::new((0, !tells))), tells }
    }

    async fn serve(
        &self,
        tool: &str,
        args: &Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let text = |text: String| Ok(CallToolResult::success(vec![ContentBlock::text(text)]));
        let word = |key: &str| args.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match tool {
            "echo" => text(word("text")),
            "meta" => text(json!(*context.meta).to_string()),
            "env" => text(json!(std::env::vars().collect::<std::collections::BTreeMap<_, _>>()).to_string()),
            "pid" => text(std::process::id().to_string()),
            "mixed" => Ok(CallToolResult::success(vec![
                ContentBlock::text("a picture"),
                ContentBlock::image("aGk=", "image/png"),
                ContentBlock::embedded_text("note://1", "remember"),
            ])),
            "structured" => {
                let mut result = CallToolResult::default();
                result.structured_content = Some(json!({"sum": 7}));
                Ok(result)
            }
            "fail" => {
                Ok(CallToolResult::error(vec![ContentBlock::text(format!("no such file: {}", word("text")))]))
            }
            "refuse" => Err(ErrorData::internal_error(format!("refused with {}", word("text")), None)),
            "die" => die(&word("text")),
            "hang" => {
                std::fs::write(word("started"), "").map_err(internal)?;
                context.ct.cancelled().await;
                std::fs::write(word("cancelled"), "").map_err(internal)?;
                text("cancelled".to_owned())
            }
            "flood_stderr" => {
                tokio::task::spawn_blocking(flood).await.map_err(internal)?.map_err(internal)?;
                text("flooded".to_owned())
            }
            "garbage" => {
                raw(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"content\":[", context.id)).await
            }
            "noise" => {
                print("Listening on port 3000\n{\"level\":30,\"msg\":\"call\"}\n").map_err(internal)?;
                text("after the noise".to_owned())
            }
            "long_line" => raw(&"x".repeat(17 * 1024 * 1024)).await,
            "grow" | "shrink" => {
                self.change(tool == "grow", context).await;
                text("changed".to_owned())
            }
            GROWN if self.list.borrow().1 => text("I am new".to_owned()),
            "spawn" => {
                let child = tokio::process::Command::new("sleep").arg("1000").spawn().map_err(internal)?;
                text(child.id().unwrap_or_default().to_string())
            }
            "ask" => text(ask(&context.peer).await),
            _ => Err(ErrorData::invalid_params(format!("Unknown tool: {tool}"), None)),
        }
    }

    async fn change(&self, has_grown: bool, context: &RequestContext<RoleServer>) {
        self.list.send_modify(|(changes, grown)| {
            *changes += 1;
            *grown = has_grown;
        });
        let is_old =
            context.protocol_version().is_some_and(|version| version < ProtocolVersion::V_2026_07_28);
        // From MCP 2026-07-28 on only those who listen are told, in `listen`.
        if self.tells && is_old {
            let _ = context.peer.notify_tool_list_changed().await;
        }
    }
}

impl ServerHandler for Evil {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools();
        let capabilities =
            if self.tells { capabilities.enable_tool_list_changed().build() } else { capabilities.build() };
        ServerConfig::new(capabilities).with_instructions("Mind the tools.")
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // Two pages: the first ten, and the rest.
        let second = request.and_then(|request| request.cursor).is_some();
        let (first_page, second_page) = TOOLS.split_at(10);
        if !second {
            let mut page =
                ListToolsResult::with_all_items(first_page.iter().map(|name| tool(name)).collect());
            page.next_cursor = Some("2".to_owned());
            return Ok(page);
        }
        let mut tools: Vec<Tool> = second_page.iter().map(|name| tool(name)).collect();
        if self.list.borrow().1 {
            tools.push(tool(GROWN));
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = Value::Object(request.arguments.unwrap_or_default());
        if let Some(token) = context.meta.get_progress_token() {
            let _ = context.peer.notify_progress(ProgressNotificationParam::new(token, 0.5)).await;
        }
        self.serve(&request.name, &args, &context).await.map(Into::into)
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut list = self.list.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = list.changed() => {
                    changed.map_err(internal)?;
                    context.sink().notify_tool_list_changed().await.map_err(internal)?;
                }
            }
        }
    }
}

fn tool(name: &'static str) -> Tool {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    let Value::Object(schema) = schema else { return Tool::default() };
    let tool = Tool::new(name, format!("Does {name}."), schema);
    match name {
        "echo" => tool.with_annotations(ToolAnnotations::new().read_only(true)),
        "env" => tool.with_annotations(ToolAnnotations::new().idempotent(true).destructive(false)),
        _ => tool,
    }
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn die(words: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "{words}");
    std::process::exit(3)
}

/// 8 MiB, of which the last line can be told from the rest.
fn flood() -> std::io::Result<()> {
    let mut stderr = std::io::stderr().lock();
    let line = [b'.'; 1024];
    for _ in 0..8 * 1024 {
        stderr.write_all(&line)?;
    }
    stderr.write_all(b"\nthe end of the flood\n")?;
    stderr.flush()
}

/// Writes a line past rmcp in place of the answer, which never comes.
async fn raw(line: &str) -> Result<CallToolResult, ErrorData> {
    print(&format!("{line}\n")).map_err(internal)?;
    std::future::pending().await
}

fn print(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Asks the client for everything that a server may ask for, and tells what came.
#[expect(deprecated, reason = "roots and sampling are deprecated in 2026-07-28 but older servers ask")]
async fn ask(peer: &Peer<RoleServer>) -> String {
    use rmcp::model::{
        CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, SamplingMessage, ServerRequest,
    };
    let roots = match peer.list_roots().await {
        Ok(roots) => format!("{} roots", roots.roots.len()),
        Err(error) => error.to_string(),
    };
    let sampling = CreateMessageRequestParams::new(vec![SamplingMessage::user_text("hi")], 16);
    let sampling = ServerRequest::CreateMessageRequest(CreateMessageRequest::new(sampling));
    let form = json!({"method": "elicitation/create", "params": {"mode": "form", "message": "Who?",
        "requestedSchema": {"type": "object", "properties": {}}}});
    let elicitation = serde_json::from_value::<ElicitRequest>(form).map(ServerRequest::ElicitRequest);
    let mut answers = vec![roots];
    for request in [Some(sampling), elicitation.ok()].into_iter().flatten() {
        answers.push(match peer.send_request(request).await {
            Ok(answer) => format!("{answer:?}"),
            Err(error) => error.to_string(),
        });
    }
    answers.join("; ")
}
