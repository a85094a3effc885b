//! Without the feature `otel` no run has a trace.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use windlass_core::{Action, Event, State, What};

use crate::agent::Agent;
use crate::world::World;

/// The trace of a run: there is none.
pub(crate) enum RunTrace {}

impl RunTrace {
    pub(crate) fn begin(_agent: &Agent, _state: &State, _first: &mut Option<What>) -> Option<Self> {
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
        _world: &Arc<dyn World>,
        _future: BoxFuture<'static, Option<What>>,
    ) -> BoxFuture<'static, Option<What>> {
        match *self {}
    }
}
