//! The schema to compile: references become anchors, so that it has one base and one version; unchecked patterns are removed,
//! together with keywords that would reject values because of that.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::document::{Document, place_of};
use crate::graph::{Found, Graph};
use crate::keywords::{DATA, NAMED, REFERENCES};

/// Rewrites the schema for compilation.
pub(crate) fn rewritten(document: &Document<'_>, graph: &Graph, found: &Found<'_>) -> Value {
    let place = |node: usize| found.values.get(node).map(|value| place_of(value));
    let refused = found.refused.iter().filter_map(|(node, pattern, _)| Some((place(*node)?, *pattern)));
    let lax = graph.leading_to(found.refused.iter().map(|(node, ..)| *node));
    let mut anchors = BTreeMap::new();
    for target in found.targets.values().filter(|target| target.is_object()) {
        let number = anchors.len();
        anchors.entry(place_of(target)).or_insert(number);
    }
    let rewriter = Rewriter {
        root: place_of(document.root),
        found,
        refused: refused.collect(),
        lax: lax.into_iter().filter_map(place).collect(),
        anchors,
    };
    rewriter.schema(document.root)
}

struct Rewriter<'f, 's> {
    root: usize,
    found: &'f Found<'s>,
    /// Patterns that go unchecked, by the place of their subschema.
    refused: BTreeSet<(usize, &'s str)>,
    /// Subschemas that take more than they say, because such a pattern is within them.
    lax: BTreeSet<usize>,
    anchors: BTreeMap<usize, usize>,
}

impl Rewriter<'_, '_> {
    fn schema(&self, value: &Value) -> Value {
        let map = match value {
            Value::Object(map) => map,
            Value::Array(items) => return items.iter().map(|item| self.schema(item)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return value.clone(),
        };
        let place = place_of(value);
        let mut out = Map::new();
        if let Some(number) = self.anchors.get(&place) {
            out.insert("$anchor".to_owned(), anchor(*number).into());
        }
        for (key, value) in map.iter().filter(|(key, _)| !self.is_left_out(key, place, map)) {
            let key = if key == "oneOf" && self.is_lax_in(value) { "anyOf" } else { key };
            let value = if key == "patternProperties" {
                self.patterns(place, value)
            } else if DATA.contains(&key) {
                value.clone()
            } else if NAMED.contains(&key) {
                self.named(value)
            } else {
                self.schema(value)
            };
            out.insert(key.to_owned(), value);
        }
        self.references(place, &mut out);
        out.into()
    }

    /// Whether a keyword is not compiled. What takes less when its schemas take more goes with an unchecked pattern.
    fn is_left_out(&self, key: &str, place: usize, map: &Map<String, Value>) -> bool {
        let lax = |key: &str| map.get(key).is_some_and(|value| self.is_lax_in(value));
        match key {
            "pattern" => map
                .get(key)
                .and_then(Value::as_str)
                .is_some_and(|pattern| self.refused.contains(&(place, pattern))),
            "not" => lax("not"),
            "if" | "then" | "else" => lax("if"),
            "oneOf" => lax("oneOf") && map.contains_key("anyOf"),
            "maxContains" => lax("contains"),
            "unevaluatedProperties" | "unevaluatedItems" => self.lax.contains(&place),
            "$schema" | "$id" => place != self.root,
            "$anchor" | "$dynamicAnchor" | "$recursiveAnchor" => true,
            _ => REFERENCES.contains(&key),
        }
    }

    fn is_lax_in(&self, value: &Value) -> bool {
        let Value::Array(items) = value else { return self.lax.contains(&place_of(value)) };
        items.iter().any(|item| self.lax.contains(&place_of(item)))
    }

    fn named(&self, value: &Value) -> Value {
        let Value::Object(map) = value else { return value.clone() };
        map.iter().map(|(name, value)| (name.clone(), self.schema(value))).collect::<Map<_, _>>().into()
    }

    /// Removes unchecked name patterns: any name and value is then valid.
    fn patterns(&self, place: usize, value: &Value) -> Value {
        let Value::Object(map) = value else { return value.clone() };
        let mut out = Map::new();
        for (pattern, value) in map {
            if self.refused.contains(&(place, pattern.as_str())) {
                out.insert(String::new(), true.into());
            } else {
                out.insert(pattern.clone(), self.schema(value));
            }
        }
        out.into()
    }

    /// The references of a subschema, as references to anchors.
    fn references(&self, place: usize, out: &mut Map<String, Value>) {
        let mut more = Vec::new();
        for keyword in REFERENCES {
            let Some(target) = self.found.targets.get(&(place, keyword)) else { continue };
            match self.anchors.get(&place_of(target)) {
                Some(number) if !out.contains_key("$ref") => {
                    out.insert("$ref".to_owned(), format!("#{}", anchor(*number)).into());
                }
                Some(number) => more.push(serde_json::json!({ "$ref": format!("#{}", anchor(*number)) })),
                // `true` or `false`.
                None => more.push((*target).clone()),
            }
        }
        if more.is_empty() {
            return;
        }
        if let Value::Array(all) = out.entry("allOf").or_insert_with(|| Value::Array(Vec::new())) {
            all.append(&mut more);
        }
    }
}

fn anchor(number: usize) -> String {
    format!("windlass-{number}")
}
