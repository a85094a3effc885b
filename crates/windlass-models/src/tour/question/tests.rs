use serde_json::{Value, json};
use windlass_core::ToolSpec;
use windlass_core::tool::{Effect, Offer};

use super::{Question, sums};
use crate::tour::offered;

fn tool(name: &str, properties: &Value, required: &[&str], effect: Effect) -> ToolSpec {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let mut spec = ToolSpec::new(name, "", schema);
    spec.effect = effect;
    spec
}

fn text(name: &str, parameter: &str, effect: Effect) -> ToolSpec {
    tool(name, &json!({parameter: {"type": "string"}}), &[parameter], effect)
}

fn calls(tools: &[ToolSpec], question: &str) -> Vec<(String, Value)> {
    let calls = Question::of(question).calls(&offered(tools)).into_iter();
    calls.map(|call| (call.name.to_string(), serde_json::from_str(&call.args).expect("JSON"))).collect()
}

fn call(tool: &ToolSpec, question: &str) -> Option<Value> {
    calls(std::slice::from_ref(tool), question).into_iter().next().map(|(_, args)| args)
}

#[test]
fn a_tool_that_only_reads_is_called_for_a_word_of_its_name() {
    let list = text("files__list_directory", "path", Effect::ReadOnly);
    for question in ["Which files are here?", "list them", "What documents are in this folder?"] {
        assert_eq!(call(&list, question), Some(json!({"path": "."})), "{question}");
    }
    assert_eq!(call(&list, "Which files are in ./src/bin/?"), Some(json!({"path": "./src/bin/"})));
    assert_eq!(call(&list, "What is 6 / 2, and which files are here?"), Some(json!({"path": "."})));
    assert_eq!(call(&list, "Write me a poem about the sea."), None);
    let now = tool("get_now", &json!({"timezone": {"type": "string"}}), &["timezone"], Effect::ReadOnly);
    for question in ["What day is it?", "what time is it", "Tell me the current time."] {
        assert_eq!(call(&now, question), Some(json!({"timezone": "UTC"})), "{question}");
    }
}

#[test]
fn a_tool_that_may_change_something_is_called_if_the_question_names_it() {
    let wipe = tool("wipe_disk", &json!({}), &[], Effect::Once);
    assert_eq!(call(&wipe, "Which disk is full?"), None);
    assert_eq!(call(&wipe, "Please wipe the disk."), Some(json!({})));
    let lend = text("get_document", "path", Effect::Idempotent);
    assert_eq!(call(&lend, "Read owls.txt."), None);
    assert_eq!(call(&lend, "Get the document `owls.txt`."), Some(json!({"path": "owls.txt"})));
}

#[test]
fn an_order_that_begins_with_the_verb_of_a_tool_and_has_a_file_goes_to_the_tool() {
    let texts = json!({"file": {"type": "string"}, "text": {"type": "string"}});
    let save = tool("save_file", &texts, &["file", "text"], Effect::Idempotent);
    let saved = Some(json!({"file": "documents/notes.txt", "text": "Owls hunt at night."}));
    assert_eq!(call(&save, "Save documents/notes.txt: Owls hunt at night."), saved);
    assert_eq!(call(&save, "Save my soul."), None);
    assert_eq!(call(&save, "Did they save documents/notes.txt?"), None);
    let wipe = tool("save_world", &json!({}), &[], Effect::Once);
    assert_eq!(call(&wipe, "Save documents/notes.txt"), None);
}

#[test]
fn a_sum_goes_to_a_tool_for_expressions_whatever_its_effect() {
    let calculator = text("calc", "expression", Effect::Once);
    assert_eq!(call(&calculator, "what is 3 * 4"), Some(json!({"expression": "3 * 4"})));
    assert_eq!(calls(&[calculator], "What is 2 + 3, and what is 10% of 50?").len(), 2);
    let numbers = json!({"a": {"type": "number"}, "b": {"type": "integer"}});
    let add = tool("add", &numbers, &["a", "b"], Effect::ReadOnly);
    assert_eq!(call(&add, "Add 2.5 and 5."), Some(json!({"a": 2.5, "b": 5})));
    assert_eq!(call(&add, "Add 2."), None);
}

#[test]
fn a_tool_is_not_called_if_it_is_not_offered_or_needs_what_the_question_does_not_have() {
    let mut hidden = text("calculate", "expression", Effect::ReadOnly);
    hidden.offer = Offer::Withheld;
    assert_eq!(call(&hidden, "What is 1 + 2?"), None);
    assert_eq!(call(&text("read_result", "id", Effect::ReadOnly), "Read a.md"), None);
    let read = text("read_file", "path", Effect::ReadOnly);
    for question in
        ["read https://example.com/a.html", "read e.g. that", "read mail of a@b.com", "read 3.14", "Read on."]
    {
        assert_eq!(call(&read, question), None, "{question}");
    }
    let many: Vec<_> = (0..50).map(|n| format!("f{n}.md")).collect();
    assert_eq!(calls(&[read], &format!("read {}", many.join(" "))).len(), 8);
}

#[test]
fn sums_are_written_in_signs() {
    for (text, written, expression) in [
        ("What is 17% of 2350?", "17% of 2350", "17 / 100 * 2350"),
        ("12 * (3 + 4)", "12 * (3 + 4)", "12 * (3 + 4)"),
        ("What is 12*(3+4)?", "12*(3+4)", "12*(3+4)"),
        ("17 % 5", "17 % 5", "17 % 5"),
        ("-3 + 4.", "-3 + 4", "-3 + 4"),
        ("3 + 17% of 200", "3 + 17% of 200", "3 + 17 / 100 * 200"),
    ] {
        assert_eq!(sums(text), [(written.to_owned(), expression.to_owned())], "{text}");
    }
}

#[test]
fn what_is_no_sum() {
    for text in [
        "What is 42?",
        "On 2026-11-21 and 21/11/2026",
        "version 1.2.3 - new",
        "gpt-5-mini or c++",
        "17%",
        "3 + (",
        "the sum of all fears",
        "3 4 5",
        "- - -",
        "-3",
        "",
    ] {
        let found = sums(text);
        assert!(found.is_empty(), "{text}: {found:?}");
    }
}
