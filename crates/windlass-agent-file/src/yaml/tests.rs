use serde_json::json;
use windlass_error::Diagnostic as _;

use super::*;

fn json(text: &str) -> serde_json::Value {
    parse(text).unwrap_or_else(|error| panic!("{error}")).to_json()
}

fn error(text: &str) -> String {
    parse(text).map(|node| panic!("{node:?}")).unwrap_err().to_string()
}

#[test]
fn scalars_follow_the_core_schema_of_yaml_1_2() {
    assert_eq!(
        json(
            "[null, ~, Null, true, False, yes, no, on, off, y, 12, -3, +4, 0o17, 0xfF, 007, 1.5, .5, 5., 1e3, -2.5E-1]"
        ),
        json!([
            null, null, null, true, false, "yes", "no", "on", "off", "y", 12, -3, 4, 15, 255, 7, 1.5, 0.5,
            5.0, 1000.0, -0.25
        ])
    );
    assert_eq!(
        json("[\"12\", 'true', 1_000, 0b1, 1.2.3, 12:30, 2026-11-21, -x, 0x, e3, .]"),
        json!(["12", "true", "1_000", "0b1", "1.2.3", "12:30", "2026-11-21", "-x", "0x", "e3", "."])
    );
}

#[test]
fn whole_numbers_keep_all_their_digits_up_to_64_bits() {
    assert_eq!(json("[18446744073709551615, -9223372036854775808]"), json!([u64::MAX, i64::MIN]));
    assert_eq!(json("18446744073709551616"), json!(18_446_744_073_709_551_616.0));
}

#[test]
fn numbers_that_json_cannot_hold_are_refused() {
    for text in [".inf", "-.Inf", ".nan", "1e999"] {
        assert!(error(text).starts_with("1:1: "), "{}", error(text));
    }
    assert_eq!(json("-.nan"), json!("-.nan"));
}

#[test]
fn maps_keep_their_order_and_keys_are_texts() {
    let text = json("{ b: 1, a: 2, 2: x, true: y, ~: z }").to_string();
    assert_eq!(text, r#"{"b":1,"a":2,"2":"x","true":"y","~":"z"}"#);
    assert!(error("{ [a]: 1 }").contains("A key must be a text"));
    assert!(error("? { a: b }\n: 1").contains("A key must be a text"));
}

#[test]
fn places_count_from_one_in_characters() {
    let node = parse("a:\n  - bü: [x, \"y\"]\n").unwrap();
    let at = |path: &str| {
        let place = node.locate(path);
        (place.line, place.column)
    };
    assert_eq!(at(""), (1, 1));
    assert_eq!(at("a"), (1, 1));
    assert_eq!(at("a.0"), (2, 5));
    assert_eq!(at("a.0.bü"), (2, 5));
    assert_eq!(at("a.0.bü.1"), (2, 13));
    assert_eq!(at("a.0.nowhere.deeper"), (2, 5), "the deepest node on the way");
}

#[test]
fn lines_are_counted_the_same_with_crlf_and_a_byte_order_mark() {
    let node = parse("\u{feff}a: 1\r\nb:\r\n  c: x\r\n").unwrap();
    assert_eq!(node.locate("b.c").line, 3);
    assert_eq!(node.to_json(), json!({ "a": 1, "b": { "c": "x" } }));
}

#[test]
fn a_literal_text_says_where_its_content_begins() {
    for (text, line) in
        [("a: |\n  x\n  y\n", 2), ("a: |\n\n  x\n", 2), ("a: |2-\n    x\n", 2), ("b: 1\na: |  # c\n  x\n", 3)]
    {
        let node = parse(text).unwrap();
        let text_node = node.get("a").unwrap();
        assert!(text_node.literal);
        assert_eq!(text_node.line, line, "{text:?} {text_node:?}");
    }
    assert!(!parse("a: >\n  x\n").unwrap().get("a").unwrap().literal);
}

#[test]
fn a_key_twice_is_an_error_or_a_fault_beside_the_tree() {
    let text = "a: 1\nb: { c: 1, c: [2] }\na: 3\n";
    assert_eq!(error(text), "2:12: Duplicate key `c`, first used in line 2");
    let (node, faults) = parse_with_faults(text).unwrap();
    assert_eq!(node.to_json(), json!({ "a": 1, "b": { "c": 1 } }));
    let lines: Vec<_> = faults.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [2, 3]);
    assert_eq!(faults[1].code(), "yaml.duplicate_key");
    assert!(error("{ 1: a, \"1\": b }").contains("Duplicate key `1`"));
}

#[test]
fn aliases_are_expanded() {
    assert_eq!(
        json("base: &b { x: [1] }\nmore: [*b, *b]\nname: &n hi\nagain: *n"),
        json!({ "base": { "x": [1] }, "more": [{ "x": [1] }, { "x": [1] }], "name": "hi", "again": "hi" })
    );
    assert!(error("a: *nowhere").contains("Invalid YAML"));
    assert!(error("a: &a [*a]").contains("An alias cannot refer to a value that contains it"));
}

#[test]
fn aliases_cannot_blow_a_document_up() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let item = format!("*a{}", level - 1);
        text = format!("{text}a{level}: &a{level} [{}]\n", vec![item; 10].join(", "));
    }
    assert!(error(&text).contains("more than 100000 values"), "{}", error(&text));
    // Few values, but long texts.
    let text = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(1_000_000), vec!["*a"; 100].join(", "));
    assert!(error(&text).contains("bytes of text"), "{}", error(&text));
}

#[test]
fn size_and_depth_are_bounded() {
    let list = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&list(MAX_DEPTH)).is_ok());
    assert!(error(&list(MAX_DEPTH + 1)).contains("more than 64 levels"));
    assert!(parse(&list(100_000)).is_err());
    let block: Vec<_> = (0..300).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert!(parse(&block.concat()).is_err());
    let half = format!("a: &a {}\nb: {}*a{}", list(40), "[".repeat(40), "]".repeat(40));
    assert!(error(&half).contains("more than 64 levels"));
    assert!(error(&format!("a: {}", "x".repeat(MAX_BYTES))).contains("Too large"));
    assert!(error(&format!("[{}]", "1,".repeat(MAX_NODES))).contains("more than 100000 values"));
}

#[test]
fn tags_are_those_of_the_core_schema_only() {
    assert_eq!(
        json("[!!str 12, !!int \"12\", ! 12, !!float 1, !!null '']"),
        json!(["12", 12, "12", 1.0, null])
    );
    assert_eq!(json("!!map { a: !!seq [1] }"), json!({ "a": [1] }));
    assert!(error("!!int x").contains("does not match its tag"));
    assert!(error("!secret x").contains("Tags are not supported"));
    assert!(error("!!set { a }").contains("Tags are not supported"));
}

#[test]
fn an_empty_document_is_nothing() {
    for text in ["", "\n\n", "# only a comment\n", "---\n", "---\n...\n"] {
        assert!(parse(text).unwrap().is_null(), "{text:?}");
    }
}

#[test]
fn no_prefix_of_a_document_panics() {
    let text = "a: &x [1, {b: \"c\\n\"}]\nd: |\n  é text\ne: *x\n'f': >-\n  folded\n? g\n: - h\n";
    for end in 0..=text.len() {
        if let Some(prefix) = text.get(..end) {
            let _either = parse(prefix);
        }
    }
}

#[test]
fn what_does_not_fit_names_its_path_its_place_and_both_sides() {
    let node = parse("loop:\n  limits: { model_calls: many }\n").unwrap();
    let mut root = Field::root(&node).map().unwrap();
    let mut limits = root.required("loop").unwrap().map().unwrap().required("limits").unwrap().map().unwrap();
    let error = limits.required("model_calls").unwrap().u64().unwrap_err().in_file("a.yaml");
    assert_eq!(
        error.to_string(),
        "a.yaml:2:26: `loop.limits.model_calls` is \"many\", expected a whole number from 0"
    );
    assert_eq!((error.line, error.column, error.path.as_str()), (2, 26, "loop.limits.model_calls"));
    assert_eq!((error.expected(), error.found()), (Some("a whole number from 0"), Some("\"many\"")));
}

#[test]
fn a_map_refuses_what_nobody_took() {
    let node = parse("name: x\ntols: []\n").unwrap();
    let mut map = Field::root(&node).map().unwrap();
    assert!(map.optional("name").is_some());
    assert!(map.optional("tools").is_none());
    let error = map.finish().unwrap_err();
    assert_eq!(error.to_string(), "2:1: Unknown key `tols`; did you mean tools?");
    let mut map = Field::root(&node).map().unwrap();
    assert_eq!(map.required("model").unwrap_err().to_string(), "1:1: Key `model` is missing");
    map.allow(&["name", "tols"]);
    assert!(map.finish().is_ok());
}

#[test]
fn accessors_take_what_they_say() {
    let node =
        parse("{ t: a, n: 3, f: 2e3, neg: -1, b: true, l: [a, b], big: 4294967296, e: ' ', nothing: }")
            .unwrap();
    let get = |key: &str| Field::new(node.get(key).unwrap(), key);
    assert_eq!(get("t").text().unwrap(), "a");
    assert_eq!(get("n").loose_text().unwrap(), "3");
    assert_eq!((get("n").u64().unwrap(), get("f").u64().unwrap(), get("n").f64().unwrap()), (3, 2000, 3.0));
    assert_eq!(get("l").texts().unwrap(), ["a", "b"]);
    assert_eq!(get("t").text_or_texts().unwrap(), ["a"]);
    assert_eq!(get("b").choice(&[("x", 1)]).unwrap_err().to_string(), "1:35: `b` is true, expected x");
    assert!(get("big").u32().is_err() && get("big").u64().is_ok());
    assert!(get("neg").u64().is_err() && get("neg").f64_from_zero().is_err());
    assert!(get("e").filled_text().is_err());
    assert_eq!(get("nothing").text().unwrap_err().found(), Some("nothing"));
    assert_eq!(get("n").u64_in(5, 9).unwrap_err().expected(), Some("a whole number from 5 to 9"));
    assert_eq!(get("t").wrong_kind("x").found(), Some("a text"));
}

#[test]
fn reading_yaml_costs_its_length() {
    let shapes: [windlass_core::text::Shape; 9] = [
        ("a list", |n| "- 1\n".repeat(n)),
        ("a map", |n| (0..n).map(|at| format!("k{at}: 1\n")).collect::<Vec<_>>().concat()),
        ("a repeated key", |n| "k: 1\n".repeat(n)),
        ("a text", |n| format!("a: \"{}\"", "x \\n ".repeat(n))),
        ("a literal", |n| format!("a: |\n{}", "  line\n".repeat(n))),
        ("flow depth", |n| "[".repeat(n)),
        ("block depth", |n| "- ".repeat(n)),
        ("anchors", |n| (0..n).map(|at| format!("- &a{at} x\n")).collect::<Vec<_>>().concat()),
        ("aliases", |n| format!("- &a [1, 2, 3]\n{}", "- *a\n".repeat(n))),
    ];
    for (what, shape) in shapes {
        let cost = |n| {
            let text = shape(n);
            windlass_core::text::steps::taken(|| super::load::load(&text))
        };
        windlass_core::text::doubling(cost).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    }
    // Aliases of aliases: the copies are counted, and bounded.
    let doubled =
        (1..40).map(|at| format!("a{at}: &a{at} [*a{0}, *a{0}]\n", at - 1)).collect::<Vec<_>>().concat();
    assert!(error(&format!("a0: &a0 x\n{doubled}")).contains("aliases expanded"));
}
