//! Recorded replies of another project, which are not part of this one:
//! `WINDLASS_CORPUS=FOLDER cargo nextest run -p windlass-models foreign --run-ignored only --no-capture`.
//!
//! `*.chunks.txt` (the data of one event a line) and `*.sse` are streams, `*.json` whole replies. The wire of a file is guessed
//! from its content, of an error from the path of its package. Files that are no replies are counted only. With
//! `WINDLASS_CORPUS_OUT=FILE` each reply, with the request that sends it back, or failure is written there as a line of JSON, for
//! a comparison with other readers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::Message;
use windlass_core::message::ToolMessage;
use windlass_core::model::Reply;
use windlass_models::conformance;
use windlass_models::http::Framing;
use windlass_models::wires::{WIRES, Wire};

use super::{Broken, Outcome, Reader};
use crate::crossing::said;

/// The most lines of a stream that are looked at to know its API.
const LOOKED_AT: usize = 8;

/// The number of places where a stream is cut.
const CUTS: usize = 48;

/// Streams up to this length are read byte by byte, too.
const SINGLE_BYTES: usize = 64 * 1024;

/// The ends of files with events a line, with server-sent events, and with whole replies.
const ENDS: [&str; 3] = [".chunks.txt", ".sse", ".json"];

/// What became of the files of one API.
#[derive(Default)]
struct Count {
    streams: usize,
    whole: usize,
    errors: usize,
    /// Files that no wire decodes.
    no_wire: usize,
    failed: Vec<String>,
    differ: Vec<String>,
}

/// The API that a reply or an event is written in.
fn api_of(value: &Value) -> Option<&'static str> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let (kind, object) = (text("type"), text("object"));
    let first = value.get("choices").and_then(|choices| choices.get(0));
    let says = first.is_some_and(|choice| choice.get("message").is_some() || choice.get("delta").is_some());
    if says || object == "chat.completion.chunk" {
        return Some("openai_chat");
    }
    if object == "response" || (kind.starts_with("response.") && !kind.starts_with("response.audio")) {
        return Some("openai_responses");
    }
    if kind == "message_start" || (kind == "message" && value.get("stop_reason").is_some()) {
        return Some("anthropic");
    }
    if value.get("candidates").is_some() || value.get("promptFeedback").is_some() {
        return Some("gemini");
    }
    (value.get("done").is_some() && value.get("message").is_some()).then_some("ollama")
}

/// The API of an error body, by the package whose file it is.
fn api_of_package(path: &Path) -> Option<&'static str> {
    let packages = [
        ("anthropic", "anthropic"),
        ("google", "gemini"),
        ("ollama", "ollama"),
        ("openai", "openai_chat"),
        ("groq", "openai_chat"),
        ("mistral", "openai_chat"),
        ("deepseek", "openai_chat"),
        ("xai", "openai_chat"),
    ];
    let within = |name: &str| path.components().any(|part| part.as_os_str() == name);
    packages.into_iter().find(|(package, _)| within(package)).map(|(_, api)| api)
}

fn wire_of(api: &str) -> Option<&'static dyn Wire> {
    WIRES.iter().copied().find(|wire| wire.facts().name.starts_with(api))
}

/// The body of a stream whose events stand on a line each.
fn framed(lines: &str, framing: Framing) -> String {
    let (before, after) = match framing {
        Framing::Events => ("data: ", "\n\n"),
        Framing::Lines => ("", "\n"),
    };
    let lines = lines.lines().filter(|line| !line.trim().is_empty());
    lines.flat_map(|line| [before, line, after]).collect()
}

/// Reads a stream whole and in pieces.
fn stream(reader: &Reader, body: &[u8], broken: &mut Broken) -> Outcome {
    let whole = reader.stream([body]);
    for cut in (0..CUTS).map(|at| at * body.len() / CUTS) {
        let (head, tail) = body.split_at(cut);
        broken.same(|| format!("cut at {cut}"), &reader.stream([head, tail]), &whole);
    }
    if body.len() <= SINGLE_BYTES {
        broken.same(|| "byte by byte".to_owned(), &reader.stream(body.chunks(1)), &whole);
    }
    for bytes in [512, 4096] {
        broken.same(|| format!("{bytes} bytes at once"), &reader.stream(body.chunks(bytes)), &whole);
    }
    whole
}

/// The next request of a conversation with this reply and a result for each of its calls.
fn sent_back(reader: &Reader, reply: &Reply) -> Value {
    let said = said(reply, &mut BTreeSet::new());
    let mut request = conformance::request("test/m", "Begin.");
    let calls = said.calls.clone();
    request.messages.push(Arc::new(Message::Assistant(said)));
    for call in calls {
        let (call, name) = (call.id, call.name);
        let result = ToolMessage { call, name, content: "Done.".into(), failed: false };
        request.messages.push(Arc::new(Message::Tool(result)));
    }
    request.messages.push(Arc::new(Message::user("Go on.")));
    let encoding = reader.wire.encode(&reader.dialect, &request);
    serde_json::from_slice(&encoding.body).expect("a request is JSON")
}

/// All files below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut open = vec![folder.to_owned()];
    let mut all = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() { open.push(path) } else { all.push(path) }
        }
    }
    all.sort();
    all
}

/// Decodes one file and counts it. `None`: it is no reply.
fn count(path: &Path, counts: &mut BTreeMap<&'static str, Count>, out: &mut Option<File>) -> Option<()> {
    let name = path.to_string_lossy();
    let [chunks, events, whole] = ENDS.map(|end| name.ends_with(end));
    let streamed = chunks || events;
    let text = std::fs::read_to_string(path).ok().filter(|_| streamed || whole)?;
    let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
    let values: Vec<Value> = if streamed {
        let data = text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line));
        data.filter_map(parse).take(LOOKED_AT).collect()
    } else {
        parse(&text).into_iter().collect()
    };
    let by_content = values.iter().find_map(api_of);
    let is_error = by_content.is_none() && values.iter().any(|value| value.get("error").is_some());
    let api = by_content.or_else(|| api_of_package(path).filter(|_| is_error))?;
    let count = counts.entry(api).or_default();
    let Some(wire) = wire_of(api) else {
        count.no_wire += 1;
        return Some(());
    };
    let (reader, mut broken) = (Reader::new(wire, ""), Broken::default());
    let outcome = if !streamed {
        reader.whole(text.as_bytes())
    } else if events {
        stream(&reader, text.as_bytes(), &mut broken)
    } else {
        stream(&reader, framed(&text, wire.facts().framing).as_bytes(), &mut broken)
    };
    if let Some(out) = out {
        let line = match &outcome {
            Ok(reply) => json!({ "file": &*name, "reply": reply, "sent": sent_back(&reader, reply) }),
            Err(failure) => json!({ "file": &*name, "failure": failure }),
        };
        writeln!(out, "{line}").expect("the file can be written");
    }
    match outcome {
        Ok(_) if is_error => count.failed.push(format!("{name}: an error became a reply")),
        Ok(_) if streamed => count.streams += 1,
        Ok(_) => count.whole += 1,
        Err(_) if is_error => count.errors += 1,
        Err(failure) => count.failed.push(format!("{name}: {:?}: {}", failure.kind, failure.message)),
    }
    count.differ.extend(broken.0.into_iter().take(1).map(|words| format!("{name}: {words}")));
    Some(())
}

#[test]
#[ignore = "needs recorded replies of another project in WINDLASS_CORPUS"]
fn foreign_replies_are_decoded() {
    let folder = std::env::var_os("WINDLASS_CORPUS").expect("WINDLASS_CORPUS names a folder");
    let mut counts = BTreeMap::new();
    let replies = std::env::var_os("WINDLASS_CORPUS_OUT");
    let mut replies = replies.map(|path| File::create(path).expect("WINDLASS_CORPUS_OUT names a file"));
    let mut passed_over = 0;
    for path in below(Path::new(&folder)) {
        passed_over += usize::from(count(&path, &mut counts, &mut replies).is_none());
    }
    let mut out = std::io::stdout().lock();
    let mut say = |words: String| writeln!(out, "{words}").expect("stdout is open");
    for (api, Count { streams, whole, errors, no_wire, failed, .. }) in &counts {
        let decoded = format!("{streams} streams, {whole} whole replies, {errors} errors");
        say(format!("{api}: {decoded}, {} failed, {no_wire} without a wire", failed.len()));
        for words in failed {
            say(format!("  {words}"));
        }
    }
    say(format!("{passed_over} files are no replies"));
    let decoded: usize = counts.values().map(|count| count.streams + count.whole).sum();
    assert!(decoded > 0, "no replies in {}", Path::new(&folder).display());
    let differ: Vec<_> = counts.values().flat_map(|count| &count.differ).collect();
    assert!(differ.is_empty(), "{differ:#?}");
}
