//! Owns the request that the tests of all encoders begin with.

use std::sync::Arc;

use windlass_core::Message;
use windlass_core::model::{ModelChoice, Purpose, ToolChoice};

use crate::{ModelRequest, PrefixCell};

/// Instructions and these messages, for a model by its whole name, with nothing else set.
pub(super) fn request(model: &str, messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        model: ModelChoice { name: model.into(), ..ModelChoice::default() },
        purpose: Purpose::Act,
        prompt: Arc::new(vec![Arc::new(Message::system("Be \"brief\"."))]),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::default(),
        choice: ToolChoice::Auto,
        response_schema: None,
        cache: Vec::new(),
        stream: false,
        prefix: PrefixCell::default(),
    }
}
