//! Service entries: groups of built-in tools that share a file or a process.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, VariantAccess};
use serde::{Deserialize, Deserializer};
use windlass_core::settings::Whole;
use windlass_tools::sandbox::{Sandbox, SandboxKind, SandboxSettings};
use windlass_tools::{SharedService, Tool, ToolOverrides};

use super::catalogue::Catalogue;
use super::kinds::{Filled, OrNothing};
use super::overrides::{Overrides, with_overrides};
use super::reading::Reading;
use crate::yaml::{At, Place};

/// A service of an agent file.
#[derive(Clone, Debug)]
pub struct ServiceEntry {
    /// The service.
    pub service: BuiltinService,
    /// The tools that are taken, under their own names; empty: all, with the service's name before theirs.
    pub pick: Vec<String>,
    /// Prefix of its tools' names, followed by `__`; `None`: the service's name.
    pub prefix: Option<String>,
    /// Settings for all its tools. `prefix` is never set.
    pub overrides: ToolOverrides,
    /// Position of the entry.
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

with_overrides! {
    /// Entries that outlive runs: save, search, delete, list_all.
    #[derive(Default)]
    #[schemars(inline)]
    MemoryOptions {
        /// The tools that are taken, under their own names. Default: all, with the service's name before theirs.
        tools: Option<Picked>,
        /// Its SQLite file; one that acorn made can be used as it is. Default: memory/NAME.db in WINDLASS_HOME, with the agent's name.
        path: Option<Filled>,
    }
}

with_overrides! {
    /// An interpreter of Python in a child process: execute, reset.
    #[derive(Default)]
    #[schemars(inline)]
    SandboxOptions {
        /// The tools that are taken, under their own names. Default: all, with the service's name before theirs.
        tools: Option<Picked>,
        /// Only the tools' names differ: process_sandbox__execute or local_sandbox__execute. Default: process.
        kind: Option<Kind>,
        /// The interpreter. Default: python3.
        python: Option<Filled>,
        /// Modules that code may import. Default: none.
        modules: Option<Vec<String>>,
        /// Built-in functions of Python beyond the harmless ones.
        builtins: Option<Vec<String>>,
        /// Timeout of one execution, in seconds, after which the interpreter is restarted. Default: 30.
        seconds: Option<Whole<1, 3_600>>,
        /// Maximum address space of the interpreter, in MiB. Default: 256.
        memory_mb: Option<Whole<16, 1_048_576>>,
    }
}

/// By which names a sandbox' tools are called.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Kind {
    Process,
    Local,
}

/// The services that there are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known {
    Memory,
    Sandbox,
}

/// Names of tools, one at least.
#[derive(Clone, Debug)]
pub(super) struct Picked(Vec<String>);

impl<'de> Deserialize<'de> for Picked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::deserialize(deserializer)?;
        if names.is_empty() {
            return Err(D::Error::invalid_length(0, &"a list with at least one tool"));
        }
        Ok(Self(names))
    }
}

windlass_core::schema_as!(inline [] Picked, "picked", |_| {
    json_schema!({ "type": "array", "items": { "type": "string" }, "minItems": 1 })
});

/// A service with its options.
#[derive(Clone, Debug)]
pub(super) enum ServiceChoice {
    Memory(MemoryOptions),
    Sandbox(SandboxOptions),
}

impl Catalogue for ServiceChoice {
    const WHAT: &'static str = "service";
    const UNKNOWN: &'static str = "agent.unknown_service";
    const DEFINITIONS: [&'static str; 2] = ["service", "serviceOptions"];

    type Entry = Known;
    const NAMES: &'static [(&'static str, Known)] = &[("memory", Known::Memory), ("sandbox", Known::Sandbox)];

    fn options(service: Known, generator: &mut SchemaGenerator) -> Schema {
        match service {
            Known::Memory => generator.subschema_for::<OrNothing<MemoryOptions>>(),
            Known::Sandbox => generator.subschema_for::<OrNothing<SandboxOptions>>(),
        }
    }

    fn read<'de, A: VariantAccess<'de>>(service: Known, options: A) -> Result<Self, A::Error> {
        match service {
            Known::Memory => options.newtype_variant().map(|OrNothing(options)| Self::Memory(options)),
            Known::Sandbox => options.newtype_variant().map(|OrNothing(options)| Self::Sandbox(options)),
        }
    }
}

pub(super) fn entry(choice: &At<ServiceChoice>, outer: &Overrides, reading: &Reading<'_>) -> ServiceEntry {
    let (service, picked, own) = match &choice.value {
        ServiceChoice::Memory(options) => {
            let path = options.path.as_ref().map(|path| reading.path(&path.0));
            (BuiltinService::Memory(path), &options.tools, options.overrides())
        }
        ServiceChoice::Sandbox(options) => {
            (BuiltinService::Sandbox(sandbox(options, reading)), &options.tools, options.overrides())
        }
    };
    let mut overrides = own.or(outer).finish();
    let prefix = overrides.prefix.take().map(|prefix| prefix.to_string());
    let pick = picked.as_ref().map_or_else(Vec::new, |picked| picked.0.clone());
    ServiceEntry { service, pick, prefix, overrides, place: choice.place }
}

fn sandbox(options: &SandboxOptions, reading: &Reading<'_>) -> SandboxSettings {
    let defaults = SandboxSettings::default();
    SandboxSettings {
        kind: options.kind.map_or(defaults.kind, |kind| match kind {
            Kind::Process => SandboxKind::Process,
            Kind::Local => SandboxKind::Local,
        }),
        python: options.python.as_ref().map_or(defaults.python, |python| python.0.clone()),
        modules: options.modules.clone().unwrap_or(defaults.modules),
        builtins: options.builtins.clone().unwrap_or(defaults.builtins),
        seconds: options.seconds.map_or(defaults.seconds, Whole::get),
        memory_mb: options.memory_mb.map_or(defaults.memory_mb, Whole::get),
        folder: Some(reading.folder.clone()),
    }
}
