use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{from_xml, to_xml, xml_form};
use crate::steps::{Shape, doubling, taken};

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn a1_input_is_written_with_descriptions_items_and_lower_case_booleans() {
    let schema = json!({ "type": "object", "properties": {
        "question": { "type": "string", "description": "What to \"answer\" & how" },
        "tags": { "type": "array", "items": { "type": "string" } },
        "limit": { "anyOf": [ { "type": "integer" }, { "type": "null" } ] },
        "strict": { "type": "boolean" },
        "who": { "$ref": "#/$defs/Person" },
        "none": { "type": "array" }
    }, "$defs": { "Person": { "type": "object", "properties": { "name": { "type": "string", "description": "full" } } } } });
    let value = json!({ "strict": true, "question": "a < b?", "tags": ["x", "y"], "limit": null,
        "who": { "name": "Ann" }, "none": [], "ratio": 1.0 });
    assert_eq!(
        to_xml("input", &map(&value), &schema),
        "<input>\n  <question description=\"What to &quot;answer&quot; &amp; how\">a &lt; b?</question>\n  \
         <tags>\n    <item>x</item>\n    <item>y</item>\n  </tags>\n  <strict>true</strict>\n  \
         <who>\n    <name description=\"full\">Ann</name>\n  </who>\n  <none />\n  <ratio>1.0</ratio>\n</input>"
    );
}

#[test]
fn a1_text_that_is_xml_is_embedded_as_elements() {
    let value = json!({ "doc": "<a href=\"x\">one</a><b/>", "broken": "<a>" });
    let xml = to_xml("input", &map(&value), &Value::Null);
    assert_eq!(
        xml,
        "<input>\n  <doc>\n    <a href=\"x\">one</a>\n    <b />\n  </doc>\n  <broken>&lt;a&gt;</broken>\n</input>"
    );
}

#[test]
fn a14_the_form_names_each_field_with_its_description() {
    let schema = json!({ "properties": {
        "sentiment": { "type": "string", "description": "positive, negative, or neutral" },
        "confidence": { "type": "number" } } });
    assert_eq!(
        xml_form("output", &schema),
        "<output>\n    <sentiment description=\"positive, negative, or neutral\"></sentiment>\n    \
         <confidence></confidence>\n</output>"
    );
}

#[test]
fn a14_a_filled_form_is_read_by_the_schema() {
    let schema = json!({ "type": "object", "properties": {
        "sentiment": { "type": "string" }, "confidence": { "type": "number" }, "ok": { "type": "boolean" },
        "tags": { "type": "array", "items": { "type": "integer" } },
        "who": { "type": "object", "properties": { "age": { "type": ["integer", "null"] } } } } });
    let reply = "Here it is:\n<output>\n <sentiment>posi&amp;tive</sentiment><confidence>0.95</confidence>\
                 <ok>True</ok><tags><item>1</item><item>2</item></tags><who><age>7</age></who></output> Done.";
    assert_eq!(
        from_xml("output", reply, &schema).unwrap(),
        json!({ "sentiment": "posi&tive", "confidence": 0.95, "ok": true, "tags": [1, 2], "who": { "age": 7 } })
    );
    assert!(from_xml("output", "no xml", &schema).unwrap_err().contains("no <output> element"));
    assert!(from_xml("output", "<output><a></output>", &schema).unwrap_err().contains("not well-formed"));
    assert!(from_xml("output", "</output><output>", &schema).is_err());
}

#[test]
fn reading_xml_costs_its_length() {
    let schema = json!({ "properties": { "a": { "type": "string" }, "b": { "type": "array" } } });
    let shapes: [Shape; 9] = [
        ("items", |n| format!("<output><b>{}</b></output>", "<item>1</item>".repeat(n))),
        ("fields", |n| format!("<output>{}</output>", "<c>1</c>".repeat(n))),
        ("a text", |n| format!("<output><a>{}</a></output>", "x &amp; ".repeat(n))),
        ("markup in a text", |n| format!("<output><a>{}</a></output>", "<i>x</i>".repeat(n))),
        ("depth", |n| format!("<output>{}{}</output>", "<d>".repeat(n), "</d>".repeat(n))),
        ("attributes", |n| {
            let attributes = (0..n).map(|at| format!(" k{at}='1'")).collect::<Vec<_>>().concat();
            format!("<output><a{attributes}/></output>")
        }),
        ("namespaces", |n| {
            let nested = (0..n).map(|at| format!("<a xmlns:n{at}='u'/>")).collect::<Vec<_>>().concat();
            format!("<output>{nested}</output>")
        }),
        ("beginnings", |n| format!("{}</output>", "<output>".repeat(n))),
        ("comments", |n| format!("<output>{}</output>", "<!-- < = -->".repeat(n))),
    ];
    for (what, shape) in shapes {
        let cost = |n| {
            let text = shape(n);
            let steps = taken(|| from_xml("output", &text, &schema));
            assert!(steps <= 8 * text.len() as u64, "{what}: {steps} of {}", text.len());
            steps
        };
        doubling(cost).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    }
}

#[test]
fn xml_beyond_its_bounds_is_no_xml() {
    let fault = |text: &str| from_xml("output", text, &json!({})).unwrap_err();
    let nested = |depth: usize| format!("<output>{}{}</output>", "<d>".repeat(depth), "</d>".repeat(depth));
    assert!(from_xml("output", &nested(127), &json!({})).is_ok());
    assert!(fault(&nested(128)).contains("elements nest deeper than 128"));
    assert!(fault(&nested(100_000)).contains("elements nest deeper than 128"), "no stack is used up");
    let attributes = (0..65).map(|at| format!(" k{at}='1'")).collect::<Vec<_>>().concat();
    assert!(fault(&format!("<output{attributes}/></output>")).contains("more than 64 attributes"));
    let spaces = (0..65).map(|at| format!("<a xmlns:n{at}='u'/>")).collect::<Vec<_>>().concat();
    assert!(fault(&format!("<output>{spaces}</output>")).contains("more than 64 namespaces"));
    // What only looks like attributes or depth is none.
    let quiet = format!("<output><!-- {0} --><![CDATA[ {0} ]]>{0}</output>", "a=1 &lt;b ".repeat(100));
    let quiet = quiet.replace("<![CDATA[ a=1 &lt;", "<![CDATA[ <<<");
    assert!(from_xml("output", &quiet, &json!({})).is_ok(), "{:?}", fault(&quiet));
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(text in "[ -~äöü€]{1,40}", number in any::<i64>(), flag in any::<bool>(),
                                     list in prop::collection::vec("[a-z<&>\"]{1,8}", 0..4)) {
        prop_assume!(!text.trim().is_empty());
        let schema = json!({ "type": "object", "properties": {
            "text": { "type": "string" }, "number": { "type": "integer" }, "flag": { "type": "boolean" },
            "list": { "type": "array", "items": { "type": "string" } } } });
        let value = json!({ "text": text.trim(), "number": number, "flag": flag, "list": list });
        let embedded = |text: &str| text.contains('<') && super::parse(&format!("<w>{text}</w>")).is_ok();
        prop_assume!(!embedded(text.trim()) && !list.iter().any(|item| embedded(item)));
        let xml = to_xml("input", &map(&value), &schema);
        prop_assert_eq!(from_xml("input", &xml, &schema).unwrap(), value);
    }

    #[test]
    fn no_reply_makes_the_reader_panic(reply in "(<output>|</output>|<a>|</a>|&|&lt;|[ -~]){0,30}") {
        let _any = from_xml("output", &reply, &json!({ "properties": { "a": { "type": "integer" } } }));
    }
}

#[test]
fn writing_xml_costs_the_length_of_the_values() {
    type Make = (&'static str, fn(usize) -> serde_json::Value);
    let values: [Make; 8] = [
        ("a text", |n| "x & ".repeat(n).into()),
        ("markup", |n| "<i>x</i>".repeat(n).into()),
        ("markup that does not end", |n| "<i>".repeat(n).into()),
        ("deep markup", |n| format!("{}{}", "<i>".repeat(n), "</i>".repeat(n)).into()),
        ("attributes", |n| (0..n).map(|at| format!("<a k{at}='1'/>")).collect::<Vec<_>>().concat().into()),
        ("texts with markup", |n| vec!["<i>x</i>"; n].into()),
        ("objects", |n| vec![json!({ "k": 1 }); n].into()),
        ("fields", |n| {
            (0..n).map(|at| (format!("k{at}"), json!(1))).collect::<serde_json::Map<_, _>>().into()
        }),
    ];
    for (what, make) in values {
        let cost = |n| {
            let fields = serde_json::Map::from_iter([("a".to_owned(), make(n))]);
            taken(|| to_xml("input", &fields, &Value::Null))
        };
        doubling(cost).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    }
}
