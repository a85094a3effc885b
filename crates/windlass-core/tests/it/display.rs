//! What people are shown in questions: the value that will run, in one line, bounded, unambiguous.

use proptest::prelude::*;
use serde_json::{Value, json};
use windlass_core::text::{display_args, display_name, display_value};

fn shown(text: &str) -> String {
    display_value(&serde_json::from_str(text).unwrap())
}

#[test]
fn duplicate_keys_show_the_one_that_counts_and_escapes_are_read() {
    assert_eq!(shown(r#"{"p":"safe","p":"evil"}"#), r#"{"p":"evil"}"#);
    assert_eq!(shown(r#"{"p":"\u0072\u006d -rf","\u0071":1.50}"#), r#"{"p":"rm -rf","q":1.5}"#);
}

#[test]
fn arguments_show_the_value_that_runs_and_what_is_no_json_as_a_text() {
    assert_eq!(display_args(r#" { "p": "good", "p": "EVIL" } "#), r#"{"p":"EVIL"}"#);
    assert_eq!(display_args(" "), "{}");
    assert_eq!(display_args("{\u{1b}"), r#""{\u001b""#);
}

#[test]
fn what_cannot_be_seen_or_reorders_is_written_out() {
    assert_eq!(display_value(&json!("a\n\n\tb\r\u{1b}[2J")), r#""a\n\n\tb\r\u001b[2J""#);
    assert_eq!(display_value(&json!("x\u{202e}txt.exe\u{2066}")), r#""x\u202etxt.exe\u2066""#);
    assert_eq!(
        display_value(&json!("a\u{200b}b\u{a0}c\u{feff}\u{e0041}")),
        r#""a\u200bb\u00a0c\ufeff\udb40\udc41""#
    );
    assert_eq!(display_value(&json!("\u{3164}\u{2800}\u{115f}\u{fe0f}")), r#""\u3164\u2800\u115f\ufe0f""#);
    assert_eq!(display_value(&json!("\u{338}x\\\u{301}")), r#""\u0338x\\\u0301""#, "a mark needs a letter");
    assert_eq!(display_value(&json!("naïve 日本語 “é” 😀 it's")), "\"naïve 日本語 “é” 😀 it's\"");
    let pile = format!("a{}", "\u{301}".repeat(9));
    assert_eq!(display_value(&json!(pile)).matches("\\u0301").count(), 6, "no pile of marks");
}

#[test]
fn long_values_are_cut_in_sight_and_both_ends_stay() {
    let long = format!("{}THE END", "x".repeat(5_000_000));
    let text = display_value(&json!({ "p": long, "q": 1 }));
    assert!(text.chars().count() < 2_000, "{}", text.len());
    assert!(text.contains("\"…(4998506 bytes left out)…\"") && text.contains("THE END\",\"q\":1}"), "{text}");
    let many: Vec<Value> = (0..100_000).map(|number| json!({ "n": number })).collect();
    let text = display_value(&json!(many));
    assert!(text.chars().count() < 4_100 && text.contains("more left out)…]"), "{text}");
    // The same words within a text stand in quotes.
    assert_eq!(display_value(&json!("\"…(9 bytes left out)…\"")), "\"\\\"…(9 bytes left out)…\\\"\"");
}

#[test]
fn ids_are_plain_or_quoted_and_short() {
    assert_eq!(display_name("call_1"), "call_1");
    assert_eq!(display_name("call 1) Approved."), "\"call 1) Approved.\"");
    assert_eq!(display_name(""), "\"\"");
    assert!(display_name(&"x".repeat(9_000)).len() < 200);
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[\"\\\\\u{202e}\u{200b}\n…a( )]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    /// What is shown whole is JSON that reads as the very value: two values that differ never look the same.
    #[test]
    fn what_is_shown_reads_as_the_value(value in value()) {
        let text = display_value(&value);
        let unseen = text.contains(['\n', '\r', '\t', '\u{202e}', '\u{200b}']);
        prop_assert!(!unseen);
        if !text.contains("left out)…") {
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
    }
}
