//! Why tools cannot be put together. A tool that fails in a call gives a [`ToolError`](crate::ToolError) instead.

/// Why the tools of an agent cannot be put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolSetError {
    /// Two tools, or a tool and a delegate, have one name.
    #[error("Duplicate tool name: {name} (one is from {first}, one from {second})")]
    Clash {
        /// The name.
        name: String,
        /// Source of the first tool.
        first: String,
        /// Source of the second tool.
        second: String,
    },
    /// A tool has a name that Windlass keeps for its own.
    #[error("the name `{name}` of a tool from {origin} is reserved by Windlass")]
    Reserved {
        /// The name.
        name: String,
        /// Source of the tool.
        origin: String,
    },
    /// No provider would take the name.
    #[error("`{name}`, from {origin}, is not a valid tool name")]
    BadName {
        /// The name.
        name: String,
        /// Source of the tool.
        origin: String,
    },
    /// The parameters are not a JSON Schema of an object.
    #[error("the parameters of `{name}`, from {origin}, are not a JSON Schema of an object: {what}")]
    BadSchema {
        /// The tool.
        name: String,
        /// Source of the tool.
        origin: String,
        /// The error.
        what: String,
    },
    /// The parameters are a JSON Schema that is not taken in.
    #[error("the parameters of `{name}`, from {origin}, cannot be used")]
    SchemaRefused {
        /// The tool.
        name: String,
        /// Source of the tool.
        origin: String,
        /// Why.
        #[source]
        source: windlass_core::schema::SchemaFault,
    },
    /// The settings of a tool make no sense.
    #[error("invalid settings of the tool `{name}`: {what}")]
    BadSettings {
        /// The tool.
        name: String,
        /// The error.
        what: String,
    },
    /// A service has no tool of that name.
    #[error("the service `{service}` has no tool `{name}`; it has {}", .nearest.join(", "))]
    NoSuchTool {
        /// The service.
        service: String,
        /// The name.
        name: String,
        /// The tools whose names come near, else all of them.
        nearest: Vec<String>,
    },
    /// A folder that a tool may use cannot be opened.
    #[error("cannot open the folder `{path}` of the tool `{name}`")]
    Folder {
        /// The tool.
        name: String,
        /// The folder.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl ToolSetError {
    /// A stable name of the kind of error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Clash { .. } => "tool_clash",
            Self::Reserved { .. } => "tool_reserved",
            Self::BadName { .. } => "tool_bad_name",
            Self::BadSchema { .. } => "tool_bad_schema",
            Self::SchemaRefused { .. } => "tool_schema_refused",
            Self::BadSettings { .. } => "tool_bad_settings",
            Self::NoSuchTool { .. } => "tool_no_such",
            Self::Folder { .. } => "tool_folder",
        }
    }

    /// A remedy, in words.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Clash { .. } => Some("rename one of them, or give one of the origins a prefix".to_owned()),
            Self::Reserved { .. } => {
                Some(format!("choose a name other than {}", crate::set::RESERVED.join(", ")))
            }
            Self::BadName { .. } => Some("use 1 to 64 letters, digits, `_` and `-`".to_owned()),
            Self::BadSchema { .. } => {
                Some("write a JSON Schema (2020-12) with `type: object` and `properties`".to_owned())
            }
            Self::SchemaRefused { source, .. } => source.help().map(str::to_owned),
            Self::Folder { .. } => Some("create the folder, or name another one".to_owned()),
            Self::NoSuchTool { .. } => Some("name its tools without the service's name".to_owned()),
            Self::BadSettings { .. } => None,
        }
    }
}
