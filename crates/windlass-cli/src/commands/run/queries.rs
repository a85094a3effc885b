//! The query file of a batch: lines of text, JSON lines, or a CSV table.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::failure::{Exit, Failure};

/// Maximum size of a query file in bytes.
const MOST_BYTES: u64 = 16 << 20;
/// Names of the column that holds the query, whatever their case.
const COLUMNS: [&str; 4] = ["query", "input", "query_text", "question"];

/// The keys of a JSON line.
const KEYS: [&str; 2] = ["id", "input"];

/// A query of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Query {
    /// Its key within the batch: its `id`, else the number of its line.
    pub(super) key: String,
    /// The input.
    pub(super) input: String,
}

/// The bytes of a query file and its queries.
pub(super) fn read(path: &Path) -> Result<(Vec<u8>, Vec<Query>), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Exit::BadFile, format!("cannot read {}", path.display())).cause(error.to_string())
    };
    let about = std::fs::metadata(path).map_err(failed)?;
    if !about.is_file() || about.len() > MOST_BYTES {
        let what = format!("{} is no file of at most {MOST_BYTES} bytes", path.display());
        return Err(Failure::new(Exit::BadFile, what));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    let text = String::from_utf8(bytes.clone())
        .map_err(|error| Failure::new(Exit::BadFile, format!("{}: {error}", path.display())))?;
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let queries = match ending {
        "jsonl" | "ndjson" => from_json_lines(&text),
        "csv" => from_csv(&text),
        _ => Ok(from_lines(&text)),
    };
    let bad = |what: String| Failure::new(Exit::BadFile, format!("{}: {what}", path.display()));
    let queries = queries.map_err(bad)?;
    let mut keys = BTreeSet::new();
    if let Some(twice) = queries.iter().find(|query| !keys.insert(query.key.clone())) {
        return Err(bad(format!("two queries have the id `{}`", twice.key)));
    }
    if queries.is_empty() {
        return Err(bad("it holds no query".to_owned()));
    }
    Ok((bytes, queries))
}

fn from_lines(text: &str) -> Vec<Query> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(at, line)| Query { key: (at + 1).to_string(), input: line.trim().to_owned() }).collect()
}

fn from_json_lines(text: &str) -> Result<Vec<Query>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let query = |(at, line): (usize, &str)| {
        let number = at + 1;
        let value: Value = serde_json::from_str(line).map_err(|error| format!("line {number}: {error}"))?;
        let keys = value.as_object().into_iter().flat_map(|object| object.keys());
        if let Some(unknown) = keys.into_iter().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!("line {number}: unknown key `{unknown}`: expected {}", KEYS.join(" or ")));
        }
        let input = match value.get("input") {
            Some(Value::String(text)) => text.clone(),
            Some(object @ Value::Object(_)) => object.to_string(),
            _ => return Err(format!("line {number}: expected {{\"id\": ..., \"input\": text or object}}")),
        };
        let key = match value.get("id") {
            None | Some(Value::Null) => number.to_string(),
            Some(Value::String(id)) => id.clone(),
            Some(id) => id.to_string(),
        };
        Ok(Query { key, input })
    };
    lines.map(query).collect()
}

fn from_csv(text: &str) -> Result<Vec<Query>, String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| error.to_string())?.clone();
    let named = |names: &[&str]| {
        headers.iter().position(|header| names.iter().any(|name| header.trim().eq_ignore_ascii_case(name)))
    };
    let Some(query) = named(&COLUMNS) else {
        return Err(format!("no column is named {}", COLUMNS.join(", ")));
    };
    let id = named(&["id", "query_id"]);
    let mut queries = Vec::new();
    for (at, record) in reader.records().enumerate() {
        let record = record.map_err(|error| error.to_string())?;
        let input = record.get(query).unwrap_or_default().trim().to_owned();
        if input.is_empty() {
            continue;
        }
        let id = id.and_then(|id| record.get(id)).map(str::trim).filter(|id| !id.is_empty());
        queries.push(Query { key: id.map_or_else(|| (at + 1).to_string(), str::to_owned), input });
    }
    Ok(queries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(key: &str, input: &str) -> Query {
        Query { key: key.to_owned(), input: input.to_owned() }
    }

    #[test]
    fn s25_lines_are_numbered_as_in_the_file() {
        assert_eq!(from_lines("one\n\n  two \n"), [query("1", "one"), query("3", "two")]);
    }

    #[test]
    fn s25_json_lines_have_ids_of_their_own_or_their_line() {
        let text =
            "{\"id\": \"a\", \"input\": \"one\"}\n{\"input\": {\"n\": 1}}\n{\"id\": 7, \"input\": \"x\"}\n";
        assert_eq!(
            from_json_lines(text).unwrap(),
            [query("a", "one"), query("2", r#"{"n":1}"#), query("7", "x")]
        );
        assert_eq!(
            from_json_lines("{\"input\": \"x\", \"model\": \"y\"}").unwrap_err(),
            "line 1: unknown key `model`: expected id or input"
        );
        assert!(from_json_lines("{\"input\": 3}").unwrap_err().starts_with("line 1: expected"));
        assert!(from_json_lines("\n{").unwrap_err().starts_with("line 2: "));
    }

    #[test]
    fn s25_a_table_has_a_query_column() {
        let text = "Query_Id,Query_Text,x\nq1,\"one, with a comma\",1\n,two,2\nq3,,3\n";
        assert_eq!(from_csv(text).unwrap(), [query("q1", "one, with a comma"), query("2", "two")]);
        assert_eq!(
            from_csv("a,b\n1,2\n").unwrap_err(),
            "no column is named query, input, query_text, question"
        );
    }
}
