//! The operations of a client: a method for each route.
//!
//! Each takes an idempotency key: the same request under the same key is done once, also when a program sends it again after it was
//! started anew. Without one, the client makes one, which holds for the retries of this call.

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_api::{
    AnswerQuestion, CancelRun, ForkRun, PauseRun, Reloaded, ResumeRun, StartRun, Started, SteerRun, Taken,
};
use windlass_core::RunId;

use crate::client::{Asked, Client};
use crate::error::ClientError;

/// Errors of all methods: the server is not reached, refuses the request, or its reply is none of the API.
impl Client {
    /// Starts a run, or gives a message to a session.
    ///
    /// # Errors
    /// See [`ClientError`], here and below.
    pub async fn start(&self, start: &StartRun, key: Option<&str>) -> Result<Started, ClientError> {
        self.ask(&Asked::post("/v1/runs".to_owned(), start, key)?).await
    }

    /// Answers a question of a run.
    pub async fn answer(
        &self,
        run: RunId,
        answer: &AnswerQuestion,
        key: Option<&str>,
    ) -> Result<Taken, ClientError> {
        self.verb(run, "answer", answer, key).await
    }

    /// Says something to a run.
    pub async fn steer(&self, run: RunId, steer: &SteerRun, key: Option<&str>) -> Result<Taken, ClientError> {
        self.verb(run, "steer", steer, key).await
    }

    /// Pauses a run.
    pub async fn pause(&self, run: RunId, pause: &PauseRun, key: Option<&str>) -> Result<Taken, ClientError> {
        self.verb(run, "pause", pause, key).await
    }

    /// Stops a run for good.
    pub async fn cancel(
        &self,
        run: RunId,
        cancel: &CancelRun,
        key: Option<&str>,
    ) -> Result<Taken, ClientError> {
        self.verb(run, "cancel", cancel, key).await
    }

    /// Takes a run up.
    pub async fn resume(
        &self,
        run: RunId,
        resume: &ResumeRun,
        key: Option<&str>,
    ) -> Result<Taken, ClientError> {
        self.verb(run, "resume", resume, key).await
    }

    /// Starts a run that continues from an event.
    pub async fn fork(&self, run: RunId, fork: &ForkRun, key: Option<&str>) -> Result<Started, ClientError> {
        self.verb(run, "fork", fork, key).await
    }

    /// Reads the agent files of the server again.
    pub async fn reload(&self, key: Option<&str>) -> Result<Reloaded, ClientError> {
        self.ask(&Asked::post("/v1/reload".to_owned(), &serde_json::json!({}), key)?).await
    }

    async fn verb<T: DeserializeOwned>(
        &self,
        run: RunId,
        verb: &str,
        body: &impl Serialize,
        key: Option<&str>,
    ) -> Result<T, ClientError> {
        self.ask(&Asked::post(format!("/v1/runs/{run}/{verb}"), body, key)?).await
    }
}
