//! Each reader of foreign input by itself, at its bound.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass::models::http::sse::SseParser;
use windlass::models::wires::openai_chat::decode::{Decoder, decode};
use windlass::models::wires::openai_chat::encode::encode;
use windlass::models::wires::{Asked, Decode, Dialect};
use windlass::models::{Assembler, Delta, ModelRequest, PrefixCell};
use windlass::runtime::{DriveOptions, RunMessages, yaml};
use windlass::{Agent, Tour};
use windlass_core::message::{AssistantMessage, History, ToolCall};
use windlass_core::model::{ModelChoice, Purpose, ToolChoice, transcript};
use windlass_core::schema::{Checker, check_args, plain_schema};
use windlass_core::secret::{Masker, mask};
use windlass_core::text::{from_xml, nearest};
use windlass_core::tool::found_tools;
use windlass_core::{Message, ToolSpec};

use super::{OUTPUT, REPLY, piece, prose, replies, secrets};
use crate::log::Outcome;

/// The most bytes of a body, or of one event, with a reply of [`REPLY`] in it: see the adapter's own bound.
const BODY: usize = 3 * REPLY + 1024 * 1024;

/// Prints a table of all of them.
pub(super) fn all() -> Outcome<()> {
    println!("| reader | input | ms |\n|---|---|---|");
    masking();
    schemas();
    texts();
    wires();
    replies::all()?;
    files();
    templates()
}

/// A text in which all ways to look for secrets find one, so that none ends early.
fn leaky(bytes: usize, kept: &[windlass_core::secret::Secret]) -> String {
    let plain = kept.get(1).map_or("", windlass_core::secret::Secret::expose);
    let escaped: String = plain.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let broken = plain.as_bytes().chunks(16).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\n");
    let found = format!("{plain} {escaped} {broken} ");
    let filler = "%41 \\u0042 sk-proj-Ab3dEf6h eyJhbGciOiJIUzI1NiJ9.c2Vj\n";
    let mut text = found + &filler.repeat(bytes / filler.len());
    text.truncate(bytes);
    text
}

fn masking() {
    let kept = secrets();
    let fresh = || {
        let masker = Masker::new();
        kept.iter().for_each(|secret| masker.add(secret));
        masker
    };
    piece("the automaton of all secrets", "64 secrets", fresh, |masker| masker.hide("x").into_owned());
    drop(mask("x"));
    piece("masking", "16 MiB of prose", || prose(REPLY), |text| mask(&text).into_owned());
    piece("masking", "50 MB of a command's output", || prose(OUTPUT), |text| mask(&text).into_owned());
    piece(
        "masking",
        "16 MiB with escapes, broken lines and secrets",
        || leaky(REPLY, &kept),
        |text| mask(&text).into_owned(),
    );
    piece(
        "masking a stream",
        "one piece of 16 MiB",
        || prose(REPLY),
        |text| Masker::of_process().stream().push(text),
    );
    piece(
        "masking a stream",
        "one piece of 16 MiB with escapes",
        || leaky(REPLY, &kept),
        |text| Masker::of_process().stream().push(text),
    );
}

/// Definitions that refer to one another twice, as high as they may be.
fn tower() -> Value {
    let schema = |height: usize| {
        let mut definitions =
            Map::from_iter([("d0".to_owned(), json!({ "type": "string", "maxLength": 9 }))]);
        for level in 1..=height {
            let child = json!({ "$ref": format!("#/$defs/d{}", level - 1) });
            definitions.insert(format!("d{level}"), json!({ "allOf": [child.clone(), child] }));
        }
        json!({ "type": "object", "properties": { "a": { "$ref": format!("#/$defs/d{height}") } }, "$defs": definitions })
    };
    let highest = (1..40).rev().find(|height| Checker::new(&schema(*height)).is_ok());
    schema(highest.unwrap_or(1))
}

/// A schema of many fields, each with so many keywords.
fn wide(fields: usize, field: &Value) -> Value {
    let all: Map<String, Value> = (0..fields).map(|number| (format!("p{number}"), field.clone())).collect();
    json!({ "type": "object", "properties": all })
}

/// The longest list of that item which a checker takes.
fn most_items(checker: &Checker, item: &Value) -> Value {
    let list = |items: usize| json!({ "list": vec![item.clone(); items] });
    let taken = |items: usize| checker.check(&list(items)) != Err(windlass_core::schema::Misfit::TooCostly);
    let (mut least, mut most) = (1, 1 << 19);
    while most - least > 1 {
        let middle = usize::midpoint(least, most);
        if taken(middle) {
            least = middle;
        } else {
            most = middle;
        }
    }
    list(least)
}

fn schemas() {
    let numbers = json!({ "type": "string", "maxLength": 9 });
    let patterns = json!({ "type": "string", "pattern": "^([a-z]{1,20}-){2}[a-z0-9]{3,40}$" });
    let letters = json!({ "type": "string", "pattern": "^[\\p{L}]{1,12}$" });
    let shapes = [
        ("6,000 fields", wide(6_000, &numbers)),
        ("1,000 fields with patterns", wide(1_000, &patterns)),
        ("3 patterns of 20,000 states", wide(3, &letters)),
        ("references that multiply", tower()),
        (
            "alternatives of alternatives",
            json!({ "type": "object", "properties": { "list": { "items": { "anyOf": vec![wide(20, &numbers); 150] } } } }),
        ),
    ];
    for (bound, schema) in &shapes {
        piece("taking a schema in", bound, || schema.clone(), |schema| Checker::new(&schema).is_ok());
        piece("a schema for models", bound, || schema.clone(), |schema| plain_schema(&schema));
    }
    let branches = json!({ "anyOf": vec![json!({ "type": "object", "required": ["x"] }); 40] });
    let nested = json!({ "oneOf": vec![wide(40, &numbers); 20] });
    let object: Map<String, Value> = (0..40).map(|number| (format!("p{number}"), json!(1))).collect();
    for (what, item, of) in [
        ("alternatives", json!({ "y": 1 }), branches),
        ("patterns", json!("aaaaaaaaaa-bbbbbbbbbbbb-ccccccccccccccccc"), patterns),
        ("texts", json!("abc"), numbers),
        ("one of 20 objects", json!(object), nested),
    ] {
        let schema = json!({ "type": "object", "properties": { "list": { "type": "array", "items": of } } });
        let Ok(checker) = Checker::new(&schema) else { continue };
        let value = most_items(&checker, &item);
        piece(
            "checking a value",
            &format!("all steps that it may take, {what}"),
            || (),
            |()| checker.check(&value),
        );
    }
}

fn tools(count: usize) -> Vec<ToolSpec> {
    (0..count)
        .map(|number| {
            let words: Vec<String> = (0..260).map(|word| format!("w{}", number * 7 + word * 13)).collect();
            ToolSpec::new(
                format!("{}-{number}", "name_of_a_tool_".repeat(3)),
                words.join(" "),
                json!({ "type": "object" }),
            )
        })
        .collect()
}

/// So many bytes of words of one length that are no parts of one another.
fn worded(seed: usize, bytes: usize, word: usize) -> String {
    let digits = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let digit = |number: usize| char::from(digits.get(number % digits.len()).copied().unwrap_or(b'a'));
    let one = |number: usize| -> String {
        let tail: String = [number / 36, number].map(digit).iter().collect();
        "x".repeat(word.saturating_sub(2)) + &tail
    };
    (0..bytes / (word + 1)).map(|number| one(seed + number)).collect::<Vec<_>>().join(" ")
}

/// Tools with descriptions as long as they are looked at, of words of that length.
fn wordy(count: usize, word: usize) -> Vec<ToolSpec> {
    let tool = |number: usize| {
        ToolSpec::new(
            format!("tool-{number}"),
            worded(400 + number, 2_048, word),
            json!({ "type": "object" }),
        )
    };
    (0..count).map(tool).collect()
}

fn texts() {
    for (bound, word, sought) in [
        ("1,000 tools, a query of 1 KiB, short words", 2, 2),
        ("1,000 tools, a query of 1 KiB, words of 30 and 60 bytes", 60, 30),
    ] {
        let (many, query) = (wordy(1_000, word), worded(0, 1_024, sought));
        piece(
            "`search_tools`",
            bound,
            || (),
            |()| found_tools(&many, &json!({ "query": query, "limit": 1_000 })),
        );
    }
    let many = tools(1_000);
    piece(
        "`search_tools`",
        "1,000 tools, `w7 a`, all of them shown",
        || (),
        |()| found_tools(&many, &json!({ "query": "w7 name", "limit": 1_000 })),
    );
    let names: Vec<String> = (0..1_000).map(|number| format!("{}{number}", "abcdefgh".repeat(16))).collect();
    piece(
        "nearest names",
        "1,000 names of 128 bytes",
        || (),
        |()| nearest(&"hgfedcba".repeat(16), names.iter().map(String::as_str)),
    );
    let history: History = (0..4).map(|_| Arc::new(Message::user(prose(REPLY)))).collect();
    piece("the conversation as one text", "4 × 16 MiB", || (), |()| transcript(&history));
    let schema = json!({ "properties": { "a": { "type": "string" } } });
    let element = "<a>text &amp; more</a>";
    for (bound, text) in [
        ("16 MiB, one text", format!("<output><a>{}</a></output>", "text &amp; more ".repeat(REPLY / 16))),
        (
            "16 MiB, as many elements as it may have",
            format!("<output>{}</output>", element.repeat(REPLY / element.len())),
        ),
        ("100,000 elements", format!("<output>{}</output>", element.repeat(49_000))),
        ("16 MiB of opened elements", "<output>".repeat(REPLY / 8)),
    ] {
        piece("XML", bound, || (), |()| from_xml("output", &text, &schema));
    }
    let spec = ToolSpec::new("echo", "", json!({ "type": "object" }));
    for (bound, args) in [
        ("16 MiB, one text", json!({ "text": prose(REPLY - 100) }).to_string()),
        ("16 MiB, one text of escapes", format!("{{\"text\":\"{}\"}}", "\\u00e9".repeat(REPLY / 6 - 10))),
        ("250,000 values", format!("{{\"list\":[{}0]}}", "0,".repeat(240_000))),
        ("120,000 objects", format!("{{\"list\":[{}0]}}", "{\"a\":1},".repeat(80_000))),
    ] {
        piece("arguments read and checked", bound, || (), |()| check_args(&spec, &args));
    }
}

fn request(history: History) -> ModelRequest {
    ModelRequest {
        model: ModelChoice { name: "bench".into(), ..ModelChoice::default() },
        purpose: Purpose::Act,
        prompt: Arc::default(),
        messages: history.into(),
        tools: Arc::default(),
        choice: ToolChoice::Auto,
        response_schema: None,
        cache: Vec::new(),
        stream: true,
        prefix: PrefixCell::default(),
    }
}

/// A reply of the wire, as a whole body or as the data of one event.
fn body(kind: &str, message: &str) -> Vec<u8> {
    let usage = "\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}";
    format!("{{\"choices\":[{{\"index\":0,\"{kind}\":{message},\"finish_reason\":\"stop\"}}],{usage}}}")
        .into_bytes()
}

fn wires() {
    let escaped = format!("{{\"content\":\"{}\"}}", "\\u0061".repeat((BODY - 1_000) / 6));
    let parts = format!("{{\"content\":[{}{{}}]}}", "{},".repeat((BODY - 1_000) / 3));
    let object = format!(
        "{{\"tool_calls\":[{{\"function\":{{\"name\":\"f\",\"arguments\":{{\"a\":[{}0]}}}}}}]}}",
        "0,".repeat((REPLY - 1_000) / 2)
    );
    for (bound, content) in [
        ("49 MiB of escapes", &escaped),
        ("49 MiB of empty parts", &parts),
        ("16 MiB of numbers, as an object", &object),
    ] {
        let whole = body("message", content);
        let asked = Asked { model: "m".into(), content_bytes: 0 };
        let dialect = Dialect::default();
        piece("a whole reply of a provider", bound, || (), |()| decode(&dialect, &whole, &asked).is_ok());
        let delta = body("delta", content);
        piece(
            "one event of a stream",
            bound,
            || (),
            |()| {
                let mut parser = SseParser::bounded(BODY + 1_000);
                let event = [b"data: ", delta.as_slice(), b"\n\n"].concat();
                let pushed = event.chunks(64 * 1024).all(|chunk| parser.push(chunk).is_ok());
                let mut out = VecDeque::new();
                let mut decoder = Decoder::new(&dialect);
                let decoded = parser.next_data().map(|data| decoder.event(data, &mut out).is_ok());
                (pushed, decoded, out)
            },
        );
    }
    let args = json!({ "text": prose(REPLY - 1_000) }).to_string();
    piece(
        "putting a reply together",
        "one call with 16 MiB in one piece",
        || Delta::Call { index: Some(0), id: None, name: Some("echo".to_owned()), args: args.clone() },
        |delta| {
            let mut assembler = Assembler::new("bench");
            let pushed = assembler.push(delta).is_ok();
            (pushed, assembler.finish())
        },
    );
    let call = ToolCall { name: "echo".into(), args: args.as_str().into(), ..ToolCall::default() };
    let reply = AssistantMessage { calls: vec![call], ..AssistantMessage::default() };
    let message = Arc::new(Message::Assistant(reply));
    for (bound, messages) in [("one new message of 16 MiB", 1), ("10 messages of 16 MiB after a resume", 10)]
    {
        let history: History = (0..messages).map(|_| message.clone()).collect();
        piece(
            "a request",
            bound,
            || request(history.clone()),
            |request| encode(&Dialect::default(), &request),
        );
    }
}

fn files() {
    let entry = "  - { a: 1, b: [x, y] }\n";
    let document = format!("list:\n{}", entry.repeat((yaml::MAX_BYTES - 100) / entry.len()).as_str());
    let fitting = format!("list:\n{}", entry.repeat(14_000));
    let long =
        format!("text: |\n{}", format!("  {}\n", "word ".repeat(15)).repeat((yaml::MAX_BYTES - 100) / 78));
    for (bound, text) in
        [("4 MiB of lists", &document), ("100,000 values", &fitting), ("4 MiB, one text", &long)]
    {
        piece("YAML", bound, || (), |()| yaml::parse(text).is_ok());
    }
}

/// Instructions that use up what a template may take.
fn templates() -> Outcome<()> {
    let any = json!({ "type": "object" });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let filters = "|upper|lower|replace('a', 'b')|trim".repeat(2);
    for (bound, instructions, bytes) in [
        (
            "all steps of a loop",
            "{% for a in range(9000) %}{{ a }}{{ input.text }}{% endfor %}".to_owned(),
            100,
        ),
        ("8 MiB of text from 1 MiB", "{{ input.text }}".repeat(8), 1 << 20),
        ("32 MiB through filters", format!("{{{{ input.text{filters} }}}}").repeat(3), 1 << 20),
        ("1 MiB of template", "{{ input.text }} and so on\n".repeat(38_000), 1),
    ] {
        let agent =
            Agent::builder("template").instructions(instructions).input_schema(any.clone()).model(Tour);
        let agent = agent.build()?;
        let input = Map::from_iter([("text".to_owned(), Value::from("a".repeat(bytes)))]);
        piece(
            "a template",
            bound,
            || RunMessages::from(input.clone()),
            |input| runtime.block_on(agent.prepare(input, DriveOptions::default())).is_ok(),
        );
    }
    Ok(())
}
