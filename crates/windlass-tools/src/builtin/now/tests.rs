use serde_json::json;

use super::*;
use crate::builtin::tests::call;

#[test]
fn the_time_is_told_in_local_time_and_utc() {
    let now = DateTime::parse_from_rfc3339("2026-03-01T00:30:05.25+02:00").unwrap();
    assert_eq!(
        rendered(now),
        json!({
            "local": "2026-03-01T00:30:05+02:00",
            "utc": "2026-02-28T22:30:05Z",
            "weekday": "Sunday",
            "unix": 1_772_317_805,
        })
    );
}

#[tokio::test]
async fn the_tool_reads_the_machines_clock() {
    let before = Utc::now().timestamp();
    let told: Value = serde_json::from_str(&call(&Now::new(), json!({})).await).unwrap();
    let unix = told["unix"].as_i64().unwrap();
    assert!((before..=Utc::now().timestamp()).contains(&unix));
    let utc = DateTime::parse_from_rfc3339(told["utc"].as_str().unwrap()).unwrap();
    assert_eq!(utc.timestamp(), unix);
}
