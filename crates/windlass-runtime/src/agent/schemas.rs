//! The schemas of an agent's input and output, from code or a file.

use serde_json::Value;
use windlass_core::schema::Checker;

use crate::platform::error::Error;

/// Checks the schemas of an agent's input and output. A pattern that goes unchecked is logged.
///
/// # Errors
/// One is no schema, or would cost too much.
pub(crate) fn check_schemas(agent: &str, input: Option<&Value>, output: Option<&Value>) -> Result<(), Error> {
    for (which, schema) in [("input", input), ("output", output)] {
        let Some(schema) = schema else { continue };
        let refused = |source| Error::Schema { agent: agent.to_owned(), which, source };
        for pattern in Checker::new(schema).map_err(refused)?.unchecked() {
            tracing::warn!(agent, "the {which} is only partly checked: {pattern}");
        }
    }
    Ok(())
}
