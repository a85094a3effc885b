//! Owns the request that the tests of all encoders begin with.

use std::sync::Arc;

use windlass_core::Message;
use windlass_core::model::ModelChoice;

use crate::ModelRequest;

/// Instructions and these messages, for a model by its whole name, with nothing else set.
pub(super) fn request(model: &str, messages: Vec<Message>) -> ModelRequest {
    let model = ModelChoice { name: model.into(), ..ModelChoice::default() };
    let prompt = Arc::new(vec![Arc::new(Message::system("Be \"brief\"."))]);
    ModelRequest { prompt, ..ModelRequest::new(model, messages) }
}
