//! Session 10's CSV tables: `tool_performance.csv` with a row for each tool call, `query_text.csv` with a row for each query.

use chrono::DateTime;
use windlass_core::RunId;
use windlass_core::event::Millis;
use windlass_store::Log;

use crate::error::Error;
use crate::timeline::{Timeline, TimelineCall};

/// Columns of `tool_performance.csv`.
pub const PERFORMANCE_COLUMNS: [&str; 15] = [
    "Test_Id",
    "Query_Id",
    "Query_Name",
    "Query_Text",
    "Query_Answer",
    "Plan_Used",
    "Result_Status",
    "Start_Datetime",
    "End_Datetime",
    "Elapsed_Time",
    "Plan_Step_Count",
    "Tool_Name",
    "Retry_Count",
    "Error_Message",
    "Final_State",
];

/// Columns of `query_text.csv`.
pub const QUERY_COLUMNS: [&str; 6] =
    ["Query_Id", "Query_Name", "Query_Text", "Create_Datetime", "Update_Datetime", "Active_Flag"];

/// Maximum number of characters of a query's name.
const NAME_CHARS: usize = 40;

/// The two tables as CSV text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// `tool_performance.csv`: a row for each tool call, and one for each run without any.
    pub performance: String,
    /// `query_text.csv`: a row for each query.
    pub queries: String,
}

struct Query {
    text: String,
    created: Millis,
    updated: Millis,
}

/// The tables of these runs, in this order.
///
/// # Errors
/// A run is not in the log, or the log failed.
pub async fn tables(log: &dyn Log, runs: &[RunId]) -> Result<Tables, Error> {
    let mut performance = vec![PERFORMANCE_COLUMNS.map(str::to_owned).to_vec()];
    let mut known: Vec<Query> = Vec::new();
    for run in runs {
        let timeline = Timeline::of(log, *run).await?;
        let text = timeline.query();
        let place = known.iter().position(|query| query.text == text).unwrap_or_else(|| {
            known.push(Query { text, created: timeline.began, updated: timeline.last });
            known.len() - 1
        });
        if let Some(query) = known.get_mut(place) {
            query.created = query.created.min(timeline.began);
            query.updated = query.updated.max(timeline.last);
        }
        let calls: Vec<&TimelineCall> = timeline.calls().collect();
        if calls.is_empty() {
            performance.push(row(&timeline, place + 1, None));
        }
        performance.extend(calls.into_iter().map(|call| row(&timeline, place + 1, Some(call))));
    }
    let mut queries = vec![QUERY_COLUMNS.map(str::to_owned).to_vec()];
    queries.extend(known.iter().enumerate().map(|(place, query)| {
        vec![
            (place + 1).to_string(),
            name(&query.text),
            query.text.clone(),
            time(query.created),
            time(query.updated),
            "1".to_owned(),
        ]
    }));
    Ok(Tables { performance: written(&performance), queries: written(&queries) })
}

fn row(timeline: &Timeline, query: usize, call: Option<&TimelineCall>) -> Vec<String> {
    let calls = timeline.calls().map(|call| call.name.to_string()).collect::<Vec<_>>();
    let plan = timeline.plan.as_ref().map(|made| made.text.join(" -> "));
    let steps = if timeline.plan.is_some() { timeline.codes.len() } else { calls.len() };
    let tries = timeline.codes.iter().map(|code| code.retries).sum::<u32>();
    let own = timeline.end.as_ref().and_then(|end| end.error.as_ref()).map(ToString::to_string);
    vec![
        timeline.run.to_string(),
        query.to_string(),
        name(&timeline.query()),
        timeline.query(),
        timeline.answer().unwrap_or_default(),
        plan.unwrap_or_else(|| calls.join(" -> ")),
        if timeline.succeeded() { "success" } else { "failure" }.to_owned(),
        time(timeline.began),
        time(timeline.last),
        format!("{:.3}", timeline.ms() as f64 / 1e3),
        steps.to_string(),
        call.map(|call| call.name.to_string()).unwrap_or_default(),
        call.map_or(tries, |call| call.retries).to_string(),
        call.map_or(own, TimelineCall::error).unwrap_or_default(),
        timeline.status(),
    ]
}

fn name(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(NAME_CHARS).collect()
}

fn time(at: Millis) -> String {
    let time = i64::try_from(at).ok().and_then(DateTime::from_timestamp_millis);
    time.map_or_else(String::new, |time| time.format("%Y-%m-%d %H:%M:%S").to_string())
}

fn written(rows: &[Vec<String>]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and all rows have the columns of the first.
    let _infallible = rows.iter().try_for_each(|row| writer.write_record(row));
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}
