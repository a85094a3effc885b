//! Without the feature `otel` no run has a trace.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use windlass_core::{Action, Event, InputKind, State};

use crate::agent::Agent;
use crate::platform::environment::Environment;

/// The trace of a run: there is none.
pub(crate) enum RunTrace {}

impl RunTrace {
    pub(crate) fn begin(_agent: &Agent, _state: &State, _first: &mut Option<InputKind>) -> Option<Self> {
        None
    }

    pub(crate) fn enter(&self) {
        match *self {}
    }

    pub(crate) fn see(&mut self, _events: &[Event], _now: u64) {
        match *self {}
    }

    pub(crate) fn work(
        &self,
        _action: &Action,
        _state: &State,
        _world: &Arc<dyn Environment>,
        _future: BoxFuture<'static, Option<InputKind>>,
    ) -> BoxFuture<'static, Option<InputKind>> {
        match *self {}
    }
}
