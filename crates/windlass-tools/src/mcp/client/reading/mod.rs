//! Reads a server's messages. Many servers break the protocol in one place of a message that is good for the rest, so
//! what can be read is read, and what cannot costs nothing but itself.
//!
//! A message that is as it should be is parsed once, straight to its type. Any other becomes a value, is mended, and is
//! then parsed; if that fails, the request that it answers fails with an error of its own kind, see [`unreadable`].

mod begun;
mod behind;
mod items;
mod listed;
mod text;

use rmcp::model::{
    ErrorCode, ErrorData, JsonRpcError, JsonRpcResponse, JsonRpcVersion2_0, RequestId, ServerResult,
};
use rmcp::service::ServiceError;
use serde_json::{Map, Value};
use windlass_core::text::steps;

use super::asking::Incoming;
pub(super) use behind::{Heard, heard};
pub(super) use listed::{Remark, Remarks};

/// The member of an error's data that marks an answer which could not be read.
const UNREADABLE: &str = "windlass/unreadable";

/// Maximum number of characters quoted from an unreadable message.
const QUOTED_CHARS: usize = 120;

/// A message that was read, by its kind.
#[derive(Debug)]
pub(super) enum Read {
    /// A message that says itself where it belongs.
    Message(Box<Incoming>),
    /// An answer, with the id of its request if it names one.
    Answer(Answer),
    /// A notification that is none of MCP's, or a question that cannot be understood.
    Foreign,
    /// No message.
    Stray,
}

/// The answer of a server to a request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) id: Option<RequestId>,
    result: Result<Box<ServerResult>, ErrorData>,
}

impl Answer {
    /// The answer that a message is, if it is one.
    pub(super) fn of(message: Incoming) -> Option<Self> {
        match message {
            Incoming::Response(JsonRpcResponse { id, result, .. }) => {
                Some(Self { id: Some(id), result: Ok(Box::new(result)) })
            }
            Incoming::Error(JsonRpcError { id, error, .. }) => Some(Self { id, result: Err(error) }),
            Incoming::Request(_) | Incoming::Notification(_) => None,
        }
    }

    /// Whether it names this request.
    pub(super) fn names(&self, request: &RequestId) -> bool {
        self.id.as_ref().is_some_and(|id| is_same(request, id))
    }

    /// Whether it is an error that the server itself said.
    pub(super) fn is_error(&self) -> bool {
        self.error().is_some_and(is_answer)
    }

    /// Whether it is an error that names the session as its cause.
    pub(super) fn blames_session(&self) -> bool {
        self.error().is_some_and(|error| is_answer(error) && error.message.to_lowercase().contains("session"))
    }

    /// The answer as the message that belongs to this request.
    pub(super) fn to(self, id: RequestId) -> Incoming {
        let jsonrpc = JsonRpcVersion2_0;
        match self.result {
            Ok(result) => Incoming::Response(JsonRpcResponse { jsonrpc, id, result: *result }),
            Err(error) => Incoming::Error(JsonRpcError { jsonrpc, id: Some(id), error }),
        }
    }

    /// The answer that could not be read.
    pub(super) fn unreadable(id: Option<RequestId>, what: &str) -> Self {
        let mut data = Map::new();
        data.insert(UNREADABLE.to_owned(), true.into());
        let error = ErrorData::new(ErrorCode::PARSE_ERROR, what.to_owned(), Some(Value::Object(data)));
        Self { id, result: Err(error) }
    }

    /// The error that the server names, if any; or the reason why its answer cannot be read.
    pub(super) fn error(&self) -> Option<&ErrorData> {
        self.result.as_ref().err()
    }
}

/// Whether an answer's id is the request's; some servers make texts of numbers.
pub(super) fn is_same(request: &RequestId, answered: &RequestId) -> bool {
    request == answered || request.to_string() == answered.to_string()
}

/// Why an answer could not be read, if the error stands for one.
pub(super) fn unreadable(error: &ErrorData) -> Option<&str> {
    let marked = error.data.as_ref().is_some_and(|data| data.get(UNREADABLE).is_some());
    marked.then_some(error.message.as_ref())
}

/// Why the answer to a request could not be read, if that is why it failed.
pub(super) fn unreadable_answer(error: &ServiceError) -> Option<&str> {
    if let ServiceError::UnexpectedResponse = error {
        return Some("it is no result of such a request");
    }
    if let ServiceError::McpError(error) = error { unreadable(error) } else { None }
}

/// Whether an error is what the server itself said.
pub(super) fn is_answer(error: &ErrorData) -> bool {
    unreadable(error).is_none()
}

/// Reads a message. Text that looks like an answer, and is none, is one that cannot be read; other text is stray.
fn read(text: &str) -> Read {
    steps::add(1 + text.len());
    if let Ok(message) = serde_json::from_str::<Incoming>(text)
        && let Some(message) = sound(message)
    {
        return message;
    }
    steps::add(2 * text.len());
    let mut value = serde_json::from_str::<Value>(text);
    if value.is_err() && text.starts_with(['{', '[']) {
        steps::add(2 * text.len());
        let repaired = text::repaired(text);
        value = serde_json::from_str(&repaired);
        if let Err(error) = &value
            && is_too_deep(error)
        {
            steps::add(2 * text.len());
            value = serde_json::from_str(&text::pruned(&repaired));
        }
    }
    match value {
        // Batches went with MCP 2025-06-18; one of one message is that message.
        Ok(Value::Array(mut items)) if items.len() == 1 => match items.pop() {
            Some(Value::Object(message)) => object(message, text),
            _ => Read::Stray,
        },
        Ok(Value::Object(message)) => object(message, text),
        Err(error) if looks_like_an_answer(text) => {
            steps::add(text.len());
            let id = text::id_in(text).and_then(|id| serde_json::from_value(id).ok());
            Read::Answer(Answer::unreadable(id, &format!("{}, which is no JSON: {error}", quoted(text))))
        }
        Ok(_) | Err(_) => Read::Stray,
    }
}

/// Whether a text cannot be read because of how deep its values stand in each other; the library has no kind for it.
fn is_too_deep(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("recursion limit exceeded")
}

/// The message if nothing in it needs mending: what rmcp takes for a result of no known kind may be a call's result with
/// an odd item, and an error may name no request.
fn sound(message: Incoming) -> Option<Read> {
    match message {
        Incoming::Response(JsonRpcResponse {
            result: ServerResult::CustomResult(_) | ServerResult::ListToolsResult(_),
            ..
        }) => None,
        Incoming::Error(JsonRpcError { id: None, error, .. }) => {
            Some(Read::Answer(Answer { id: None, result: Err(error) }))
        }
        message @ (Incoming::Response(_)
        | Incoming::Error(_)
        | Incoming::Request(_)
        | Incoming::Notification(_)) => Some(Read::Message(Box::new(message))),
    }
}

fn object(mut message: Map<String, Value>, text: &str) -> Read {
    let answers = message.contains_key("result") || message.contains_key("error");
    if message.contains_key("method") {
        return if message.contains_key("jsonrpc") { Read::Foreign } else { Read::Stray };
    }
    if !message.contains_key("jsonrpc") {
        // Lines of logs may have an id and an error, too, but they have more than that.
        let is_bare = message.keys().all(|key| matches!(key.as_str(), "id" | "result" | "error"));
        if !(answers && is_bare && message.contains_key("id")) {
            return Read::Stray;
        }
    }
    let id = message.remove("id").filter(|id| !id.is_null()).and_then(|id| serde_json::from_value(id).ok());
    let result = message.remove("result").filter(|result| !result.is_null());
    let error = message.remove("error").filter(|error| !is_nothing(error));
    Read::Answer(match (result, error) {
        (Some(result), None) => Answer { id, result: Ok(Box::new(self::result(result))) },
        (None, Some(error)) => Answer { id, result: Err(self::error(error)) },
        (Some(_), Some(_)) => {
            Answer::unreadable(id, &format!("{}, which has a result and an error", quoted(text)))
        }
        (None, None) => {
            Answer::unreadable(id, &format!("{}, which has neither a result nor an error", quoted(text)))
        }
    })
}

/// Whether an `error` says that there is none.
fn is_nothing(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

fn result(mut result: Value) -> ServerResult {
    match result.as_object_mut() {
        Some(members) if items::is_call_result(members) => items::mend(members),
        Some(members) if listed::is_list(members) => listed::mend(members),
        Some(members) if begun::is_begun(members) => begun::mend(members),
        _ => {}
    }
    serde_json::from_value(result)
        .unwrap_or(ServerResult::CustomResult(rmcp::model::CustomResult::new(Value::Null)))
}

/// The error in a form of its own: a code may be a text, and the whole may be one.
fn error(error: Value) -> ErrorData {
    let Value::Object(mut members) = error else {
        return ErrorData::new(ErrorCode::INTERNAL_ERROR, words(error), None);
    };
    let code = members.remove("code").unwrap_or_default();
    let number = match &code {
        Value::Number(number) => number.as_i64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let number = number.and_then(|number| i32::try_from(number).ok());
    let data = members.remove("data").filter(|data| !data.is_null());
    let message = match members.remove("message") {
        Some(message) if !message.is_null() => words(message),
        _ if members.is_empty() => "it gave no message".to_owned(),
        _ => Value::Object(members).to_string(),
    };
    // A code that is no number says something, too.
    let message = match (number, code) {
        (Some(_), _) | (None, Value::Null) => message,
        (None, code) => format!("{}: {message}", words(code)),
    };
    ErrorData::new(number.map_or(ErrorCode::INTERNAL_ERROR, ErrorCode), message, data)
}

fn words(value: Value) -> String {
    if let Value::String(text) = value { text } else { value.to_string() }
}

#[expect(clippy::cast_possible_truncation, reason = "what is not the same afterwards is refused")]
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < f64::from(i32::MAX) + 2.0).then_some(number as i64)
}

/// Whether a text that cannot be read was meant as an answer.
fn looks_like_an_answer(text: &str) -> bool {
    text.starts_with('{') && text.contains("\"jsonrpc\"") && !text.contains("\"method\"")
}

/// The beginning of a message, in quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted: String = text.chars().take(QUOTED_CHARS).collect();
    if quoted.len() < text.len() {
        quoted.push('…');
    }
    format!("{quoted:?}")
}

#[cfg(test)]
mod tests;
