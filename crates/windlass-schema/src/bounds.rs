//! Limits on the size of a schema, as written and with its references followed.

use serde_json::Value;

use crate::document::{Document, place_of, pointer_to};
use crate::fault::SchemaFault;
use crate::graph::{Found, Graph, Part};
use crate::limits::{MAX_DEPTH, MAX_EXPANDED, MAX_IN_PLACE_DEPTH, MAX_SCHEMA_BYTES, MAX_VALUES};

/// Measures the JSON of a schema, without going deeper than it may be.
///
/// # Errors
/// It is too large or too deep.
pub(crate) fn measure(schema: &Value) -> Result<(), SchemaFault> {
    let (mut values, mut bytes) = (MAX_VALUES, MAX_SCHEMA_BYTES);
    spend(schema, MAX_DEPTH, &mut values, &mut bytes)
}

fn spend(value: &Value, depth: usize, values: &mut usize, bytes: &mut usize) -> Result<(), SchemaFault> {
    *values = values.checked_sub(1).ok_or(SchemaFault::TooManyValues)?;
    let child_depth = || depth.checked_sub(1).ok_or(SchemaFault::TooDeep);
    match value {
        Value::String(text) => *bytes = bytes.checked_sub(text.len()).ok_or(SchemaFault::TooLong)?,
        Value::Array(items) => {
            let child_depth = child_depth()?;
            items.iter().try_for_each(|item| spend(item, child_depth, values, bytes))?;
        }
        Value::Object(map) => {
            let child_depth = child_depth()?;
            for (key, value) in map {
                *bytes = bytes.checked_sub(key.len()).ok_or(SchemaFault::TooLong)?;
                spend(value, child_depth, values, bytes)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

/// Bounds what a schema is once its references are followed, and says how many keywords that are.
///
/// # Errors
/// Too many subschemas apply to one value, or one applies itself.
pub(crate) fn check(document: &Document<'_>, graph: &Graph, found: &Found<'_>) -> Result<u64, SchemaFault> {
    let mut walk = InPlace { document, graph, found, within: Vec::new(), all: 0 };
    (0..graph.nodes.len()).try_for_each(|node| walk.apply(node, 1))?;
    Ok(walk.all)
}

/// Follows the subschemas that apply to one value.
struct InPlace<'g> {
    document: &'g Document<'g>,
    graph: &'g Graph,
    found: &'g Found<'g>,
    /// The subschemas that it is within.
    within: Vec<usize>,
    /// Number of keywords so far.
    all: u64,
}

impl InPlace<'_> {
    fn apply(&mut self, number: usize, times: u64) -> Result<(), SchemaFault> {
        if self.within.contains(&number) {
            let place = self.found.values.get(number).map(|value| place_of(value));
            let place = place.and_then(|place| pointer_to(self.document.root, place));
            return Err(SchemaFault::Circle { place: format!("#{}", place.unwrap_or_default()) });
        }
        let graph = self.graph;
        let Some(node) = graph.nodes.get(number).filter(|_| self.within.len() < MAX_IN_PLACE_DEPTH) else {
            return Err(SchemaFault::ChainTooLong);
        };
        let own = node.own.saturating_add(node.edges.len() as u64);
        self.all = self.all.saturating_add(own.saturating_mul(times));
        if self.all > MAX_EXPANDED {
            return Err(SchemaFault::Expands);
        }
        // What was looked at is gathered by a second walk.
        let times = if node.again { times.saturating_mul(2) } else { times };
        self.within.push(number);
        for edge in node.edges.iter().filter(|edge| edge.part == Part::Same) {
            self.apply(edge.to, times)?;
        }
        self.within.pop();
        Ok(())
    }
}
