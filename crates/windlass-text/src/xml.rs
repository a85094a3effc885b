//! Values as XML and back, as acorn writes typed input and reads forced output.
//!
//! Fields are elements, their schema's `description` an attribute, list items are `<item>`, absent values are left out,
//! booleans are lower case. Text that is itself well-formed XML is embedded as elements.

use roxmltree::{Document, Node, ParsingOptions};
use serde_json::{Map, Number, Value};

use crate::steps;

mod shape;

/// Maximum number of elements and texts in a reply's XML.
const MOST_NODES: u32 = 100_000;
/// Maximum nesting depth of values; deeper ones are written as JSON.
const MOST_DEPTH: usize = 64;
/// How many references one after another are followed.
const MOST_FOLLOWED: usize = 16;

/// An object as XML under that root, indented by two blanks. `schema` gives descriptions and the order of fields.
pub fn to_xml(root: &str, value: &Map<String, Value>, schema: &Value) -> String {
    let mut out = String::new();
    let mut writer = Writer { out: &mut out, root: schema };
    writer.object(&Tag { name: root.to_owned(), attributes: String::new(), depth: 0 }, value, Some(schema));
    steps::add(out.len());
    out
}

/// An element that is being written.
struct Tag {
    name: String,
    attributes: String,
    depth: usize,
}

impl Tag {
    fn item(&self) -> Self {
        Self { name: "item".to_owned(), attributes: String::new(), depth: self.depth + 1 }
    }
}

struct Writer<'w> {
    out: &'w mut String,
    root: &'w Value,
}

impl Writer<'_> {
    fn object(&mut self, tag: &Tag, map: &Map<String, Value>, schema: Option<&Value>) {
        let properties = schema.and_then(|schema| resolved(schema, self.root).get("properties")?.as_object());
        let known = properties.into_iter().flat_map(Map::keys).filter(|key| map.contains_key(*key));
        let others = map.keys().filter(|key| properties.is_none_or(|known| !known.contains_key(*key)));
        let fields: Vec<(&String, &Value, Option<&Value>)> = known
            .chain(others)
            .filter_map(|key| {
                let value = map.get(key).filter(|value| !value.is_null())?;
                Some((key, value, properties.and_then(|known| known.get(key))))
            })
            .collect();
        if fields.is_empty() {
            self.empty(tag);
            return;
        }
        self.open(tag);
        for (key, value, schema) in fields {
            self.line(tag.depth + 1);
            self.field(key, value, schema, tag.depth + 1);
        }
        self.line(tag.depth);
        self.close(tag);
    }

    fn field(&mut self, key: &str, value: &Value, schema: Option<&Value>, depth: usize) {
        // An empty list or object stands as an empty element, without its description.
        let empty = matches!(value, Value::Array(items) if items.is_empty())
            || matches!(value, Value::Object(map) if map.is_empty());
        let description = schema.and_then(|schema| description(schema, self.root)).filter(|_| !empty);
        let attributes = description.map_or_else(String::new, described);
        self.value(&Tag { name: tag_name(key), attributes, depth }, value, schema);
    }

    fn value(&mut self, tag: &Tag, value: &Value, schema: Option<&Value>) {
        if tag.depth > MOST_DEPTH {
            return self.text(tag, &value.to_string());
        }
        match value {
            Value::Null => self.empty(tag),
            Value::Array(items) if items.is_empty() => self.empty(tag),
            Value::Object(map) => self.object(tag, map, schema),
            Value::Array(items) => {
                let item = schema.and_then(|schema| resolved(schema, self.root).get("items"));
                self.open(tag);
                for value in items {
                    self.line(tag.depth + 1);
                    self.value(&tag.item(), value, item);
                }
                self.line(tag.depth);
                self.close(tag);
            }
            Value::Bool(flag) => self.text(tag, if *flag { "true" } else { "false" }),
            Value::Number(number) => self.text(tag, &number.to_string()),
            Value::String(text) => self.string(tag, text),
        }
    }

    fn string(&mut self, tag: &Tag, text: &str) {
        let wrapped = text.contains('<').then(|| format!("<w>{text}</w>"));
        match wrapped.as_deref().and_then(|text| parse(text).ok()) {
            Some(document) => {
                self.open(tag);
                self.embedded(document.root_element(), tag.depth);
                self.close(tag);
            }
            None => self.text(tag, text),
        }
    }

    /// The content of an element that a value brought along, indented where it holds elements only.
    fn embedded(&mut self, node: Node<'_, '_>, depth: usize) {
        let blank =
            |child: Node<'_, '_>| child.is_text() && child.text().is_none_or(|text| text.trim().is_empty());
        let elements = node.children().any(|child| child.is_element());
        for child in node.children().filter(|child| !(elements && blank(*child))) {
            if child.is_element() {
                self.line(depth + 1);
                let attributes = child.attributes().map(|one| {
                    let value = escaped(one.value(), true);
                    format!(" {}=\"{value}\"", one.name())
                });
                let tag = Tag {
                    name: child.tag_name().name().to_owned(),
                    attributes: attributes.collect::<Vec<_>>().concat(),
                    depth: depth + 1,
                };
                if child.has_children() {
                    self.open(&tag);
                    self.embedded(child, depth + 1);
                    self.close(&tag);
                } else {
                    self.empty(&tag);
                }
            } else if let Some(text) = child.text().filter(|_| child.is_text()) {
                self.out.push_str(&escaped(text, false));
            }
        }
        if elements {
            self.line(depth);
        }
    }

    fn text(&mut self, tag: &Tag, text: &str) {
        self.open(tag);
        self.out.push_str(&escaped(text, false));
        self.close(tag);
    }

    fn open(&mut self, tag: &Tag) {
        self.out.extend(["<", &tag.name, &tag.attributes, ">"]);
    }

    fn empty(&mut self, tag: &Tag) {
        self.out.extend(["<", &tag.name, &tag.attributes, " />"]);
    }

    fn close(&mut self, tag: &Tag) {
        self.out.extend(["</", &tag.name, ">"]);
    }

    fn line(&mut self, depth: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", depth));
    }
}

/// A field's description: its own, else that of the type that it refers to.
fn description<'s>(field: &'s Value, root: &'s Value) -> Option<&'s str> {
    field.get("description").or_else(|| resolved(field, root).get("description"))?.as_str()
}

fn described(text: &str) -> String {
    format!(" description=\"{}\"", escaped(text, true))
}

/// An element's name: what a key holds that no name may hold becomes `_` (XML 1.0, 2.3).
fn tag_name(key: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name: String = key.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_alphabetic() || c == '_') { name } else { format!("_{name}") }
}

fn escaped(text: &str, attribute: bool) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    if attribute { text.replace('"', "&quot;").replace('\n', "&#10;") } else { text }
}

/// The form that a model fills in: one element per field, with its description.
pub fn xml_form(root: &str, schema: &Value) -> String {
    let properties = resolved(schema, schema).get("properties").and_then(Value::as_object);
    let lines = properties.into_iter().flatten().map(|(key, field)| {
        let (tag, attribute) =
            (tag_name(key), description(field, schema).map_or_else(String::new, described));
        format!("    <{tag}{attribute}></{tag}>\n")
    });
    format!("<{root}>\n{}</{root}>", lines.collect::<Vec<_>>().concat())
}

/// The value that a reply's `<root>…</root>` holds, typed by the schema where it can be.
///
/// # Errors
/// There is no such element, or it is not well-formed.
pub fn from_xml(root: &str, text: &str, schema: &Value) -> Result<Value, String> {
    let (open, close) = (format!("<{root}"), format!("</{root}>"));
    steps::add(text.len());
    let start = text.find(&open).ok_or_else(|| format!("there is no <{root}> element in the reply"))?;
    let end = text.rfind(&close).ok_or_else(|| format!("the <{root}> element is not closed"))? + close.len();
    let part = text.get(start..end).ok_or_else(|| format!("</{root}> comes before <{root}>"))?;
    let document = parse(part).map_err(|error| format!("the XML is not well-formed: {error}"))?;
    Ok(Typed { root: schema }.object(document.root_element(), schema))
}

fn parse(text: &str) -> Result<Document<'_>, String> {
    // The parser compares each attribute and namespace of an element with all others, and values are read by recursion.
    shape::check(text)?;
    let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).map_err(|error| error.to_string())
}

/// Reads values, typed by a schema.
struct Typed<'r> {
    root: &'r Value,
}

impl Typed<'_> {
    fn object(&self, node: Node<'_, '_>, schema: &Value) -> Value {
        let root = self.root;
        let properties = resolved(schema, root).get("properties").and_then(Value::as_object);
        let mut map = Map::new();
        for child in node.children().filter(Node::is_element) {
            let tag = child.tag_name().name();
            steps::add(1 + properties.map_or(0, Map::len));
            let key = properties
                .and_then(|known| known.keys().find(|key| tag_name(key) == tag))
                .map_or_else(|| tag.to_owned(), Clone::clone);
            let field = properties.and_then(|known| known.get(&key));
            let Some(value) = self.value(child, field) else { continue };
            match map.get_mut(&key) {
                // A field that comes several times is a list.
                Some(Value::Array(items)) => items.push(value),
                Some(earlier) => *earlier = Value::Array(vec![earlier.take(), value]),
                None => {
                    map.insert(key, value);
                }
            }
        }
        Value::Object(map)
    }

    /// `None`: an empty element of a field that is neither a list, an object nor a text is absent.
    fn value(&self, node: Node<'_, '_>, schema: Option<&Value>) -> Option<Value> {
        let root = self.root;
        steps::add(1);
        let schema = schema.map(|schema| resolved(schema, root));
        let kinds = schema.and_then(|schema| schema.get("type"));
        let kinds: Vec<&str> = if let Some(Value::Array(kinds)) = kinds {
            kinds.iter().filter_map(Value::as_str).collect()
        } else {
            kinds.and_then(Value::as_str).into_iter().collect()
        };
        let is = |kind: &str| kinds.contains(&kind);
        let mut elements = node.children().filter(Node::is_element).peekable();
        if elements.peek().is_some() {
            let items = elements.clone().all(|child| child.tag_name().name() == "item");
            if is("array") || (kinds.is_empty() && items) {
                let item = schema.and_then(|schema| schema.get("items"));
                return Some(elements.map(|child| self.value(child, item).unwrap_or_default()).collect());
            }
            if is("string") && !is("object") {
                let text = inner(node);
                steps::add(text.len());
                return Some(Value::String(text));
            }
            return Some(self.object(node, schema.unwrap_or(&Value::Null)));
        }
        let text = node.children().filter(Node::is_text).filter_map(|child| child.text()).collect::<String>();
        steps::add(text.len());
        let text = text.trim();
        if text.is_empty() {
            return match () {
                () if is("array") => Some(Value::Array(Vec::new())),
                () if is("object") => Some(Value::Object(Map::new())),
                () if is("null") => Some(Value::Null),
                () if is("string") => Some("".into()),
                () => None,
            };
        }
        let scalar = || -> Option<Value> {
            if is("boolean") {
                let text = text.to_ascii_lowercase();
                if ["true", "1", "yes"].contains(&text.as_str()) {
                    return Some(true.into());
                }
                if ["false", "0", "no"].contains(&text.as_str()) {
                    return Some(false.into());
                }
            }
            if (is("integer") || is("number"))
                && let Ok(number) = text.parse::<Number>()
            {
                return Some(number.into());
            }
            (is("null") && text == "null").then_some(Value::Null)
        };
        if is("array") {
            let item = schema.and_then(|schema| schema.get("items"));
            return Some(vec![leaf(text, item, root)].into());
        }
        Some(scalar().unwrap_or_else(|| choice(text, schema)))
    }
}

/// A text where a list of items was expected: its one item.
fn leaf(text: &str, item: Option<&Value>, root: &Value) -> Value {
    let kind = item.map(|item| resolved(item, root)).and_then(|item| item.get("type")?.as_str());
    let read = if matches!(kind, Some("integer" | "number")) {
        text.parse::<Number>().ok().map(Value::Number)
    } else if kind == Some("boolean") {
        text.parse::<bool>().ok().map(Value::Bool)
    } else {
        None
    };
    read.unwrap_or_else(|| text.into())
}

/// A text that equals a choice of another type when written out is that choice.
fn choice(text: &str, schema: Option<&Value>) -> Value {
    let choices = schema.and_then(|schema| schema.get("enum")?.as_array()).into_iter().flatten();
    let written = |choice: &Value| choice.to_string();
    let same = |choice: &&Value| !choice.is_string() && written(choice) == text;
    choices
        .chain(schema.and_then(|schema| schema.get("const")))
        .find(same)
        .cloned()
        .unwrap_or_else(|| text.into())
}

/// The markup within an element, verbatim.
fn inner(node: Node<'_, '_>) -> String {
    let source = node.document().input_text();
    let start = node.first_child().map_or(0, |child| child.range().start);
    let end = node.last_child().map_or(0, |child| child.range().end);
    source.get(start..end).unwrap_or_default().trim().to_owned()
}

/// The schema behind a local reference, and behind an `anyOf` or `oneOf` whose other choice is null.
fn resolved<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let mut schema = schema;
    for _ in 0..MOST_FOLLOWED {
        if let Some(target) = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| root.pointer(reference.strip_prefix('#')?))
        {
            schema = target;
            continue;
        }
        let choices = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(*key)?.as_array());
        let real: Vec<_> = choices
            .into_iter()
            .flatten()
            .filter(|choice| choice.get("type") != Some(&"null".into()))
            .collect();
        let [only] = real.as_slice() else { break };
        schema = only;
    }
    schema
}

#[cfg(test)]
mod tests;
