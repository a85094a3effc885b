//! The agent of a case: its file's fields, with scripted models and tools in place of real ones.

use std::sync::Arc;

use windlass_core::{ModelChoice, Prices, ToolSpec};
use windlass_runtime::Agent;
use windlass_runtime::agent_file::{AgentFile, Builtin, ModelEntry, ModelNames, ToolEntry};
use windlass_tools::{Tool, builtin};

use super::hook::ScriptedHook;
use crate::crash::CrashLog;
use crate::doubles::{ScriptedToolDouble, shared_model};
use crate::fixture::{Case, ScriptedTool};
use crate::script::Script;
use crate::sim::SimWorld;
use windlass_runtime::in_full as refusal;

/// The name of the scripted model where the agent names none.
const MODEL: &str = "scripted";

/// Builds the agent. `Err`: it is refused, with the whole message.
pub(crate) fn build(
    case: &Case,
    script: &Script,
    world: &SimWorld,
    log: Arc<CrashLog>,
) -> Result<Agent, String> {
    let env = |name: &str| case.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let file = AgentFile::from_node(&case.agent.node, &case.agent.file, &env, ModelNames::Plain)
        .map_err(|error| refusal(&error))?;
    file.check_available().map_err(|error| refusal(&error))?;
    let policy = file.policy().map_err(|error| refusal(&error))?;
    let mut builder = Agent::builder(file.name.as_str())
        .description(file.description.as_str())
        .instructions(file.instructions.text())
        .examples(file.example_messages())
        .policy(policy)
        .log(log)
        .world(Arc::new(world.clone()));
    for choice in models(&file, case.prices) {
        builder = builder.model_with(choice, shared_model(script, world));
    }
    let stands_in = |name: &str| case.tools.iter().any(|tool| tool.name == name);
    for entry in &file.tools {
        if let ToolEntry::Builtin(entry) = entry
            && !stands_in(entry.tool.name())
            && let Some(tool) = pure(entry.tool)
        {
            builder = builder.shared_tool(tool);
        }
    }
    for tool in &case.tools {
        builder = builder.tool(double(tool, &file, script, world));
    }
    if let Some(schema) = &file.input_schema {
        builder = builder.input_schema(schema.clone());
    }
    if let Some(schema) = &file.output_schema {
        builder = builder.output_schema(schema.clone());
    }
    if !case.hooks.is_empty() {
        for name in case.hooks.iter().filter_map(|hook| hook.set.as_ref()?.model.as_deref()) {
            builder = builder.known_model(name, shared_model(script, world));
        }
        builder = builder.step_hook(Arc::new(ScriptedHook { edits: case.hooks.clone() }));
    }
    builder.build().map_err(|error| refusal(&error))
}

fn models(file: &AgentFile, prices: Option<Prices>) -> Vec<ModelChoice> {
    let mut choices: Vec<_> = file.models.iter().map(ModelEntry::choice).collect();
    if choices.is_empty() {
        choices.push(ModelChoice { name: MODEL.into(), ..ModelChoice::default() });
    }
    for choice in &mut choices {
        choice.prices = choice.prices.or(prices);
    }
    choices
}

/// Built-in tools that need neither network nor files nor the time of day: the others need a scripted stand-in.
fn pure(tool: Builtin) -> Option<Arc<dyn Tool>> {
    match tool {
        Builtin::Calculate => Some(Arc::new(builtin::Calculate::new())),
        Builtin::Ask => Some(Arc::new(builtin::Ask::new())),
        Builtin::Now | Builtin::ReadFile | Builtin::ListFiles | Builtin::Fetch => None,
    }
}

/// A scripted tool. What the agent's file says of the tool that it stands in for holds for it too.
fn double(tool: &ScriptedTool, file: &AgentFile, script: &Script, world: &SimWorld) -> ScriptedToolDouble {
    let mut spec: ToolSpec = tool.spec();
    let overrides = file.tools.iter().find_map(|entry| match entry {
        ToolEntry::Builtin(entry) if entry.tool.name() == tool.name => Some(&entry.overrides),
        ToolEntry::Command(entry) if entry.name == tool.name => Some(&entry.overrides),
        ToolEntry::Mcp(entry) if tool.name.starts_with(&format!("{}__", entry.name)) => {
            Some(&entry.overrides)
        }
        _ => None,
    });
    if let Some(overrides) = overrides {
        spec.timeout_ms = spec.timeout_ms.or(overrides.timeout_ms);
        spec.retries = spec.retries.or(overrides.retries);
        spec.approve |= overrides.approve.unwrap_or(false);
    }
    ScriptedToolDouble { spec, tool: tool.clone(), script: script.clone(), world: world.clone() }
}
