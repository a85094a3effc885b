//! One conversation over all wires: calls, reasoning and an image go from provider to provider and back, and each server judges
//! the request that it gets by the rules of its API.

#![expect(clippy::panic, reason = "a test's shared parts stand outside of `#[test]` functions")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use windlass_core::message::{AssistantMessage, Content, Media, MediaSource, Part, ToolCall, ToolMessage};
use windlass_core::model::{Reply, ToolChoice};
use windlass_core::{Message, ToolSpec};
use windlass_models::wires::{Quirks, wire};
use windlass_models::{HttpModel, HttpModelConfig, Model, ModelRequest, assemble, conformance};

use crate::server::{Server, Step, response};

pub(crate) mod judges;
mod prefixes;

pub(crate) use judges::Judge;

use judges::Item;

/// A picture of one pixel, in base64.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

/// Ids as Moonshot gives them, which other APIs refuse: points and colons ("Tool use", Kimi API).
const ODD_IDS: &str = r#"{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"functions.look:0","type":"function","function":{"name":"look","arguments":"{\"at\":1}"}},{"id":"functions.look:1","type":"function","function":{"name":"look","arguments":"{\"at\":2}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}"#;

/// One provider's part of the conversation.
struct Leg {
    wire: &'static str,
    model: &'static str,
    judge: Judge,
    /// The recorded replies to its requests: files of the corpus, or a whole body.
    replies: &'static [&'static str],
    /// What no other provider may get: readable reasoning and seals of these replies.
    secrets: &'static [&'static str],
    /// What this provider must get back in every later request.
    back: &'static [&'static str],
    /// Where the parts of a whole reply stand, and the file whose parts must go back unchanged, side by side.
    own: Option<(&'static str, &'static str)>,
}

const LEGS: [Leg; 5] = [
    Leg {
        wire: "anthropic_messages",
        model: "claude-opus-4-6",
        judge: judges::anthropic,
        replies: &["thinking_and_call.sse", "call_ids_repeat.sse", "text.sse"],
        secrets: &["The city is Paris.", "EqQBCgIYAhIM1gbcDa9GJwZA2b3h", "EmwKAhgBEgy3va3pzix"],
        back: &["The city is Paris.", "EqQBCgIYAhIM1gbcDa9GJwZA2b3h", "EmwKAhgBEgy3va3pzix"],
        own: Some(("/content", "thinking_and_call.json")),
    },
    Leg {
        wire: "openai_responses",
        model: "gpt-5.2",
        judge: judges::responses,
        replies: &["reasoning_twice.sse", "parallel_calls_and_text.sse", "text.sse"],
        secrets: &["First thought.", "gAAAAB-opaque", "Second thought.", "gAAAAC-second"],
        back: &["First thought.", "gAAAAB-opaque+bytes==", "Second thought.", "gAAAAC-second"],
        own: Some(("/output", "reasoning_twice.json")),
    },
    Leg {
        wire: "gemini",
        model: "gemini-3-flash",
        judge: judges::gemini,
        replies: &["calls_stop.sse", "text.sse"],
        secrets: &["c2lnLWE="],
        back: &["c2lnLWE="],
        own: Some(("/candidates/0/content/parts", "calls_stop.json")),
    },
    Leg {
        wire: "openai_chat",
        model: "m",
        judge: judges::chat,
        replies: &["reasoning_details.sse", "parallel_calls.sse", ODD_IDS, "text.sse"],
        secrets: &["The user wants the weather.", "c2lnbmF0dXJl", "Z0FBQUFB"],
        back: &["The user wants the weather.", "c2lnbmF0dXJl", "Z0FBQUFB"],
        own: None,
    },
    Leg {
        wire: "ollama",
        model: "qwen3",
        judge: judges::ollama,
        replies: &["calls_with_ids.jsonl", "text.jsonl"],
        secrets: &["Two cities."],
        back: &["Two cities."],
        own: None,
    },
];

fn recorded(wire: &str, name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(wire);
    std::fs::read_to_string(folder.join(name)).expect("it is in the corpus")
}

fn answer(wire: &str, reply: &str) -> Vec<Step> {
    let (kind, body) = match reply.rsplit_once('.') {
        Some((_, "sse")) => ("text/event-stream", recorded(wire, reply)),
        Some((_, "jsonl")) => ("application/x-ndjson", recorded(wire, reply)),
        _ => ("application/json", reply.to_owned()),
    };
    response("200 OK", &format!("content-type: {kind}\r\n"), &body)
}

/// A server that judges each request, and answers good ones with the leg's replies, one after another.
async fn judging(leg: &'static Leg) -> Server {
    let turn = AtomicUsize::new(0);
    Server::answering(move |seen| {
        let body: Value = serde_json::from_str(&seen.body).expect("JSON");
        if let Err(fault) = (leg.judge)(&body).and_then(|items| judges::in_order(&items).map(drop)) {
            let error = json!({ "error": { "message": fault } }).to_string();
            return response("400 Bad Request", "content-type: application/json\r\n", &error);
        }
        answer(leg.wire, leg.replies[turn.fetch_add(1, Ordering::SeqCst)])
    })
    .await
}

fn adapter(leg: &Leg, server: &Server) -> HttpModel {
    let wire = wire(leg.wire).expect("a wire");
    let quirks = Quirks { return_reasoning: leg.wire == "ollama", ..Quirks::NONE };
    let config = HttpModelConfig::new(wire, leg.wire, server.url.clone());
    HttpModel::new(HttpModelConfig { allow_proxy: false, key: Some("key-1".into()), quirks, ..config })
        .expect("a good base URL")
}

fn tools() -> Vec<ToolSpec> {
    let parameters = json!({ "type": "object", "properties": {} });
    let tool = |name: &&str| ToolSpec::new(*name, "Looks something up.", parameters.clone());
    ["get_weather", "get_time", "get_temperature", "look", "f"].iter().map(tool).collect()
}

/// What the core makes of a reply: the provider's id of a call where it is new, else one of its own.
pub(crate) fn said(reply: &Reply, used: &mut BTreeSet<String>) -> AssistantMessage {
    let mut calls = Vec::new();
    for call in &reply.calls {
        let given = call.id.as_deref().filter(|id| !id.is_empty() && !used.contains(*id));
        let id = given.map_or_else(|| format!("call_{}", used.len() + 1), str::to_owned);
        used.insert(id.clone());
        let provider_id = call.id.clone().filter(|own| **own != *id);
        calls.push(ToolCall {
            id: id.into(),
            name: call.name.clone(),
            args: call.args.clone().into(),
            provider_id,
            ..ToolCall::default()
        });
    }
    AssistantMessage {
        text: reply.text.clone(),
        reasoning: reply.reasoning.clone(),
        media: reply.media.clone().into(),
        calls,
        annotations: reply.annotations.clone(),
    }
}

fn pixel() -> Part {
    let source = MediaSource::Base64(PIXEL.into());
    Part::Image(Media { media_type: "image/png".into(), name: None, source })
}

/// The result of a call; that of the first one shows an image, and one failed.
fn result(call: &ToolCall, number: usize) -> Message {
    let text = format!("Found „{number}“ for {}.", call.name);
    let content = match number {
        1 => Content::Parts(vec![Part::Text { text: text.into() }, pixel()]),
        _ => text.into(),
    };
    Message::Tool(ToolMessage {
        call: call.id.clone(),
        name: call.name.clone(),
        content,
        failed: number == 3,
    })
}

/// The conversation so far, with a request that shares its cell.
struct Talk {
    request: ModelRequest,
    used: BTreeSet<String>,
    results: usize,
}

impl Talk {
    fn new() -> Self {
        let mut request = conformance::request("", "");
        request.messages = std::iter::empty::<Arc<Message>>().collect();
        request.prompt = Arc::new(vec![Arc::new(Message::system("Be brief."))]);
        request.tools = Arc::new(tools());
        request.choice = ToolChoice::Auto;
        Self { request, used: BTreeSet::new(), results: 0 }
    }

    fn push(&mut self, message: Message) {
        self.request.messages.push(Arc::new(message));
    }

    /// Asks one provider until it has answered.
    async fn cross(&mut self, leg: &'static Leg, round: usize) {
        let server = judging(leg).await;
        let model = adapter(leg, &server);
        let question = Part::Text { text: format!("Question {round} for {}?", leg.wire).into() };
        let content = if self.request.messages.is_empty() {
            Content::Parts(vec![question, pixel()])
        } else {
            Content::Parts(vec![question])
        };
        self.push(Message::User { content, pinned: false });
        self.request.model.name = format!("{}/{}", leg.wire, leg.model).into();
        for (at, _) in leg.replies.iter().enumerate() {
            let replied = assemble(model.call(self.request.clone()), leg.model).await;
            let body = server.seen().pop().expect("a request").body;
            let reply = replied.unwrap_or_else(|failure| {
                panic!("{} refuses: {}\n{body}", leg.wire, failure.message);
            });
            self.judge(leg, &body, round > 1 || at > 0);
            let said = said(&reply, &mut self.used);
            let calls = said.calls.clone();
            assert_eq!(calls.is_empty(), at + 1 == leg.replies.len(), "{}: {reply:?}", leg.wire);
            self.push(Message::Assistant(said));
            for call in &calls {
                self.results += 1;
                self.push(result(call, self.results));
            }
        }
    }

    /// Nothing is lost that may be kept, nothing foreign is sent, and what is this provider's own is as it was.
    fn judge(&self, leg: &Leg, body: &str, later: bool) {
        let value: Value = serde_json::from_str(body).expect("JSON");
        let sent = judges::in_order(&(leg.judge)(&value).expect("judged before")).expect("judged before");
        let kept = judges::in_order(&self.expected()).expect("a valid history");
        assert_eq!(sent, kept, "{}: {body}", leg.wire);
        for other in LEGS.iter().filter(|other| other.wire != leg.wire) {
            for secret in other.secrets {
                assert!(!body.contains(secret), "{} got {secret} of {}: {body}", leg.wire, other.wire);
            }
        }
        if later {
            for own in leg.back {
                assert!(body.contains(own), "{} lacks its own {own}: {body}", leg.wire);
            }
            if let Some((place, file)) = leg.own {
                let whole: Value = serde_json::from_str(&recorded(leg.wire, file)).expect("JSON");
                let own = whole.pointer(place).and_then(Value::as_array).expect("parts");
                let sent = judges::parts(&value);
                assert!(sent.windows(own.len()).any(|some| some == own), "{}: {own:?}\n{body}", leg.wire);
            }
        }
    }

    /// The conversation as every API should get it.
    fn expected(&self) -> Vec<Item> {
        let mut items = Vec::new();
        for message in self.request.messages.iter() {
            match &**message {
                Message::User { content, .. } => {
                    items.push(Item::User(content.text().into_owned()));
                    items.extend(has_image(content).then(|| Item::Image(PIXEL.into())));
                }
                Message::Assistant(said) => {
                    items.extend(said.text.iter().map(|text| Item::Said(text.to_string())));
                    items.extend(said.calls.iter().map(|call| Item::Call {
                        id: call.id.as_str().into(),
                        name: call.name.to_string(),
                        args: serde_json::from_str(&call.args.to_text()).expect("JSON"),
                    }));
                }
                Message::Tool(result) => {
                    let text = result.content.text().into_owned();
                    items.push(Item::Result { id: result.call.as_str().into(), text });
                    items.extend(has_image(&result.content).then(|| Item::Image(PIXEL.into())));
                }
                other => panic!("no such message is made here: {other:?}"),
            }
        }
        items
    }
}

fn has_image(content: &Content) -> bool {
    matches!(content, Content::Parts(parts) if parts.iter().any(|part| matches!(part, Part::Image(_))))
}

#[tokio::test]
async fn e44_e58_one_conversation_goes_over_all_wires_and_back() {
    let mut talk = Talk::new();
    // The second round shows what is left of a provider's own replies after all others had their turns.
    for round in 1..=2 {
        for leg in &LEGS {
            talk.cross(leg, round).await;
        }
    }
    assert!(talk.used.contains("functions.look:0"), "ids that other APIs refuse are in it");
    talk.cross(&LEGS[0], 3).await;
}
