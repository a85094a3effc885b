//! Why tools cannot be put together. A tool that fails in a call gives a [`ToolError`](crate::ToolError) instead.

use windlass_error::{Diagnostic, Kind};

/// Why the tools of an agent cannot be put together.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum ToolSetError {
    /// Two tools, or a tool and a delegate, have one name.
    #[error("Duplicate tool name: {name} (one is from {first}, one from {second})")]
    #[diagnostic(kind = Invalid, code = "tool_clash", help = "rename one of them, or give one of the origins a prefix")]
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
    #[diagnostic(
        kind = Invalid,
        code = "tool_reserved",
        help = format!("choose a name other than {}", crate::set::RESERVED.join(", "))
    )]
    Reserved {
        /// The name.
        name: String,
        /// Source of the tool.
        origin: String,
    },
    /// No provider would take the name.
    #[error("`{name}`, from {origin}, is not a valid tool name")]
    #[diagnostic(kind = Invalid, code = "tool_bad_name", help = "use 1 to 64 letters, digits, `_` and `-`")]
    BadName {
        /// The name.
        name: String,
        /// Source of the tool.
        origin: String,
    },
    /// The parameters are not a JSON Schema of an object.
    #[error("the parameters of `{name}`, from {origin}, are not a JSON Schema of an object: {what}")]
    #[diagnostic(
        kind = Invalid,
        code = "tool_bad_schema",
        help = "write a JSON Schema (2020-12) with `type: object` and `properties`"
    )]
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
    #[diagnostic(transparent, code = "tool_schema_refused")]
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
    #[diagnostic(kind = Invalid, code = "tool_bad_settings")]
    BadSettings {
        /// The tool.
        name: String,
        /// The error.
        what: String,
    },
    /// A service has no tool of that name.
    #[error("the service `{service}` has no tool `{name}`; it has {}", .nearest.join(", "))]
    #[diagnostic(kind = Invalid, code = "tool_no_such", help = "name its tools without the service's name")]
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
    #[diagnostic(kind = Kind::of_io(source), code = "tool_folder", help = "create the folder, or name another one")]
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
