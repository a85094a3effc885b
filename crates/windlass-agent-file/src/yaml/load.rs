//! From the parser's events to a tree, within bounds.

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Tag};
use windlass_core::text::steps;

use super::error::{Problem, YamlError};
use super::node::{Key, Node, NodeValue, Place};
use super::scalar::{float, int, resolve};
use super::words;

/// The largest document, in bytes (4 MiB).
pub const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The most values in a document, aliases expanded.
pub const MAX_NODES: usize = 100_000;
/// The deepest nesting of lists and maps.
pub const MAX_DEPTH: usize = 64;
/// The most bytes of text in a document, aliases expanded (16 MiB).
pub const MAX_TEXT_BYTES: usize = 16 * 1024 * 1024;

const TAGS: &str = "Tags are not supported";
const KEY: &str = "A key must be a text, not a list or a map";

/// Reads a document.
///
/// # Errors
/// No YAML, a repeated key, something that JSON cannot hold, or a bound exceeded.
pub fn parse(text: &str) -> Result<Node, YamlError> {
    let (node, faults) = parse_with_faults(text)?;
    faults.into_iter().next().map_or(Ok(node), Err)
}

/// Reads a document and gives repeated keys beside it (the first value stands): a reader of many cases can let only
/// those cases fail that hold one.
///
/// # Errors
/// No YAML, something that JSON cannot hold, or a bound exceeded.
pub fn parse_with_faults(text: &str) -> Result<(Node, Vec<YamlError>), YamlError> {
    // Some editors put a mark in front, which is no part of the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > MAX_BYTES {
        let what = format!("{} bytes, the maximum is {MAX_BYTES}", text.len());
        return Err(YamlError::new(Place { line: 1, column: 1 }, "", Problem::TooLarge { what }));
    }
    load(text)
}

/// Counts events, the text in them, and what is copied for aliases.
pub(super) fn load(text: &str) -> Result<(Node, Vec<YamlError>), YamlError> {
    // The parser's own share.
    steps::add(text.len());
    let mut loader = Loader::default();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| syntax(&error, text))?;
        loader.take(event, place(&span.start)).map_err(|error| begun(error, text))?;
    }
    let root = loader.root.unwrap_or_else(|| Node::new(NodeValue::Null, Place { line: 1, column: 1 }));
    Ok((root, loader.faults))
}

/// Weight of a subtree.
#[derive(Clone, Copy, Default)]
struct Weight {
    nodes: usize,
    text: usize,
}

#[derive(Default)]
struct Loader {
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    anchors: HashMap<usize, (Node, Weight)>,
    /// Of the tree.
    total: Weight,
    /// Of the copies that are kept for aliases.
    kept: Weight,
    faults: Vec<YamlError>,
}

/// A list or map that has not ended.
struct Open {
    place: Place,
    anchor: usize,
    before: Weight,
    kind: Kind,
}

/// A scalar as the parser gives it.
struct Scalar<'s> {
    text: Cow<'s, str>,
    style: ScalarStyle,
    tag: Option<&'s Tag>,
}

enum Kind {
    List(Vec<Node>),
    Map { entries: Vec<(Key, Node)>, lines: HashMap<String, usize>, key: Option<Key>, skip: bool },
}

impl Loader {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the parser's enum is non-exhaustive")]
    fn take(&mut self, event: Event<'_>, place: Place) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(unsupported(
                        place,
                        "A second document begins here; one document is expected",
                    ));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(Scalar { text, style, tag: tag.as_deref() }, anchor, place)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                collection_tag(tag.as_deref(), "seq", place)?;
                self.begin(Kind::List(Vec::new()), anchor, place)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                collection_tag(tag.as_deref(), "map", place)?;
                let kind = Kind::Map { entries: Vec::new(), lines: HashMap::new(), key: None, skip: false };
                self.begin(kind, anchor, place)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end()?,
            Event::Alias(anchor) => self.alias(anchor, place)?,
            // The parser is asked for none of the others.
            _ => {}
        }
        Ok(())
    }

    fn scalar(&mut self, scalar: Scalar<'_>, anchor: usize, place: Place) -> Result<(), YamlError> {
        if self.wants_key() {
            return self.key(scalar.text.into_owned(), place);
        }
        let length = scalar.text.len();
        let literal = matches!(scalar.style, ScalarStyle::Literal);
        // The parser gives the first line that is not blank.
        let blank = if literal { scalar.text.bytes().take_while(|byte| *byte == b'\n').count() } else { 0 };
        let value = typed(scalar).map_err(|what| unsupported(place, what))?;
        let mut node = Node::new(value, place);
        node.literal = literal;
        node.line = node.line.saturating_sub(blank).max(1);
        let weight = Weight { nodes: 1, text: length };
        self.weigh(weight, place)?;
        self.keep(anchor, &node, weight, place)?;
        self.put(node);
        Ok(())
    }

    fn wants_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { kind: Kind::Map { key: None, .. }, .. }))
    }

    fn key(&mut self, name: String, place: Place) -> Result<(), YamlError> {
        self.weigh(Weight { nodes: 1, text: name.len() }, place)?;
        let Some(Open { kind: Kind::Map { lines, key, skip, .. }, .. }) = self.open.last_mut() else {
            return Ok(());
        };
        *skip = lines.contains_key(&name);
        if let Some(first_line) = lines.get(&name) {
            let problem = Problem::DuplicateKey { key: name.clone(), first_line: *first_line };
            self.faults.push(YamlError::new(place, name.clone(), problem));
        } else {
            lines.insert(name.clone(), place.line);
        }
        *key = Some(Key { name, line: place.line, column: place.column });
        Ok(())
    }

    fn begin(&mut self, kind: Kind, anchor: usize, place: Place) -> Result<(), YamlError> {
        if self.wants_key() {
            return Err(unsupported(place, KEY));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(too_large(place, format!("more than {MAX_DEPTH} levels of lists and maps")));
        }
        let before = self.total;
        self.weigh(Weight { nodes: 1, text: 0 }, place)?;
        self.open.push(Open { place, anchor, before, kind });
        Ok(())
    }

    fn end(&mut self) -> Result<(), YamlError> {
        let Some(Open { place, anchor, before, kind }) = self.open.pop() else { return Ok(()) };
        let value = match kind {
            Kind::List(items) => NodeValue::List(items),
            Kind::Map { entries, .. } => NodeValue::Map(entries),
        };
        let node = Node::new(value, place);
        let weight = Weight { nodes: self.total.nodes - before.nodes, text: self.total.text - before.text };
        self.keep(anchor, &node, weight, place)?;
        self.put(node);
        Ok(())
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Result<(), YamlError> {
        if self.wants_key() {
            return Err(unsupported(place, "A key must be a text, not an alias"));
        }
        let Some((node, weight)) = self.anchors.get(&anchor) else {
            return Err(unsupported(place, "An alias cannot refer to a value that contains it"));
        };
        let (node, weight) = (node.clone(), *weight);
        if self.open.len() + depth(&node) > MAX_DEPTH {
            return Err(too_large(place, format!("more than {MAX_DEPTH} levels of lists and maps")));
        }
        self.weigh(weight, place)?;
        self.put(node);
        Ok(())
    }

    fn put(&mut self, node: Node) {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open { kind: Kind::List(items), .. }) => items.push(node),
            Some(Open { kind: Kind::Map { entries, key, skip, .. }, .. }) => {
                if let Some(key) = key.take()
                    && !*skip
                {
                    entries.push((key, node));
                }
            }
        }
    }

    /// Adds to the tree's weight before the memory is used.
    fn weigh(&mut self, more: Weight, place: Place) -> Result<(), YamlError> {
        steps::add(more.nodes + more.text);
        add(&mut self.total, more);
        bounded(self.total, place)
    }

    fn keep(&mut self, anchor: usize, node: &Node, weight: Weight, place: Place) -> Result<(), YamlError> {
        if anchor > 0 {
            steps::add(weight.nodes + weight.text);
            add(&mut self.kept, weight);
            bounded(self.kept, place)?;
            self.anchors.insert(anchor, (node.clone(), weight));
        }
        Ok(())
    }
}

fn add(total: &mut Weight, more: Weight) {
    total.nodes = total.nodes.saturating_add(more.nodes);
    total.text = total.text.saturating_add(more.text);
}

fn bounded(weight: Weight, place: Place) -> Result<(), YamlError> {
    if weight.nodes > MAX_NODES {
        return Err(too_large(place, format!("more than {MAX_NODES} values, aliases expanded")));
    }
    if weight.text > MAX_TEXT_BYTES {
        return Err(too_large(place, format!("more than {MAX_TEXT_BYTES} bytes of text, aliases expanded")));
    }
    Ok(())
}

fn depth(node: &Node) -> usize {
    match &node.value {
        NodeValue::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        NodeValue::Map(entries) => 1 + entries.iter().map(|(_, value)| depth(value)).max().unwrap_or(0),
        NodeValue::Null
        | NodeValue::Bool(_)
        | NodeValue::Int(_)
        | NodeValue::Float(_)
        | NodeValue::String(_) => 0,
    }
}

/// The value of a scalar with its style and tag (YAML 1.2.2, 10.3).
fn typed(scalar: Scalar<'_>) -> Result<NodeValue, &'static str> {
    let Scalar { text, style, tag } = scalar;
    let Some(tag) = tag else {
        return if style == ScalarStyle::Plain {
            resolve(&text)
        } else {
            Ok(NodeValue::String(text.into_owned()))
        };
    };
    match tag.core_suffix() {
        Some("str") => Ok(NodeValue::String(text.into_owned())),
        Some("null" | "bool") => {
            if let value @ (NodeValue::Null | NodeValue::Bool(_)) = resolve(&text)? {
                Ok(value)
            } else {
                Err("The value does not match its tag")
            }
        }
        Some("int") => int(&text).ok_or("The value does not match its tag"),
        Some("float") => float(&text)?.map(NodeValue::Float).ok_or("The value does not match its tag"),
        _ if tag.original() == "!" => Ok(NodeValue::String(text.into_owned())),
        _ => Err(TAGS),
    }
}

fn collection_tag(tag: Option<&Tag>, own: &str, place: Place) -> Result<(), YamlError> {
    match tag {
        Some(tag) if tag.core_suffix() != Some(own) => Err(unsupported(place, TAGS)),
        _ => Ok(()),
    }
}

fn place(marker: &Marker) -> Place {
    Place { line: marker.line().max(1), column: marker.col() + 1 }
}

fn syntax(error: &ScanError, text: &str) -> YamlError {
    let place = place(error.marker());
    let (message, help) = match words::of(&error.info(), text, place) {
        Some((message, help)) => (message, Some(help)),
        None => (error.info(), None),
    };
    YamlError::new(place, "", Problem::Syntax { message, help })
}

/// Says of a tag or a map as a key that a text was meant, where it looks like that.
fn begun(error: YamlError, text: &str) -> YamlError {
    let Problem::Unsupported { what } = &*error.problem else { return error };
    let what = [(TAGS, '!'), (KEY, '{')].into_iter().find(|(part, _)| what == part).map(|(_, sign)| sign);
    let line = text.lines().nth(error.line.saturating_sub(1)).unwrap_or_default();
    match what.filter(|sign| *sign != '{' || line.contains("{{")) {
        Some(sign) => {
            let (message, help) = words::special(sign);
            let message = format!("{}: {message}", error.problem);
            YamlError {
                problem: Box::new(Problem::Other { code: "yaml.unsupported", message, help: Some(help) }),
                ..error
            }
        }
        None => error,
    }
}

fn unsupported(place: Place, what: &str) -> YamlError {
    YamlError::new(place, "", Problem::Unsupported { what: what.to_owned() })
}

fn too_large(place: Place, what: String) -> YamlError {
    YamlError::new(place, "", Problem::TooLarge { what })
}
