use serde_json::json;

use super::*;

fn piece(path: &str, value: &str) -> PartialArg {
    PartialArg { json_path: path.into(), string_value: Some(value.into()), ..PartialArg::default() }
}

fn built(pieces: &[(&str, &str)]) -> Option<Value> {
    let mut open = OpenCall::new(0, None, None, "f".into());
    let all = pieces.iter().all(|(path, value)| open.add(piece(path, value)));
    all.then(|| serde_json::from_str(&open.args()).expect("JSON"))
}

#[test]
fn paths_make_what_they_lead_through() {
    assert_eq!(built(&[]), Some(json!({})));
    assert_eq!(
        built(&[
            ("$.a.b[0].c", "x"),
            ("$.a.b[0].c", "y"),
            ("$.a.b[1]", "z"),
            ("$['d.e']", "q"),
            ("$[\"f\\\"\"]", "r")
        ]),
        Some(json!({ "a": { "b": [{ "c": "xy" }, "z"] }, "d.e": "q", "f\"": "r" }))
    );
    assert_eq!(built(&[("$['it\\'s']", "x")]), Some(json!({ "it's": "x" })));
}

#[test]
fn paths_that_lead_nowhere_are_refused() {
    for path in ["", "a", "$.", "$..a", "$[a]", "$[1]", "$.a[", "$['a", "$['a'", "$.a[1]", "$*"] {
        assert_eq!(built(&[(path, "x")]), None, "{path}");
    }
    assert_eq!(built(&[("$.a", "x"), ("$.a.b", "y")]), None, "a text has no members");
    let deep = format!("${}", ".a".repeat(MAX_STEPS + 1));
    assert_eq!(built(&[(&deep, "x")]), None);
}
