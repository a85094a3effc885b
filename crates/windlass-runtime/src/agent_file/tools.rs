//! Tool entries: MCP servers, built-in tools, commands.

use std::path::PathBuf;

use serde_json::Value;
use windlass_core::{Effect, Secret, nearest};
use windlass_tools::command::{CommandSettings, CommandTool, passes_gate};
use windlass_tools::{ToolOverrides, ToolSetError, valid_name};

use super::address::Address;
use super::json_schema::json_schema;
use super::reading::Reading;
use super::services::{self, ServiceEntry};
use crate::yaml::{Field, MapReader, NodeValue, Place, YamlError};

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

/// An MCP server.
#[derive(Clone, Debug)]
pub struct McpEntry {
    /// Its name.
    pub name: String,
    /// How to reach it.
    pub peer: McpPeer,
    /// What is put before its tools' names, with `__` between; `None`: the server's name.
    pub prefix: Option<String>,
    /// Whether the agent goes on without it where it is not there.
    pub optional: bool,
    /// Whether the server's hints decide the effect of its tools.
    pub trust: bool,
    /// What is said of all its tools. Its `prefix` is never set.
    pub overrides: ToolOverrides,
    /// Where the entry stands.
    pub place: Place,
}

/// How to reach an MCP server.
#[derive(Clone, Debug)]
pub enum McpPeer {
    /// A child process; it starts in the agent file's folder.
    Stdio {
        /// The program and its arguments.
        command: Vec<String>,
        /// What its environment holds.
        env: Vec<(String, Secret)>,
    },
    /// A streamable HTTP endpoint.
    Http {
        /// Its URL.
        url: Address,
        /// Headers for every request.
        headers: Vec<(String, Secret)>,
    },
}

/// A built-in tool.
#[derive(Clone, Debug)]
pub struct BuiltinEntry {
    /// Which.
    pub tool: Builtin,
    /// The folders that file tools may look into; empty: not given.
    pub folders: Vec<PathBuf>,
    /// The hosts that `fetch` may call; empty: not given.
    pub hosts: Vec<String>,
    /// What is said of it.
    pub overrides: ToolOverrides,
    /// Where the entry stands.
    pub place: Place,
}

/// The built-in tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// Calculates.
    Calculate,
    /// Tells the time.
    Now,
    /// Reads a file.
    ReadFile,
    /// Lists files.
    ListFiles,
    /// Fetches a URL.
    Fetch,
    /// Asks a person.
    Ask,
}

/// A program that is a tool. Nothing goes through a shell.
#[derive(Clone, Debug)]
pub struct CommandEntry {
    /// The tool's name.
    pub name: String,
    /// The program and its arguments. `{arg}` becomes that argument.
    pub run: Vec<String>,
    /// A program that says, after a crash, whether a call happened.
    pub check: Option<Vec<String>>,
    /// What the model is told.
    pub description: String,
    /// JSON Schema of its arguments; `None`: a text for each `{arg}`.
    pub parameters: Option<Value>,
    /// Whether an argument may start with `-`.
    pub dashes: bool,
    /// What its environment holds beside the usual.
    pub env: Vec<(String, Secret)>,
    /// What is said of it.
    pub overrides: ToolOverrides,
    /// Where the entry stands.
    pub place: Place,
}

impl CommandEntry {
    /// What [`windlass_tools::command::CommandTool`] is made of, but for its environment.
    pub fn settings(&self) -> CommandSettings {
        CommandSettings {
            name: self.name.clone(),
            run: self.run.clone(),
            description: self.description.clone(),
            parameters: self.parameters.clone(),
            effect: self.overrides.effect,
            check: self.check.clone(),
            dashes: self.dashes,
            ..CommandSettings::default()
        }
    }
}

impl Builtin {
    /// All, with their names.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("calculate", Self::Calculate),
        ("now", Self::Now),
        ("read_file", Self::ReadFile),
        ("list_files", Self::ListFiles),
        ("fetch", Self::Fetch),
        ("ask", Self::Ask),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, tool)| *tool == self).map_or("", |(name, _)| name)
    }
}

pub(super) fn decode(field: &Field<'_>, reading: &mut Reading<'_>) -> Result<Vec<ToolEntry>, YamlError> {
    let mut entries = Vec::new();
    for item in field.list()? {
        entry(&item, reading, &mut entries)?;
    }
    Ok(entries)
}

fn entry(
    field: &Field<'_>,
    reading: &mut Reading<'_>,
    entries: &mut Vec<ToolEntry>,
) -> Result<(), YamlError> {
    let mut map =
        field.map().map_err(|_| field.wrong("a map with `mcp`, `builtin`, `command` or `service`"))?;
    let place = field.node.place();
    let mcp = map.optional("mcp");
    let builtin = map.optional("builtin");
    let command = map.optional("command");
    let service = map.optional("service");
    let outer = Overrides::read(&mut map)?;
    let kinds = [&mcp, &builtin, &command, &service].into_iter().flatten().count();
    if kinds != 1 {
        // A misspelt kind is an unknown key; say that first.
        map.finish()?;
        let message =
            format!("`{}` needs exactly one of `mcp`, `builtin`, `command` or `service`", field.path);
        return Err(field.error("agent.tool_kind", message));
    }
    if let Some(mcp) = mcp {
        entries.push(ToolEntry::Mcp(mcp_entry(&mcp, &outer, place, reading)?));
    }
    if let Some(builtin) = builtin {
        builtins(&builtin, &outer, reading, entries)?;
    }
    if let Some(command) = command {
        entries.push(ToolEntry::Command(command_entry(&command, &outer, place, reading)?));
    }
    if let Some(service) = service {
        entries.extend(services::decode(&service, &outer, reading)?.into_iter().map(ToolEntry::Service));
    }
    map.finish()
}

/// What an entry says of its tools, beside or inside what names its kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Overrides {
    timeout_ms: Option<u64>,
    effect: Option<Effect>,
    approve: Option<bool>,
    retries: Option<u32>,
    poll: Option<bool>,
    prefix: Option<String>,
}

impl Overrides {
    pub(super) fn read(map: &mut MapReader<'_>) -> Result<Self, YamlError> {
        let effects =
            [("read_only", Effect::ReadOnly), ("idempotent", Effect::Idempotent), ("once", Effect::Once)];
        Ok(Self {
            timeout_ms: map.maybe("timeout_ms", |number| number.u64_in(1, u64::MAX))?,
            effect: map.maybe("effect", |effect| effect.choice(&effects))?,
            approve: map.maybe("approve", |flag| flag.bool())?,
            retries: map.maybe("retries", |number| number.u32())?,
            poll: map.maybe("poll", |flag| flag.bool())?,
            prefix: map.maybe("prefix", |prefix| prefix.text().map(str::to_owned))?,
        })
    }

    /// These, and where they say nothing, the others.
    pub(super) fn or(self, outer: &Self) -> Self {
        Self {
            timeout_ms: self.timeout_ms.or(outer.timeout_ms),
            effect: self.effect.or(outer.effect),
            approve: self.approve.or(outer.approve),
            retries: self.retries.or(outer.retries),
            poll: self.poll.or(outer.poll),
            prefix: self.prefix.or_else(|| outer.prefix.clone()),
        }
    }

    pub(super) fn finish(self) -> ToolOverrides {
        ToolOverrides {
            timeout_ms: self.timeout_ms,
            effect: self.effect,
            approve: self.approve,
            retries: self.retries,
            poll: self.poll,
            prefix: self.prefix.map(Into::into),
        }
    }
}

fn mcp_entry(
    field: &Field<'_>,
    outer: &Overrides,
    place: Place,
    reading: &mut Reading<'_>,
) -> Result<McpEntry, YamlError> {
    let mut map = field.map()?;
    let name = tool_name(&map.required("name")?)?;
    let peer = match (map.has("command"), map.has("url")) {
        (true, false) => McpPeer::Stdio {
            command: program(&map.required("command")?)?,
            env: map.or("env", Vec::new(), |env| reading.secrets(&env))?,
        },
        (false, true) => McpPeer::Http {
            url: reading.address(&map.required("url")?)?,
            headers: map.or("headers", Vec::new(), |headers| reading.secrets(&headers))?,
        },
        _ => {
            // A misspelt key is said first.
            map.allow(&["command", "url", "env", "headers", "optional", "trust"]);
            Overrides::read(&mut map)?;
            map.finish()?;
            let message = format!("`{}` needs exactly one of `command` or `url`", field.path);
            return Err(field.error("agent.mcp", message));
        }
    };
    let optional = map.or("optional", false, |optional| optional.bool())?;
    let trust = map.or("trust", false, |trust| trust.bool())?;
    let mut overrides = Overrides::read(&mut map)?.or(outer);
    map.finish()?;
    let prefix = overrides.prefix.take();
    Ok(McpEntry { name, peer, prefix, optional, trust, overrides: overrides.finish(), place })
}

/// A program with its arguments.
fn program(field: &Field<'_>) -> Result<Vec<String>, YamlError> {
    let run = field.texts()?;
    match run.first() {
        Some(first) if !first.trim().is_empty() => Ok(run),
        _ => Err(field.error("agent.program", format!("`{}` names no program", field.path))),
    }
}

fn builtins(
    field: &Field<'_>,
    outer: &Overrides,
    reading: &Reading<'_>,
    entries: &mut Vec<ToolEntry>,
) -> Result<(), YamlError> {
    match &field.node.value {
        NodeValue::String(name) => entries.push(plain_builtin(name, field, outer)?),
        NodeValue::Map(_) => {
            for (key, options) in field.entries()? {
                entries.push(builtin_with(&key.name, key.place(), &options, outer, reading)?);
            }
        }
        NodeValue::List(_) => {
            for item in field.list()? {
                if matches!(item.node.value, NodeValue::List(_)) {
                    return Err(item.wrong("a built-in tool's name, or a map of names with their options"));
                }
                builtins(&item, outer, reading, entries)?;
            }
        }
        _ => return Err(field.wrong("a list of built-in tools, or a map of them with their options")),
    }
    Ok(())
}

fn plain_builtin(name: &str, field: &Field<'_>, outer: &Overrides) -> Result<ToolEntry, YamlError> {
    let tool = builtin(name).ok_or_else(|| unknown_builtin(name, field))?;
    let overrides = outer.clone().finish();
    let place = field.node.place();
    Ok(ToolEntry::Builtin(BuiltinEntry { tool, folders: Vec::new(), hosts: Vec::new(), overrides, place }))
}

fn builtin_with(
    name: &str,
    place: Place,
    field: &Field<'_>,
    outer: &Overrides,
    reading: &Reading<'_>,
) -> Result<ToolEntry, YamlError> {
    let at_key = crate::yaml::Node::new(NodeValue::String(name.to_owned()), place);
    let tool =
        builtin(name).ok_or_else(|| unknown_builtin(name, &Field::new(&at_key, field.path.clone())))?;
    if field.node.is_null() {
        return plain_builtin(name, &Field::new(&at_key, field.path.clone()), outer);
    }
    let mut map = field.map()?;
    let folders = match tool {
        Builtin::ReadFile | Builtin::ListFiles => map.or("folders", Vec::new(), |list| {
            list.list()?.iter().map(|folder| reading.path(folder)).collect()
        })?,
        _ => Vec::new(),
    };
    let hosts = match tool {
        Builtin::Fetch => map.or("hosts", Vec::new(), |list| list.texts())?,
        _ => Vec::new(),
    };
    let overrides = Overrides::read(&mut map)?.or(outer).finish();
    map.finish()?;
    Ok(ToolEntry::Builtin(BuiltinEntry { tool, folders, hosts, overrides, place }))
}

fn builtin(name: &str) -> Option<Builtin> {
    Builtin::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, tool)| tool)
}

fn unknown_builtin(name: &str, field: &Field<'_>) -> YamlError {
    let names = Builtin::NAMES.map(|(name, _)| name);
    let close = nearest(name, names);
    let hint = crate::yaml::did_you_mean(&close);
    let message = format!("There is no built-in tool `{name}`{hint}");
    field
        .error("agent.unknown_builtin", message)
        .with_help(format!("the built-in tools are {}", names.join(", ")))
}

fn command_entry(
    field: &Field<'_>,
    outer: &Overrides,
    place: Place,
    reading: &mut Reading<'_>,
) -> Result<CommandEntry, YamlError> {
    let mut map = field.map()?;
    let name = tool_name(&map.required("name")?)?;
    let run_field = map.required("run")?;
    let mut kept = None;
    let entry = CommandEntry {
        name,
        run: program(&run_field)?,
        check: map.maybe("check", |check| program(&check))?,
        description: map.or("description", String::new(), |text| text.text().map(str::to_owned))?,
        parameters: json_schema(&mut map, "parameters")?,
        dashes: map.or("dashes", false, |flag| flag.bool())?,
        env: map.or("env", Vec::new(), |env| {
            let secrets = reading.secrets(&env)?;
            kept = secrets
                .iter()
                .find(|(name, _)| !passes_gate(name))
                .map(|(name, _)| kept_by_shells(&env, name));
            Ok(secrets)
        })?,
        overrides: Overrides::read(&mut map)?.or(outer).finish(),
        place,
    };
    map.finish()?;
    if let Some(error) = kept.filter(|_| entry.overrides.effect != Some(Effect::ReadOnly)) {
        return Err(error);
    }
    // The tool itself knows best what it cannot run.
    match CommandTool::new(&entry.settings(), &reading.folder) {
        Ok(_) => Ok(entry),
        Err(error) => Err(unknown_argument(&run_field, entry.parameters.as_ref()).unwrap_or_else(|| {
            let reason = match error {
                ToolSetError::BadSettings { what, .. } => what,
                other => other.to_string(),
            };
            run_field.error("agent.command", format!("`{}` cannot be run: {reason}", field.path))
        })),
    }
}

/// A variable that a command with an effect would not get as it is.
fn kept_by_shells(env: &Field<'_>, name: &str) -> YamlError {
    let message = format!("the variable `{name}` cannot be given to a command with an effect");
    env.error("agent.command", message).with_help(
        "such a command starts behind /bin/sh, which drops or changes it: use letters, digits and `_`, and no name \
         that shells have for themselves",
    )
}

/// The first `{arg}` that is none of the arguments, with the nearest one.
fn unknown_argument(run: &Field<'_>, parameters: Option<&Value>) -> Option<YamlError> {
    let properties = parameters.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let known: Vec<&str> = properties.map(|map| map.keys().map(String::as_str).collect()).unwrap_or_default();
    run.list().ok()?.into_iter().find_map(|item| {
        let (_, after) = item.node.as_str()?.split_once('{')?;
        let (name, _) = after.split_once('}')?;
        if known.contains(&name) {
            return None;
        }
        let hint = crate::yaml::did_you_mean(&nearest(name, known.iter().copied()));
        let message = format!("`{{{name}}}` is none of the command's arguments{hint}");
        let error = item.error("agent.placeholder", message);
        Some(error.with_help(format!(
            "list it under `properties` of the command's `parameters`, or write {{{{{name}}}}} for the braces"
        )))
    })
}

/// A name that a model can call.
pub(super) fn tool_name(field: &Field<'_>) -> Result<String, YamlError> {
    let name = field.text()?;
    if valid_name(name) {
        return Ok(name.to_owned());
    }
    Err(field.wrong("a name of letters, digits, `_` and `-`, at most 64"))
}
