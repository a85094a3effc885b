//! The schemas of an agent's input and output, from code or a file.

use serde_json::Value;
use windlass_core::schema::Checker;

use crate::error::Error;

/// Whether the schemas of an agent can be used; a pattern that goes unchecked is said.
///
/// # Errors
/// One is no schema, or would cost too much.
pub(crate) fn take_in(agent: &str, input: Option<&Value>, output: Option<&Value>) -> Result<(), Error> {
    for (which, schema) in [("input", input), ("output", output)] {
        let Some(schema) = schema else { continue };
        let refused = |source| Error::Schema { agent: agent.to_owned(), which, source };
        for pattern in Checker::new(schema).map_err(refused)?.unchecked() {
            tracing::warn!(agent, "the {which} is only partly checked: {pattern}");
        }
    }
    Ok(())
}
