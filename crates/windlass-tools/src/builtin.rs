//! Tools that come with Windlass. Each states its limits; all of them only read.

mod ask;
mod calculate;
mod fetch;
mod folders;
mod list_files;
mod now;
mod read_file;

use windlass_core::ToolSpec;

use crate::function::Properties;

pub use ask::Ask;
pub use calculate::{Calculate, MAX_DEPTH, MAX_EXPRESSION};
pub use fetch::{FETCH_LIMIT, Fetch, MAX_BODY, MAX_REDIRECTS};
pub use list_files::{ListFiles, MAX_ENTRIES, MAX_LEVELS, MAX_SEEN};
pub use now::Now;
pub use read_file::{MAX_READ, MAX_SKIP, ReadFile};

/// The description of a built-in; they read and change nothing.
fn spec(name: &str, description: &str, properties: Properties) -> ToolSpec {
    let mut spec = ToolSpec::read_only(name, description, properties.finish());
    spec.origin = "builtin".into();
    spec
}

#[cfg(test)]
mod tests;
