//! Runs in the forms of the Session 10 agent: session log, performance log, query table.
//!
//! | there | here |
//! |---|---|
//! | session | a run; `session_id` is its id |
//! | `original_query` | the run's input |
//! | `perception`, plan versions, steps | the first perception and the plan of a plan loop; of other loops one version: each tool call is a CODE step, the answer a CONCLUDE step |
//! | a person's conclusion | a CONCLUDE step at the end, `human_provided` |
//! | step result `{status, result or error, execution_time, total_time, retry_count, human_provided}` | the call's outcome; times in seconds |
//! | `Test_Id` | the run's id |
//! | `Query_Id` | the place of the query among the different queries of the report, from 1 |
//! | `Result_Status` | `success` for an answer of the agent, otherwise `failure`, also for an answer that a person gave |
//! | `Final_State` | the run's status |

mod plan;
mod tables;

use serde_json::{Value, json};
use windlass_core::RunId;
use windlass_store::Log;

use crate::error::Error;
use crate::load::load;
use crate::timeline::Timeline;

pub use tables::{PERFORMANCE_COLUMNS, QUERY_COLUMNS, Tables, tables};

/// The session log of a run.
///
/// # Errors
/// The run is not in the log, or the log failed.
pub async fn session_log(log: &dyn Log, run: RunId) -> Result<Value, Error> {
    let timeline = Timeline::of(log, run).await?;
    let plan = match &timeline.perception {
        Some(_) => plan::planned(&timeline, &load(log, run).await?),
        None => plan::of(&timeline),
    };
    let (id, query) = (run.to_string(), timeline.query());
    Ok(json!({
        "session_id": id,
        "original_query": query,
        "perception": plan.perception,
        "plan_versions": plan.versions,
        "state_snapshot": {
            "session_id": id,
            "query": query,
            "final_plan": plan.last_text(),
            "final_steps": plan.last_steps(),
            "final_answer": timeline.answer(),
            "confidence": plan.confidence(),
            "reasoning_note": plan.note(&timeline),
        },
    }))
}
