//! Scripted models: they give the case's entries, one a call.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use futures_util::{StreamExt, stream};
use windlass_core::event::Millis;
use windlass_core::model::{FailureKind, ModelChoice, ModelFailure};
use windlass_models::cassette::Recorded;
use windlass_models::wires::openai_chat::OpenAiChat;
use windlass_models::wires::{Dialect, Wire as _};
use windlass_models::{Delta, Deltas, Model, ModelRequest};
use windlass_runtime::Environment;

use super::pieces::{Pieces, pieces};
use crate::fixture::{During, ModelEntry, SentRequest};
use crate::fn_model::model_failure;
use crate::runner::UNNAMED;
use crate::script::{Script, Timed};
use crate::sim::{SimEnvironment, yield_now};

/// The function that is shown each request.
static SEEN: OnceLock<fn(&ModelRequest)> = OnceLock::new();

/// From here on in this process, `seen` is called with each request that a scripted model is sent. The first call counts.
pub fn on_request(seen: fn(&ModelRequest)) {
    SEEN.get_or_init(|| seen);
}

/// A model that replies with the script's entries, one per call, whatever the purpose.
#[derive(Clone, Debug)]
pub(crate) struct ScriptedModel {
    script: Script,
    environment: SimEnvironment,
    /// Timeout of a call, in milliseconds.
    total_ms: u64,
}

/// While a call is going on: if it is lost in a crash, its entry is given again.
struct InFlight {
    script: Script,
    /// Its place among the requests.
    request: usize,
    done: bool,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut script = self.script.lock();
        if !self.done && script.crashing {
            script.scene(self.script.path()).lose(self.request);
        }
    }
}

impl Model for ScriptedModel {
    fn provider(&self) -> &'static str {
        "scripted"
    }

    /// A scripted server words its refusals as those of the usual wire do.
    fn refused_setting(&self, choice: &ModelChoice, failure: &ModelFailure) -> Option<&'static str> {
        OpenAiChat.facts().options.refused(&Dialect::default(), choice, failure)
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        Box::pin(stream::once(answer(self.clone(), request)).flatten())
    }
}

/// A call that is under way.
struct Call {
    script: Script,
    environment: SimEnvironment,
    request: ModelRequest,
    /// Number of the answering entry, from 1.
    number: u32,
    flight: InFlight,
}

async fn answer(model: ScriptedModel, request: ModelRequest) -> Deltas {
    let (entry, call) = model.begin(request);
    let script = &call.script;
    let Some(entry) = entry else { return call.fail(beyond) };
    if entry.tool_choice_unsupported && call.request.choice.is_forced() {
        // The entry answers the repeat.
        script.lock().scene(script.path()).next_entry = call.number as usize - 1;
        return call.fail(|call| {
            let failed =
                model_failure(&call.request, FailureKind::Unsupported, "tool_choice is not supported");
            ModelFailure { status: Some(400), ..failed }
        });
    }
    check_entry(script, &entry, &call.request, call.number);
    let (cancelled, steered) = {
        let mut inner = script.lock();
        let root = script.is_root();
        let cancelled = root && inner.cancels(During::Model, call.number);
        let (steered, aborted) = if root { inner.steers(During::Model, call.number) } else { (0, false) };
        (cancelled || aborted, steered > 0)
    };
    // What the script says that a call costs is paid, however it ends: it comes before anything that takes time.
    let paid = stream::iter([Ok(Delta::Usage(entry.usage.unwrap_or_default()))]);
    if cancelled {
        // The call is going on when the request to stop comes, and goes on until it is stopped.
        return Box::pin(paid.chain(Hanging(call.flight)));
    }
    if steered {
        yield_now().await;
    }
    if entry.takes_ms == 0 {
        return Box::pin(stream::iter(call.end(&entry).await));
    }
    let in_time = entry.takes_ms <= model.total_ms;
    let due = call.due(entry.takes_ms.min(model.total_ms));
    let rest = async move {
        call.environment.sleep_until(due).await;
        stream::iter(if in_time { call.end(&entry).await } else { call.late(&entry, model.total_ms).await })
    };
    Box::pin(paid.chain(stream::once(rest).flatten()))
}

impl ScriptedModel {
    /// The entry that answers, and the call that waits for it.
    fn begin(&self, request: ModelRequest) -> (Option<ModelEntry>, Call) {
        if let Some(seen) = SEEN.get() {
            seen(&request);
        }
        let (script, environment) = (self.script.clone(), self.environment.clone());
        let (entry, request_place, place) = {
            let mut inner = script.lock();
            let scene = inner.scene(script.path());
            let (request_place, place) = scene.sent(SentRequest::from(&request));
            (scene.model.get(place).cloned(), request_place, place)
        };
        let flight = InFlight { script: script.clone(), request: request_place, done: false };
        (entry, Call { script, environment, request, number: place as u32 + 1, flight })
    }
}

impl Call {
    /// It fails at once.
    fn fail(mut self, why: impl FnOnce(&Self) -> ModelFailure) -> Deltas {
        self.flight.done = true;
        let failed = why(&self);
        Box::pin(stream::iter([Err(failed)]))
    }

    /// When it ends that takes so long.
    fn due(&self, takes_ms: u64) -> Millis {
        let work = Timed::Model(self.script.path().to_owned(), self.number as usize);
        self.script.lock().due(work, self.environment.now(), takes_ms)
    }

    /// It is over.
    async fn end(mut self, entry: &ModelEntry) -> Pieces {
        self.script.turns.rest().await;
        self.flight.done = true;
        match &entry.recorded {
            Some(recorded) => self.played(recorded),
            None => pieces(entry, &self.request),
        }
    }

    /// The reply to it in a cassette.
    fn played(&self, recorded: &Recorded) -> Pieces {
        let (number, line) = (self.number, recorded.line());
        let mut request = self.request.clone();
        // An agent that names no model was recorded with whichever was there.
        if let Some(name) = recorded.model().filter(|_| ["auto", UNNAMED].contains(&&*request.model.name)) {
            request.model.name = name.into();
        }
        vec![recorded.answer(&request).unwrap_or_else(|difference| {
            let words =
                format!("model call {number} differs from line {line} of the cassette at {difference}");
            self.script.problem(words.clone());
            Err(model_failure(&self.request, FailureKind::BadRequest, &words))
        })]
    }

    /// It took longer than it may, and is broken off.
    async fn late(mut self, entry: &ModelEntry, total_ms: u64) -> Pieces {
        self.script.turns.rest().await;
        self.flight.done = true;
        let words = format!("no end of the reply within {total_ms} ms");
        let failed = model_failure(&self.request, FailureKind::Timeout, &words);
        let usage = entry.usage.unwrap_or_default();
        vec![Err(ModelFailure { usage, after_ms: u32::try_from(total_ms).ok(), ..failed })]
    }
}

/// Failure of a call without an entry.
fn beyond(call: &Call) -> ModelFailure {
    let (script, number) = (&call.script, call.number);
    let mocked = script.lock().scene(script.path()).mocked;
    if let Some(mocked) = mocked {
        let words = windlass_models::mock::used_up(mocked);
        return model_failure(&call.request, FailureKind::BadRequest, &words);
    }
    script.problem(format!("model call {number} is beyond the script, which has {} entries", number - 1));
    model_failure(&call.request, FailureKind::BadRequest, "the script has no entry for this call")
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
    if let Some(purpose) = entry.purpose.filter(|purpose| *purpose != request.purpose.name()) {
        script.problem(format!(
            "model call {number} is for {}, the script's entry for {purpose}",
            request.purpose.name()
        ));
    }
    if let Some(by) = entry.by.as_ref().filter(|by| **by != *request.model.name) {
        script.problem(format!(
            "model call {number} went to {}, the script's entry is by {by}",
            request.model.name
        ));
    }
}

/// A model that plays a script's part, with calls that may take so long, in milliseconds.
pub(crate) fn scripted_model(script: &Script, environment: &SimEnvironment, total_ms: u64) -> Arc<dyn Model> {
    Arc::new(ScriptedModel { script: script.clone(), environment: environment.clone(), total_ms })
}
