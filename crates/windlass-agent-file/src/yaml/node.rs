//! The tree: values with their places.

use serde_json::{Map, Number, Value};

/// A place in a text: line and column, both counted from 1, the column in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

/// A key of a map with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key's text, as it is written: `2` and `"2"` are the same key.
    pub name: String,
    /// Its line, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub value: NodeValue,
    /// The line where it begins, from 1.
    pub line: usize,
    /// The column where it begins, from 1.
    pub column: usize,
    /// Whether it is a text in literal style (`|`): then each of its lines stands in a line of the document, from
    /// `line` on.
    pub literal: bool,
}

/// Value of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeValue {
    /// Nothing: `null`, `~` or an empty place.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number between -2⁶³ and 2⁶⁴ - 1.
    Int(i128),
    /// Any other finite number.
    Float(f64),
    /// A text.
    String(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the document; no key twice.
    Map(Vec<(Key, Node)>),
}

impl Key {
    /// Position of the node.
    pub fn place(&self) -> Place {
        Place { line: self.line, column: self.column }
    }
}

impl Node {
    /// A value at a place.
    pub fn new(value: NodeValue, place: Place) -> Self {
        Self { value, line: place.line, column: place.column, literal: false }
    }

    /// A value that stands in no text: its place is line 0.
    pub fn from_json(value: &Value) -> Self {
        let value = match value {
            Value::Null => NodeValue::Null,
            Value::Bool(flag) => NodeValue::Bool(*flag),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => NodeValue::Int(number.into()),
                (_, Some(number)) => NodeValue::Int(number.into()),
                _ => NodeValue::Float(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => NodeValue::String(text.clone()),
            Value::Array(items) => NodeValue::List(items.iter().map(Self::from_json).collect()),
            Value::Object(map) => {
                let key = |name: &String| Key { name: name.clone(), line: 0, column: 0 };
                NodeValue::Map(map.iter().map(|(name, value)| (key(name), Self::from_json(value))).collect())
            }
        };
        Self::new(value, Place::default())
    }

    /// Position of its start.
    pub fn place(&self) -> Place {
        Place { line: self.line, column: self.column }
    }

    /// The value at a dotted path below this node.
    pub fn at(&self, path: &str) -> Option<&Self> {
        let mut steps = path.split('.').filter(|step| !step.is_empty());
        steps.try_fold(self, |node, step| {
            if let NodeValue::List(items) = &node.value {
                items.get(step.parse::<usize>().ok()?)
            } else {
                node.get(step)
            }
        })
    }

    /// Takes the value at a dotted path of keys out of its map.
    pub fn take(&mut self, path: &str) -> Option<Self> {
        let (step, rest) = path.split_once('.').map_or((path, None), |(step, rest)| (step, Some(rest)));
        let NodeValue::Map(entries) = &mut self.value else { return None };
        let at = entries.iter().position(|(key, _)| key.name == step)?;
        match rest {
            Some(rest) => entries.get_mut(at)?.1.take(rest),
            None => Some(entries.remove(at).1),
        }
    }

    /// The value of that key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|(_, value)| value)
    }

    /// The key of that name with its value, if this is a map that has it.
    pub fn entry(&self, key: &str) -> Option<(&Key, &Node)> {
        if let NodeValue::Map(entries) = &self.value {
            entries.iter().find(|(name, _)| name.name == key).map(|(name, value)| (name, value))
        } else {
            None
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let NodeValue::String(text) = &self.value { Some(text) } else { None }
    }

    /// Whether there is nothing here.
    pub fn is_null(&self) -> bool {
        matches!(self.value, NodeValue::Null)
    }

    /// The place of a dotted path below this node (`limits.model_calls`, list places as numbers), or of the deepest
    /// node on the way. The place of a map's entry is its key's.
    pub fn locate(&self, path: &str) -> Place {
        self.follow(path.split('.').filter(|step| !step.is_empty()).map(str::to_owned))
    }

    /// The same for a JSON Pointer.
    pub fn locate_pointer(&self, pointer: &str) -> Place {
        self.follow(pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")))
    }

    fn follow(&self, steps: impl Iterator<Item = String>) -> Place {
        let mut place = self.place();
        let mut node = self;
        for step in steps {
            let Some((found, value)) = node.step(&step) else { break };
            (place, node) = (found, value);
        }
        place
    }

    /// The value under a key or a position, with the place of the key or the item; `None` if there is none.
    pub fn step(&self, step: &str) -> Option<(Place, &Self)> {
        match &self.value {
            NodeValue::Map(_) => self.entry(step).map(|(key, value)| (key.place(), value)),
            NodeValue::List(items) => {
                step.parse::<usize>().ok().and_then(|at| items.get(at)).map(|item| (item.place(), item))
            }
            NodeValue::Null
            | NodeValue::Bool(_)
            | NodeValue::Int(_)
            | NodeValue::Float(_)
            | NodeValue::String(_) => None,
        }
    }

    /// The value as JSON; maps keep their order.
    pub fn to_json(&self) -> Value {
        match &self.value {
            NodeValue::Null => Value::Null,
            NodeValue::Bool(flag) => Value::Bool(*flag),
            NodeValue::Int(number) => int_to_json(*number),
            NodeValue::Float(number) => Number::from_f64(*number).map_or(Value::Null, Value::Number),
            NodeValue::String(text) => Value::String(text.clone()),
            NodeValue::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            NodeValue::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| (key.name.clone(), value.to_json()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// Description for messages: small values in full, large ones by their kind.
    pub fn describe(&self) -> String {
        const SHOWN_CHARS: usize = 40;
        match &self.value {
            NodeValue::Null => "nothing".to_owned(),
            NodeValue::Bool(flag) => flag.to_string(),
            NodeValue::Int(number) => number.to_string(),
            NodeValue::Float(number) => number.to_string(),
            NodeValue::String(text) if text.chars().count() <= SHOWN_CHARS => format!("{text:?}"),
            NodeValue::String(text) => {
                let prefix: String = text.chars().take(SHOWN_CHARS).collect();
                format!("{prefix:?}…")
            }
            NodeValue::List(_) => "a list".to_owned(),
            NodeValue::Map(_) => "a map".to_owned(),
        }
    }

    /// Kind of the value, without the value: for settings that may hold secrets.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            NodeValue::Null => "nothing",
            NodeValue::Bool(_) => "true or false",
            NodeValue::Int(_) | NodeValue::Float(_) => "a number",
            NodeValue::String(_) => "a text",
            NodeValue::List(_) => "a list",
            NodeValue::Map(_) => "a map",
        }
    }
}

fn int_to_json(number: i128) -> Value {
    if let Ok(number) = i64::try_from(number) {
        Value::from(number)
    } else if let Ok(number) = u64::try_from(number) {
        Value::from(number)
    } else {
        // The reader makes no such number.
        Number::from_f64(number as f64).map_or(Value::Null, Value::Number)
    }
}
