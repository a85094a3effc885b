//! Model calls that draw on an account.

use std::sync::Arc;

use futures_util::future::{Either, select};
use futures_util::pin_mut;
use windlass_core::InputKind;
use windlass_core::budget::{Amount, Short};
use windlass_core::model::{FailureKind, ModelFailure, Prices, Usage};

use crate::platform::account::SharedAccount;
use crate::work::model_call::ModelWork;

/// A model call that draws on an account before it begins, and settles when it has ended.
pub(crate) async fn paid(work: ModelWork, account: Arc<SharedAccount>) -> InputKind {
    let (action, cancel, environment) = (work.action, work.cancel.clone(), work.environment.clone());
    let Some((need, prices, model)) = work.price() else { return work.run().await };
    let failed = |kind, message: String| InputKind::ModelFailed {
        action,
        failure: Box::new(ModelFailure::new(kind, message, model.clone())),
        jitter: environment.chance(),
    };
    let drawn = {
        let (drawing, cancelled) = (account.draw(&need), cancel.cancelled());
        pin_mut!(drawing, cancelled);
        match select(drawing, cancelled).await {
            Either::Left((drawn, _)) => drawn,
            Either::Right(_) => {
                return failed(FailureKind::Cancelled, "stopped before the call began".to_owned());
            }
        }
    };
    match drawn {
        Ok(drawn) => {
            let ended = work.run().await;
            let used = used(&ended, prices.as_ref());
            if is_stopped(&ended) {
                drawn.stopped(used);
            } else {
                drawn.settle(used);
            }
            ended
        }
        Err(Short { limit, needed, left }) => {
            let message = format!(
                "the limit {limit}, shared with other runs, has {} left, but the call may need {}",
                limit.show(left),
                limit.show(needed)
            );
            failed(FailureKind::OverBudget(limit), message)
        }
    }
}

/// Whether a call was stopped before its provider had reported what it used.
fn is_stopped(ended: &InputKind) -> bool {
    matches!(ended, InputKind::ModelFailed { failure, .. } if failure.kind == FailureKind::Cancelled)
}

fn used(ended: &InputKind, prices: Option<&Prices>) -> Amount {
    let (usage, ran) = if let InputKind::Replied { reply, .. } = ended {
        (reply.usage, reply.annotations.as_deref())
    } else if let InputKind::ModelFailed { failure, .. } = ended {
        (failure.usage, None)
    } else {
        (Usage::default(), None)
    };
    let cost = Prices::cost_of(prices, &usage, ran).unwrap_or(0);
    Amount { input: usage.input, output: usage.output, cost }
}
