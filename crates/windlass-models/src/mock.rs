//! Replies that were given beforehand, in place of a model: KAOS' `DEBUG_MOCK_RESPONSES`.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream;
use serde_json::Value;
use windlass_core::model::{FailureKind, ModelFailure, StopReason, Usage};

use crate::model::{Delta, Deltas, Model, ModelRequest};

/// The variable that holds the replies.
pub const VARIABLE: &str = "DEBUG_MOCK_RESPONSES";

/// The replies in a value of [`VARIABLE`]: the items of a JSON list, one a call; anything else is one reply.
pub fn replies(value: &str) -> Vec<String> {
    let text = |value: Value| if let Value::String(text) = value { text } else { value.to_string() };
    match serde_json::from_str(value) {
        Ok(Value::Array(items)) => items.into_iter().map(text).collect(),
        Ok(Value::String(text)) => vec![text],
        Ok(_) | Err(_) => vec![value.to_owned()],
    }
}

/// Text of the error when no reply is left.
pub fn used_up(count: usize) -> String {
    let replies = if count == 1 { "reply" } else { "replies" };
    format!("{VARIABLE} is used up: it has {count} {replies}")
}

/// A model that gives these replies, one a call. When they are used up, a call fails; no other model is asked.
#[derive(Debug)]
pub struct MockReplies {
    replies: Vec<String>,
    next: AtomicUsize,
}

impl MockReplies {
    /// A model that gives the replies in a value of [`VARIABLE`].
    pub fn new(value: &str) -> Self {
        Self { replies: replies(value), next: AtomicUsize::new(0) }
    }
}

impl Model for MockReplies {
    fn provider(&self) -> &'static str {
        "mock"
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        let pieces = if let Some(text) = self.replies.get(place) {
            let usage = Usage::default();
            vec![Ok(Delta::Text(text.clone())), Ok(Delta::Usage(usage)), Ok(Delta::Stop(StopReason::Stop))]
        } else {
            let words = used_up(self.replies.len());
            vec![Err(ModelFailure::new(FailureKind::BadRequest, words, request.model.name))]
        };
        Box::pin(stream::iter(pieces))
    }
}

#[cfg(test)]
mod tests {
    use super::{replies, used_up};

    #[test]
    fn k14_k16_a_list_has_one_reply_a_call_and_anything_else_is_one() {
        assert_eq!(replies(r#"["a", {"b": 1}]"#), ["a", r#"{"b":1}"#]);
        assert_eq!(replies("just text"), ["just text"]);
        assert_eq!(replies(r#""quoted""#), ["quoted"]);
        assert_eq!(replies("42"), ["42"]);
        assert!(replies("[]").is_empty());
        assert_eq!(used_up(1), "DEBUG_MOCK_RESPONSES is used up: it has 1 reply");
    }
}
