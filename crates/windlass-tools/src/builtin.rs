//! Tools that come with Windlass. Each states its limits; all of them only read. To add one: its file in `builtin/`, which
//! gives its type a constant `BUILTIN`, and its line in the table below.

pub(crate) mod folders;
pub mod skills;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use windlass_core::ToolSpec;

use crate::error::ToolSetError;
use crate::function::Properties;
use crate::tool::Tool;

/// `module: Type, other public names;` for each tool, in the order in which they are listed.
macro_rules! builtins {
    ($($module:ident: $Tool:ident $(, $other:ident)*;)+) => {
        $(
            pub(crate) mod $module;
            pub use $module::{$Tool $(, $other)*};
        )+

        impl Builtin {
            /// All built-in tools, by name.
            pub const NAMES: &'static [(&'static str, Self)] = &[$(($Tool::BUILTIN.name, $Tool::BUILTIN)),+];
        }
    };
}

builtins! {
    calculate: Calculate, MAX_DEPTH, MAX_EXPRESSION;
    now: Now;
    read_file: ReadFile, MAX_READ, MAX_SKIP;
    list_files: ListFiles, MAX_ENTRIES, MAX_LEVELS, MAX_SEEN;
    fetch: Fetch, FETCH_LIMIT, MAX_BODY, MAX_REDIRECTS;
    ask: Ask;
}

/// A built-in tool as agent files name it.
#[derive(Clone, Copy)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// Its options.
    pub takes: Takes,
    make: fn(&Given<'_>) -> Result<Arc<dyn Tool>, ToolSetError>,
}

/// Options of a built-in tool in an agent file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: it reaches for nothing outside of the program.
    Nothing,
    /// The folders that it may look into.
    Folders,
    /// The hosts that it may call.
    Hosts,
}

/// Option values for built-in tools.
#[derive(Clone, Copy, Debug)]
pub struct Given<'g> {
    /// The folders that it may look into.
    pub folders: &'g [PathBuf],
    /// The hosts that it may call.
    pub hosts: &'g [String],
}

impl Builtin {
    /// The tool.
    ///
    /// # Errors
    /// Its options are invalid.
    pub fn make(&self, given: &Given<'_>) -> Result<Arc<dyn Tool>, ToolSetError> {
        (self.make)(given)
    }
}

impl PartialEq for Builtin {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Builtin {}

impl fmt::Debug for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Builtin({})", self.name)
    }
}

/// The description of a built-in; they read and change nothing.
fn spec(name: &str, description: &str, properties: Properties) -> ToolSpec {
    let mut spec = ToolSpec::read_only(name, description, properties.finish());
    spec.origin = "builtin".into();
    spec
}

#[cfg(test)]
pub(crate) mod tests;
