//! Listings, a page at a time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::RunId;
use windlass_core::model::Usage;

use crate::runs::{Question, RunSummary};

/// A page of a listing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Page<T> {
    /// The lines.
    pub items: Vec<T>,
    /// The cursor of the next page (`after`); `null`: this is the last one.
    pub next: Option<String>,
}

/// Which runs are listed: all given conditions hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListRuns {
    /// Of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Of this owner: for callers who see more than their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Of this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// In this state: `running`, `suspended`, or the name of an end, such as `answered`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Started by this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// Begun at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Begun before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// That can go on at this time, held or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<u64>,
    /// That have ended as the head of their session while messages are queued there.
    #[serde(skip_serializing_if = "is_false")]
    pub queued: bool,
    /// That wait with an open question.
    #[serde(skip_serializing_if = "is_false")]
    pub asks: bool,
    /// The cursor that came with the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The most lines, up to 1,000. Default: 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Which sessions are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListSessions {
    /// Of this owner: for callers who see more than their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Whose last run is one of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The cursor that came with the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The most lines, up to 1,000. Default: 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// A session: the runs that share one conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Its name, unique among its owner's.
    pub session: String,
    /// Its owner.
    pub owner: String,
    /// Its head: the run that its next message continues.
    pub head: RunSummary,
    /// Number of its runs.
    pub runs: u64,
    /// When the first of them began.
    pub started_at: u64,
}

/// Whose session is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionOf {
    /// Its owner: for callers who see more than their own. Default: the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// The runs of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRuns {
    /// Its head: the run that its next message continues.
    pub head: RunId,
    /// Its runs, newest first.
    pub items: Vec<RunSummary>,
    /// The cursor with which `GET /v1/runs` goes on; `null`: these are all.
    pub next: Option<String>,
}

/// Which questions are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListQuestions {
    /// Of runs of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Of runs of this owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The cursor that came with the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The most runs that are looked at, up to 1,000. Default: 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// An open question of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PendingQuestion {
    /// The run that waits for the answer.
    pub run: RunSummary,
    /// The question.
    pub question: Question,
}

/// The runs whose use is summed up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UsageOf {
    /// Of runs begun at this time or later. Default: 30 days ago.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Of runs begun before this time. Default: now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Of this owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The use of models, by day and owner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageReport {
    /// A line for each day (UTC) and owner with runs, the newest day first.
    pub items: Vec<UsageLine>,
}

/// The use of an owner on a day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageLine {
    /// The day on which the runs began, UTC: `2026-11-28`.
    pub day: String,
    /// The owner.
    pub owner: String,
    /// Runs, those of delegates included.
    pub runs: u64,
    /// Tokens, each once.
    pub usage: Usage,
    /// Cost; `null`: a price is unknown.
    pub cost_usd: Option<f64>,
    /// The part of the cost that is known.
    pub known_cost_usd: f64,
    /// Number of runs whose cost is not known, or not all of it.
    pub unpriced_runs: u64,
}
