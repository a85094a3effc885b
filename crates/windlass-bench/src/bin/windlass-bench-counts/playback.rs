//! Owns a model whose replies are bytes made beforehand: requests are encoded and replies decoded as on a connection.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use windlass::Model;
use windlass::models::wires::{Asked, Dialect, Wire, openai_chat::OpenAiChat};
use windlass::models::{Delta, Deltas, ModelRequest};

/// A piece of the final answer, of the size that `shared/bench` has.
const PIECE: &str = "lorem ipsum dol ";

/// A model with a script, by OpenAI Chat Completions.
#[derive(Debug)]
pub(crate) struct Playback {
    dialect: Dialect,
    /// One reply a call: the data of its events, or one whole body.
    replies: Vec<Arc<[Vec<u8>]>>,
    next: AtomicUsize,
    stream: bool,
}

impl Playback {
    /// So many calls of the tool `echo`, one a reply, then an answer.
    pub(crate) fn rounds(rounds: usize) -> Self {
        let calls = (0..rounds).map(|round| {
            let args = format!("{{\"text\":\"m{round:04}.0.xxxxxxxxxxx\"}}");
            let function = json!({ "name": "echo", "arguments": args });
            let call =
                json!({ "id": format!("call_{round:04}_0"), "type": "function", "function": function });
            let message =
                json!({ "role": "assistant", "content": null, "refusal": null, "tool_calls": [call] });
            whole(&message, "tool_calls")
        });
        let answer = json!({ "role": "assistant", "content": "done lorem ipsum", "refusal": null });
        let bodies = calls.chain([whole(&answer, "stop")]);
        Self::new(bodies.map(|body| Arc::from([body])).collect(), false)
    }

    /// An answer in so many pieces.
    pub(crate) fn pieces(pieces: usize) -> Self {
        let mut events = vec![chunk(&json!({ "role": "assistant", "content": "done " }), &Value::Null)];
        events.extend((0..pieces).map(|_| chunk(&json!({ "content": PIECE }), &Value::Null)));
        events.push(chunk(&json!({}), &"stop".into()));
        events.push(last());
        events.push(b"[DONE]".to_vec());
        Self::new(vec![events.into()], true)
    }

    fn new(replies: Vec<Arc<[Vec<u8>]>>, stream: bool) -> Self {
        let dialect = Dialect { label: "openai".into(), ..Dialect::default() };
        Self { dialect, replies, next: AtomicUsize::new(0), stream }
    }
}

impl Model for Playback {
    fn provider(&self) -> &str {
        &self.dialect.label
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        let content_bytes = OpenAiChat.encode(&self.dialect, &request).content_bytes;
        let place = self.next.fetch_add(1, Relaxed) % self.replies.len().max(1);
        let reply = self.replies.get(place).cloned().unwrap_or_default();
        if !self.stream {
            let asked = Asked { model: request.model.name, content_bytes };
            let whole = reply.first().and_then(|body| OpenAiChat.decode(&self.dialect, body, &asked).ok());
            return Box::pin(stream::iter(whole.map(|reply| Ok(Delta::Whole(Box::new(reply))))));
        }
        let mut decoder = OpenAiChat.decoder(&self.dialect);
        let mut queue = VecDeque::new();
        let decoded = (0..reply.len()).map(move |at| {
            if let Some(data) = reply.get(at) {
                decoder.event(data, &mut queue).ok();
            }
            if at + 1 == reply.len() {
                decoder.end(content_bytes, &mut queue);
            }
            // A piece at a time, as they come from a connection.
            stream::iter(std::mem::take(&mut queue).into_iter().map(Ok).collect::<Vec<_>>())
        });
        Box::pin(stream::iter(decoded).flatten())
    }
}

fn usage() -> Value {
    json!({ "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120 })
}

fn whole(message: &Value, finish: &str) -> Vec<u8> {
    let choice = json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": finish });
    body("chat.completion", &json!([choice]), &usage())
}

fn chunk(delta: &Value, finish: &Value) -> Vec<u8> {
    let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
    body("chat.completion.chunk", &json!([choice]), &Value::Null)
}

fn last() -> Vec<u8> {
    body("chat.completion.chunk", &json!([]), &usage())
}

fn body(object: &str, choices: &Value, usage: &Value) -> Vec<u8> {
    let body = json!({
        "id": "chatcmpl-m1", "object": object, "created": 1_760_000_000, "model": "script", "choices": choices,
        "usage": usage,
    });
    body.to_string().into_bytes()
}
