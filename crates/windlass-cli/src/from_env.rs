//! An agent from the environment of KAOS' agent container: `windlass run --from-env`.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use windlass_models::mock;
use windlass_models::resolve::Env;
use windlass_runtime::agent_file::AgentFile;

use crate::failure::{Exit, Failure};
use crate::home;

/// What stands where an agent's file would, in messages and in the notes that `windlass runs resume` reads.
pub(crate) const NAME: &str = "--from-env";

/// Whether that stands for the environment.
pub(crate) fn is(path: &Path) -> bool {
    path == Path::new(NAME)
}

/// The path to remember an agent by.
pub(crate) fn path_of(path: &Path) -> PathBuf {
    if is(path) { path.to_owned() } else { home::absolute(path) }
}

/// The agent that the environment describes, with KAOS' loop.
pub(crate) fn read(env: Env<'_>) -> Result<AgentFile, Failure> {
    let document = document(env)?;
    // What KAOS says when it starts. Keys stand in none of it.
    let part = |key: &str| document.get(key).map(ToString::to_string).unwrap_or_default();
    let (name, model, tools, settings) = (part("name"), part("model"), part("tools"), part("loop"));
    tracing::info!("agent {name} from the environment: model {model}, tools {tools}, loop {settings}");
    let text = document.to_string();
    Ok(AgentFile::parse(&text, Path::new(NAME), env)?)
}

fn document(env: Env<'_>) -> Result<Value, Failure> {
    let given = |name: &str| env(name).filter(|value| !value.trim().is_empty());
    let required = |name: &str| given(name).ok_or_else(|| missing(name));
    let name = required("AGENT_NAME")?;
    let model = if given(mock::VARIABLE).is_some() {
        json!("tour")
    } else {
        json!({ "use": required("MODEL_NAME")?, "base_url": required("MODEL_API_URL")? })
    };
    if let Some(list) = ["AGENT_SUB_AGENTS", "PEER_AGENTS"].into_iter().find(|name| given(name).is_some()) {
        return Err(Failure::new(
            Exit::BadFile,
            format!("{list} names agents on the network: that is not available in this version"),
        )
        .hint("name their files with `--agent NAME=FILE`"));
    }
    let mut settings = Map::from_iter([("preset".to_owned(), json!("text"))]);
    if let Some(steps) = number(env, "AGENTIC_LOOP_MAX_STEPS")? {
        settings.insert("max_steps".to_owned(), json!(steps));
    }
    let memory = [
        ("MEMORY_CONTEXT_LIMIT", "context_limit"),
        ("MEMORY_MAX_SESSIONS", "max_sessions"),
        ("MEMORY_MAX_SESSION_EVENTS", "max_session_events"),
    ];
    let mut kept = Map::new();
    for (variable, key) in memory {
        if let Some(number) = number(env, variable)? {
            kept.insert(key.to_owned(), json!(number));
        }
    }
    if let Some(kind) = given("MEMORY_TYPE").filter(|kind| kind != "local") {
        return Err(Failure::new(Exit::BadFile, format!("MEMORY_TYPE is `{kind}`: expected `local`")));
    }
    if given("MEMORY_ENABLED").is_some_and(|on| matches!(&*on.trim().to_lowercase(), "false" | "0" | "no")) {
        settings.insert("memory".to_owned(), json!("off"));
    } else if !kept.is_empty() {
        settings.insert("memory".to_owned(), kept.into());
    }
    Ok(json!({
        "name": name,
        "description": given("AGENT_DESCRIPTION").unwrap_or_default(),
        "model": model,
        // KAOS' instructions are text, no template.
        "instructions": plain(&given("AGENT_INSTRUCTIONS").unwrap_or_else(|| "You are a helpful assistant.".to_owned())),
        "tools": servers(env)?,
        "loop": settings,
    }))
}

/// A text that stays as it is where templates are rendered.
fn plain(text: &str) -> String {
    if ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)) && !text.contains("{% endraw") {
        return format!("{{% raw %}}{text}{{% endraw %}}");
    }
    text.to_owned()
}

/// `MCP_SERVERS`: names with commas between; each has its address in `MCP_SERVER_<name>_URL`.
fn servers(env: Env<'_>) -> Result<Vec<Value>, Failure> {
    let list = env("MCP_SERVERS").unwrap_or_default();
    let list = list.trim().trim_start_matches('[').trim_end_matches(']');
    let names = list.split(',').map(|name| name.trim().trim_matches('"')).filter(|name| !name.is_empty());
    let server = |name: &str| {
        let own = format!("MCP_SERVER_{name}_URL");
        let upper = format!("MCP_SERVER_{}_URL", name.to_uppercase().replace('-', "_"));
        let url = env(&own).or_else(|| env(&upper)).ok_or_else(|| missing(&own))?;
        let url = url.trim_end_matches('/');
        let url = if url.ends_with("/mcp") { url.to_owned() } else { format!("{url}/mcp") };
        // KAOS' tools have their server's names for them; two of the same name are refused. An agent goes on without a
        // server that is gone.
        Ok(json!({ "mcp": { "name": name, "url": url, "prefix": "", "optional": true } }))
    };
    names.map(server).collect()
}

fn number(env: Env<'_>, name: &str) -> Result<Option<u64>, Failure> {
    let Some(text) = env(name).filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    text.trim().parse().map(Some).map_err(|_| {
        Failure::new(Exit::BadFile, format!("{name} is `{text}`: expected a whole number from 0"))
    })
}

fn missing(name: &str) -> Failure {
    Failure::new(Exit::BadFile, format!("the environment has no {name}"))
        .hint("AGENT_NAME, MODEL_API_URL and MODEL_NAME must be set, or AGENT_NAME and DEBUG_MOCK_RESPONSES")
}
