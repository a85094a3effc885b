//! Writes `src/providers.yaml` as JSON, which a program reads at its start in microseconds.
//!
//! The file's shape is checked where it is read: `src/providers/tests.rs`, and the YAML reader of `windlass-agent-file`.

use std::error::Error;
use std::fs;
use std::path::Path;

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

const DATA: &str = "src/providers.yaml";

/// A list or map that has not ended.
enum Open {
    List(Vec<Value>),
    Map(Map<String, Value>, Option<String>),
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={DATA}");
    println!("cargo::rerun-if-changed=build.rs");
    let json = json(&fs::read_to_string(DATA)?)?;
    let out = std::env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("providers.json"), serde_json::to_vec(&json)?)?;
    Ok(())
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the parser's enum is non-exhaustive")]
fn json(text: &str) -> Result<Value, Box<dyn Error>> {
    let mut open: Vec<Open> = Vec::new();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| format!("{DATA}: {error}"))?;
        let ended = match event {
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Map::new(), None));
                continue;
            }
            Event::Scalar(text, style, ..) => match open.last_mut() {
                Some(Open::Map(_, key @ None)) => {
                    *key = Some(text.into_owned());
                    continue;
                }
                _ => scalar(&text, matches!(style, ScalarStyle::Plain)),
            },
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items)) => Value::Array(items),
                Some(Open::Map(entries, _)) => Value::Object(entries),
                None => continue,
            },
            Event::Alias(_) => return Err(format!("{DATA}:{}: no aliases here", span.start.line()).into()),
            _ => continue,
        };
        match open.last_mut() {
            Some(Open::List(items)) => items.push(ended),
            Some(Open::Map(entries, key)) => {
                let key = key.take().unwrap_or_default();
                if entries.insert(key.clone(), ended).is_some() {
                    return Err(format!("{DATA}: `{key}` stands twice in one map").into());
                }
            }
            None => return Ok(ended),
        }
    }
    Err(format!("{DATA} is empty").into())
}

fn scalar(text: &str, plain: bool) -> Value {
    match text {
        "" | "~" | "null" if plain => Value::Null,
        "true" if plain => Value::Bool(true),
        "false" if plain => Value::Bool(false),
        _ if plain && text.starts_with(|first: char| first.is_ascii_digit() || first == '-') => {
            let whole = text.parse::<i64>().ok().map(Number::from);
            let number = whole.or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64));
            number.map_or_else(|| text.into(), Value::Number)
        }
        _ => text.into(),
    }
}
