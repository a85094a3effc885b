//! Service entries: groups of built-in tools that share a file or a process.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_core::nearest;
use windlass_tools::sandbox::{Sandbox, SandboxKind, SandboxSettings};
use windlass_tools::{SharedService, Tool, ToolOverrides};

use super::reading::Reading;
use super::tools::Overrides;
use crate::yaml::{Field, MapReader, Node, NodeValue, Place, YamlError};

/// A service of an agent file.
#[derive(Clone, Debug)]
pub struct ServiceEntry {
    /// Which.
    pub service: BuiltinService,
    /// The tools that are taken, under their own names; empty: all, with the service's name before theirs.
    pub pick: Vec<String>,
    /// What stands before its tools' names, with `__` between; `None`: the service's name.
    pub prefix: Option<String>,
    /// What is said of all its tools. Its `prefix` is never set.
    pub overrides: ToolOverrides,
    /// Where the entry stands.
    pub place: Place,
}

/// The services that come with Windlass.
#[derive(Clone, Debug)]
pub enum BuiltinService {
    /// Entries that outlive runs, in a file; `None`: one of the agent's name in Windlass's own folder.
    Memory(Option<PathBuf>),
    /// An interpreter of Python.
    Sandbox(SandboxSettings),
}

#[cfg(feature = "sqlite")]
fn memory_tools(prefix: Option<&str>) -> Vec<Arc<dyn Tool>> {
    SharedService::new(windlass_tools::memory::Memory::in_process()).tools_as(prefix)
}

/// A file with this service is refused when it is assembled.
#[cfg(not(feature = "sqlite"))]
fn memory_tools(_prefix: Option<&str>) -> Vec<Arc<dyn Tool>> {
    Vec::new()
}

/// The names of services in agent files.
pub(super) const NAMES: [&str; 2] = ["memory", "sandbox"];

impl ServiceEntry {
    /// The names of its tools, as the model calls them.
    pub fn tool_names(&self) -> Vec<String> {
        let tools = match &self.service {
            BuiltinService::Memory(_) => memory_tools(self.prefix.as_deref()),
            BuiltinService::Sandbox(settings) => {
                SharedService::new(Sandbox::new(settings.clone())).tools_as(self.prefix.as_deref())
            }
        };
        if self.pick.is_empty() {
            return tools.iter().map(|tool| tool.spec().name.to_string()).collect();
        }
        self.pick.clone()
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match &self.service {
            BuiltinService::Memory(_) => "memory",
            BuiltinService::Sandbox(settings) => settings.kind.service(),
        }
    }
}

/// `memory`, `{ memory: { path: ... } }`, or a list of such.
pub(super) fn decode(
    field: &Field<'_>,
    outer: &Overrides,
    reading: &Reading<'_>,
) -> Result<Vec<ServiceEntry>, YamlError> {
    match &field.node.value {
        NodeValue::String(name) => {
            known(name, field.node.place(), field)?;
            let nothing = Node::new(NodeValue::Map(Vec::new()), field.node.place());
            Ok(vec![entry(name, &Field::new(&nothing, field.path.clone()), outer, reading)?])
        }
        NodeValue::Map(_) => {
            let entries = field.entries()?.into_iter().map(|(key, options)| {
                known(&key.name, key.place(), field)?;
                let nothing = Node::new(NodeValue::Map(Vec::new()), key.place());
                let none = Field::new(&nothing, options.path.clone());
                entry(&key.name, if options.node.is_null() { &none } else { &options }, outer, reading)
            });
            entries.collect()
        }
        NodeValue::List(_) => {
            let mut all = Vec::new();
            for item in field.list()? {
                if matches!(item.node.value, NodeValue::List(_)) {
                    return Err(item.wrong("a service's name, or a map of names with their options"));
                }
                all.extend(decode(&item, outer, reading)?);
            }
            Ok(all)
        }
        _ => Err(field.wrong("a service's name, or a map of names with their options")),
    }
}

fn entry(
    name: &str,
    options: &Field<'_>,
    outer: &Overrides,
    reading: &Reading<'_>,
) -> Result<ServiceEntry, YamlError> {
    let place = options.node.place();
    let mut map = options.map()?;
    let service = if name == "memory" {
        BuiltinService::Memory(map.maybe("path", |path| reading.path(&path))?)
    } else {
        BuiltinService::Sandbox(sandbox(&mut map, reading)?)
    };
    let pick = map.or("tools", Vec::new(), |tools| {
        let names = tools.texts()?;
        if names.is_empty() { Err(tools.wrong("a list with at least one tool")) } else { Ok(names) }
    })?;
    let mut overrides = Overrides::read(&mut map)?.or(outer).finish();
    map.finish()?;
    let prefix = overrides.prefix.take().map(|prefix| prefix.to_string());
    Ok(ServiceEntry { service, pick, prefix, overrides, place })
}

fn sandbox(map: &mut MapReader<'_>, reading: &Reading<'_>) -> Result<SandboxSettings, YamlError> {
    let usual = SandboxSettings::default();
    let kinds = [("process", SandboxKind::Process), ("local", SandboxKind::Local)];
    Ok(SandboxSettings {
        kind: map.or("kind", usual.kind, |kind| kind.choice(&kinds))?,
        python: map.or("python", usual.python, |program| program.filled_text().map(str::to_owned))?,
        modules: map.or("modules", usual.modules, |list| list.texts())?,
        builtins: map.or("builtins", usual.builtins, |list| list.texts())?,
        seconds: map.or("seconds", usual.seconds, |number| number.u64_in(1, 3_600))?,
        memory_mb: map.or("memory_mb", usual.memory_mb, |number| number.u64_in(16, 1_048_576))?,
        folder: Some(reading.folder.clone()),
    })
}

fn known(name: &str, place: Place, field: &Field<'_>) -> Result<(), YamlError> {
    if NAMES.contains(&name) {
        return Ok(());
    }
    let written = Node::new(NodeValue::String(name.to_owned()), place);
    let hint = crate::yaml::did_you_mean(&nearest(name, NAMES));
    let message = format!("There is no service `{name}`{hint}");
    Err(Field::new(&written, field.path.clone())
        .error("agent.unknown_service", message)
        .with_help(format!("the services are {}", NAMES.join(", "))))
}
