//! Tool entries: MCP servers, built-in tools, commands, services, tools of the provider.

mod chosen;
pub(super) mod hosted;
pub(super) mod skills;

use std::path::PathBuf;

use schemars::{Schema, SchemaGenerator};
use serde::de::VariantAccess;
use serde_json::Value;
use windlass_core::secret::Secret;
use windlass_core::settings::Whole;
use windlass_core::text::{did_you_mean, nearest};
use windlass_core::tool::{Effect, HostedTool};
use windlass_tools::builtin::{Builtin, Takes};
use windlass_tools::command::{CommandSettings, CommandTool, passes_gate};
use windlass_tools::mcp::{McpConfig, McpTransport, ToolChoice};
use windlass_tools::{ToolOverrides, ToolSetError};

use super::catalogue::{Catalogue, Choices};
use super::json_schema::{SchemaText, checked};
use super::kinds::{AddressText, Filled, OrNothing, Pairs, SecretText, ToolName};
use super::overrides::{Overrides, with_overrides};
use super::reading::Reading;
use super::services::{self, ServiceChoice, ServiceEntry};
use crate::yaml::{At, Place, YamlError};
use chosen::Chosen;
use hosted::{HostedChoice, HostedEntry};

/// A tool entry.
#[derive(Clone, Debug)]
pub enum ToolEntry {
    /// The tools of an MCP server.
    Mcp(McpEntry),
    /// A built-in tool.
    Builtin(BuiltinEntry),
    /// A program that is a tool.
    Command(CommandEntry),
    /// Built-in tools that share something.
    Service(ServiceEntry),
}

impl ToolEntry {
    /// The settings for its tools.
    pub fn overrides(&self) -> &ToolOverrides {
        match self {
            Self::Mcp(entry) => &entry.config.overrides,
            Self::Builtin(entry) => &entry.overrides,
            Self::Command(entry) => &entry.overrides,
            Self::Service(entry) => &entry.overrides,
        }
    }
}

/// An MCP server.
#[derive(Clone, Debug)]
pub struct McpEntry {
    /// How to reach it, and how to deal with its tools; a child process starts in the agent file's folder. `prefix` of the
    /// overrides is never set.
    pub config: McpConfig,
    /// Whether the agent continues without it if it is unavailable.
    pub optional: bool,
    /// Position of the entry.
    pub place: Place,
    /// Position of its command line or URL.
    pub transport_place: Place,
}

/// A built-in tool.
#[derive(Clone, Debug)]
pub struct BuiltinEntry {
    /// The tool.
    pub tool: Builtin,
    /// The folders that file tools may look into; empty: not given.
    pub folders: Vec<PathBuf>,
    /// The hosts that `fetch` may call; empty: not given.
    pub hosts: Vec<String>,
    /// Settings for the tool.
    pub overrides: ToolOverrides,
    /// Position of the entry.
    pub place: Place,
}

/// A program that is a tool. Nothing goes through a shell.
#[derive(Clone, Debug)]
pub struct CommandEntry {
    /// The command line and its description.
    pub settings: CommandSettings,
    /// Environment variables of the program, in addition to the default ones.
    pub env: Vec<(String, Secret)>,
    /// Settings for the tool.
    pub overrides: ToolOverrides,
    /// Position of the entry.
    pub place: Place,
    /// Position of its command line.
    pub run_place: Place,
}

with_overrides! {
    /// A tool, or the tools of a server.
    #[schemars(rename = "tool", extend("oneOf" = [
        { "required": ["mcp"] }, { "required": ["builtin"] }, { "required": ["command"] }, { "required": ["service"] },
        { "required": ["hosted"] },
    ]))]
    ToolKeys {
        /// The tools of an MCP server.
        mcp: Option<At<McpKeys>>,
        /// Built-in tools: a name, a list of names, or a map of names with their options.
        builtin: Option<Choices<BuiltinChoice>>,
        /// A program that is a tool.
        command: Option<At<CommandKeys>>,
        /// Built-in tools that share something, set up and torn down around runs.
        service: Option<Choices<ServiceChoice>>,
        /// Tools that the model's provider runs itself: a name, a list of names, or a map of names with the provider's options.
        hosted: Option<Choices<HostedChoice>>,
    }
}

/// The entries of a file: tools that runs call, and those that the model's provider runs.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) called: Vec<ToolEntry>,
    pub(super) hosted: Vec<HostedEntry>,
}

pub(super) fn entries(tools: &[At<ToolKeys>], reading: &mut Reading<'_>) -> Result<Entries, YamlError> {
    let mut entries = Entries::default();
    let mut deferred = None;
    for tool in tools {
        let before = entries.called.len();
        entry(tool, reading, &mut entries)?;
        let mut new = entries.called.iter().skip(before);
        deferred = deferred.or(new.any(|entry| entry.overrides().defer == Some(true)).then_some(tool));
    }
    let searches = |entry: &HostedEntry| entry.hosted.tool == HostedTool::ToolSearch;
    match deferred.filter(|_| !entries.hosted.iter().any(searches)) {
        None => Ok(entries),
        Some(tool) => Err(tool
            .error("agent.defer", format!("`{}` has `defer`, and nothing finds its tools", tool.path))
            .with_help("add the provider's search to the tools: `hosted: tool_search`")),
    }
}

fn entry(tool: &At<ToolKeys>, reading: &mut Reading<'_>, entries: &mut Entries) -> Result<(), YamlError> {
    let outer = tool.value.overrides();
    let called = &mut entries.called;
    let ToolKeys { mcp, builtin, command, service, hosted, .. } = &tool.value;
    match (mcp, builtin, command, service, hosted) {
        (Some(mcp), None, None, None, None) => {
            called.push(ToolEntry::Mcp(mcp_entry(mcp, &outer, tool.place, reading)?));
        }
        (None, Some(builtins), None, None, None) => {
            let made = builtins.0.iter().map(|choice| builtin_entry(choice, &outer, reading));
            called.extend(made.map(ToolEntry::Builtin));
        }
        (None, None, Some(command), None, None) => {
            called.push(ToolEntry::Command(command_entry(command, &outer, tool.place, reading)?));
        }
        (None, None, None, Some(services), None) => {
            let made = services.0.iter().map(|choice| services::entry(choice, &outer, reading));
            called.extend(made.map(ToolEntry::Service));
        }
        (None, None, None, None, Some(tools)) => {
            for choice in &tools.0 {
                entries.hosted.push(hosted::entry(choice, &outer)?);
            }
        }
        _ => {
            let message = format!(
                "`{}` needs exactly one of `mcp`, `builtin`, `command`, `service` or `hosted`",
                tool.path
            );
            return Err(tool.error("agent.tool_kind", message));
        }
    }
    Ok(())
}

with_overrides! {
    /// An MCP server: a child process that speaks over stdin and stdout, or a server at a URL.
    #[schemars(rename = "mcp", extend("oneOf" = [
        { "required": ["command"], "properties": { "headers": false } },
        { "required": ["url"], "properties": { "env": false } },
    ]))]
    McpKeys {
        /// The server's name.
        name: ToolName,
        /// The program and its arguments; it starts in the file's folder.
        #[schemars(length(min = 1))]
        command: Option<At<Vec<String>>>,
        /// Its streamable HTTP endpoint.
        url: Option<At<AddressText>>,
        /// All that a child process' environment holds beside PATH and HOME.
        env: Option<At<Pairs<At<SecretText>>>>,
        /// Headers for every request to a URL.
        headers: Option<At<Pairs<At<SecretText>>>>,
        /// Whether the agent continues without it if it is unavailable; each run tries it again.
        #[serde(default)]
        optional: bool,
        /// Whether the server's hints (readOnlyHint, idempotentHint) decide the effect of its tools; without it each tool is
        /// `once`. An explicit `effect` beats both.
        #[serde(default)]
        trust: bool,
        /// The tools to use: a list of names or patterns, or a map that says more. Default: all.
        tools: Option<Chosen>,
        /// Timeout from the server's start to its list of tools, in milliseconds. Default: 30000.
        start_ms: Option<Whole<1>>,
    }
}

fn mcp_entry(
    mcp: &At<McpKeys>,
    outer: &Overrides,
    place: Place,
    reading: &mut Reading<'_>,
) -> Result<McpEntry, YamlError> {
    let keys = &mcp.value;
    let secrets = |pairs: &Option<At<Pairs<At<SecretText>>>>, reading: &mut Reading<'_>| {
        let pairs = pairs.as_ref().map_or(Ok(Vec::new()), |pairs| reading.secrets(&pairs.value));
        pairs.map(|pairs| pairs.into_iter().collect())
    };
    let transport = match (&keys.command, &keys.url) {
        (Some(command), None) => McpTransport::Stdio {
            command: program(command)?,
            env: secrets(&keys.env, reading)?,
            folder: Some(reading.folder.clone()),
        },
        (None, Some(url)) => {
            let written = &url.value.0;
            // What a variable begins with is known when it is read.
            let known = ["http://", "https://", "${"].iter().any(|begin| written.starts_with(begin));
            if !known {
                let message = format!("`{}` is not an http or https URL", url.path);
                return Err(url
                    .error("agent.mcp", message)
                    .with_help("an address begins with http:// or https://"));
            }
            let url = reading.address(url)?.expose().to_owned();
            McpTransport::Http { url, headers: secrets(&keys.headers, reading)? }
        }
        _ => {
            let message = format!("`{}` needs exactly one of `command` or `url`", mcp.path);
            return Err(mcp.error("agent.mcp", message));
        }
    };
    let stray = match &transport {
        McpTransport::Stdio { .. } => keys.headers.as_ref().map(|headers| (headers, "headers", "`url`")),
        McpTransport::Http { .. } => keys.env.as_ref().map(|env| (env, "env", "`command`")),
    };
    if let Some((value, key, other)) = stray {
        let message = format!("`{}` has `{key}`, which is valid only with {other}", mcp.path);
        return Err(value.error("agent.mcp", message));
    }
    let mut overrides = keys.overrides().or(outer);
    let mut config = McpConfig::new(keys.name.0.clone(), transport);
    config.prefix = overrides.prefix.take();
    config.trust = keys.trust;
    config.tools = keys.tools.as_ref().map_or_else(|| Ok(ToolChoice::default()), Chosen::tools)?;
    config.start_ms = keys.start_ms.map_or(config.start_ms, Whole::get);
    config.overrides = overrides.finish();
    let transport_place = keys.command.as_ref().map(|command| command.place);
    let transport_place = transport_place.or(keys.url.as_ref().map(|url| url.place)).unwrap_or(place);
    Ok(McpEntry { config, optional: keys.optional, place, transport_place })
}

/// A program with its arguments.
fn program(run: &At<Vec<String>>) -> Result<Vec<String>, YamlError> {
    match run.value.first() {
        Some(first) if !first.trim().is_empty() => Ok(run.value.clone()),
        _ => Err(run.error("agent.program", format!("`{}` does not name a program", run.path))),
    }
}

with_overrides! {
    /// Options of every built-in tool.
    #[derive(Default)]
    #[schemars(inline)]
    PlainOptions {}
}

with_overrides! {
    /// Options of tools that read files.
    #[derive(Default)]
    #[schemars(inline)]
    FolderOptions {
        /// The folders that it may look into. Default: the file's folder.
        #[serde(default)]
        folders: Vec<Filled>,
    }
}

with_overrides! {
    /// Options of tools that call hosts.
    #[derive(Default)]
    #[schemars(inline)]
    HostOptions {
        /// The hosts that it may call: example.org, *.example.org, * or 127.0.0.1:8080. No wildcard covers private, loopback
        /// or link-local addresses; an entry with a port opens that port alone.
        #[serde(default)]
        hosts: Vec<String>,
    }
}

/// A built-in tool with its options.
#[derive(Clone, Debug)]
pub(super) struct BuiltinChoice {
    tool: Builtin,
    folders: Vec<Filled>,
    hosts: Vec<String>,
    overrides: Overrides,
}

impl Catalogue for BuiltinChoice {
    const WHAT: &'static str = "built-in tool";
    const UNKNOWN: &'static str = "agent.unknown_builtin";
    const DEFINITIONS: [&'static str; 2] = ["builtin", "builtinOptions"];

    type Entry = Builtin;
    const NAMES: &'static [(&'static str, Builtin)] = Builtin::NAMES;

    fn options(tool: Builtin, generator: &mut SchemaGenerator) -> Schema {
        match tool.takes {
            Takes::Folders => generator.subschema_for::<OrNothing<FolderOptions>>(),
            Takes::Hosts => generator.subschema_for::<OrNothing<HostOptions>>(),
            Takes::Nothing => generator.subschema_for::<OrNothing<PlainOptions>>(),
        }
    }

    fn read<'de, A: VariantAccess<'de>>(tool: Builtin, options: A) -> Result<Self, A::Error> {
        let (mut folders, mut hosts) = (Vec::new(), Vec::new());
        let overrides = match tool.takes {
            Takes::Folders => {
                let OrNothing(options) = options.newtype_variant::<OrNothing<FolderOptions>>()?;
                folders.clone_from(&options.folders);
                options.overrides()
            }
            Takes::Hosts => {
                let OrNothing(options) = options.newtype_variant::<OrNothing<HostOptions>>()?;
                hosts.clone_from(&options.hosts);
                options.overrides()
            }
            Takes::Nothing => options.newtype_variant::<OrNothing<PlainOptions>>()?.0.overrides(),
        };
        Ok(Self { tool, folders, hosts, overrides })
    }
}

fn builtin_entry(choice: &At<BuiltinChoice>, outer: &Overrides, reading: &Reading<'_>) -> BuiltinEntry {
    let BuiltinChoice { tool, folders, hosts, overrides } = choice.value.clone();
    BuiltinEntry {
        tool,
        folders: folders.iter().map(|folder| reading.path(&folder.0)).collect(),
        hosts,
        overrides: overrides.or(outer).finish(),
        place: choice.place,
    }
}

with_overrides! {
    /// A program that is a tool: stdout is the result, a non-zero exit an error with stderr's end.
    #[schemars(rename = "command")]
    CommandKeys {
        /// The tool's name.
        name: ToolName,
        /// The program and its arguments, never through a shell. `{arg}` becomes that argument, as one item or within one;
        /// `{{` is a brace. All arguments come as JSON on stdin.
        #[schemars(length(min = 1))]
        run: At<Vec<String>>,
        /// A program that says whether a call in doubt happened: exit code 0 for yes, with the result on stdout, 1 for
        /// no.
        #[schemars(length(min = 1))]
        check: Option<At<Vec<String>>>,
        /// Description for the model.
        #[serde(default)]
        description: String,
        /// JSON Schema of the arguments: an object. Default: a text for each `{arg}` of `run`.
        parameters: Option<At<SchemaText>>,
        /// Whether an argument may start with `-`. Without it such a call is refused.
        #[serde(default)]
        dashes: bool,
        /// Environment variables of the program, in addition to PATH, HOME, WINDLASS_RUN, WINDLASS_CALL and
        /// WINDLASS_IDEMPOTENCY_KEY.
        #[serde(default)]
        env: At<Pairs<At<SecretText>>>,
    }
}

fn command_entry(
    command: &At<CommandKeys>,
    outer: &Overrides,
    place: Place,
    reading: &mut Reading<'_>,
) -> Result<CommandEntry, YamlError> {
    let keys = &command.value;
    let (env, overrides) = (reading.secrets(&keys.env.value)?, keys.overrides().or(outer).finish());
    let settings = CommandSettings {
        name: keys.name.0.clone(),
        run: program(&keys.run)?,
        check: keys.check.as_ref().map(program).transpose()?,
        description: keys.description.clone(),
        parameters: keys.parameters.as_ref().map(|schema| checked(schema, reading)).transpose()?,
        effect: overrides.effect,
        dashes: keys.dashes,
        ..CommandSettings::default()
    };
    let dropped = env.iter().find(|(name, _)| !passes_gate(name));
    if let Some((name, _)) = dropped.filter(|_| overrides.effect != Some(Effect::ReadOnly)) {
        return Err(kept_by_shells(&keys.env, name));
    }
    // The tool itself knows best what it cannot run.
    match CommandTool::new(&settings, &reading.folder) {
        Ok(_) => Ok(CommandEntry { settings, env, overrides, place, run_place: keys.run.place }),
        Err(error) => {
            let unknown = unknown_argument(&keys.run, settings.parameters.as_ref(), reading);
            Err(unknown.unwrap_or_else(|| {
                let reason =
                    if let ToolSetError::BadSettings { what, .. } = error { what } else { error.to_string() };
                keys.run.error("agent.command", format!("`{}` cannot be run: {reason}", command.path))
            }))
        }
    }
}

/// A variable that a command with an effect would not get as it is.
fn kept_by_shells<T>(env: &At<T>, name: &str) -> YamlError {
    let message = format!("the variable `{name}` cannot be set for a command with an effect");
    env.error("agent.command", message).with_help(
        "such a command starts behind /bin/sh, which drops or changes it: use letters, digits and `_`, and no name \
         that shells have for themselves",
    )
}

/// The first `{arg}` that is none of the arguments, with the nearest one.
fn unknown_argument(
    run: &At<Vec<String>>,
    parameters: Option<&Value>,
    reading: &Reading<'_>,
) -> Option<YamlError> {
    let properties = parameters.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let known: Vec<&str> = properties.map(|map| map.keys().map(String::as_str).collect()).unwrap_or_default();
    run.value.iter().enumerate().find_map(|(at, item)| {
        let (_, after) = item.split_once('{')?;
        let (name, _) = after.split_once('}')?;
        if known.contains(&name) {
            return None;
        }
        let hint = did_you_mean(&nearest(name, known.iter().copied()));
        let message = format!("`{{{name}}}` is not an argument of the command{hint}");
        let path = format!("{}.{at}", run.path);
        let place = reading.root.at(&path).map_or(run.place, crate::yaml::Node::place);
        let item = At { value: (), place, path, literal: false };
        Some(item.error("agent.placeholder", message).with_help(format!(
            "list it under `properties` of the command's `parameters`, or write {{{{{name}}}}} for the braces"
        )))
    })
}
