//! The pieces of a reply as its model gives them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};

use windlass_core::Text;
use windlass_core::model::{FailureKind, ModelFailure};
use windlass_models::{Delta, Deltas, Model, ModelRequest};

use super::failure;
use crate::platform::panics::panic_message;

/// The pieces of a reply; a model that panics has failed.
pub(super) struct Pieces {
    deltas: Option<Deltas>,
    failed: Option<Box<ModelFailure>>,
    name: Text,
}

impl Pieces {
    pub(super) fn failed(failure: ModelFailure) -> Self {
        let name = failure.model.clone();
        Self { deltas: None, failed: Some(Box::new(failure)), name }
    }

    pub(super) fn begin(model: Option<Arc<dyn Model>>, request: ModelRequest, name: Text) -> Self {
        let mut pieces = Self { deltas: None, failed: None, name };
        match model {
            None => {
                let failure = failure(&pieces.name, FailureKind::NotFound, "the agent has no such model");
                pieces.failed = Some(Box::new(failure));
            }
            Some(model) => match catch_unwind(AssertUnwindSafe(|| model.call(request))) {
                Ok(deltas) => pieces.deltas = Some(deltas),
                Err(panic) => pieces.failed = Some(Box::new(pieces.panicked(&*panic))),
            },
        }
        pieces
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Delta, ModelFailure>>> {
        let Some(deltas) = &mut self.deltas else {
            return Poll::Ready(self.failed.take().map(|failure| Err(*failure)));
        };
        match catch_unwind(AssertUnwindSafe(|| deltas.as_mut().poll_next(context))) {
            Ok(next) => next,
            Err(panic) => {
                // Nothing is asked of it any more.
                self.deltas = None;
                Poll::Ready(Some(Err(self.panicked(&*panic))))
            }
        }
    }

    fn panicked(&self, panic: &(dyn Any + Send)) -> ModelFailure {
        failure(&self.name, FailureKind::Protocol, &format!("the model panicked: {}", panic_message(panic)))
    }
}
