//! A run as its log has it: its end, its output, its conversation.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use windlass_core::model::Usage;
use windlass_core::run::OpenQuestion;
use windlass_core::{Message, RunId, RunState, State, Status};
use windlass_read::compat::promptchain::{RunMetadata, run_metadata};
use windlass_read::{load, reports};
use windlass_store::{Log, Store};

use crate::platform::error::Error;

/// A run that has ended or is suspended.
#[derive(Clone, Debug)]
pub struct Run {
    // Shared: a state has 1.4 KB, which each future that gives a run would copy.
    state: Arc<State>,
}

impl Run {
    pub(crate) fn new(state: Arc<State>) -> Self {
        Self { state }
    }

    /// Loads a run from its log, read-only.
    ///
    /// # Errors
    /// As for [`load`].
    pub async fn load(log: &dyn Log, run: RunId) -> Result<Self, Error> {
        Ok(Self::new(Arc::new(load(log, run).await?)))
    }

    /// The calls with an effect that the run made, read from its log: see [`reports::receipts`].
    ///
    /// # Errors
    /// As for [`reports::receipts`].
    pub async fn receipts(&self, log: &dyn Store) -> Result<Vec<reports::Receipt>, Error> {
        Ok(reports::receipts(log, self.id()).await?)
    }

    /// Its metadata in PromptChain's shape, read from its log.
    ///
    /// # Errors
    /// As for [`run_metadata`].
    pub async fn metadata(&self, log: &dyn Log) -> Result<RunMetadata, Error> {
        Ok(run_metadata(log, self.id()).await?)
    }

    /// The run's id.
    pub fn id(&self) -> RunId {
        self.state.run()
    }

    /// The final status; `None` while the run is suspended.
    pub fn status(&self) -> Option<Status> {
        self.state.ended().map(|end| end.status)
    }

    /// Its state: running, suspended or ended.
    pub fn run_state(&self) -> RunState {
        self.state.run_state()
    }

    /// The answer, or the preset's text for this end.
    pub fn text(&self) -> Option<&str> {
        self.state.ended().and_then(|end| end.text.as_deref())
    }

    /// The error, if it failed.
    pub fn error(&self) -> Option<&str> {
        self.state.ended().and_then(|end| end.error.as_deref())
    }

    /// The typed output, if there is one.
    pub fn output(&self) -> Option<&serde_json::Value> {
        self.state.ended().and_then(|end| end.output.as_ref())
    }

    /// The typed output as a value of that type, if there is one.
    ///
    /// # Errors
    /// The output is no such value.
    pub fn output_as<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let typed = self.output().map(T::deserialize).transpose();
        let wanted = std::any::type_name::<T>();
        typed.map_err(|source| Error::OutputType { run: self.id(), wanted, source })
    }

    /// Tokens used.
    pub fn usage(&self) -> &Usage {
        self.state.usage()
    }

    /// Cost in US dollars; `None` where a price is unknown.
    pub fn cost_usd(&self) -> Option<f64> {
        self.state.cost().map(|pico| pico as f64 / 1e12)
    }

    /// The conversation, earlier runs of its session included.
    pub fn messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.state.history().iter()
    }

    /// The questions that it waits with.
    pub fn questions(&self) -> &[OpenQuestion] {
        self.state.questions()
    }

    /// The whole state of the run.
    pub fn state(&self) -> &State {
        &self.state
    }
}
