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
    let mut walk = InPlace { graph, weights: vec![Weight::Unknown; graph.nodes.len()] };
    let mut all: u64 = 0;
    for node in 0..graph.nodes.len() {
        let (weight, _) = walk.weigh(node, 0).map_err(|fault| match fault {
            Stuck::Circle(node) => {
                let place = found.values.get(node).map(|value| place_of(value));
                let place = place.and_then(|place| pointer_to(document.root, place));
                SchemaFault::Circle { place: format!("#{}", place.unwrap_or_default()) }
            }
            Stuck::TooLong => SchemaFault::ChainTooLong,
        })?;
        all = all.saturating_add(weight);
        if all > MAX_EXPANDED {
            return Err(SchemaFault::Expands);
        }
    }
    Ok(all)
}

#[derive(Clone, Copy)]
enum Weight {
    Unknown,
    Open,
    Known(u64, usize),
}

enum Stuck {
    Circle(usize),
    TooLong,
}

/// Number of subschemas that apply to a value, itself included, and their nesting depth.
struct InPlace<'g> {
    graph: &'g Graph,
    weights: Vec<Weight>,
}

impl InPlace<'_> {
    fn weigh(&mut self, number: usize, depth: usize) -> Result<(u64, usize), Stuck> {
        match self.weights.get(number) {
            Some(Weight::Known(weight, height)) => return Ok((*weight, *height)),
            Some(Weight::Open) => return Err(Stuck::Circle(number)),
            Some(Weight::Unknown) | None => {}
        }
        let Some(node) = self.graph.nodes.get(number).filter(|_| depth < MAX_IN_PLACE_DEPTH) else {
            return Err(Stuck::TooLong);
        };
        self.set(number, Weight::Open);
        let (mut weight, mut height): (u64, usize) = (0, 0);
        for edge in node.edges.iter().filter(|edge| edge.part == Part::Same) {
            let (child_weight, under) = self.weigh(edge.to, depth + 1)?;
            weight = weight.saturating_add(child_weight);
            height = height.max(under + 1);
        }
        if height >= MAX_IN_PLACE_DEPTH {
            return Err(Stuck::TooLong);
        }
        let own = node.own.saturating_add(node.edges.len() as u64);
        // What was looked at is gathered by a second walk.
        let weight = own.saturating_add(weight.saturating_mul(1 + node.again));
        self.set(number, Weight::Known(weight, height));
        Ok((weight, height))
    }

    fn set(&mut self, number: usize, weight: Weight) {
        if let Some(place) = self.weights.get_mut(number) {
            *place = weight;
        }
    }
}
