//! A model made of a function: what a test says, for every request.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::stream;
use serde_json::Value;
use windlass_core::message::Part;
use windlass_core::model::{FailureKind, ModelFailure, StopReason, Usage};
use windlass_models::{Delta, Deltas, Model, ModelRequest};

/// A model that answers as a function says, and remembers what it was asked. Cloning shares it.
///
/// ```
/// use windlass_testing::{FnModel, called, text_reply};
///
/// // The first call asks for a tool, the second one answers.
/// let model = FnModel::script([called(&[("add", r#"{"a": 2, "b": 5}"#)]), text_reply("The sum is 7.")]);
/// # let _ = model;
/// ```
#[derive(Clone)]
pub struct FnModel {
    provider: Arc<str>,
    answer: Answerer,
    takes: fn(&Part) -> bool,
    asked: Arc<Mutex<Vec<ModelRequest>>>,
}

type Answerer = Arc<dyn Fn(usize, ModelRequest) -> Deltas + Send + Sync>;

impl fmt::Debug for FnModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnModel").field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl FnModel {
    /// A model that gives these pieces for a request; each piece comes at once.
    pub fn new(answer: impl Fn(&ModelRequest) -> Vec<Delta> + Send + Sync + 'static) -> Self {
        Self::streaming(move |_, request| Box::pin(stream::iter(answer(&request).into_iter().map(Ok))))
    }

    /// A model that gives the first list of pieces for its first request, and so on. A request beyond the last one fails
    /// ([`FailureKind::BadRequest`]).
    pub fn script(replies: impl IntoIterator<Item = Vec<Delta>>) -> Self {
        let replies: Vec<Vec<Delta>> = replies.into_iter().collect();
        Self::streaming(move |place, request| match replies.get(place) {
            Some(pieces) => Box::pin(stream::iter(pieces.clone().into_iter().map(Ok))),
            None => Box::pin(stream::iter([Err(beyond(&request, place))])),
        })
    }

    /// A model whose stream is the function's: it may wait, fail, hang or panic. The number is the request's place, from 0.
    pub fn streaming(answer: impl Fn(usize, ModelRequest) -> Deltas + Send + Sync + 'static) -> Self {
        Self { provider: "function".into(), answer: Arc::new(answer), takes: |_| true, asked: Arc::default() }
    }

    /// Each piece comes only after the caller was given the turn once: a stream that has to be waited for.
    pub fn step_by_step(self) -> Self {
        let answer = self.answer.clone();
        let answer: Answerer = Arc::new(move |place, request| {
            Box::pin(Stepwise { pieces: answer(place, request), rested: false })
        });
        Self { answer, ..self }
    }

    /// Under another provider's name.
    pub fn of_provider(self, name: &str) -> Self {
        Self { provider: name.into(), ..self }
    }

    /// A model whose API can be sent only some parts of messages ([`Model::takes`]). Default: every part.
    pub fn taking(self, takes: fn(&Part) -> bool) -> Self {
        Self { takes, ..self }
    }

    /// The requests so far, in order.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ModelRequest>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for FnModel {
    fn provider(&self) -> &str {
        &self.provider
    }

    fn takes(&self, part: &Part) -> bool {
        (self.takes)(part)
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        let place = {
            let mut asked = self.lock();
            asked.push(request.clone());
            asked.len() - 1
        };
        (self.answer)(place, request)
    }
}

/// The pieces of an answer of 10 tokens that cost 20.
pub fn text_reply(text: &str) -> Vec<Delta> {
    vec![Delta::Text(text.to_owned()), Delta::Usage(usage()), Delta::Stop(StopReason::Stop)]
}

/// The pieces of a reply with calls: name and arguments as JSON text. The ids are the core's to give.
pub fn called(calls: &[(&str, &str)]) -> Vec<Delta> {
    let pieces = calls.iter().enumerate().map(|(place, (name, args))| Delta::Call {
        index: Some(place as u32),
        id: None,
        name: Some((*name).to_owned()),
        args: (*args).to_owned(),
    });
    pieces.chain([Delta::Usage(usage()), Delta::Stop(StopReason::ToolCalls)]).collect()
}

/// A failure of that kind, as a model's stream ends with it.
pub fn model_failure(request: &ModelRequest, kind: FailureKind, message: &str) -> ModelFailure {
    ModelFailure::new(kind, message, request.model.name.clone())
}

/// A tool's arguments where the schema is of no interest: any object.
pub fn any_object() -> Value {
    serde_json::json!({ "type": "object" })
}

fn usage() -> Usage {
    Usage { input: 20, output: 10, ..Usage::default() }
}

fn beyond(request: &ModelRequest, place: usize) -> ModelFailure {
    let message = format!("the script has no reply for request {}", place + 1);
    model_failure(request, FailureKind::BadRequest, &message)
}

/// A stream that rests before each piece.
struct Stepwise {
    pieces: Deltas,
    rested: bool,
}

impl Stream for Stepwise {
    type Item = Result<Delta, ModelFailure>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !std::mem::replace(&mut self.rested, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = self.pieces.as_mut().poll_next(context);
        self.rested = next.is_pending();
        next
    }
}
