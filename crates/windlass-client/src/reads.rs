//! The reads of a client: a method for each route.

use bytes::Bytes;
use http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use windlass_api::{
    Agent, Agents, Artifacts, Events, Health, ListQuestions, ListRuns, ListSessions, Page, PendingQuestion,
    PreviewSwitch, Ready, Report, Run, RunSummary, Session, SessionOf, SessionRuns, SwitchPreview, Updates,
};
use windlass_core::RunId;

use crate::client::{Asked, Client, part};
use crate::error::ClientError;
use crate::following::{Follow, Following};

/// The part of a run's events that is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EventsFrom {
    /// The number of the first event. Default: 1.
    pub from: Option<u64>,
    /// The most events, about, up to 1,000: an append is not cut.
    pub limit: Option<usize>,
}

/// The part of an artifact that is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BytesFrom {
    /// The first byte. Default: 0.
    pub from: Option<u64>,
    /// The most bytes. Default: all.
    pub max: Option<u64>,
}

/// From where a run is polled, and how long the reply waits for something new.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PollFrom {
    /// The position after which it begins. Default: the run's beginning.
    pub from: Option<String>,
    /// In milliseconds, up to 10,000. Default: 8,000.
    pub wait_ms: Option<u64>,
}

fn of_run(run: RunId, rest: &str) -> Asked {
    Asked::get(format!("/v1/runs/{run}{rest}"))
}

/// Errors of all methods: the server is not reached, refuses the request, or its reply is none of the API.
impl Client {
    /// Whether the server lives.
    ///
    /// # Errors
    /// See [`ClientError`], here and below.
    pub async fn health(&self) -> Result<Health, ClientError> {
        self.ask(&Asked::get("/health".to_owned())).await
    }

    /// Whether the server can work. One that cannot is no error: [`Ready::ready`] says so.
    pub async fn ready(&self) -> Result<Ready, ClientError> {
        self.ask(&Asked::get("/ready".to_owned()).also(StatusCode::SERVICE_UNAVAILABLE)).await
    }

    /// The metrics, in the text form of Prometheus.
    pub async fn metrics(&self) -> Result<String, ClientError> {
        let bytes = self.bytes(&Asked::get("/metrics".to_owned()).accepting("*/*")).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The document of the API (OpenAPI).
    pub async fn openapi(&self) -> Result<Value, ClientError> {
        self.ask(&Asked::get("/openapi.json".to_owned())).await
    }

    /// The agents.
    pub async fn agents(&self) -> Result<Agents, ClientError> {
        self.ask(&Asked::get("/v1/agents".to_owned())).await
    }

    /// An agent.
    pub async fn agent(&self, name: &str) -> Result<Agent, ClientError> {
        self.ask(&Asked::get(format!("/v1/agents/{}", part(name)))).await
    }

    /// A page of runs, newest first.
    pub async fn runs(&self, filter: &ListRuns) -> Result<Page<RunSummary>, ClientError> {
        self.ask(&Asked::get("/v1/runs".to_owned()).with(filter)).await
    }

    /// A run.
    pub async fn run(&self, run: RunId) -> Result<Run, ClientError> {
        self.ask(&of_run(run, "")).await
    }

    /// A run's line in listings: less work for the server than the whole run.
    pub async fn summary(&self, run: RunId) -> Result<RunSummary, ClientError> {
        self.ask(&of_run(run, "/summary")).await
    }

    /// Events of a run, each append's with the input that caused it.
    pub async fn events(&self, run: RunId, from: EventsFrom) -> Result<Events, ClientError> {
        self.ask(&of_run(run, "/events").with(&from)).await
    }

    /// Follows a run. Nothing is sent before [`Following::next`].
    pub fn follow(&self, run: RunId, follow: Follow) -> Following {
        Following::new(self.clone(), run, follow)
    }

    /// The updates of a run, by a long poll.
    pub async fn updates(&self, run: RunId, from: &PollFrom) -> Result<Updates, ClientError> {
        self.ask(&of_run(run, "/updates").with(from)).await
    }

    /// The effects of a run's calls.
    pub async fn effects(&self, run: RunId) -> Result<Report, ClientError> {
        self.ask(&of_run(run, "/effects")).await
    }

    /// The costs of a run's model calls.
    pub async fn costs(&self, run: RunId) -> Result<Report, ClientError> {
        self.ask(&of_run(run, "/costs")).await
    }

    /// Where two runs part.
    pub async fn compare(&self, run: RunId, with: RunId) -> Result<Report, ClientError> {
        self.ask(&of_run(run, "/compare").with(&serde_json::json!({ "with": with }))).await
    }

    /// Whether a run's log leads to the same decisions again.
    pub async fn replay(&self, run: RunId) -> Result<Report, ClientError> {
        self.ask(&of_run(run, "/replay")).await
    }

    /// A run with what it is based on, as JSON lines.
    pub async fn export(&self, run: RunId) -> Result<Bytes, ClientError> {
        self.bytes(&of_run(run, "/export").accepting("*/*")).await
    }

    /// The changes that a switch of a run to another agent would make, and the version that was compared. `resume` makes the switch.
    pub async fn preview_switch(
        &self,
        run: RunId,
        preview: &PreviewSwitch,
    ) -> Result<SwitchPreview, ClientError> {
        self.ask(&of_run(run, "/switch").with(preview)).await
    }

    /// The long texts and files of a run.
    pub async fn artifacts(&self, run: RunId) -> Result<Artifacts, ClientError> {
        self.ask(&of_run(run, "/artifacts")).await
    }

    /// A long text or file of a run, or a part of one.
    pub async fn artifact(&self, run: RunId, sha256: &str, from: BytesFrom) -> Result<Bytes, ClientError> {
        self.bytes(&of_run(run, &format!("/artifacts/{}", part(sha256))).with(&from).accepting("*/*")).await
    }

    /// A page of sessions, the one whose last run began last first.
    pub async fn sessions(&self, filter: &ListSessions) -> Result<Page<Session>, ClientError> {
        self.ask(&Asked::get("/v1/sessions".to_owned()).with(filter)).await
    }

    /// The runs of a session, and its head.
    pub async fn session(&self, name: &str, of: &SessionOf) -> Result<SessionRuns, ClientError> {
        self.ask(&Asked::get(format!("/v1/sessions/{}", part(name))).with(of)).await
    }

    /// A page of the open questions of all runs.
    pub async fn questions(&self, filter: &ListQuestions) -> Result<Page<PendingQuestion>, ClientError> {
        self.ask(&Asked::get("/v1/questions".to_owned()).with(filter)).await
    }
}
