//! Upper bound for the cost of a check, computed before the check.
//!
//! A check visits a pair of a subschema and a value that it applies to as often as there are ways to come there. The
//! count goes all of these ways and stops at a bound, so it is no longer than the check that it allows.

use serde_json::Value;

use crate::graph::{Graph, Node, Part, size, text_steps};

/// Maximum nesting depth of subschemas during a check: each level uses stack.
const MAX_CHECK_DEPTH: usize = 400;
/// Subschemas of a subschema that are looked at in one step of counting.
const EDGES_PER_STEP: u64 = 8;
/// Up to so many items of an array are compared in pairs.
const COMPARED_IN_PAIRS: usize = 15;

/// Upper bound for the cost of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// To know whether the value fits.
    pub(crate) fits: u64,
    /// To find everything that does not.
    pub(crate) faults: u64,
}

/// Adds up what a check costs.
pub(crate) struct Counter<'g> {
    graph: &'g Graph,
    left: u64,
}

impl<'g> Counter<'g> {
    /// A counter that takes itself no more steps than `most`.
    pub(crate) fn new(graph: &'g Graph, most: u64) -> Self {
        Self { graph, left: most }
    }

    /// Steps left.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The cost of checking a value. `None`: the steps are used up, or the check would go too deep.
    pub(crate) fn count(&mut self, value: &Value) -> Option<Cost> {
        self.node(0, value, 0)
    }

    fn node(&mut self, number: usize, value: &Value, depth: usize) -> Option<Cost> {
        let node = self.graph.nodes.get(number).filter(|_| depth < MAX_CHECK_DEPTH)?;
        self.spend(1 + node.edges.len() as u64 / EDGES_PER_STEP)?;
        let mut own = node.own.saturating_add(own_steps(node, value));
        if let (true, Value::Array(items)) = (node.is_unique, value) {
            let all = items.iter().map(size).sum();
            self.spend(all)?;
            own = own.saturating_add(all.saturating_mul(items.len().min(COMPARED_IN_PAIRS) as u64));
        }
        let mut parts = Cost::default();
        for edge in &node.edges {
            own = own.saturating_add(name_steps(&edge.part, value));
            hand_on(&edge.part, value, |part| {
                let cost = self.node(edge.to, part, depth + 1)?;
                parts.fits = parts.fits.saturating_add(cost.fits);
                parts.faults = parts.faults.saturating_add(cost.faults);
                Some(())
            })?;
        }
        // To say what is wrong it is first checked and then its parts are asked.
        let again = if node.again { parts.faults } else { 0 };
        let fits = own.saturating_add(parts.fits).saturating_add(again);
        Some(Cost { fits, faults: fits.saturating_add(parts.faults) })
    }

    fn spend(&mut self, steps: u64) -> Option<()> {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(0);
        left.map(drop)
    }
}

/// Calls `each` with the parts of a value that a subschema hands on.
fn hand_on(part: &Part, value: &Value, mut each: impl FnMut(&Value) -> Option<()>) -> Option<()> {
    match (part, value) {
        (Part::Same, _) => each(value),
        (Part::Property(name), Value::Object(map)) => map.get(name).into_iter().try_for_each(each),
        (Part::Properties(_), Value::Object(map)) => map.values().try_for_each(each),
        (Part::Names, Value::Object(map)) => map.keys().try_for_each(|name| each(&name.as_str().into())),
        (Part::Items, Value::Array(items)) => items.iter().try_for_each(each),
        (Part::Item(at), Value::Array(items)) => items.get(*at).into_iter().try_for_each(each),
        _ => Some(()),
    }
}

/// Cost of finding the properties that are handed on.
fn name_steps(part: &Part, value: &Value) -> u64 {
    let (Part::Properties(Some(pattern)), Value::Object(map)) = (part, value) else { return 0 };
    map.keys().map(|name| pattern.steps(name.len())).fold(0, u64::saturating_add)
}

/// Cost of checking a value without its members.
fn own_steps(node: &Node, value: &Value) -> u64 {
    match value {
        Value::String(text) => {
            let matching = node.pattern.map_or(0, |pattern| pattern.steps(text.len()));
            text_steps(text).saturating_add(matching)
        }
        Value::Object(map) => 1 + map.len() as u64,
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}
