//! Resolution of a schema's references. They never leave the schema.

use std::collections::BTreeMap;

use jsonschema::{Uri, uri};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::fault::SchemaFault;
use crate::keywords::{DATA, NAMED};

/// The address of a schema without an `$id`.
const NO_ID: &str = "json-schema:///";
/// The longest address of a schema, in bytes: each one is resolved against the one around it.
const MAX_ADDRESS_BYTES: usize = 2_048;

/// A schema with the targets of its references.
#[derive(Debug)]
pub(crate) struct Document<'s> {
    pub(crate) root: &'s Value,
    /// The root, and each schema within it that has an address.
    resources: Vec<Resource<'s>>,
    by_address: BTreeMap<String, usize>,
    /// By resource and name.
    anchors: BTreeMap<(usize, &'s str), &'s Value>,
    /// Number of dynamic anchors per name.
    dynamic: BTreeMap<&'s str, usize>,
}

#[derive(Debug)]
struct Resource<'s> {
    base: Uri<String>,
    value: &'s Value,
}

/// A subschema, and the resource that its references start from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'s> {
    pub(crate) value: &'s Value,
    pub(crate) resource: usize,
}

impl<'s> Document<'s> {
    /// Reads a schema whose size and depth are within bounds.
    ///
    /// # Errors
    /// An `$id` is no address.
    pub(crate) fn new(root: &'s Value) -> Result<Self, SchemaFault> {
        let mut document = Self {
            root,
            resources: Vec::new(),
            by_address: BTreeMap::new(),
            anchors: BTreeMap::new(),
            dynamic: BTreeMap::new(),
        };
        let id = root.get("$id").and_then(Value::as_str).unwrap_or(NO_ID);
        let base = address(id, uri::from_str)?;
        document.add(base, root);
        document.scan(root, 0, false)?;
        Ok(document)
    }

    /// The root.
    pub(crate) fn start(&self) -> Place<'s> {
        Place { value: self.root, resource: 0 }
    }

    /// The resource that references within a schema start from: itself if it has an address.
    pub(crate) fn within(&self, schema: &Map<String, Value>, outer: usize) -> usize {
        let id = schema.get("$id").and_then(Value::as_str);
        id.and_then(|id| self.at(outer, id)).unwrap_or(outer)
    }

    /// The subschema that a reference leads to.
    ///
    /// # Errors
    /// There is none within the schema, or more than one.
    pub(crate) fn target(
        &self,
        reference: &str,
        from: usize,
        keyword: &str,
    ) -> Result<Place<'s>, SchemaFault> {
        let missing = || SchemaFault::Reference { reference: reference.to_owned() };
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if address.is_empty() { Some(from) } else { self.at(from, address) };
        let resource = resource.ok_or_else(missing)?;
        let value = self.resources.get(resource).map(|resource| resource.value).ok_or_else(missing)?;
        let fragment = percent_decode_str(fragment).decode_utf8().map_err(|_| missing())?;
        if fragment.is_empty() {
            return Ok(Place { value, resource });
        }
        if fragment.starts_with('/') {
            return self.pointed(value, &fragment, resource).ok_or_else(missing);
        }
        if keyword == "$dynamicRef" && self.dynamic.get(&*fragment).is_some_and(|many| *many > 1) {
            return Err(SchemaFault::Dynamic { reference: reference.to_owned() });
        }
        let value = *self.anchors.get(&(resource, &*fragment)).ok_or_else(missing)?;
        Ok(Place { value, resource })
    }

    /// The resource of an address.
    fn at(&self, from: usize, reference: &str) -> Option<usize> {
        if reference.len() > MAX_ADDRESS_BYTES {
            return None;
        }
        let from = self.resources.get(from)?.base.borrow();
        let address = uri::resolve_against(&from, reference).ok()?;
        self.by_address.get(without_fragment(&address)).copied()
    }

    fn add(&mut self, base: Uri<String>, value: &'s Value) -> usize {
        let at = self.resources.len();
        self.by_address.entry(without_fragment(&base).to_owned()).or_insert(at);
        self.resources.push(Resource { base, value });
        at
    }

    /// Resolves a JSON Pointer. Schemas with an `$id` on the way become the base of their references.
    fn pointed(&self, from: &'s Value, pointer: &str, mut resource: usize) -> Option<Place<'s>> {
        let mut value = from;
        for token in pointer.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            value = match value {
                Value::Object(map) => map.get(&token)?,
                Value::Array(items) => items.get(token.parse::<usize>().ok()?)?,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
            };
            if let Value::Object(map) = value {
                resource = self.within(map, resource);
            }
        }
        Some(Place { value, resource })
    }

    /// Collects addresses and anchors. `names`: the keys are names, not keywords.
    fn scan(&mut self, value: &'s Value, resource: usize, names: bool) -> Result<(), SchemaFault> {
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.scan(item, resource, false)),
            Value::Object(map) if names => {
                map.values().try_for_each(|value| self.scan(value, resource, false))
            }
            Value::Object(map) => {
                let resource = self.enter(value, map, resource)?;
                let mut inner = map.iter().filter(|(key, _)| !DATA.contains(&key.as_str()));
                inner.try_for_each(|(key, value)| self.scan(value, resource, NAMED.contains(&key.as_str())))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn enter(
        &mut self,
        value: &'s Value,
        map: &'s Map<String, Value>,
        mut resource: usize,
    ) -> Result<usize, SchemaFault> {
        let is_root = std::ptr::eq(value, self.root);
        let text = |key: &str| map.get(key).and_then(Value::as_str);
        if let Some(id) = text("$id").filter(|_| !is_root) {
            let outer = self.resources.get(resource).map(|outer| outer.base.clone());
            let base = address(id, |id| match &outer {
                Some(outer) => uri::resolve_against(&outer.borrow(), id),
                None => uri::from_str(id),
            })?;
            resource = self.add(base, value);
        }
        for key in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = text(key) {
                self.anchors.entry((resource, name)).or_insert(value);
            }
        }
        if let Some(name) = text("$dynamicAnchor") {
            *self.dynamic.entry(name).or_default() += 1;
        }
        Ok(resource)
    }
}

fn address(
    id: &str,
    read: impl Fn(&str) -> Result<Uri<String>, jsonschema::ReferencingError>,
) -> Result<Uri<String>, SchemaFault> {
    if id.len() > MAX_ADDRESS_BYTES {
        return Err(SchemaFault::Invalid(format!("an `$id` is longer than {MAX_ADDRESS_BYTES} bytes")));
    }
    read(id).map_err(|error| SchemaFault::Invalid(error.to_string()))
}

fn without_fragment(uri: &Uri<String>) -> &str {
    let text = uri.as_str();
    text.split_once('#').map_or(text, |(before, _)| before)
}

/// The address of a value in memory, as the key of a map.
pub(crate) fn place_of(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// The JSON Pointer of a value within another, by its place in memory.
pub(crate) fn pointer_to(root: &Value, wanted: usize) -> Option<String> {
    if place_of(root) == wanted {
        return Some(String::new());
    }
    match root {
        Value::Object(map) => map.iter().find_map(|(key, value)| {
            let pointer = pointer_to(value, wanted)?;
            Some(format!("/{}{pointer}", key.replace('~', "~0").replace('/', "~1")))
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(place, value)| Some(format!("/{place}{}", pointer_to(value, wanted)?))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
