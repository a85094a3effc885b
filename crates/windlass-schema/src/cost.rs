//! Upper bound for the cost of a check, computed before the check.
//!
//! A check visits each pair of a subschema and a value that it applies to as often as there are ways to come there. The
//! ways multiply; the pairs do not. So the cost is added up over pairs, each of them looked at once.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::document::place_of;
use crate::graph::{Edge, Graph, Node, Part};
use crate::limits::COMPARED_IN_PAIRS;
use crate::pattern::PatternCost;

/// Maximum nesting depth of subschemas during a check: each level uses stack.
pub(crate) const MAX_CHECK_DEPTH: usize = 400;
/// Steps for storing the cost of a pair.
const KEEPING_STEPS: u64 = 8;
/// Bytes of text per step.
const BYTES_PER_STEP: usize = 256;

/// Upper bound for the cost of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// To know whether the value fits.
    pub(crate) fits: u64,
    /// To find everything that does not.
    pub(crate) faults: u64,
    /// Nesting depth of subschemas during the check.
    pub(crate) depth: usize,
}

/// Why the cost is not known: it is above what may be, or the check would go too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooCostly;

/// A value that a subschema applies to.
#[derive(Clone, Copy)]
enum Checked<'v> {
    Value(&'v Value),
    /// The name of a property.
    Name(&'v str),
}

impl Checked<'_> {
    fn place(self) -> usize {
        match self {
            Checked::Value(value) => place_of(value),
            Checked::Name(name) => name.as_ptr().addr(),
        }
    }

    /// Whether no other value is within it.
    fn is_scalar(self) -> bool {
        !matches!(self, Checked::Value(Value::Array(_) | Value::Object(_)))
    }
}

/// Cost per byte of a value, independent of the value; `None`: it depends on the value, because the schema is recursive.
pub(crate) fn rate(graph: &Graph) -> Option<Cost> {
    let mut rates = Rates { graph, known: vec![None; graph.nodes.len()] };
    rates.rate(0, 0)
}

struct Rates<'g> {
    graph: &'g Graph,
    known: Vec<Option<Cost>>,
}

impl Rates<'_> {
    /// The depth bounds the walk: a schema that leads back to itself has none.
    fn rate(&mut self, number: usize, depth: usize) -> Option<Cost> {
        if let Some(known) = self.known.get(number)? {
            return Some(*known).filter(|known| depth + known.depth <= MAX_CHECK_DEPTH);
        }
        let node = self.graph.nodes.get(number).filter(|_| depth < MAX_CHECK_DEPTH)?;
        let patterns = node.pattern.map_or(0, PatternCost::steps_per_byte);
        let mut own = node.own.saturating_add(patterns).saturating_add(node.pairs).saturating_add(1);
        let mut children = Cost::default();
        for edge in &node.edges {
            if let Part::Properties(Some(pattern)) = &edge.part {
                own = own.saturating_add(pattern.steps_per_byte());
            }
            children.add(self.rate(edge.to, depth + 1)?);
        }
        let cost = children.on_top(own, node);
        *self.known.get_mut(number)? = Some(cost);
        Some(cost)
    }
}

impl Cost {
    pub(crate) fn times(self, many: u64) -> Self {
        let (fits, faults) = (self.fits.saturating_mul(many), self.faults.saturating_mul(many));
        Self { fits, faults, depth: self.depth }
    }

    fn add(&mut self, other: Self) {
        self.fits = self.fits.saturating_add(other.fits);
        self.faults = self.faults.saturating_add(other.faults);
        self.depth = self.depth.max(other.depth);
    }

    /// The cost of a node whose parts cost this. To say what is wrong it is first checked and then its parts are asked.
    fn on_top(self, own: u64, node: &Node) -> Self {
        let again = self.faults.saturating_mul(node.again);
        let fits = own.saturating_add(self.fits).saturating_add(again);
        Self { fits, faults: fits.saturating_add(self.faults), depth: self.depth + 1 }
    }
}

/// Adds up what a check costs. It takes itself no more steps than it is given.
pub(crate) struct Counter<'g> {
    graph: &'g Graph,
    known: BTreeMap<(usize, usize), Cost>,
    left: u64,
}

impl<'g> Counter<'g> {
    pub(crate) fn new(graph: &'g Graph, most: u64) -> Self {
        Self { graph, known: BTreeMap::new(), left: most }
    }

    /// Steps left.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The cost of checking a value.
    ///
    /// # Errors
    /// The steps are used up, or the check would go too deep.
    pub(crate) fn count(&mut self, value: &Value) -> Result<Cost, TooCostly> {
        self.node(0, Checked::Value(value), 0)
    }

    fn node(&mut self, number: usize, checked: Checked<'_>, depth: usize) -> Result<Cost, TooCostly> {
        let graph = self.graph;
        let Some(node) = graph.nodes.get(number) else { return Ok(Cost::default()) };
        // What ends here costs less to count than to keep.
        let kept = !checked.is_scalar() || node.edges.iter().any(|edge| edge.part == Part::Same);
        let key = (number, checked.place());
        let known = if kept { self.known.get(&key).copied() } else { None };
        if depth + known.map_or(1, |known| known.depth) > MAX_CHECK_DEPTH {
            return Err(TooCostly);
        }
        if let Some(known) = known {
            return Ok(known);
        }
        self.spend(if kept { KEEPING_STEPS } else { 1 })?;
        let mut own = node.own.saturating_add(breadth(checked));
        own = own.saturating_add(pattern_steps(node.pattern, checked));
        if node.pairs > 0
            && let Checked::Value(Value::Array(items)) = checked
        {
            own = own.saturating_add(self.comparing(items)?);
        }
        let mut children = Cost::default();
        for edge in &node.edges {
            own = own.saturating_add(self.handed_on(edge, checked, &mut children, depth + 1)?);
        }
        let cost = children.on_top(own, node);
        if kept {
            self.known.insert(key, cost);
        }
        Ok(cost)
    }

    /// Adds the cost of what is handed on; gives that of finding it.
    fn handed_on(
        &mut self,
        edge: &Edge,
        checked: Checked<'_>,
        children: &mut Cost,
        depth: usize,
    ) -> Result<u64, TooCostly> {
        let (part, to) = (&edge.part, edge.to);
        self.spend(1)?;
        let mut finding: u64 = 0;
        match (part, checked) {
            (Part::Same, checked) => children.add(self.node(to, checked, depth)?),
            (Part::Property(name), Checked::Value(Value::Object(map))) => {
                if let Some(value) = map.get(name) {
                    children.add(self.node(to, Checked::Value(value), depth)?);
                }
            }
            (Part::Properties(pattern), Checked::Value(Value::Object(map))) => {
                for (name, value) in map {
                    self.spend(1)?;
                    finding = finding.saturating_add(pattern_steps(*pattern, Checked::Name(name)));
                    children.add(self.node(to, Checked::Value(value), depth)?);
                }
            }
            (Part::Names, Checked::Value(Value::Object(map))) => {
                for name in map.keys() {
                    self.spend(1)?;
                    children.add(self.node(to, Checked::Name(name), depth)?);
                }
            }
            (Part::Items, Checked::Value(Value::Array(items))) => {
                for item in items {
                    self.spend(1)?;
                    children.add(self.node(to, Checked::Value(item), depth)?);
                }
            }
            (Part::Item(at), Checked::Value(Value::Array(items))) => {
                if let Some(item) = items.get(*at) {
                    children.add(self.node(to, Checked::Value(item), depth)?);
                }
            }
            _ => {}
        }
        Ok(finding)
    }

    /// Cost of comparing the items of an array with one another.
    fn comparing(&mut self, items: &[Value]) -> Result<u64, TooCostly> {
        let mut all: u64 = 0;
        for item in items {
            all = all.saturating_add(self.size(item)?);
        }
        Ok(all.saturating_mul(items.len().min(COMPARED_IN_PAIRS) as u64))
    }

    fn size(&mut self, value: &Value) -> Result<u64, TooCostly> {
        self.spend(1)?;
        let own = breadth(Checked::Value(value));
        match value {
            Value::Array(items) => {
                items.iter().try_fold(own, |all, item| Ok(all.saturating_add(self.size(item)?)))
            }
            Value::Object(map) => {
                map.values().try_fold(own, |all, item| Ok(all.saturating_add(self.size(item)?)))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(own),
        }
    }

    fn spend(&mut self, steps: u64) -> Result<(), TooCostly> {
        self.left = self.left.checked_sub(steps).ok_or(TooCostly)?;
        Ok(())
    }
}

/// Cost of checking a value without its members.
fn breadth(checked: Checked<'_>) -> u64 {
    let text = |text: &str| (text.len() / BYTES_PER_STEP) as u64 + 1;
    match checked {
        Checked::Name(name) => text(name),
        Checked::Value(Value::String(string)) => text(string),
        Checked::Value(Value::Object(map)) => map.len() as u64 + 1,
        Checked::Value(_) => 1,
    }
}

fn pattern_steps(pattern: Option<PatternCost>, checked: Checked<'_>) -> u64 {
    let text = match checked {
        Checked::Name(text) => Some(text.len()),
        Checked::Value(value) => value.as_str().map(str::len),
    };
    pattern.zip(text).map_or(0, |(pattern, length)| pattern.steps(length))
}
