//! Owns the interpreters of a sandbox: one for each run that has used it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::RunId;
use windlass_core::tool::Effect;

use super::interpreter::{Interpreter, Outcome, Silent};
use super::{MAX_INTERPRETERS, SandboxSettings};
use crate::service::ServiceError;
use crate::tool::ToolError;

/// An interpreter, or none until it is needed; held while it works.
type Place = Arc<tokio::sync::Mutex<Option<Interpreter>>>;

#[derive(Debug)]
pub(super) struct Sessions {
    settings: Arc<SandboxSettings>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    /// Started at the set-up, for the first run that needs one.
    spare: Option<Interpreter>,
    /// By run, most recently used last.
    runs: Vec<(RunId, Place)>,
}

impl Sessions {
    pub(super) fn new(settings: Arc<SandboxSettings>) -> Self {
        Self { settings, state: Mutex::default() }
    }

    pub(super) fn settings(&self) -> &SandboxSettings {
        &self.settings
    }

    pub(super) async fn open(&self) -> Result<(), ServiceError> {
        let spare = Interpreter::start(&self.settings).await.map_err(ServiceError::new)?;
        let mut state = self.state();
        (state.open, state.spare) = (true, Some(spare));
        Ok(())
    }

    /// Stops all interpreters. One that works at the moment ends with its call.
    pub(super) fn close(&self) {
        *self.state() = State::default();
    }

    pub(super) async fn look(&self) -> Result<(), ServiceError> {
        let alive = {
            let mut state = self.state();
            state.spare.as_mut().is_some_and(Interpreter::is_alive) || !state.runs.is_empty()
        };
        if alive {
            return Ok(());
        }
        let started = Interpreter::start(&self.settings).await;
        started.map(drop).map_err(ServiceError::new)
    }

    /// Runs code in the run's interpreter.
    pub(super) async fn execute(
        &self,
        run: RunId,
        code: &str,
        effect: Effect,
        cancelled: &CancellationToken,
    ) -> Result<Outcome, ToolError> {
        let place = self.place(run)?;
        let mut slot = place.lock().await;
        // Taken out while it works: dropping this call also drops the interpreter.
        let mut interpreter = match self.take(&mut slot) {
            Some(interpreter) => interpreter,
            None => Interpreter::start(&self.settings).await.map_err(ToolError::new)?,
        };
        let seconds = self.settings.seconds;
        let asked = interpreter.run(code, Duration::from_secs(seconds));
        let Some(answer) = cancelled.run_until_cancelled(asked).await else {
            return Err(ToolError::in_doubt("stopped; the sandbox has been reset"));
        };
        let silent = match answer {
            Ok(outcome) => {
                *slot = Some(interpreter);
                return Ok(outcome);
            }
            Err(Silent::TimedOut) => format!("Execution timed out after {seconds}s. Sandbox has been reset."),
            Err(Silent::Ended(how)) => format!("The sandbox process {how}. Sandbox has been reset."),
        };
        match effect {
            // What the code had done by then is not known.
            Effect::Once => Err(ToolError::in_doubt(silent)),
            Effect::ReadOnly | Effect::Idempotent => Ok(Outcome::failed(silent)),
        }
    }

    /// Forgets the run's variables.
    pub(super) async fn reset(&self, run: RunId) -> Result<&'static str, ToolError> {
        let place = self.place(run)?;
        let mut slot = place.lock().await;
        let Some(mut interpreter) = self.take(&mut slot) else { return Ok("Sandbox state reset.") };
        Ok(match interpreter.reset().await {
            Ok(()) => {
                *slot = Some(interpreter);
                "Sandbox state reset."
            }
            // The next call starts one.
            Err(_) => "Sandbox process restarted.",
        })
    }

    /// A living interpreter: the run's own, else the spare one.
    fn take(&self, slot: &mut Option<Interpreter>) -> Option<Interpreter> {
        let alive = |mut one: Interpreter| one.is_alive().then_some(one);
        let used = slot.is_some();
        let own = slot.take().and_then(alive);
        own.or_else(|| if used { None } else { self.state().spare.take().and_then(alive) })
    }

    /// The place of a run's interpreter; a new one replaces the longest idle one.
    fn place(&self, run: RunId) -> Result<Place, ToolError> {
        let mut state = self.state();
        if !state.open {
            return Err(ToolError::new("the sandbox is not open: its service was not set up"));
        }
        let known = state.runs.iter().position(|(known, _)| *known == run);
        let place = known.map(|at| state.runs.remove(at).1).unwrap_or_default();
        if state.runs.len() >= MAX_INTERPRETERS {
            state.runs.remove(0);
        }
        state.runs.push((run, place.clone()));
        Ok(place)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
