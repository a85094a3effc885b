//! The forms of query files, known by their endings.

use std::path::Path;

use serde_json::{Map, Value};
use windlass_core::text::{did_you_mean, nearest};

use super::Query;

/// Names of the column or key that holds the query, whatever their case.
const QUERY: [&str; 4] = ["query", "input", "query_text", "question"];
/// Names of the column or key that holds its id.
const ID: [&str; 2] = ["id", "query_id"];
/// Names of the list of queries in a JSON object.
const LISTS: [&str; 5] = ["queries", "inputs", "questions", "items", "data"];
/// The bytes that may stand between the columns of a table, the most usual first.
const BETWEEN: [u8; 4] = *b",;\t|";

/// A form of query files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Lines,
    JsonLines,
    Json,
    /// With what stands between columns, if the ending says so.
    Table(Option<u8>),
}

impl Form {
    /// The form that a file's ending stands for.
    ///
    /// # Errors
    /// None is known by it, in words.
    pub(super) fn of(path: &Path) -> Result<Self, String> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            None | Some("txt" | "text") => Ok(Self::Lines),
            Some("jsonl" | "ndjson" | "jsonlines") => Ok(Self::JsonLines),
            Some("json") => Ok(Self::Json),
            Some("csv") => Ok(Self::Table(None)),
            Some("tsv" | "tab") => Ok(Self::Table(Some(b'\t'))),
            Some(other) => Err(format!(
                "`.{other}` is no form of queries; known are .txt (a query a line), .csv, .tsv, .jsonl and .json"
            )),
        }
    }

    /// The queries of a text.
    ///
    /// # Errors
    /// It has another form, in words.
    pub(super) fn queries(self, text: &str) -> Result<Vec<Query>, String> {
        match self {
            Self::Lines => from_lines(text),
            Self::JsonLines => from_json_lines(text),
            Self::Json => from_json(text),
            Self::Table(between) => from_table(text, between),
        }
    }
}

fn named(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| name.trim().eq_ignore_ascii_case(known))
}

/// Lines of text. A table or JSON under such a name is refused: its lines would be asked, and paid, as they stand.
fn from_lines(text: &str) -> Result<Vec<Query>, String> {
    let lines = || text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    if let Some((first, _)) = lines().next() {
        let is_header = BETWEEN.iter().any(|between| {
            let mut columns = first.split(char::from(*between));
            columns.any(|column| named(column.trim_matches('"'), &QUERY))
        });
        if is_header {
            return Err("its first line is the header of a table: name it .csv or .tsv".to_owned());
        }
        let first_value = serde_json::from_str::<Value>(first);
        if matches!(first_value, Ok(Value::Object(_))) {
            return Err("its lines are JSON: name it .jsonl".to_owned());
        }
        if first.trim_start().starts_with(['{', '[']) && serde_json::from_str::<Value>(text).is_ok() {
            return Err("it is JSON: name it .json".to_owned());
        }
    }
    Ok(lines()
        .map(|(line, at): (&str, u64)| Query { key: at.to_string(), input: line.trim().to_owned() })
        .collect())
}

fn from_json_lines(text: &str) -> Result<Vec<Query>, String> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let query = |(line, at): (&str, u64)| {
        let value = serde_json::from_str(line).map_err(|error| format!("line {at}: {error}"))?;
        from_value(value, at).map_err(|fault| format!("line {at}: {fault}"))
    };
    lines.map(query).collect()
}

/// A list of queries, or an object that holds one.
fn from_json(text: &str) -> Result<Vec<Query>, String> {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        // Many programs name JSON lines so.
        Err(error) => match from_json_lines(text) {
            Ok(queries) => return Ok(queries),
            Err(_) => return Err(error.to_string()),
        },
    };
    let items = match value {
        Value::Array(items) => items,
        Value::Object(mut map) => {
            let list = map.keys().find(|key| named(key, &LISTS)).cloned();
            match list.and_then(|key| map.remove(&key)) {
                Some(Value::Array(items)) => items,
                _ => vec![Value::Object(map)],
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Err("expected a list of queries".to_owned());
        }
    };
    let query = |(value, at)| from_value(value, at).map_err(|fault| format!("item {at}: {fault}"));
    items.into_iter().zip(1..).map(query).collect()
}

/// A query: a text, or an object with an input and perhaps an id. `at` is its key where it has none.
fn from_value(value: Value, at: u64) -> Result<Query, String> {
    let expected = || "expected {\"id\": ..., \"input\": text or object}".to_owned();
    let mut map: Map<String, Value> = match value {
        Value::String(input) => return Ok(Query { key: at.to_string(), input }),
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return Err(expected()),
    };
    let mut take = |names: &[&str]| {
        let key = map.keys().find(|key| named(key, names)).cloned();
        key.and_then(|key| map.remove(&key))
    };
    let input = match take(&QUERY) {
        Some(Value::String(text)) => text,
        Some(object @ Value::Object(_)) => object.to_string(),
        _ => return Err(expected()),
    };
    let key = match take(&ID) {
        None | Some(Value::Null) => at.to_string(),
        Some(Value::String(id)) => id,
        Some(id) => id.to_string(),
    };
    match map.keys().next() {
        None => Ok(Query { key, input }),
        Some(unknown) => {
            let near = did_you_mean(&nearest(unknown, QUERY.into_iter().chain(ID)));
            Err(format!("unknown key `{unknown}`{near}"))
        }
    }
}

fn from_table(text: &str, between: Option<u8>) -> Result<Vec<Query>, String> {
    // Spreadsheets say it so.
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let whole = text.len();
    let (between, text) = match first.trim_end().strip_prefix("sep=").map(str::as_bytes) {
        Some([words]) => (Some(*words), rest),
        _ => (between, text),
    };
    let reader = |between: u8| csv::ReaderBuilder::new().delimiter(between).from_reader(text.as_bytes());
    let finds = |between: &u8| {
        let headers = reader(*between).headers().cloned().ok()?;
        let query = headers.iter().position(|header| named(header, &QUERY))?;
        Some((*between, query, headers.iter().position(|header| named(header, &ID))))
    };
    let found = match &between {
        Some(between) => finds(between),
        None => BETWEEN.iter().find_map(finds),
    };
    let Some((between, query, id)) = found else {
        return Err(format!("no column is named {}", QUERY.join(", ")));
    };
    if let Some(line) = open_quote(text, between) {
        let line = line + usize::from(text.len() < whole);
        return Err(format!("line {line}: the quote that begins a field there is not closed"));
    }
    let mut queries = Vec::new();
    for (record, at) in reader(between).records().zip(1_u64..) {
        let record = record.map_err(|error| error.to_string())?;
        let input = record.get(query).unwrap_or_default().trim().to_owned();
        if input.is_empty() {
            continue;
        }
        let id = id.and_then(|id| record.get(id)).map(str::trim).filter(|id| !id.is_empty());
        queries.push(Query { key: id.map_or_else(|| at.to_string(), str::to_owned), input });
    }
    Ok(queries)
}

/// The line, from 1, of a quote that begins a field and has no end: all that follows it would be one field.
fn open_quote(text: &str, between: u8) -> Option<usize> {
    let (mut line, mut open, mut begins) = (1, None, true);
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        line += usize::from(byte == b'\n');
        if open.is_some() {
            if byte == b'"' && bytes.next_if_eq(&b'"').is_none() {
                open = None;
            }
        } else if byte == b'"' && begins {
            open = Some(line);
        }
        begins = open.is_none() && (byte == between || byte == b'\n' || byte == b'\r');
    }
    open
}
