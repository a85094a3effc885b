//! Errors of assembling an agent.

use thiserror::Error;
use windlass_agent_file::AgentFileError;
use windlass_agent_file::yaml::Place;
use windlass_error::{Diagnostic, Kind};
use windlass_models::ModelError;
use windlass_tools::ToolSetError;
#[cfg(feature = "mcp")]
use windlass_tools::mcp::McpError;

use crate::platform::error::Error;

/// Maximum nesting depth of agents: bounds what a file can start.
pub(super) const MAX_DEPTH: usize = 16;
/// Maximum number of delegates of one agent, with those of its delegates. A file that is named twice counts twice, with all its delegates.
pub(super) const MAX_AGENTS: usize = 256;

/// A valid agent file that cannot be assembled in this environment.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum AssembleError {
    /// The file.
    #[error(transparent)]
    #[diagnostic(transparent)]
    File(#[from] AgentFileError),
    /// Two files of a folder have agents of one name.
    #[error("its agent is named `{name}`, as that of {first} is")]
    #[diagnostic(kind = Kind::Conflict, code = "agent.same_file_name", help = "rename one of them, or keep one back with `serve: false`")]
    SameName {
        /// The name.
        name: String,
        /// The file that has it.
        first: String,
    },
    /// A model.
    #[error("{}cannot use model `{model}`", at(file, *place))]
    #[diagnostic(transparent)]
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
    #[diagnostic(transparent)]
    Server {
        /// Its name.
        server: String,
        /// Why.
        #[source]
        source: Box<McpError>,
    },
    /// A tool.
    #[error("cannot use tool `{tool}`")]
    #[diagnostic(transparent, code = "agent.tool")]
    Tool {
        /// Its name.
        tool: String,
        /// Why.
        #[source]
        source: ToolSetError,
    },
    /// The file of a delegate cannot be read.
    #[error("{at}cannot read agent file {file}")]
    #[diagnostic(kind = Kind::of_io(source), code = "agent.read", help = delegate_help(nearest))]
    NoDelegate {
        /// Position of the entry, as the start of a message.
        at: String,
        /// The delegate's file.
        file: String,
        /// Files in its folder whose names are like its own, if it does not exist.
        nearest: Vec<String>,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file of a delegate is no valid agent file.
    #[error("{at}cannot use agent file {file}")]
    #[diagnostic(transparent)]
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
    #[diagnostic(kind = Invalid, code = "agent.circle", help = FEWER_AGENTS)]
    Circle {
        /// Position of the entry that closes the cycle, as the start of a message.
        at: String,
        /// The files, from the first one back to it.
        files: Vec<String>,
    },
    /// Delegates are nested too deep.
    #[error("{at}agents are nested more than {MAX_DEPTH} levels deep, the last one is {file}")]
    #[diagnostic(kind = Invalid, code = "agent.too_deep", help = FEWER_AGENTS)]
    TooDeep {
        /// Position of the entry, as the start of a message.
        at: String,
        /// The file that is one too many.
        file: String,
    },
    /// An agent has too many delegates, each as often as it is named.
    #[error("{file} has more than {MAX_AGENTS} agents below it")]
    #[diagnostic(kind = Invalid, code = "agent.too_many", help = FEWER_AGENTS)]
    TooMany {
        /// The file of the agent.
        file: String,
    },
    /// A delegate's name cannot be the name of a tool.
    #[error("{at}agent `{name}` of {file} cannot be a delegate: its name is not a valid tool name")]
    #[diagnostic(
        kind = Invalid,
        code = "agent.delegate_name",
        help = "name it here with letters, digits, `_` and `-`, at most 64: `{{ name: NAME, file: PATH }}`"
    )]
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
    #[diagnostic(
        kind = Invalid,
        code = "agent.name_clash",
        help = "give it another name: `{{ name: NAME, file: PATH }}`"
    )]
    DelegateTwice {
        /// Position of the entry, as the start of a message.
        at: String,
        /// The name.
        name: String,
    },
    /// A service keeps a file, and there is no folder for it.
    #[error("cannot place the memory of {file}: HOME is not set")]
    #[diagnostic(
        kind = Invalid,
        code = "agent.no_home",
        help = "set WINDLASS_HOME to a folder, or give the service a `path`"
    )]
    NoHome {
        /// The agent's file.
        file: String,
    },
    /// The file uses something that this program was built without.
    #[error("{file} uses {what}, which this program was built without")]
    #[diagnostic(
        kind = Invalid,
        code = "agent.not_built",
        help = "build it with the feature `{feature}` of the crate `windlass`"
    )]
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
    #[diagnostic(kind = Invalid, code = "agent.unchecked")]
    Unchecked {
        /// The agent's file.
        file: String,
    },
    /// The API of a model has no place for a setting or a tool of the file.
    #[error("{}model `{model}` cannot be asked as the file says: {why}", at(file, *place))]
    #[diagnostic(
        kind = Invalid,
        code = "agent.not_taken",
        help = "take it out of the file, or give the agent another model; the tables in docs/models.md say which API takes what"
    )]
    NotTaken {
        /// The agent's file.
        file: String,
        /// Position of the model in the file; `None`: it was given from outside.
        place: Option<Place>,
        /// Its name.
        model: String,
        /// The setting, the tool or the place in a schema, and why.
        why: String,
    },
    /// The parts do not fit together.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Agent(#[from] Error),
}

/// The start of a message about a place in a file.
pub(super) fn at(file: &str, place: Option<Place>) -> String {
    place.map(|Place { line, column }| format!("{file}:{line}:{column}: ")).unwrap_or_default()
}

const FEWER_AGENTS: &str = "remove an entry of `agents` from one of these files";

fn delegate_help(nearest: &[String]) -> String {
    if nearest.is_empty() {
        return "a path in `agents` starts from the folder of the file that names it".to_owned();
    }
    format!("did you mean {}?", nearest.join(" or "))
}
