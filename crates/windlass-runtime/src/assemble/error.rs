//! Errors of assembling an agent.

use thiserror::Error;
use windlass_models::ModelError;
use windlass_tools::ToolSetError;
#[cfg(feature = "mcp")]
use windlass_tools::mcp::McpError;

use crate::agent_file::AgentFileError;
use crate::error::Error;
use crate::yaml::Place;

/// Maximum nesting depth of agents: bounds what a file can start.
pub(super) const MAX_DEPTH: usize = 16;
/// Maximum number of agents below one agent. A file that is named twice counts twice, with all agents below it.
pub(super) const MAX_AGENTS: usize = 256;

/// A valid agent file that cannot be assembled in this environment.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// The file.
    #[error(transparent)]
    File(#[from] AgentFileError),
    /// A model.
    #[error("{}cannot use model `{model}`", at(file, *place))]
    Model {
        /// The agent's file.
        file: String,
        /// Position of the model in the file; `None`: it was given from outside, for example by `--model`.
        place: Option<Place>,
        /// Its name.
        model: String,
        /// Why.
        #[source]
        source: Box<ModelError>,
    },
    /// A tool server.
    #[cfg(feature = "mcp")]
    #[error("cannot use tool server `{server}`")]
    Server {
        /// Its name.
        server: String,
        /// Why.
        #[source]
        source: Box<McpError>,
    },
    /// A tool.
    #[error("cannot use tool `{tool}`")]
    Tool {
        /// Its name.
        tool: String,
        /// Why.
        #[source]
        source: ToolSetError,
    },
    /// The file of a delegate cannot be read.
    #[error("{at}cannot read agent file {file}")]
    NoDelegate {
        /// Position of the entry, as the start of a message.
        at: String,
        /// The delegate's file.
        file: String,
        /// Files beside it whose names are like its own, if it does not exist.
        nearest: Vec<String>,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file of a delegate is no valid agent file.
    #[error("{at}cannot use agent file {file}")]
    Delegate {
        /// Position of the entry, as the start of a message.
        at: String,
        /// The delegate's file.
        file: String,
        /// Why.
        #[source]
        source: Box<AgentFileError>,
    },
    /// An agent is among its own delegates.
    #[error("{at}the agents delegate to each other in a cycle: {}", files.join(" -> "))]
    Circle {
        /// Position of the entry that closes the cycle, as the start of a message.
        at: String,
        /// The files, from the first one back to it.
        files: Vec<String>,
    },
    /// Too many agents stand one under another.
    #[error("{at}agents are nested more than {MAX_DEPTH} levels deep, the last one is {file}")]
    TooDeep {
        /// Position of the entry, as the start of a message.
        at: String,
        /// The file that is one too many.
        file: String,
    },
    /// Too many agents stand under one, each as often as it is named.
    #[error("{file} has more than {MAX_AGENTS} agents below it")]
    TooMany {
        /// The file that they stand under.
        file: String,
    },
    /// A delegate's name cannot be the name of a tool.
    #[error("{at}agent `{name}` of {file} cannot be a delegate: its name is not a valid tool name")]
    DelegateName {
        /// Position of the entry, as the start of a message.
        at: String,
        /// Its name.
        name: String,
        /// Its file.
        file: String,
    },
    /// A delegate has the name of a tool or of another delegate.
    #[error("{at}Duplicate tool name: {name}")]
    DelegateTwice {
        /// Position of the entry, as the start of a message.
        at: String,
        /// The name.
        name: String,
    },
    /// A service keeps a file, and there is no folder for it.
    #[error("cannot place the memory of {file}: HOME is not set")]
    NoHome {
        /// The agent's file.
        file: String,
    },
    /// The file uses something that this program was built without.
    #[error("{file} uses {what}, which this program was built without")]
    NotBuilt {
        /// The agent's file.
        file: String,
        /// Kind of the missing part.
        what: &'static str,
        /// The Cargo feature that brings it.
        feature: &'static str,
    },
    /// A check would have had to wait for something.
    #[error("{file} cannot be checked without starting something")]
    Unchecked {
        /// The agent's file.
        file: String,
    },
    /// A model that is to be held to schemas (`strict: true`) cannot be sent one of them.
    #[error("{}model `{model}` cannot be held to its schemas: {why}", at(file, *place))]
    NotStrict {
        /// The agent's file.
        file: String,
        /// Position of the model in the file; `None`: it was given from outside, for example by `--model`.
        place: Option<Place>,
        /// Its name.
        model: String,
        /// The tool or output, and the place in its schema.
        why: String,
    },
    /// The parts do not fit together.
    #[error(transparent)]
    Agent(#[from] Error),
}

impl AssembleError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::File(source) => source.code(),
            Self::Model { source, .. } => source.code(),
            #[cfg(feature = "mcp")]
            Self::Server { source, .. } => source.code(),
            Self::Tool { .. } => "agent.tool",
            Self::NoDelegate { .. } => "agent.read",
            Self::Delegate { source, .. } => source.code(),
            Self::Circle { .. } => "agent.circle",
            Self::TooDeep { .. } => "agent.too_deep",
            Self::TooMany { .. } => "agent.too_many",
            Self::DelegateName { .. } => "agent.delegate_name",
            Self::DelegateTwice { .. } => "agent.name_clash",
            Self::NoHome { .. } => "agent.no_home",
            Self::NotBuilt { .. } => "agent.not_built",
            Self::Unchecked { .. } => "agent.unchecked",
            Self::NotStrict { .. } => "agent.not_strict",
            Self::Agent(source) => source.code(),
        }
    }

    /// A remedy, in words.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::File(source) => source.help(),
            Self::Model { source, .. } => source.help(),
            #[cfg(feature = "mcp")]
            Self::Server { source, .. } => source.help(),
            Self::Tool { source, .. } => source.help(),
            Self::Circle { .. } | Self::TooDeep { .. } | Self::TooMany { .. } => {
                Some("remove an entry of `agents` from one of these files".to_owned())
            }
            Self::NoDelegate { nearest, .. } if !nearest.is_empty() => {
                Some(format!("did you mean {}?", nearest.join(" or ")))
            }
            Self::NoDelegate { .. } => {
                Some("a path in `agents` starts from the folder of the file that names it".to_owned())
            }
            Self::Delegate { source, .. } => source.help(),
            Self::DelegateName { .. } => Some(
                "name it here with letters, digits, `_` and `-`, at most 64: `{ name: NAME, file: PATH }`"
                    .to_owned(),
            ),
            Self::DelegateTwice { .. } => {
                Some("give it another name: `{ name: NAME, file: PATH }`".to_owned())
            }
            Self::NoHome { .. } => {
                Some("set WINDLASS_HOME to a folder, or give the service a `path`".to_owned())
            }
            Self::NotBuilt { feature, .. } => {
                Some(format!("build it with the feature `{feature}` of the crate `windlass`"))
            }
            Self::NotStrict { .. } => {
                Some("leave `strict` out, or give each object of the schema named properties only".to_owned())
            }
            Self::Unchecked { .. } => None,
            Self::Agent(source) => source.help(),
        }
    }
}

/// The start of a message about a place in a file.
pub(super) fn at(file: &str, place: Option<Place>) -> String {
    place.map(|Place { line, column }| format!("{file}:{line}:{column}: ")).unwrap_or_default()
}
