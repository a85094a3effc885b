//! No prefix panics, members only appear or grow, and the complete value equals the usual reader's.

use std::fmt::Write as _;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};
use windlass_core::text::MAX_VALUES;
use windlass_core::text::steps::{Shape, doubling, taken};

use super::{Partial, Reader, Source, Wanted};

/// The views after each character, and what is left to come.
fn views(text: &str) -> (Vec<Value>, Wanted) {
    let mut reader = Reader::default();
    let mut views = Vec::new();
    for c in text.chars() {
        reader.push(c.encode_utf8(&mut [0; 4]));
        views.extend(reader.view());
    }
    (views, reader.wanted)
}

/// Whether all of `before` is still there.
fn grew(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::String(before), Value::String(after)) => after.starts_with(before.as_str()),
        (Value::Array(before), Value::Array(after)) => {
            before.len() <= after.len() && before.iter().zip(after).all(|(before, after)| grew(before, after))
        }
        (Value::Object(before), Value::Object(after)) => {
            before.iter().all(|(key, before)| after.get(key).is_some_and(|after| grew(before, after)))
        }
        _ => before == after,
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9_f64).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-c\"\\\\\n🪁é]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map("[a-d\"]{0,3}", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// Characters beyond ASCII as providers like to escape them.
fn escaped(json: &str) -> String {
    let mut text = String::new();
    for c in json.chars() {
        match c {
            ' '..='~' => text.push(c),
            _ => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| write!(text, "\\u{unit:04x}").unwrap()),
        }
    }
    text
}

proptest! {
    #[test]
    fn e18_values_only_appear_or_grow_and_end_as_the_whole(
        members in btree_map("[a-e]{1,3}", value(), 0..5), pretty: bool, ascii: bool
    ) {
        let whole: Value = members.into_iter().collect();
        let text = if pretty { format!("{whole:#}") } else { whole.to_string() };
        let text = if ascii && !pretty { escaped(&text) } else { text };
        prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &whole);
        let mut reader = Reader::default();
        let mut before = json!({});
        for (at, c) in text.char_indices() {
            reader.push(&text[at..at + c.len_utf8()]);
            if let Some(view) = reader.view() {
                prop_assert!(grew(&before, &view), "{} became {} at {}", before, view, at);
                prop_assert!(grew(&view, &whole), "{} is no part of {}", view, whole);
                before = view;
            }
        }
        prop_assert_eq!(reader.wanted, Wanted::Nothing);
    }

    #[test]
    fn e18_no_text_panics_and_only_json_is_read_to_its_end(
        begin in "[\\[{]", rest in "[\\[\\]{}:,\"\\\\ud8e0-9a-f\\-+. tnrlsué]{0,40}"
    ) {
        let text = begin + &rest;
        let (_, wanted) = views(&text);
        let first = serde_json::Deserializer::from_str(&text).into_iter::<Value>().next();
        let begins = first.is_some_and(|first| first.is_ok());
        // A name that comes twice is JSON, and stops the reading all the same.
        prop_assert!(wanted != Wanted::Nothing || begins, "{}", text);
        prop_assert!(wanted == Wanted::Nothing || !begins || text.contains(':'), "{}", text);
    }
}

#[test]
fn e18_numbers_and_literals_appear_whole() {
    let (views, wanted) = views(r#"{"a": -12.5e1, "b": true, "c": [1, null], "d": "x"}"#);
    assert_eq!(wanted, Wanted::Nothing);
    let mut seen: Vec<Value> = views;
    seen.dedup();
    let expected = [
        json!({}),
        json!({ "a": -125.0 }),
        json!({ "a": -125.0, "b": true }),
        json!({ "a": -125.0, "b": true, "c": [] }),
        json!({ "a": -125.0, "b": true, "c": [1] }),
        json!({ "a": -125.0, "b": true, "c": [1, null] }),
        json!({ "a": -125.0, "b": true, "c": [1, null], "d": "" }),
        json!({ "a": -125.0, "b": true, "c": [1, null], "d": "x" }),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn e18_half_of_an_escape_is_not_seen() {
    let (views, _) = views(r#"{"a": "x\n\ud83e\ude81"#);
    let mut texts: Vec<&str> = views.iter().filter_map(|view| view["a"].as_str()).collect();
    texts.dedup();
    assert_eq!(texts, ["", "x", "x\n", "x\n🪁"]);
}

#[test]
fn e18_what_is_no_json_stops_the_reading() {
    let bad = [
        "{]",
        "[}",
        r#"{"a" 1}"#,
        "[1 2]",
        r#"{"a": 1,}"#,
        "[tru]",
        r#"["\x"]"#,
        r#"["\ud83e!"]"#,
        "[01]",
        "}",
    ];
    for text in bad {
        assert_eq!(views(text).1, Wanted::Fault, "{text}");
    }
    assert_eq!(views(r#"{"a": "long", "a": "s"}"#).1, Wanted::Fault, "it would take back what was seen");
    assert_eq!(views(&"[".repeat(200)).1, Wanted::Fault, "as deep as the reader of the whole goes");
}

#[test]
fn all_views_together_cost_a_fixed_multiple_of_the_output() {
    let shapes: [Shape; 4] = [
        ("a text", |n| format!("{{\"a\":\"{}\"}}", "x".repeat(n))),
        ("small values", |n| format!("[{}1]", "1,".repeat(n))),
        ("members", |n| {
            format!("{{{}\"z\":1}}", (0..n).map(|at| format!("\"k{at}\":1,")).collect::<Vec<_>>().concat())
        }),
        ("no JSON", |n| "}".repeat(n)),
    ];
    for (what, shape) in shapes {
        let cost = |n: usize| {
            let mut partial =
                Partial { source: Source::Text, reader: Reader::default(), read: 0, emitted: 0 };
            let text = shape(16 * n);
            taken(|| {
                for piece in text.as_bytes().chunks(16) {
                    partial.reader.push(std::str::from_utf8(piece).unwrap());
                    partial.read += piece.len();
                    if partial.is_due() {
                        let _view = partial.reader.view();
                        partial.emitted = partial.read;
                    }
                }
            })
        };
        doubling(cost).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    }
}

#[test]
fn an_output_of_too_many_values_is_not_shown_further() {
    let mut reader = Reader::default();
    reader.push(&format!("[{}", "1,".repeat(MAX_VALUES)));
    assert!(!reader.is_over());
    reader.push("1,");
    assert!(reader.is_over());
}
