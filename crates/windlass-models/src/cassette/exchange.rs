//! Owns the format of a cassette: its first line, and an exchange as a line of JSON.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use windlass_core::model::{ModelFailure, Reply, ToolChoice};
use windlass_core::secret::mask_json;

use super::CassetteError;
use crate::ModelRequest;

/// The format's number, in the first line.
const VERSION: u64 = 1;
/// The first line's field.
const HEADER: &str = "windlass_cassette";
/// Settings of a model that are not sent: prices and bounds may change without a change of the request.
const NOT_SENT: [&str; 6] = ["role", "prices", "structured", "wire", "output", "max_reply_bytes"];

/// A request and its end. `began` and `ended` count the beginnings and ends of exchanges of the recording.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Exchange {
    pub(super) began: u64,
    pub(super) ended: u64,
    pub(super) request: Value,
    #[serde(flatten)]
    pub(super) end: End,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// With a reply.
    Reply(Box<Reply>),
    /// With a failure.
    Failure(Box<ModelFailure>),
    /// It was stopped from this side, after this many pieces.
    StoppedAfter(u64),
}

/// The first line.
pub(super) fn header() -> String {
    format!("{}\n", json!({ HEADER: VERSION }))
}

impl Exchange {
    /// The exchange as a line, without secrets.
    pub(super) fn line(&self) -> Result<String, serde_json::Error> {
        let mut value = serde_json::to_value(self)?;
        mask_json(&mut value);
        Ok(format!("{value}\n"))
    }
}

/// All exchanges of a cassette with the numbers of their lines, in the order of their ends.
pub(super) fn read(path: &Path, text: &str) -> Result<Vec<(usize, Exchange)>, CassetteError> {
    let bad = |line, reason| CassetteError::Line { path: path.to_owned(), line, reason };
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let first = lines.next().map(|(_, line)| line).unwrap_or_default();
    let first: Value = serde_json::from_str(first).unwrap_or_default();
    match first.get(HEADER) {
        Some(version) if *version == VERSION => {}
        Some(version) => {
            return Err(bad(1, format!("expected format {VERSION} of a cassette, found {version}")));
        }
        None => return Err(bad(1, format!("expected {}, the first line of a cassette", header().trim()))),
    }
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let exchange = |(number, line)| match serde_json::from_str(line) {
        Ok(exchange) => Ok((number, exchange)),
        Err(error) => Err(bad(number, format!("not an exchange of a cassette: {error}"))),
    };
    lines.map(exchange).collect()
}

/// A request as it is kept and compared: what the model is asked, in no provider's form, without secrets. Ids of runs,
/// times and prices are not part of it, nor is whether somebody looks at the pieces.
pub(super) fn form(request: &ModelRequest) -> Value {
    let mut form = Map::new();
    let mut put = |name: &str, value: Value| form.insert(name.to_owned(), value);
    put("purpose", request.purpose.name().into());
    let mut model = json!(request.model);
    if let Value::Object(settings) = &mut model {
        settings.retain(|name, _| !NOT_SENT.contains(&name.as_str()));
    }
    put("model", model);
    put("messages", request.whole().map(|message| json!(message)).collect());
    let offered = request.tools.iter().filter(|tool| tool.is_offered() && request.choice != ToolChoice::None);
    let tools = offered.map(
        |tool| json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters }),
    );
    put("tools", tools.collect());
    put("choice", json!(request.choice));
    if let Some((name, schema)) = &request.response_schema {
        put("schema", json!({ "name": name, "schema": schema }));
    }
    let marked = request.marked();
    if !marked.is_empty() {
        put("cache", json!(marked));
    }
    let mut form = Value::Object(form);
    mask_json(&mut form);
    form
}
