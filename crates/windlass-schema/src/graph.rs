//! A schema as a graph: its subschemas, and which values each of them hands on to which others.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::document::{Document, Place, place_of};
use crate::fault::SchemaFault;
use crate::keywords::REFERENCES;
use crate::pattern::{self, MAX_PATTERN_STATES, PatternCost, Refusal};

/// Maximum number of states of all patterns of one schema.
pub(crate) const MAX_ALL_STATES: u64 = 3 * MAX_PATTERN_STATES;
/// Bytes of text per step.
const BYTES_PER_STEP: usize = 256;

/// Part of a value that a subschema passes on to its own subschemas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The value itself.
    Same,
    /// The property of this name.
    Property(String),
    /// All properties, or those whose names match.
    Properties(Option<PatternCost>),
    /// The names of properties.
    Names,
    /// All items.
    Items,
    /// The item at this place.
    Item(usize),
}

/// That a subschema applies another one.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) part: Part,
    pub(crate) to: usize,
}

/// A subschema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// Its own cost, independent of the value.
    pub(crate) own: u64,
    pub(crate) edges: Vec<Edge>,
    pub(crate) pattern: Option<PatternCost>,
    /// Whether the items of an array are compared with one another.
    pub(crate) is_unique: bool,
    /// Whether its parts are checked once more, because it needs to know which members they have evaluated.
    pub(crate) again: bool,
}

/// All subschemas that can apply to a value; the first one is the schema itself.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
}

/// Results of the walk.
#[derive(Debug)]
pub(crate) struct Found<'s> {
    /// The subschema of each node.
    pub(crate) values: Vec<&'s Value>,
    /// Nodes with a pattern that the linear engine refuses, the pattern, and why.
    pub(crate) refused: Vec<(usize, &'s str, Refusal)>,
    /// Target of each reference, by place and keyword.
    pub(crate) targets: BTreeMap<(usize, &'static str), &'s Value>,
}

/// Reads the graph of a schema.
///
/// # Errors
/// A reference leads nowhere within the schema.
pub(crate) fn read<'s>(document: &Document<'s>) -> Result<(Graph, Found<'s>), SchemaFault> {
    let mut reader = Reader {
        document,
        queue: Vec::new(),
        known: BTreeMap::new(),
        found: Found { values: Vec::new(), refused: Vec::new(), targets: BTreeMap::new() },
        states: 0,
    };
    reader.node(document.start());
    let mut nodes = Vec::new();
    // Each subschema is queued once; nodes are numbered in the order of the queue.
    while let Some(place) = reader.queue.get(nodes.len()).copied() {
        let node = if let Value::Object(map) = place.value {
            reader.read(nodes.len(), place, map)?
        } else {
            Node { own: 1, ..Node::default() }
        };
        nodes.push(node);
    }
    Ok((Graph { nodes }, reader.found))
}

struct Reader<'d, 's> {
    document: &'d Document<'s>,
    queue: Vec<Place<'s>>,
    known: BTreeMap<(usize, usize), usize>,
    found: Found<'s>,
    states: u64,
}

impl<'s> Reader<'_, 's> {
    /// The number of a subschema.
    fn node(&mut self, place: Place<'s>) -> usize {
        let key = (place_of(place.value), place.resource);
        *self.known.entry(key).or_insert_with(|| {
            self.queue.push(place);
            self.found.values.push(place.value);
            self.queue.len() - 1
        })
    }

    fn read(
        &mut self,
        number: usize,
        place: Place<'s>,
        map: &'s Map<String, Value>,
    ) -> Result<Node, SchemaFault> {
        let mut node = Node { own: 1, ..Node::default() };
        let resource = self.document.within(map, place.resource);
        for (key, value) in map {
            self.keyword(number, &mut node, key, Place { value, resource });
        }
        for keyword in REFERENCES {
            let Some(reference) = map.get(keyword).and_then(Value::as_str) else { continue };
            let reference = if keyword == "$recursiveRef" { "#" } else { reference };
            let target = self.document.target(reference, resource, keyword)?;
            self.found.targets.insert((place_of(place.value), keyword), target.value);
            self.edge(&mut node, Part::Same, target);
        }
        Ok(node)
    }

    fn keyword(&mut self, number: usize, node: &mut Node, key: &str, place: Place<'s>) {
        match (key, place.value) {
            ("allOf" | "anyOf" | "oneOf", Value::Array(_)) => self.each(node, place, |_| Part::Same),
            ("not" | "if" | "then" | "else", _) => self.edge(node, Part::Same, place),
            ("properties", Value::Object(_)) => {
                self.each(node, place, |name| Part::Property(name.to_owned()));
            }
            ("patternProperties", Value::Object(map)) => {
                for (name, value) in map {
                    let cost = self.pattern(number, name);
                    self.edge(node, Part::Properties(cost), Place { value, ..place });
                }
            }
            ("dependentSchemas" | "dependencies", Value::Object(_)) => self.each(node, place, |_| Part::Same),
            ("additionalProperties", _) => self.edge(node, Part::Properties(None), place),
            ("propertyNames", _) => self.edge(node, Part::Names, place),
            ("items" | "prefixItems", Value::Array(items)) => {
                for (at, value) in items.iter().enumerate() {
                    self.edge(node, Part::Item(at), Place { value, ..place });
                }
            }
            ("items" | "additionalItems" | "contains", _) => self.edge(node, Part::Items, place),
            ("unevaluatedProperties" | "unevaluatedItems", _) => {
                node.again = true;
                let part = if key == "unevaluatedItems" { Part::Items } else { Part::Properties(None) };
                self.edge(node, part, place);
            }
            ("pattern", Value::String(text)) => node.pattern = self.pattern(number, text),
            ("uniqueItems", Value::Bool(true)) => node.is_unique = true,
            ("enum" | "const" | "required" | "dependentRequired", value) => node.own += size(value),
            _ => node.own += 1,
        }
    }

    /// An edge for each schema in a list or by name.
    fn each(&mut self, node: &mut Node, place: Place<'s>, part: impl Fn(&str) -> Part) {
        match place.value {
            Value::Array(items) => {
                for value in items {
                    self.edge(node, part(""), Place { value, ..place });
                }
            }
            Value::Object(map) => {
                for (name, value) in map {
                    self.edge(node, part(name), Place { value, ..place });
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn edge(&mut self, node: &mut Node, part: Part, place: Place<'s>) {
        if matches!(place.value, Value::Object(_) | Value::Bool(_)) {
            let to = self.node(place);
            node.edges.push(Edge { part, to });
        } else {
            // Names that another one needs (`dependencies`), or no schema at all.
            node.own += size(place.value);
        }
    }

    /// The cost of a pattern; one that is refused goes unchecked.
    fn pattern(&mut self, number: usize, pattern: &'s str) -> Option<PatternCost> {
        let left = MAX_ALL_STATES - self.states;
        let cost = pattern::cost(pattern)
            .and_then(|cost| if cost.states > left { Err(Refusal::TooMany) } else { Ok(cost) });
        match cost {
            Ok(cost) => {
                self.states += cost.states;
                Some(cost)
            }
            Err(refusal) => {
                self.found.refused.push((number, pattern, refusal));
                None
            }
        }
    }
}

impl Graph {
    /// The nodes from which one of these can be reached, themselves included.
    pub(crate) fn leading_to(&self, these: impl Iterator<Item = usize>) -> BTreeSet<usize> {
        let mut before = vec![Vec::new(); self.nodes.len()];
        for (from, node) in self.nodes.iter().enumerate() {
            for edge in &node.edges {
                if let Some(list) = before.get_mut(edge.to) {
                    list.push(from);
                }
            }
        }
        let mut all: BTreeSet<usize> = these.collect();
        let mut queue: Vec<usize> = all.iter().copied().collect();
        while let Some(next) = queue.pop() {
            let more = before.get(next).into_iter().flatten().copied();
            queue.extend(more.filter(|node| all.insert(*node)));
        }
        all
    }
}

/// The cost of reading a value, its members included.
pub(crate) fn size(value: &Value) -> u64 {
    match value {
        Value::String(text) => text_steps(text),
        Value::Array(items) => 1 + items.iter().map(size).sum::<u64>(),
        Value::Object(map) => 1 + map.values().map(|value| 1 + size(value)).sum::<u64>(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

/// The cost of reading a text.
pub(crate) fn text_steps(text: &str) -> u64 {
    (text.len() / BYTES_PER_STEP) as u64 + 1
}
