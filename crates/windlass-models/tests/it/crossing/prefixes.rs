//! E57 for every wire: what a turn sends is the beginning of what the next one sends, and a restart changes no byte.

use std::sync::Arc;

use serde_json::json;
use windlass_core::message::{Content, Media, MediaSource, Part, ToolMessage};
use windlass_core::model::{ModelChoice, Reply};
use windlass_core::{Message, ToolSpec};
use windlass_models::http::replay;
use windlass_models::wires::{Asked, Dialect, Quirks, WIRES, Wire};
use windlass_models::{ModelRequest, PrefixCell, conformance};

use super::{PIXEL, said};

/// Chance that is the same each time (SplitMix64: Steele, Lea and Flood, 2014).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % bound as u64).expect("below a usize")
    }

    fn words(&mut self) -> String {
        const WORDS: [&str; 8] = ["a", "\"quoted\"", "ü🦀", "line\nbreak", "\\", "]}", " ", "\u{1}"];
        (0..=self.below(5)).map(|_| WORDS[self.below(WORDS.len())]).collect::<Vec<_>>().join(" ") + "."
    }

    fn media(&mut self) -> Media {
        let media_type = ["image/png", "image/tiff", "application/pdf", "text/plain"][self.below(4)];
        let source = match self.below(2) {
            0 => MediaSource::Base64(PIXEL.into()),
            _ => MediaSource::Url("https://example.com/a".into()),
        };
        Media { media_type: media_type.into(), name: (self.below(2) == 0).then(|| "a.bin".into()), source }
    }

    fn content(&mut self) -> Content {
        if self.below(2) == 0 {
            return self.words().into();
        }
        let part = |chance: &mut Self| match chance.below(3) {
            0 => Part::Image(chance.media()),
            1 => Part::File(chance.media()),
            _ => Part::Text { text: chance.words().into() },
        };
        let mut parts = vec![Part::Text { text: self.words().into() }];
        parts.extend((0..self.below(3)).map(|_| part(self)));
        Content::Parts(parts)
    }
}

/// The label that a wire's replies are sealed with.
fn dialect(wire: &dyn Wire, return_reasoning: bool) -> Dialect {
    let quirks = Quirks { return_reasoning, ..Quirks::NONE };
    Dialect { label: wire.facts().name.into(), quirks }
}

/// All streamed replies of the corpus, each sealed by its own wire.
fn replies() -> Vec<Reply> {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut all = Vec::new();
    for wire in WIRES {
        let Ok(folder) = std::fs::read_dir(corpus.join(wire.facts().name)) else { continue };
        let mut paths: Vec<_> = folder.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        for path in paths {
            let ends = path.extension().is_some_and(|end| end == "sse" || end == "jsonl");
            if !ends {
                continue;
            }
            let asked = Asked { model: "m".into(), content_bytes: 9 };
            let body = std::fs::read(&path).expect("a file");
            let dialect = dialect(*wire, true);
            all.extend(replay(*wire, &dialect, &asked, [body.as_slice()]).ok());
        }
    }
    all
}

/// The bytes of a body up to the end of its messages: without what closes the last one, which the next message may stand in.
fn up_to_the_messages(wire: &dyn Wire, body: &[u8]) -> Vec<u8> {
    let key = match wire.facts().name {
        "openai_responses" => "\"input\":[",
        "gemini" | "gemini_vertex" => "\"contents\":[",
        _ => "\"messages\":[",
    };
    let text = std::str::from_utf8(body).expect("UTF-8");
    let begin =
        text.find(key).unwrap_or_else(|| panic!("{}: no {key} in {text}", wire.facts().name)) + key.len();
    let (mut depth, mut within, mut escaped) = (1, false, false);
    for (at, byte) in body.iter().enumerate().skip(begin) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if within => escaped = true,
            b'"' => within = !within,
            b'[' | b'{' if !within => depth += 1,
            b']' | b'}' if !within => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let messages = text[..at].trim_end_matches([']', '}']);
            return messages.as_bytes().to_vec();
        }
    }
    panic!("the messages have no end: {text}");
}

/// The same request after a restart: messages as the log gives them back, and nothing kept.
fn restarted(request: &ModelRequest) -> ModelRequest {
    let stored = |message: &Arc<Message>| {
        let json = serde_json::to_string(&**message).expect("JSON");
        Arc::new(serde_json::from_str(&json).expect("a message"))
    };
    ModelRequest {
        messages: request.messages.iter().map(stored).collect(),
        prompt: Arc::new(request.prompt.iter().map(stored).collect()),
        prefix: PrefixCell::default(),
        ..request.clone()
    }
}

/// A conversation's first request.
fn opening(wire: &dyn Wire, chance: &mut Chance) -> ModelRequest {
    let mut request = conformance::request("", &chance.words());
    let name = if chance.below(2) == 0 { "gemini-2.5-flash" } else { "gemini-3-flash" };
    request.model =
        ModelChoice { name: format!("{}/{name}", wire.facts().name).into(), ..ModelChoice::default() };
    request.prompt = Arc::new(vec![Arc::new(Message::system(chance.words()))]);
    let parameters = json!({ "type": "object", "properties": { "x": { "type": "integer" } } });
    request.tools = Arc::new(vec![ToolSpec::new("f", chance.words(), parameters)]);
    request
}

#[test]
fn e38_e57_every_wire_goes_on_with_the_same_bytes_also_after_a_restart() {
    let replies = replies();
    assert!(replies.len() > 100, "{} replies", replies.len());
    for wire in WIRES {
        for seed in 0..24 {
            let mut chance = Chance(seed);
            let dialect = dialect(*wire, seed % 2 == 0);
            let mut request = opening(*wire, &mut chance);
            let mut used = std::collections::BTreeSet::new();
            let mut before: Option<Vec<u8>> = None;
            for turn in 0..12 {
                let at = || format!("{}, seed {seed}, turn {turn}", wire.facts().name);
                let body = wire.encode(&dialect, &request).body;
                serde_json::from_slice::<serde_json::Value>(&body)
                    .unwrap_or_else(|error| panic!("{}: {error}", at()));
                let anew = wire.encode(&dialect, &restarted(&request)).body;
                assert_eq!(String::from_utf8_lossy(&body), String::from_utf8_lossy(&anew), "{}", at());
                if let Some(before) = before {
                    let (before, now) = (String::from_utf8_lossy(&before), String::from_utf8_lossy(&body));
                    assert!(now.starts_with(&*before), "{}:\n{before}\n{now}", at());
                }
                before = Some(up_to_the_messages(*wire, &body));
                go_on(&mut request, &mut chance, &replies, &mut used);
            }
        }
    }
}

/// A reply of any provider with its results, and sometimes what a person or the program says next.
fn go_on(
    request: &mut ModelRequest,
    chance: &mut Chance,
    replies: &[Reply],
    used: &mut std::collections::BTreeSet<String>,
) {
    let message = said(&replies[chance.below(replies.len())], used);
    let calls = message.calls.clone();
    request.messages.push(Arc::new(Message::Assistant(message)));
    for call in &calls {
        let result = ToolMessage {
            call: call.id.clone(),
            name: call.name.clone(),
            content: chance.content(),
            failed: chance.below(4) == 0,
        };
        request.messages.push(Arc::new(Message::Tool(result)));
    }
    if calls.is_empty() || chance.below(4) == 0 {
        request.messages.push(Arc::new(Message::User { content: chance.content(), pinned: false }));
    }
    if chance.below(6) == 0 {
        request.messages.push(Arc::new(Message::system(chance.words())));
    }
}
