//! Values between Python and JSON.
//!
//! JSON has fewer types. What has a usual form in it takes that form: tuples, sets and the like are arrays, dates are ISO 8601
//! texts, objects of classes are maps of their attributes, and keys of dicts that are numbers, booleans or `None` are texts. What
//! has none (bytes, functions, integers beyond 64 bits, NaN) is refused in arguments of host calls, and its `repr` stands for it
//! in a final value, which is read by a model.

use std::fmt::Write as _;

use monty_types::{DictPairs, MontyDate, MontyObject};
use num_bigint::BigInt;
use serde_json::{Map, Number, Value};

/// Maximum nesting of a value. `serde_json` reads 127 levels, of which frames take some.
const MOST_DEPTH: usize = 100;

/// The treatment of a value that JSON cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    /// It is an error.
    Refused,
    /// Its `repr` stands for it.
    Repr,
}

/// The JSON of a Python value.
///
/// # Errors
/// It has a part that JSON cannot hold, and such parts are refused; or it is nested too deeply.
pub(super) fn to_json(value: MontyObject, foreign: Foreign) -> Result<Value, String> {
    convert(value, foreign, MOST_DEPTH)
}

fn convert(value: MontyObject, foreign: Foreign, depth: usize) -> Result<Value, String> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(format!("it is nested more than {MOST_DEPTH} levels deep"));
    };
    let array = |items: Vec<MontyObject>| {
        items
            .into_iter()
            .map(|item| convert(item, foreign, depth))
            .collect::<Result<_, _>>()
            .map(Value::Array)
    };
    match value {
        MontyObject::None => Ok(Value::Null),
        MontyObject::Bool(value) => Ok(Value::Bool(value)),
        MontyObject::Int(value) => Ok(value.into()),
        MontyObject::String(text) | MontyObject::Path(text) => Ok(Value::String(text)),
        MontyObject::List(items)
        | MontyObject::Tuple(items)
        | MontyObject::Set(items)
        | MontyObject::FrozenSet(items)
        | MontyObject::NamedTuple { values: items, .. } => array(items),
        MontyObject::Dict(pairs) => object(pairs, foreign, depth),
        MontyObject::ClassInstance(instance) => object(instance.attrs, foreign, depth),
        MontyObject::Float(number) if number.is_finite() => {
            Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
        }
        MontyObject::BigInt(number) if u64::try_from(&number).is_ok() => {
            Ok(u64::try_from(&number).map_or(Value::Null, Value::from))
        }
        MontyObject::Date(date) => Ok(Value::String(iso_date(&date))),
        MontyObject::DateTime(at) => {
            let date = iso_date(&MontyDate { year: at.year, month: at.month, day: at.day });
            let time = iso_time([at.hour, at.minute, at.second], at.microsecond, at.offset_seconds);
            Ok(Value::String(format!("{date}T{time}")))
        }
        MontyObject::Time(at) => {
            Ok(Value::String(iso_time([at.hour, at.minute, at.second], at.microsecond, at.offset_seconds)))
        }
        other @ (MontyObject::Float(_)
        | MontyObject::BigInt(_)
        | MontyObject::Ellipsis
        | MontyObject::NotImplemented
        | MontyObject::Bytes(_)
        | MontyObject::TimeDelta(_)
        | MontyObject::TimeZone(_)
        | MontyObject::Exception { .. }
        | MontyObject::Type(_)
        | MontyObject::BuiltinFunction(_)
        | MontyObject::FileHandle(_)
        | MontyObject::Function { .. }
        | MontyObject::Repr(_)
        | MontyObject::Cycle(..)) => match foreign {
            Foreign::Repr => Ok(Value::String(repr(&other))),
            Foreign::Refused => Err(format!("{} {}", repr(&other), advice(&other))),
        },
    }
}

fn object(pairs: DictPairs, foreign: Foreign, depth: usize) -> Result<Value, String> {
    let mut map = Map::with_capacity(pairs.len());
    for (key, value) in pairs {
        map.insert(key_of(key, foreign)?, convert(value, foreign, depth)?);
    }
    Ok(Value::Object(map))
}

/// A key of a dict as Python's `json.dumps` writes it.
fn key_of(key: MontyObject, foreign: Foreign) -> Result<String, String> {
    match convert(key, foreign, 1) {
        Ok(Value::String(key)) => Ok(key),
        Ok(key @ (Value::Null | Value::Bool(_) | Value::Number(_))) => Ok(key.to_string()),
        Ok(Value::Array(_) | Value::Object(_)) | Err(_) => match foreign {
            Foreign::Refused => {
                Err("a dict with keys that are no texts or numbers cannot be sent".to_owned())
            }
            Foreign::Repr => Ok("<key>".to_owned()),
        },
    }
}

/// The `repr` of a value, or its beginning.
fn repr(value: &MontyObject) -> String {
    /// Maximum number of characters.
    const MOST: usize = 200;
    let text = if let MontyObject::Repr(text) | MontyObject::Cycle(_, text) = value {
        text.clone()
    } else {
        value.py_repr()
    };
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Advice on a value that JSON cannot hold.
fn advice(value: &MontyObject) -> &'static str {
    if let MontyObject::Bytes(_) = value {
        "is bytes, which cannot be sent: decode it to a str first"
    } else if let MontyObject::BigInt(_) = value {
        "has more than 64 bits, which cannot be sent: pass str(number)"
    } else if let MontyObject::Float(_) = value {
        "is no JSON number: pass None or a text"
    } else {
        "cannot be sent: pass texts, numbers, booleans, None, lists and dicts"
    }
}

fn iso_date(date: &MontyDate) -> String {
    format!("{:04}-{:02}-{:02}", date.year, date.month, date.day)
}

fn iso_time([hour, minute, second]: [u8; 3], microsecond: u32, offset: Option<i32>) -> String {
    let mut text = format!("{hour:02}:{minute:02}:{second:02}");
    if microsecond != 0 {
        let _ = write!(text, ".{microsecond:06}");
    }
    if let Some(offset) = offset {
        let (sign, seconds) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs());
        let _ = write!(text, "{sign}{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
    }
    text
}

/// The Python value of a JSON value.
pub(super) fn from_json(value: Value) -> MontyObject {
    match value {
        Value::Null => MontyObject::None,
        Value::Bool(value) => MontyObject::Bool(value),
        Value::Number(number) => {
            if let Some(whole) = number.as_i64() {
                MontyObject::Int(whole)
            } else if let Some(whole) = number.as_u64() {
                MontyObject::BigInt(BigInt::from(whole))
            } else {
                MontyObject::Float(number.as_f64().unwrap_or(f64::NAN))
            }
        }
        Value::String(text) => MontyObject::String(text),
        Value::Array(items) => MontyObject::List(items.into_iter().map(from_json).collect()),
        Value::Object(map) => {
            let pairs: Vec<_> =
                map.into_iter().map(|(key, value)| (MontyObject::String(key), from_json(value))).collect();
            MontyObject::dict(pairs)
        }
    }
}
