//! A suite that every model adapter should pass: run it against a server of your own script, or a live one.
//!
//! ```no_run
//! # async fn example() -> Result<(), windlass_models::conformance::Broken> {
//! use windlass_models::{HttpModel, HttpModelConfig, conformance};
//!
//! # let config = HttpModelConfig::openai_chat("local", "http://127.0.0.1:8080");
//! # let Ok(model) = HttpModel::new(config) else { return Ok(()) };
//! let request = conformance::request("local/some-model", "Say hello.");
//! conformance::fold_is_reply(&model, &request).await?;
//! # Ok(())
//! # }
//! ```

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use windlass_core::Message;
use windlass_core::model::{ModelChoice, ModelFailure, Reply, StopReason};
use windlass_error::Diagnostic;

use crate::{Assembler, Delta, Model, ModelRequest, PrefixCell, assemble};

/// Time for a stream to end after its call was answered or dropped, in milliseconds.
const PATIENCE_MS: u64 = 60_000;

/// A promise that the model does not keep.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("the model `{provider}` breaks a promise: {promise}: {found}")]
#[diagnostic(kind = Internal, code = "model.promise_broken")]
pub struct Broken {
    /// The model's provider.
    pub provider: String,
    /// The promise.
    pub promise: &'static str,
    /// The behaviour instead of the promised one.
    pub found: String,
}

/// A plain request to ask the suite's questions with.
pub fn request(model: &str, text: &str) -> ModelRequest {
    let model = ModelChoice { name: model.into(), temperature: Some(0.0), ..ModelChoice::default() };
    ModelRequest { stream: true, ..ModelRequest::new(model, [Message::user(text)]) }
}

/// All checks that need no exact equality of two answers: for live models, which never say the same twice.
///
/// # Errors
/// The first promise that is not kept.
pub async fn live(model: &dyn Model, request: &ModelRequest) -> Result<(), Broken> {
    fold_is_reply(model, request).await?;
    dropping_is_harmless(model, request).await?;
    same_cell_same_reply_kind(model, request).await
}

/// All checks, against a server that answers the same request always the same.
///
/// # Errors
/// The first promise that is not kept.
pub async fn scripted(model: &dyn Model, request: &ModelRequest) -> Result<(), Broken> {
    live(model, request).await?;
    blocking_is_streaming(model, request).await
}

/// A stream ends by itself, has at most one whole reply and then nothing else, and folds to a reply that names the
/// model that was asked for, has a stop reason that fits its calls, and a usage.
///
/// # Errors
/// The part of this that is broken.
pub async fn fold_is_reply(model: &dyn Model, request: &ModelRequest) -> Result<(), Broken> {
    let broken = |promise, found: String| Broken { provider: model.provider().to_owned(), promise, found };
    let name = request.model.name.clone();
    let mut assembler = Assembler::new(name.clone());
    let mut deltas = model.call(request.clone());
    let (mut count, mut whole) = (0, 0);
    while let Some(next) = within(deltas.next()).await.map_err(|late| broken("a stream ends", late))? {
        let delta = next.map_err(|failure| broken("the call is answered", describe(&failure)))?;
        count += 1;
        whole += usize::from(matches!(delta, Delta::Whole(_)));
        assembler.push(delta).map_err(|failure| broken("a reply is bounded", describe(&failure)))?;
    }
    if whole > 1 || (whole == 1 && count > 1) {
        return Err(broken(
            "a whole reply is the only piece",
            format!("{count} pieces, {whole} of them whole"),
        ));
    }
    let reply = assembler.finish();
    if reply.model != name {
        return Err(broken("a reply names the model that was asked for", reply.model.to_string()));
    }
    if reply.stop == StopReason::Stop && !reply.calls.is_empty() {
        return Err(broken("a reply with calls stops for them", format!("{:?}", reply.stop)));
    }
    if reply.usage.total() == 0 {
        return Err(broken("a reply has a usage, estimated if need be", format!("{:?}", reply.usage)));
    }
    Ok(())
}

/// Streaming and blocking give the same reply.
///
/// # Errors
/// Both replies, where they differ.
pub async fn blocking_is_streaming(model: &dyn Model, request: &ModelRequest) -> Result<(), Broken> {
    let streamed = ask(model, request, true).await?;
    let blocking = ask(model, request, false).await?;
    if streamed == blocking {
        return Ok(());
    }
    let found = format!("streamed {streamed:?}, blocking {blocking:?}");
    Err(Broken {
        provider: model.provider().to_owned(),
        promise: "streaming and blocking give the same reply",
        found,
    })
}

/// A call that is dropped before its first piece and one that is dropped after it leave the model usable.
///
/// # Errors
/// The call after them fails.
pub async fn dropping_is_harmless(model: &dyn Model, request: &ModelRequest) -> Result<(), Broken> {
    drop(model.call(request.clone()));
    let mut deltas = model.call(request.clone());
    let first = within(deltas.next()).await;
    drop(deltas);
    first.map_err(|found| Broken {
        provider: model.provider().to_owned(),
        promise: "a first piece arrives",
        found,
    })?;
    ask(model, request, true).await.map(drop)
}

/// A second call with the same cell, one message longer, is answered as one with a new cell is.
///
/// # Errors
/// One of the calls fails.
pub async fn same_cell_same_reply_kind(model: &dyn Model, request: &ModelRequest) -> Result<(), Broken> {
    ask(model, request, false).await?;
    let mut longer = request.clone();
    longer.messages.push(Arc::new(Message::assistant("Yes.")));
    longer.messages.push(Arc::new(Message::user("And again?")));
    ask(model, &longer, false).await?;
    let fresh = ModelRequest { prefix: PrefixCell::default(), ..longer };
    ask(model, &fresh, false).await.map(drop)
}

async fn ask(model: &dyn Model, request: &ModelRequest, stream: bool) -> Result<Reply, Broken> {
    let request = ModelRequest { stream, ..request.clone() };
    let name = request.model.name.clone();
    let broken =
        |found| Broken { provider: model.provider().to_owned(), promise: "the call is answered", found };
    let answered = within(assemble(model.call(request), name)).await.map_err(broken)?;
    answered.map_err(|failure| broken(describe(&failure)))
}

async fn within<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let late = |_| format!("nothing within {PATIENCE_MS} ms");
    tokio::time::timeout(Duration::from_millis(PATIENCE_MS), work).await.map_err(late)
}

fn describe(failure: &ModelFailure) -> String {
    format!("{:?}: {}", failure.kind, failure.message)
}
