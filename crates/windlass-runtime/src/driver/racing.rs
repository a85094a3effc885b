//! Two models that were asked for one call: the first whole reply stops the other one.

use windlass_core::InputKind;
use windlass_core::model::{FailureKind, ModelFailure, Usage};

use super::Driver;
use super::work::Work;

/// Why the slower of two attempts ends. It is stored.
const OUTRUN: &str = "another model was asked beside it and replied first";

impl<W: Work> Driver<W> {
    /// Adds to the reply of one of two attempts the end of the other one, which is stopped: then its usage is known.
    pub(super) async fn stop_other(&mut self, what: &mut InputKind) {
        let InputKind::Replied { action, lost, .. } = what else { return };
        let Some(other) = self.state.concurrent_attempt(*action) else { return };
        let Some(asked) = self.state.request(other).map(|asked| asked.model.name.clone()) else { return };
        let usage = match Box::pin(self.slots.stop(other)).await {
            // What a provider reported until then, such as the request's tokens, is not all that it bills.
            Some(InputKind::ModelFailed { failure, .. }) if failure.kind == FailureKind::Cancelled => {
                Usage { estimated: true, ..failure.usage }
            }
            Some(InputKind::ModelFailed { failure, .. }) => failure.usage,
            Some(InputKind::Replied { reply, .. }) => reply.usage,
            _ => Usage::default(),
        };
        let end = ModelFailure { usage, ..ModelFailure::new(FailureKind::Cancelled, OUTRUN, asked) };
        *lost = Some(Box::new(end));
    }
}
