//! Owns how a wire writes the options of a model call, which it has no place for, and what of the body is a user's own (`extra`).

use serde_json::{Map, Value};
use windlass_core::model::{ModelChoice, ModelOption};

use super::Dialect;
use super::json::{field, json_value};

/// How a wire takes options.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The places of the options that it takes: a key of the body, or of an object in it (`generationConfig.seed`).
    pub places: &'static [(ModelOption, &'static str)],
    /// Every other key that it writes, in the same form: none of them may stand in [`extra`](windlass_core::model::ModelOptions::extra).
    pub written: &'static [&'static str],
}

impl Options {
    /// The place of an option at a server; `None`: it has none.
    fn place(&self, dialect: &Dialect, option: ModelOption) -> Option<&'static str> {
        match option {
            ModelOption::TopK if dialect.quirks.no_top_k => None,
            ModelOption::Seed if dialect.quirks.random_seed => Some("random_seed"),
            _ => self.places.iter().find(|(known, _)| *known == option).map(|(_, place)| *place),
        }
    }

    /// Writes the options of one object of the body, each with a comma in front; `None`: those of the body itself.
    pub(crate) fn write(
        &self,
        out: &mut Vec<u8>,
        dialect: &Dialect,
        object: Option<&str>,
        model: &ModelChoice,
    ) {
        let Some(options) = &model.options else { return };
        for option in ModelOption::ALL {
            let Some(place) = self.place(dialect, *option) else { continue };
            let (within, key) =
                place.split_once('.').map_or((None, place), |(within, key)| (Some(within), key));
            if let Some(value) = options.get(*option).filter(|_| within == object) {
                field(out, key);
                json_value(out, &value);
            }
        }
    }

    /// Why the options of a model cannot be sent; `None`: they can.
    pub(crate) fn refusal(&self, dialect: &Dialect, model: &ModelChoice) -> Option<String> {
        let options = model.options.as_deref()?;
        let mut set = ModelOption::ALL.iter().filter(|option| options.get(**option).is_some());
        if let Some(option) = set.find(|option| self.place(dialect, **option).is_none()) {
            return Some(format!("`{}` has no place in its API", option.key()));
        }
        let path = self.taken(dialect, &mut Vec::new(), &options.extra)?;
        Some(format!("`extra` sets `{path}`, which Windlass writes itself"))
    }

    /// The first path of `extra` that the wire writes itself.
    fn taken<'e>(
        &self,
        dialect: &Dialect,
        keys: &mut Vec<&'e str>,
        extra: &'e Map<String, Value>,
    ) -> Option<String> {
        for (key, value) in extra {
            keys.push(key);
            let path = keys.join(".");
            let places = ModelOption::ALL.iter().filter_map(|option| self.place(dialect, *option));
            let is_within =
                |known: &str| known.strip_prefix(&*path).is_some_and(|rest| rest.starts_with('.'));
            let is_taken = |known: &str| known == path || (is_within(known) && !value.is_object());
            if self.written.iter().copied().chain(places).any(is_taken) {
                return Some(path);
            }
            if let Value::Object(within) = value
                && let Some(path) = self.taken(dialect, keys, within)
            {
                return Some(path);
            }
            keys.pop();
        }
        None
    }
}

/// Merges a user's own parts into the end of a body: everything behind the last key that is never a user's, with a comma in front
/// and the closing brace.
pub(crate) fn with_extra(end: &mut Vec<u8>, model: &ModelChoice) {
    let Some(options) = model.options.as_deref().filter(|options| !options.extra.is_empty()) else { return };
    let own = end.strip_prefix(b",").unwrap_or(end);
    let Ok(mut whole) = serde_json::from_slice::<Map<String, Value>>(&[b"{", own].concat()) else { return };
    merge(&mut whole, &options.extra);
    end.clear();
    json_value(end, &whole);
    if let Some(first) = end.first_mut() {
        *first = b',';
    }
}

fn merge(into: &mut Map<String, Value>, extra: &Map<String, Value>) {
    for (key, value) in extra {
        match (into.get_mut(key), value) {
            (Some(Value::Object(into)), Value::Object(extra)) => merge(into, extra),
            _ => drop(into.insert(key.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests;
