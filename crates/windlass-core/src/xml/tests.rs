use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{from_xml, to_xml, xml_form};

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
