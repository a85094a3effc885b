//! `windlass tools`: the tools of an agent, and a call of one by hand.

mod approval;
mod batch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use windlass_core::message::Content;
use windlass_core::schema::check_args;
use windlass_core::secret::{mask, mask_json};
use windlass_core::text::nearest;
use windlass_core::tool::{Effect, ToolKind};
use windlass_core::{CallId, RunId, ToolSpec};
use windlass_read::words::{cut, name, span};
use windlass_runtime::agent_file::{AgentFile, ServedTools, ToolEntry};
use windlass_runtime::{FileService, Waits, connect, local_tools, services};
use windlass_tools::mcp::McpServer;
use windlass_tools::skills::{ACTIVATE, Skill};
use windlass_tools::{ServiceError, ServiceUse, Tool, ToolContext, ToolResult, ToolSet, ToolWarning};

use crate::agents;
use crate::agents::watched;
use crate::failure::hints::Hinted as _;
use crate::failure::{Exit, Failure};
use crate::home;
use crate::interrupts::Interrupts;
use crate::out;
use crate::overrides::Overrides;
use crate::stdin;
use crate::view::warnings;
use crate::waiting::awaited;
use approval::Approval;

/// Maximum number of characters shown of a description.
const DESCRIPTION_CHARS: usize = 80;
/// Time for a tool to stop after Ctrl-C or its timeout.
const GRACE: Duration = Duration::from_secs(2);

const HELP: &str = "\
Examples:
  windlass tools list agent.yaml
  windlass tools call agent.yaml calculate '{\"expression\": \"17 / 100 * 2350\"}'
  echo '{\"tool\": \"now\", \"arguments\": {}}' | windlass tools batch agent.yaml";

/// The arguments of `windlass tools`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    command: ToolsCommand,
}

#[derive(Debug, Subcommand)]
enum ToolsCommand {
    /// List the tools of an agent, those of its tool servers included
    List {
        /// The agent file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// One JSON object a tool, with its schema
        #[arg(long)]
        json: bool,
    },
    /// Call a tool by hand: no model, no log, no approval
    Call {
        /// The agent file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The tool's name
        #[arg(value_name = "TOOL")]
        tool: String,
        /// The arguments as a JSON object; `-`: read from stdin [default: {}]
        #[arg(value_name = "JSON")]
        args: Option<String>,
        /// The result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Call tools by hand, one for each line on stdin: {"tool": NAME, "arguments": {..}}; one line of JSON a result
    Batch {
        /// The agent file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Carries out one of the commands.
pub(crate) async fn run(args: ToolsArgs) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    match args.command {
        ToolsCommand::List { file, json } => {
            out::calm(json);
            let found = interrupts.or(tools_of(&file)).await??;
            let health = interrupts.or(found.health()).await?;
            list(&found, json)?;
            verdict(&health)
        }
        ToolsCommand::Call { file, tool, args, json } => {
            out::calm(json);
            let found = interrupts.or(tools_of(&file)).await??;
            let tool = found.tools.get(&tool).ok_or_else(|| unknown(&tool, &found.tools))?.clone();
            let used = interrupts.or(found.begin(&tool)).await??;
            let content = call(&found.file, &*tool, arguments(args)?, &mut interrupts).await;
            if let Some(used) = used {
                used.end().await;
            }
            show(&content?, json)
        }
        ToolsCommand::Batch { file } => batch::run(&file, &mut interrupts).await,
    }
}

/// All tools of a file. Its servers live as long as they are kept; its services are not set up.
struct Found {
    file: AgentFile,
    tools: ToolSet,
    servers: Vec<McpServer>,
    services: Vec<FileService>,
}

impl Found {
    /// The unavailable services and servers, by name. A service is set up for the check.
    async fn health(&self) -> Vec<(String, ServiceError)> {
        let asked = self.services.iter().map(|found| async {
            let health = found.service.health().await;
            Some((found.service.name().to_owned(), health.err()?))
        });
        let dead = self.servers.iter().filter(|server| !server.is_alive());
        let ended = dead.map(|server| (server.name().to_owned(), ServiceError::new("the server has exited")));
        join_all(asked).await.into_iter().flatten().chain(ended).collect()
    }

    /// The tools of its servers. Servers of its branches are not connected.
    fn served(&self) -> ServedTools {
        let tools = self.servers.iter().flat_map(McpServer::tools);
        let names = tools.map(|tool| tool.spec().name.to_string()).collect();
        ServedTools { names, ..self.file.unconnected_of_branches() }
    }

    /// Sets the service up that a tool belongs to.
    async fn begin(&self, tool: &Arc<dyn Tool>) -> Result<Option<ServiceUse>, Failure> {
        let mut services = self.services.iter();
        let Some(owner) = services.find(|found| found.tools.iter().any(|own| Arc::ptr_eq(own, tool))) else {
            return Ok(None);
        };
        owner.service.begin().await.map(Some).map_err(|error| {
            let name = owner.service.name();
            Failure::new(Exit::Failed, format!("cannot set up the service `{name}`")).cause(error.to_string())
        })
    }
}

async fn tools_of(path: &Path) -> Result<Found, Failure> {
    let file = agents::read(path, &Overrides::default())?;
    let mut tools = ToolSet::new();
    let mut add = |tool: Arc<dyn Tool>| {
        tools.add(tool).map_err(|error| Failure::of(Exit::BadFile, &error).maybe_hint(error.hint()))
    };
    for tool in local_tools(&file)? {
        add(tool)?;
    }
    let services = services(&file, &home::env)?;
    for tool in services.iter().flat_map(|found| &found.tools) {
        add(tool.clone())?;
    }
    let waits = Waits::default();
    let entries = file.tools.iter().filter_map(|entry| match entry {
        ToolEntry::Mcp(entry) => Some(connect(entry, &waits)),
        ToolEntry::Builtin(_) | ToolEntry::Command(_) | ToolEntry::Service(_) => None,
    });
    let servers: Vec<McpServer> =
        watched(join_all(entries), &waits).await.into_iter().collect::<Result<_, _>>()?;
    for tool in servers.iter().flat_map(McpServer::tools) {
        add(tool)?;
    }
    Ok(Found { file, tools, servers, services })
}

/// The exit code: a failure if something cannot be used.
fn verdict(health: &[(String, ServiceError)]) -> Result<Exit, Failure> {
    match health {
        [] => Ok(Exit::Good),
        [(name, error), ..] => {
            let more = if health.len() > 1 {
                format!(", and {} more cannot", health.len() - 1)
            } else {
                String::new()
            };
            Err(Failure::new(Exit::Failed, format!("`{name}` cannot be used{more}")).cause(error.to_string()))
        }
    }
}

fn list(found: &Found, json: bool) -> Result<(), Failure> {
    let tools = found.tools.specs();
    let policy = found.file.policy()?;
    let unmatched = found.file.unmatched_patterns(&found.served());
    let warnings: Vec<ToolWarning> = found.servers.iter().flat_map(McpServer::warnings).collect();
    for tool in tools.iter() {
        if json {
            let warning = warnings.iter().find(|warning| *warning.tool == *tool.name);
            let approval = Approval::of(tool, &policy);
            out::json(&json!({
                "name": tool.name, "description": tool.description, "parameters": tool.parameters,
                "effect": tool.effect, "approve": approval.asks(), "approve_because": approval.reasons(),
                "denied_by": approval.denied_by(), "timeout_ms": tool.timeout_ms,
                "origin": tool.origin, "skills": skills_of(found, tool), "warning": warning.map(|warning| &warning.reason),
            }))?;
        } else {
            let approval = Approval::of(tool, &policy).words();
            out::line(format_args!(
                "{} ({}; {}{approval})",
                name(&tool.name),
                name(&tool.origin),
                effect(tool.effect)
            ))?;
            out::line(format_args!("  {}", cut(&tool.description, DESCRIPTION_CHARS)))?;
            for skill in found.file.skills.iter().filter(|_| gives_skills(tool)) {
                let about = cut(&skill.description, DESCRIPTION_CHARS);
                out::line(format_args!("  skill {}: {about}", name(&skill.name)))?;
            }
        }
    }
    if json {
        let left_out = warnings.iter().filter(|warning| warning.left_out);
        left_out.map(warnings::value).try_for_each(|warning| out::json(&warning))?;
        unmatched.iter().map(warnings::pattern_value).try_for_each(|warning| out::json(&warning))?;
    }
    warnings::lines(&warnings).into_iter().for_each(out::say);
    unmatched.iter().map(warnings::pattern_line).for_each(out::say);
    if tools.is_empty() {
        out::note("this agent has no tools");
    }
    Ok(())
}

/// Whether the text of a skill is the result of this tool.
fn gives_skills(tool: &ToolSpec) -> bool {
    *tool.name == *ACTIVATE
}

/// The skills that a tool gives; nothing of another tool.
fn skills_of(found: &Found, tool: &ToolSpec) -> Option<Vec<Value>> {
    let each = |skill: &Skill| json!({ "name": skill.name, "description": skill.description, "folder": skill.folder });
    gives_skills(tool).then(|| found.file.skills.iter().map(each).collect())
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::ReadOnly => "read only",
        Effect::Idempotent => "idempotent",
        Effect::Once => "once",
    }
}

fn unknown(name: &str, tools: &ToolSet) -> Failure {
    let specs = tools.specs();
    let names: Vec<&str> = specs.iter().map(|tool| &*tool.name).collect();
    let close = nearest(name, names.iter().copied());
    let failure = Failure::new(Exit::Failed, format!("this agent has no tool `{name}`"));
    match close.as_slice() {
        [] => failure.hint(format!("its tools are {}", names.join(", "))),
        close => failure.hint(format!("did you mean {}?", close.join(" or "))),
    }
}

fn arguments(text: Option<String>) -> Result<String, Failure> {
    match text {
        Some(text) if text != "-" => Ok(text),
        Some(_) => stdin::whole().map_err(|error| {
            Failure::new(Exit::BadFile, "cannot read the arguments on stdin").cause(error.to_string())
        }),
        None => Ok("{}".to_owned()),
    }
}

async fn call(
    file: &AgentFile,
    tool: &dyn Tool,
    args: String,
    interrupts: &mut Interrupts,
) -> Result<Content, Failure> {
    let spec = tool.spec();
    if spec.kind == ToolKind::Ask {
        return Err(Failure::new(
            Exit::Failed,
            format!("`{}` asks a person and cannot be called directly", spec.name),
        ));
    }
    let args: Value = check_args(spec, &args).map_err(|what| Failure::new(Exit::Usage, what))?;
    let cancelled = CancellationToken::new();
    let run = RunId(uuid::Uuid::now_v7());
    let context = ToolContext {
        run,
        call: CallId::from("by_hand"),
        attempt: 1,
        idempotency_key: format!("{run}:by_hand").into(),
        cancelled: cancelled.clone(),
        lease: windlass_tools::Lease::none(),
        active_skills: Vec::new(),
    };
    let limit = spec.timeout_ms.unwrap_or_else(|| file.tool_ms());
    let mut running = tool.call(context, args);
    let ended = async {
        tokio::select! {
            biased;
            result = &mut running => Ok(result_of(spec, result)),
            () = tokio::time::sleep(Duration::from_millis(limit)) => {
                Err(Failure::new(Exit::Failed, format!("`{}` timed out after {}", spec.name, span(limit))))
            }
            interrupt = interrupts.next() => Err(interrupt.failure()),
        }
    };
    let failure = match awaited(format!("tool `{}`", name(&spec.name)), ended).await {
        Ok(result) => return result,
        Err(failure) => failure,
    };
    cancelled.cancel();
    // Its late result no longer counts, and a second signal ends at once.
    let _late = interrupts.or(tokio::time::timeout(GRACE, running)).await;
    Err(failure)
}

fn result_of(spec: &ToolSpec, result: ToolResult) -> Result<Content, Failure> {
    result.map_err(|error| {
        let kind = error.kind.as_ref().map(|kind| format!(" ({kind})")).unwrap_or_default();
        Failure::new(Exit::Failed, format!("`{}` failed{kind}", spec.name)).cause(&*error.message)
    })
}

fn show(content: &Content, json: bool) -> Result<Exit, Failure> {
    if json {
        let mut value = serde_json::to_value(content).unwrap_or_default();
        mask_json(&mut value);
        out::json(&value)?;
        return Ok(Exit::Good);
    }
    let text = content.text();
    let text = mask(&text);
    out::answer(text.trim_end_matches('\n'))?;
    out::answer("\n")?;
    if let Content::Parts(parts) = content
        && out::stderr_is_terminal()
        && parts.iter().any(|part| {
            !matches!(
                part,
                windlass_core::message::Part::Text { .. } | windlass_core::message::Part::Stored(_)
            )
        })
    {
        out::note("the result holds more than text: `--json` shows all of it");
    }
    Ok(Exit::Good)
}
