//! An agent described by environment variables, as those of KAOS' agent container; and numbers of a loop that stand there.

use std::path::Path;

use serde_json::{Map, Value, json};
use windlass_core::policy::{Alias, LimitKey, Preset};
use windlass_models::mock;
use windlass_models::resolve::Env;

use super::{AgentFile, AgentFileError};
use crate::yaml::{Field, Node};

impl AgentFile {
    /// Reads an agent from the variables of KAOS' agent container, with KAOS' loop: `AGENT_NAME`, `AGENT_DESCRIPTION`,
    /// `AGENT_INSTRUCTIONS`, `MODEL_API_URL`, `MODEL_NAME`, `MCP_SERVERS`, `AGENTIC_LOOP_MAX_STEPS`, `MEMORY_…`. Messages show
    /// `name` as the file.
    ///
    /// # Errors
    /// A variable is missing or cannot be used.
    pub fn from_environment(name: &Path, env: Env<'_>) -> Result<Self, AgentFileError> {
        let document = document(env)?;
        // What KAOS says when it starts. Keys stand in none of it.
        let part = |key: &str| document.get(key).map(ToString::to_string).unwrap_or_default();
        let (agent, model, tools, settings) = (part("name"), part("model"), part("tools"), part("loop"));
        tracing::info!("agent {agent} from the environment: model {model}, tools {tools}, loop {settings}");
        Self::parse(&document.to_string(), name, env)
    }
}

impl AgentFile {
    /// Numbers of the loop that stand in the environment and not in the file: Session 10's `MAX_STEPS` and `MAX_RETRIES`.
    ///
    /// # Errors
    /// A variable is no whole number.
    pub(super) fn take_numbers(&mut self, env: Env<'_>) -> Result<(), AgentFileError> {
        let keys = &mut self.loop_section.keys;
        let Some(preset) = keys.preset else { return Ok(()) };
        for (name, named) in preset.variables() {
            let Some(found) = number(env, name)? else { continue };
            let too_large = || bad(name, found.to_string(), "a smaller number");
            match named {
                Alias::Limit(kind) => {
                    let limit = Node::from_json(&json!(found));
                    let limit = Field::new(&limit, *name).decode_with(LimitKey(*kind));
                    let limit = limit.map_err(|_| too_large())?;
                    keys.limits.get_or_insert_default().0.entry(*kind).or_insert(limit);
                }
                Alias::Retries => {
                    let retries = u32::try_from(found).map_err(|_| too_large())?;
                    keys.retries.get_or_insert(retries);
                }
            }
        }
        Ok(())
    }
}

fn document(env: Env<'_>) -> Result<Value, AgentFileError> {
    let given = |name: &str| env(name).filter(|value| !value.trim().is_empty());
    let required = |name: &str| given(name).ok_or_else(|| missing(name));
    let name = required("AGENT_NAME")?;
    let model = if given(mock::VARIABLE).is_some() {
        json!("tour")
    } else {
        json!({ "use": required("MODEL_NAME")?, "base_url": required("MODEL_API_URL")? })
    };
    if let Some(name) = ["AGENT_SUB_AGENTS", "PEER_AGENTS"].into_iter().find(|name| given(name).is_some()) {
        return Err(AgentFileError::NetworkAgents { name });
    }
    let mut settings = Map::from_iter([("preset".to_owned(), json!(Preset::of_containers().name))]);
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
        return Err(bad("MEMORY_TYPE", kind, "`local`"));
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
    if !["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(2 * text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letters.peek() {
            Some('{' | '%' | '#') if letter == '{' => out.push_str("{{ \"{\" }}"),
            _ => out.push(letter),
        }
    }
    out
}

/// `MCP_SERVERS`: names with commas between; each has its address in `MCP_SERVER_<name>_URL`.
fn servers(env: Env<'_>) -> Result<Vec<Value>, AgentFileError> {
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

fn number(env: Env<'_>, name: &str) -> Result<Option<u64>, AgentFileError> {
    let Some(text) = env(name).filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    let number = text.trim().parse();
    number.map(Some).map_err(|_| bad(name, text, "a whole number from 0"))
}

fn missing(name: &str) -> AgentFileError {
    AgentFileError::MissingVariable { name: name.to_owned() }
}

fn bad(name: &str, found: String, expected: &'static str) -> AgentFileError {
    AgentFileError::BadVariable { name: name.to_owned(), found, expected }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use windlass_core::policy::LimitKind;
    use windlass_error::Diagnostic as _;

    use super::AgentFile;

    fn read(given: &[(&str, &str)]) -> Result<AgentFile, (&'static str, String)> {
        let env =
            |name: &str| given.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        AgentFile::from_environment(Path::new("env"), &env).map_err(|error| (error.code(), error.to_string()))
    }

    #[test]
    fn k30_the_environment_describes_an_agent_or_the_variable_at_fault_is_named() {
        let needed =
            [("AGENT_NAME", "greeter"), ("MODEL_API_URL", "http://127.0.0.1:9"), ("MODEL_NAME", "m")];
        let agent = read(&needed).unwrap();
        assert_eq!((&*agent.name, agent.models.len(), agent.tools.len()), ("greeter", 1, 0));
        let fault = |name: &'static str, value: &'static str| {
            let mut given = needed.to_vec();
            given.insert(0, (name, value));
            read(&given).unwrap_err()
        };
        let environment = |what: &str| ("agent.environment", what.to_owned());
        assert_eq!(
            read(&needed[..1]).unwrap_err(),
            environment("the environment variable MODEL_NAME is not set")
        );
        assert_eq!(
            fault("MCP_SERVERS", "a"),
            environment("the environment variable MCP_SERVER_a_URL is not set")
        );
        assert_eq!(
            fault("AGENTIC_LOOP_MAX_STEPS", "many"),
            environment("AGENTIC_LOOP_MAX_STEPS is `many`: expected a whole number from 0")
        );
        assert_eq!(fault("MEMORY_TYPE", "redis"), environment("MEMORY_TYPE is `redis`: expected `local`"));
        assert_eq!(fault("PEER_AGENTS", "a").0, "agent.later");
    }

    #[test]
    fn s1_a_number_of_the_plan_loop_holds_where_the_file_says_nothing() {
        let numbers = |given: &[(&str, &str)], file: &str| {
            let env = |name: &str| {
                given.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            let read = AgentFile::parse(&format!("name: a\nmodel: tour\n{file}"), Path::new("a.yaml"), &env);
            let policy = read.map_err(|error| error.to_string())?.policy().unwrap();
            Ok::<_, String>((policy.limit(LimitKind::PlanSteps), policy.calls.retries))
        };
        let both: &[(&str, &str)] = &[("MAX_STEPS", "7"), ("MAX_RETRIES", "0")];
        for (given, file, steps, retries) in [
            (&[][..], "loop: { preset: session10 }", Some(3), 3),
            (both, "loop: { preset: session10 }", Some(7), 0),
            (both, "loop: { preset: plan }", Some(7), 0),
            (both, "loop: { preset: plan, MAX_STEPS: 2 }", Some(2), 0),
            (both, "loop: { preset: plan, limits: { plan_steps: 2 }, retries: 1 }", Some(2), 1),
            (both, "loop: { preset: plan, limits: { tokens: 9 }, MAX_RETRIES: 2 }", Some(7), 2),
            (&[("MAX_STEPS", "0"), ("MAX_RETRIES", " ")], "loop: { preset: plan }", Some(0), 3),
            // Another loop does not read them.
            (both, "loop: { preset: refine }", None, 0),
            (both, "loop: { preset: typed }", None, 0),
            (both, "", None, 0),
        ] {
            assert_eq!(numbers(given, file), Ok((steps, retries)), "{given:?} {file}");
        }
        for (name, value, fault) in [
            ("MAX_STEPS", "three", "MAX_STEPS is `three`: expected a whole number from 0"),
            ("MAX_STEPS", "-1", "MAX_STEPS is `-1`: expected a whole number from 0"),
            ("MAX_RETRIES", "1.5", "MAX_RETRIES is `1.5`: expected a whole number from 0"),
            ("MAX_RETRIES", "5000000000", "MAX_RETRIES is `5000000000`: expected a smaller number"),
        ] {
            let given = [(name, value)];
            assert_eq!(numbers(&given, "loop: { preset: plan }"), Err(fault.to_owned()));
            assert!(numbers(&given, "loop: { preset: chat }").is_ok(), "{name} is not chat's");
        }
    }
}
