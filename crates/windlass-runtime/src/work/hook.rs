//! An agent's hook, run for a step.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use windlass_core::model::Prices;
use windlass_core::{ActionId, InputKind, State, Text};

use crate::agent::hooks::{Step, StepHook, edits};
use crate::platform::panics::panic_message;

/// Runs the agent's hook for a step.
pub(crate) async fn run_hook(
    action: ActionId,
    hook: Option<Arc<dyn StepHook>>,
    state: Arc<State>,
    prices: Arc<BTreeMap<Text, Prices>>,
) -> InputKind {
    let answer = match hook {
        Some(hook) => {
            let ran = AssertUnwindSafe(async { hook.on_step(Step::of(&state)).await }).catch_unwind().await;
            ran.unwrap_or_else(|panic| Err(format!("the hook panicked: {}", panic_message(&*panic))))
        }
        // A run that is resumed by an agent without a hook continues without one.
        None => Ok(Step::of(&state)),
    };
    InputKind::HookEnded { action, edits: Box::new(edits(&state, &prices, answer)) }
}
