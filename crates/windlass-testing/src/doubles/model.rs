//! Scripted models: they give the case's entries, one a call.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::{StreamExt, stream};
use windlass_core::{FailureKind, ModelFailure, ToolChoice};
use windlass_models::{Delta, Deltas, Model, ModelRequest};
use windlass_runtime::World;

use super::pieces::pieces;
use crate::fixture::{During, ModelEntry, SentRequest};
use crate::fn_model::model_failure;
use crate::script::{Script, Timed};
use crate::sim::{SimWorld, step_aside};

/// A model that gives the script's entries, one a call, whatever its purpose.
#[derive(Debug)]
pub(crate) struct ScriptedModel {
    pub(crate) script: Script,
    pub(crate) world: SimWorld,
}

/// While a call is going on: if it is lost in a crash, its entry is given again.
struct InFlight {
    script: Script,
    done: bool,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut script = self.script.lock();
        if !self.done && script.crashing {
            script.scene(self.script.path()).lost_requests += 1;
        }
    }
}

impl Model for ScriptedModel {
    fn provider(&self) -> &'static str {
        "scripted"
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        let (script, world) = (self.script.clone(), self.world.clone());
        Box::pin(stream::once(answer(script, world, request)).flatten())
    }
}

async fn answer(script: Script, world: SimWorld, request: ModelRequest) -> Deltas {
    let mut flight = InFlight { script: script.clone(), done: false };
    let (entry, number) = {
        let mut inner = script.lock();
        let scene = inner.scene(script.path());
        let place = scene.sent(SentRequest::from(&request));
        (scene.model.get(place).cloned(), place as u32 + 1)
    };
    let Some(entry) = entry else {
        if let Some(mocked) = script.lock().scene(script.path()).mocked {
            flight.done = true;
            let words = windlass_models::mock::used_up(mocked);
            let failed = model_failure(&request, FailureKind::BadRequest, &words);
            return Box::pin(stream::iter([Err(failed)]));
        }
        script.problem(format!("model call {number} is beyond the script, which has {} entries", number - 1));
        flight.done = true;
        let failed =
            model_failure(&request, FailureKind::BadRequest, "the script has no entry for this call");
        return Box::pin(stream::iter([Err(failed)]));
    };
    if entry.tool_choice_unsupported && matches!(request.choice, ToolChoice::Required | ToolChoice::Named(_))
    {
        // The entry answers the repeat.
        script.lock().scene(script.path()).next_entry = number as usize - 1;
        flight.done = true;
        let mut failed = model_failure(&request, FailureKind::Unsupported, "tool_choice is not supported");
        failed.status = Some(400);
        return Box::pin(stream::iter([Err(failed)]));
    }
    check_entry(&script, &entry, &request, number);
    let (cancelled, steered) = {
        let mut inner = script.lock();
        let root = script.is_root();
        (root && inner.cancels(During::Model, number), root && inner.steers(number))
    };
    if cancelled {
        // The call is going on when the request to stop comes, and goes on until it is stopped. What the script says
        // it costs is paid.
        let usage = entry.usage.unwrap_or_default();
        return Box::pin(stream::iter([Ok(Delta::Usage(usage))]).chain(Hanging(flight)));
    }
    if steered {
        step_aside().await;
    }
    if entry.takes_ms > 0 {
        let due = script.lock().due(
            Timed::Model(script.path().to_owned(), number as usize),
            world.now(),
            entry.takes_ms,
        );
        world.sleep_until(due).await;
    }
    script.turns.rest().await;
    flight.done = true;
    Box::pin(stream::iter(pieces(&entry, &request)))
}

/// The rest of a call that goes on until it is stopped.
struct Hanging(#[expect(dead_code, reason = "it ends with the stream")] InFlight);

impl futures_core::Stream for Hanging {
    type Item = Result<Delta, ModelFailure>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Pending
    }
}

fn check_entry(script: &Script, entry: &ModelEntry, request: &ModelRequest, number: u32) {
    if let Some(purpose) = entry.purpose.filter(|purpose| *purpose != request.purpose) {
        script.problem(format!(
            "model call {number} is for {:?}, the script's entry for {purpose:?}",
            request.purpose
        ));
    }
    if let Some(by) = entry.by.as_ref().filter(|by| **by != *request.model.name) {
        script.problem(format!(
            "model call {number} went to {}, the script's entry is by {by}",
            request.model.name
        ));
    }
}

/// A model that is shared under several names.
pub(crate) fn shared_model(script: &Script, world: &SimWorld) -> Arc<dyn Model> {
    Arc::new(ScriptedModel { script: script.clone(), world: world.clone() })
}
