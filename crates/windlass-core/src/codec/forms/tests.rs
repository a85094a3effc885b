use serde_json::{Value, json};
use windlass_text::steps::{Shape, doubling, taken};

use super::*;
use crate::protocol::stored_reply::source;
use crate::vocabulary::message::Reasoning;
use crate::vocabulary::notation::MOST_DEPTH;
use crate::vocabulary::tool::Offer;

fn tools() -> Vec<ToolSpec> {
    let mut hidden = ToolSpec::new("hidden", "", json!({ "type": "object" }));
    hidden.offer = Offer::Withheld;
    vec![
        ToolSpec::new("search", "", json!({ "type": "object" })),
        ToolSpec::new("files__read-all.v2", "", json!({ "type": "object" })),
        hidden,
    ]
}

/// The calls read from a text, as names and arguments.
fn read(text: &str) -> Option<Vec<(String, Value)>> {
    calls_in(&text.into(), &tools()).map(|calls| {
        calls.iter().map(|call| (call.name.to_string(), serde_json::from_str(&call.args).unwrap())).collect()
    })
}

fn search(args: Value) -> Vec<(String, Value)> {
    vec![("search".to_owned(), args)]
}

#[test]
fn l13_all_forms_say_the_same() {
    for text in [
        "search(query=\"otters\")",
        "search( query = 'otters' , )",
        "{\"type\":\"function\",\"name\":\"search\",\"parameters\":{\"query\":\"otters\"}}",
        "{\"name\":\"search\",\"arguments\":{\"query\":\"otters\"}}",
        "<|python_tag|>search(query=\"otters\")<|eom_id|>",
        "<|python_tag|>{\"name\":\"search\",\"parameters\":{\"query\":\"otters\"}}<|eom_id|>",
        "<|python_tag|>search(query=\"otters\")",
        "<|python_start|>search(query=\"otters\")<|python_end|>",
        "<tool_call>search<arg_key>query</arg_key><arg_value>otters</arg_value></tool_call>",
        "<tool_call>\nsearch\n<arg_key>query</arg_key>\n<arg_value>otters</arg_value>\n</tool_call>",
        "<tool_call>{\"name\":\"search\",\"arguments\":{\"query\":\"otters\"}}</tool_call>",
        "  \n search(query=\"otters\") \n ",
    ] {
        assert_eq!(read(text), Some(search(json!({ "query": "otters" }))), "{text}");
    }
}

#[test]
fn values_of_the_python_form() {
    for (written, value) in [
        ("1", json!(1)),
        ("-2.5", json!(-2.5)),
        ("1e3", json!(1e3)),
        ("True", json!(true)),
        ("false", json!(false)),
        ("None", json!(null)),
        ("\"a \\\"b\\\" \\n c\"", json!("a \"b\" \n c")),
        ("'it\\'s'", json!("it's")),
        ("\"(a, b) = {c}\"", json!("(a, b) = {c}")),
        ("\"wörld ✓\"", json!("wörld ✓")),
        ("[1, 'a', [True], ]", json!([1, "a", [true]])),
        ("{'a': 1, \"b\": {'c': []}}", json!({ "a": 1, "b": { "c": [] } })),
    ] {
        assert_eq!(read(&format!("search(x={written})")), Some(search(json!({ "x": value }))), "{written}");
    }
    assert_eq!(read("search()"), Some(search(json!({}))));
}

#[test]
fn values_of_the_xml_form_are_json_where_they_can_be() {
    let text = |value: &str| {
        format!("<tool_call>search<arg_key>x</arg_key><arg_value>{value}</arg_value></tool_call>")
    };
    for (written, value) in [
        ("3", json!(3)),
        ("[1]", json!([1])),
        ("\"3\"", json!("3")),
        ("three", json!("three")),
        ("", json!("")),
    ] {
        assert_eq!(read(&text(written)), Some(search(json!({ "x": value }))), "{written}");
    }
    assert_eq!(read("<tool_call>search</tool_call>"), Some(search(json!({}))));
}

#[test]
fn names_may_have_what_names_of_tools_have() {
    let expected = Some(vec![("files__read-all.v2".to_owned(), json!({ "a": 1 }))]);
    assert_eq!(read("files__read-all.v2(a=1)"), expected);
}

#[test]
fn several_calls_one_after_another() {
    let two = Some(vec![("search".to_owned(), json!({ "a": 1 })), ("search".to_owned(), json!({ "a": 2 }))]);
    assert_eq!(read("search(a=1)\nsearch(a=2)"), two);
    assert_eq!(
        read("<tool_call>search<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>\n\nsearch(a=2)"),
        two
    );
    assert_eq!(read(&"search()".repeat(MOST_CALLS)).map(|calls| calls.len()), Some(MOST_CALLS));
    assert_eq!(read(&"search()".repeat(MOST_CALLS + 1)), None, "no more than so many");
}

#[test]
fn anything_else_is_text() {
    for text in [
        "",
        " ",
        "Hello.",
        "search",
        "search for otters",
        "I call search(query=\"otters\")",
        "search(query=\"otters\") is what I would call",
        "search(query=\"otters\") hidden()",
        "hidden()",
        "unknown(a=1)",
        "Search(a=1)",
        "search(otters)",
        "search(\"otters\")",
        "search(a=1",
        "search(a=)",
        "search(a=1 b=2)",
        "search(a=[1)",
        "search(a={1: 2})",
        "search(a=otters)",
        "search(a=\"open)",
        "{\"name\":\"search\"}",
        "{\"name\":\"search\",\"parameters\":[]}",
        "{\"name\":\"search\",\"parameters\":{},\"extra\":1}",
        "{\"type\":\"tool\",\"name\":\"search\",\"parameters\":{}}",
        "{\"type\":\"function\",\"name\":\"hidden\",\"parameters\":{}}",
        "{\"name\":\"search\",\"parameters\":{}} there you are",
        "{\"answer\": 42}",
        "{",
        "<tool_call>search",
        "<tool_call>search</tool_call> there you are",
        "Sure: <tool_call>search</tool_call>",
        "<tool_call>search<arg_key>a</arg_key></tool_call>",
        "<tool_call>{\"name\":\"search\",\"arguments\":{}} x</tool_call>",
        "<|python_start|>search()",
        "<|python_tag|>search() and more<|eom_id|>",
        "<|python_tag|>search()<|eom_id|> and more",
        "```json\n{\"name\":\"search\",\"parameters\":{}}\n```",
        "[search()]",
        "é()",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn a29_the_reasoning_counts_where_there_is_no_text() {
    let thought = Reasoning { text: "<tool_call>search</tool_call>".into(), provider_metadata: None };
    let source = |text: Option<&str>, reasoning: Option<&Reasoning>| {
        source(text.map(Text::from).as_ref(), reasoning).map(ToString::to_string)
    };
    assert_eq!(source(None, Some(&thought)).as_deref(), Some(&*thought.text));
    assert_eq!(source(Some("  "), Some(&thought)).as_deref(), Some(&*thought.text));
    assert_eq!(source(Some("Hello."), Some(&thought)).as_deref(), Some("Hello."));
    assert_eq!(source(None, None), None);
    assert!(read(&thought.text).is_some());
    assert!(read("I think of search()").is_none());
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| format!("search(a={}{})", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&nested(MOST_DEPTH)).is_some());
    assert!(read(&nested(100_000)).is_none(), "no stack is used up");
    let braces = format!("search(a={}1{})", "{'a':".repeat(50_000), "}".repeat(50_000));
    assert!(read(&braces).is_none());
    assert!(read(&"{\"a\":".repeat(50_000)).is_none());
}

#[test]
fn no_prefix_of_any_form_makes_a_panic() {
    for text in [
        "search(query=\"ött\\\"ers\", top=[1, {'a': None}])",
        "<tool_call>search<arg_key>q</arg_key><arg_value>ö</arg_value></tool_call>",
        "<|python_tag|>{\"name\":\"search\",\"parameters\":{\"q\":\"ö\"}}<|eom_id|>",
    ] {
        for (end, _) in text.char_indices() {
            let prefix = text.get(..end).unwrap();
            assert!(
                read(prefix).is_none() || prefix.ends_with('>') || prefix.contains("python_tag"),
                "{prefix}"
            );
        }
        assert!(read(text).is_some(), "{text}");
    }
}

#[test]
fn arguments_stay_as_they_are_written_and_where_they_stand() {
    let args = "{ \"a\" : 1.0e5, \"b\": \"\\u00e9 x\" }";
    let one = format!("<tool_call>{{\"name\":\"search\", \"parameters\": {args}}}</tool_call>");
    let text = Text::from(format!(" {one}\nsearch(b=2) "));
    let calls = calls_in(&text, &tools()).unwrap();
    assert_eq!(&*calls[0].args, args);
    assert!(Span::of(&calls[0].args, &text).is_some(), "the arguments are the text's own bytes");
    let places: Vec<_> = calls.iter().map(|call| call.place.unwrap().in_text(&text).unwrap()).collect();
    assert_eq!(places, [&*one, "search(b=2)"]);
    assert_eq!(&*calls[1].args, "{\"b\":2}");
}

#[test]
fn names_that_come_twice_make_no_call() {
    for text in [
        "{\"name\":\"search\",\"name\":\"search\",\"parameters\":{}}",
        "{\"name\":\"search\",\"parameters\":{},\"parameters\":{\"a\":1}}",
        "search(a=1, a=2)",
        "<tool_call>search<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>a</arg_key><arg_value>2</arg_value></tool_call>",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn reading_a_reply_costs_its_length() {
    let shapes: [Shape; 12] = [
        ("python", |n| format!("search(a=[{}])", "1, 'x', ".repeat(n))),
        ("a python text", |n| format!("search(a='{}')", "\\n".repeat(n))),
        ("python arguments", |n| {
            format!("search({})", (0..n).map(|at| format!("a{at}=1,")).collect::<Vec<_>>().concat())
        }),
        ("an open text", |n| format!("search(a='{}", "x".repeat(n))),
        ("a name", |n| "a".repeat(n)),
        ("json", |n| format!("{{\"name\":\"search\",\"parameters\":{{\"a\":[{}1]}}}}", "1, ".repeat(n))),
        ("brackets", |n| format!("{{\"name\":\"search\",\"parameters\":{}", "[".repeat(n))),
        ("tags", |n| "<tool_call>".repeat(n)),
        ("python tags", |n| "<|python_tag|>search()".repeat(n)),
        ("calls", |n| "search()".repeat(n)),
        ("acorn's", |n| {
            let pairs = (0..n).map(|at| format!("<arg_key>k{at}</arg_key><arg_value>1</arg_value>"));
            format!("<tool_call>search{}</tool_call>", pairs.collect::<Vec<_>>().concat())
        }),
        ("keys without an end", |n| format!("<tool_call>search{}</tool_call>", "<arg_key>".repeat(n))),
    ];
    for (what, shape) in shapes {
        let cost = |n| {
            let (text, tools) = (shape(n), tools());
            let steps = taken(|| calls_in(&Text::from(&*text), &tools));
            assert!(steps <= 8 * text.len() as u64, "{what}: {steps} of {}", text.len());
            steps
        };
        doubling(cost).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    }
}
