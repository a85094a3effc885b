//! Agents.

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_api::{Agent, Agents, FailedFile, Reloaded};
use windlass_error::in_full;

use crate::error::Error;
use crate::http::reply::Json;
use crate::http::route::{Call, Nothing};

/// The agent in a path.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OfAgent {
    /// The agent's name.
    agent: String,
}

/// An agent that is there for the caller.
pub(super) fn named<P, Q, B>(call: &Call<P, Q, B>, name: &str) -> Result<windlass_runtime::Agent, Error> {
    let found = call.server.host().registry().get(name).filter(|_| call.caller.has_agent(name));
    found.ok_or_else(|| Error::UnknownAgent { agent: name.to_owned() })
}

fn form(agent: &windlass_runtime::Agent) -> Agent {
    Agent {
        name: agent.name().to_string(),
        description: agent.description().to_string(),
        models: agent.models().iter().map(|model| model.name.to_string()).collect(),
        tools: agent.tools().iter().map(|tool| tool.name.to_string()).collect(),
        input: agent.input_schema().map(|schema| (**schema).clone()),
        output: agent.output_schema().map(|schema| (**schema).clone()),
        digest: agent.agent_ref().digest.to_string(),
    }
}

pub(super) async fn list(call: Call) -> Result<Json<Agents>, Error> {
    let registry = call.server.host().registry();
    let names = registry.names().into_iter().filter(|name| call.caller.has_agent(name));
    let items = names.filter_map(|name| registry.get(&name)).map(|agent| form(&agent)).collect();
    Ok(Json(Agents { items }))
}

pub(super) async fn read(call: Call<OfAgent>) -> Result<Json<Agent>, Error> {
    Ok(Json(form(&named(&call, &call.path.agent)?)))
}

pub(super) async fn reload(call: Call<Nothing, Nothing, Nothing>) -> Result<Json<Reloaded>, Error> {
    let reloaded = call.server.reload().await?;
    for (path, error) in &reloaded.failed {
        tracing::warn!("{} stays as it was: {}", path.display(), in_full(error));
    }
    let names = |names: Vec<windlass_core::Text>| names.iter().map(ToString::to_string).collect();
    Ok(Json(Reloaded {
        added: names(reloaded.added),
        changed: names(reloaded.changed),
        removed: names(reloaded.removed),
        failed: reloaded
            .failed
            .iter()
            .map(|(path, error)| FailedFile { file: path.display().to_string(), message: in_full(error) })
            .collect(),
    }))
}
