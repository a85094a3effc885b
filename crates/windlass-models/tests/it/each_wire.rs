//! The promises about models, on each wire: the same test for all, with what each API's servers send.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use futures_util::StreamExt;
use windlass_core::Message;
use windlass_core::message::{Content, ToolMessage};
use windlass_core::model::{FailureKind, KEPT_REPLY_BYTES, ModelFailure, Reply, StopReason};
use windlass_models::http::{Framing, KeyCommand};
use windlass_models::wires::{Wire, wire};
use windlass_models::{HttpModel, HttpModelConfig, Model, Timeouts, assemble};

use crate::crossing::{Judge, judges, said};
use crate::server::*;

/// Longer than any test runs, in milliseconds.
const LONG: u64 = 600_000;

/// A limit that is reached, in milliseconds.
const SHORT: u64 = 50;

/// What the servers of one API send. Names are files of its corpus.
struct Spoken {
    name: &'static str,
    judge: Judge,
    /// The path of a streamed call of the model `m1`.
    path: &'static str,
    /// The header with the key `KEY`.
    key: &'static str,
    truncated: &'static str,
    refused: &'static [(&'static str, StopReason)],
    /// A reply without text and calls.
    empty: &'static str,
    /// Calls whose ids are missing, empty or used twice.
    bad_ids: &'static str,
    parallel: &'static str,
    text: &'static str,
    /// No content: pings, comments, empty pieces, roles.
    no_progress: &'static [&'static str],
    /// An error body with the message `Slow down.`
    error: &'static str,
}

const OPENAI_ERROR: &str = r#"{"error":{"message":"Slow down.","type":"requests","code":"x"}}"#;

static SPOKEN: [Spoken; 5] = [
    Spoken {
        name: "openai_chat",
        judge: judges::chat,
        path: "/v1/chat/completions",
        key: "authorization: Bearer KEY\r\n",
        truncated: "length.sse",
        refused: &[("refusal.sse", StopReason::Refused), ("content_filter.sse", StopReason::Filtered)],
        empty: "",
        bad_ids: "ids_empty_and_the_same.sse",
        parallel: "parallel_calls.sse",
        text: "text.sse",
        no_progress: &[
            ": OPENROUTER PROCESSING\n\n",
            "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":null,\"tool_calls\":[]}}]}\n\n",
        ],
        error: OPENAI_ERROR,
    },
    Spoken {
        name: "openai_responses",
        judge: judges::responses,
        path: "/v1/responses",
        key: "authorization: Bearer KEY\r\n",
        truncated: "incomplete_max_output_tokens.sse",
        refused: &[
            ("refusal.sse", StopReason::Refused),
            ("incomplete_content_filter.sse", StopReason::Filtered),
        ],
        empty: "",
        bad_ids: "ids_empty_and_the_same.sse",
        parallel: "interleaved.sse",
        text: "text.sse",
        no_progress: &[
            ": keep-alive\n\n",
            "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\",\"output\":[]}}\n\n",
            "data: {\"type\":\"response.in_progress\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\",\"output\":[]}}\n\n",
            "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\"\"}\n\n",
        ],
        error: OPENAI_ERROR,
    },
    Spoken {
        name: "anthropic_messages",
        judge: judges::anthropic,
        path: "/v1/messages",
        key: "x-api-key: KEY\r\n",
        truncated: "max_tokens.sse",
        refused: &[("refusal.sse", StopReason::Refused)],
        empty: "empty_end_turn.sse",
        bad_ids: "call_ids_repeat.sse",
        parallel: "call_ids_repeat.sse",
        text: "text.sse",
        no_progress: &[
            ": waiting\n\n",
            "event: ping\ndata: {\"type\":\"ping\"}\n\n",
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\"}}\n\n",
        ],
        error: r#"{"type":"error","error":{"type":"x","message":"Slow down."},"request_id":"r"}"#,
    },
    Spoken {
        name: "gemini",
        judge: judges::gemini,
        path: "/v1beta/models/m1:streamGenerateContent?alt=sse",
        key: "x-goog-api-key: KEY\r\n",
        truncated: "end_max_tokens.sse",
        refused: &[("end_safety.sse", StopReason::Filtered), ("blocked_prompt.sse", StopReason::Filtered)],
        empty: "no_parts.sse",
        bad_ids: "calls_stop.sse",
        parallel: "calls_stop.sse",
        text: "text.sse",
        no_progress: &[
            ": waiting\r\n\r\n",
            "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"\"}]}}]}\r\n\r\n",
            "data: {\"usageMetadata\":{}}\r\n\r\n",
        ],
        error: r#"{"error":{"code":0,"message":"Slow down.","status":"X"}}"#,
    },
    Spoken {
        name: "ollama",
        judge: judges::ollama,
        path: "/api/chat",
        key: "authorization: Bearer KEY\r\n",
        truncated: "length.jsonl",
        refused: &[],
        empty: "empty.jsonl",
        bad_ids: "ids_empty_and_the_same.jsonl",
        parallel: "calls_all_number_0.jsonl",
        text: "text.jsonl",
        no_progress: &[
            "\n",
            "{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":false}\n",
            "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"\"},\"done\":false}\n",
        ],
        error: r#"{"error":"Slow down."}"#,
    },
];

impl Spoken {
    fn wire(&self) -> &'static dyn Wire {
        wire(self.name).expect("a wire")
    }

    fn recorded(&self, file: &str) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(self.name);
        std::fs::read_to_string(folder.join(file)).expect("it is in the corpus")
    }

    /// The body of a stream in which the model says nothing.
    fn nothing(&self) -> String {
        if !self.empty.is_empty() {
            return self.recorded(self.empty);
        }
        if self.name == "openai_chat" {
            return "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
                .into();
        }
        "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\
         \"output\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":1,\"total_tokens\":10}}}\n\n"
            .into()
    }

    fn stream(&self, body: &str) -> Vec<Step> {
        let kind = match self.wire().facts().framing {
            Framing::Events => "text/event-stream",
            Framing::Lines => "application/x-ndjson",
        };
        response("200 OK", &format!("content-type: {kind}\r\n"), body)
    }

    fn config(&self, base_url: &str) -> HttpModelConfig {
        let config = HttpModelConfig::new(self.wire(), "test", base_url);
        HttpModelConfig { allow_proxy: false, key: Some("KEY".into()), ..config }
    }

    async fn ask(&self, steps: Vec<Step>) -> Result<Reply, ModelFailure> {
        let server = Server::start(steps).await;
        ask(&HttpModel::new(self.config(&server.url)).expect("good"), true).await
    }

    async fn recorded_reply(&self, file: &str) -> Result<Reply, ModelFailure> {
        self.ask(self.stream(&self.recorded(file))).await
    }
}

#[tokio::test]
async fn e3_truncated_refused_and_filtered_replies_are_no_answers_on_each_wire() {
    for spoken in &SPOKEN {
        let reply = spoken.recorded_reply(spoken.truncated).await.expect("a reply");
        assert_eq!(reply.stop, StopReason::Length, "{}", spoken.name);
        for (file, stop) in spoken.refused {
            let reply = spoken.recorded_reply(file).await.expect("a reply");
            assert_eq!(reply.stop, *stop, "{}: {file}", spoken.name);
        }
    }
}

#[tokio::test]
async fn e4_a_reply_without_text_and_calls_is_an_empty_reply_on_each_wire() {
    for spoken in &SPOKEN {
        let reply = spoken.ask(spoken.stream(&spoken.nothing())).await.expect("a reply");
        assert_eq!((reply.text, reply.calls.len()), (None, 0), "{}", spoken.name);
        assert_eq!(reply.stop, StopReason::Stop, "{}", spoken.name);
    }
}

#[tokio::test]
async fn e7_bad_ids_become_good_ones_in_the_next_request_on_each_wire() {
    for spoken in &SPOKEN {
        let reply = spoken.recorded_reply(spoken.bad_ids).await.expect("a reply");
        assert!(reply.calls.len() > 1, "{}: {reply:?}", spoken.name);
        let said = said(&reply, &mut BTreeSet::new());
        let mut next = request(true);
        let calls = said.calls.clone();
        next.messages.push(Arc::new(Message::Assistant(said)));
        for call in &calls {
            let (call, name) = (call.id.clone(), call.name.clone());
            let result = ToolMessage { call, name, content: "Done.".into(), failed: false };
            next.messages.push(Arc::new(Message::Tool(result)));
        }
        let server = Server::start(spoken.stream(&spoken.recorded(spoken.text))).await;
        let model = HttpModel::new(spoken.config(&server.url)).expect("good");
        assemble(model.call(next), "test/m1").await.expect("a reply");
        let body = serde_json::from_str(&server.seen()[0].body).expect("JSON");
        let items = (spoken.judge)(&body).and_then(|items| judges::in_order(&items).map(drop));
        assert_eq!(items, Ok(()), "{}: {body}", spoken.name);
    }
}

#[tokio::test]
async fn e14_parallel_calls_come_with_their_own_arguments_on_each_wire() {
    for spoken in &SPOKEN {
        let reply = spoken.recorded_reply(spoken.parallel).await.expect("a reply");
        assert!(reply.calls.len() > 1, "{}: {reply:?}", spoken.name);
        for call in &reply.calls {
            let args: serde_json::Value = serde_json::from_str(&call.args).expect("JSON");
            assert!(args.is_object() && !call.name.is_empty(), "{}: {call:?}", spoken.name);
        }
    }
}

#[tokio::test]
async fn e15_a_stream_and_a_whole_reply_are_the_same_on_each_wire() {
    for spoken in &SPOKEN {
        let streamed = spoken.recorded_reply(spoken.text).await.expect("a reply");
        let server = Server::start(json(&spoken.recorded("text.json"))).await;
        let model = HttpModel::new(spoken.config(&server.url)).expect("good");
        let whole = ask(&model, false).await.expect("a reply");
        assert_eq!(streamed, whole, "{}", spoken.name);
    }
}

#[tokio::test]
async fn e16_e41_a_stream_that_breaks_is_cut_and_what_was_paid_counts_on_each_wire() {
    for spoken in &SPOKEN {
        let whole = spoken.recorded(spoken.text);
        let server = Server::answering(move |_| {
            let half: String = whole.chars().take(whole.chars().count() * 2 / 3).collect();
            vec![stream_head(), chunk(&half), Step::Close]
        })
        .await;
        let model = HttpModel::new(spoken.config(&server.url)).expect("good");
        let mut deltas = model.call(request(true));
        let first = deltas.next().await.expect("a piece").expect("content");
        assert!(
            first.text_bytes() > 0 || format!("{first:?}").starts_with("Usage"),
            "{}: {first:?}",
            spoken.name
        );
        let mut failure = None;
        while let Some(delta) = deltas.next().await {
            failure = delta.err();
        }
        let failure = failure.expect("it broke");
        assert_eq!(failure.kind, FailureKind::Cut, "{}: {failure}", spoken.name);
        assert!(failure.kind.retryable() && failure.usage.total() > 0, "{}: {failure:?}", spoken.name);
    }
}

/// The body that a failure keeps.
fn body_of(failure: &ModelFailure) -> Option<&str> {
    match failure.reply()? {
        Content::Text(text) => Some(text),
        Content::Parts(_) => None,
    }
}

#[tokio::test]
async fn the_body_of_a_failed_reply_is_kept_as_it_came_on_each_wire() {
    for spoken in &SPOKEN {
        let name = spoken.name;
        let refused = spoken.ask(response("503 x", "", spoken.error)).await.expect_err("refused");
        assert_eq!(body_of(&refused), Some(spoken.error), "{name}");
        let in_200 = spoken.ask(json(spoken.error)).await.expect_err("an error");
        assert_eq!(body_of(&in_200), Some(spoken.error), "{name}");
        let no_reply = spoken.ask(json("no JSON")).await.expect_err("no reply");
        assert_eq!(body_of(&no_reply), Some("no JSON"), "{name}");
        let whole = spoken.recorded(spoken.text);
        let half: String = whole.chars().take(whole.chars().count() * 2 / 3).collect();
        let cut = spoken.ask(vec![stream_head(), chunk(&half), Step::Close]).await.expect_err("it broke");
        assert_eq!((cut.kind, body_of(&cut)), (FailureKind::Cut, Some(&*half)), "{name}");
        let bad = half.clone() + "\n\ndata: \"odd\"\n\n";
        let bad = spoken.ask(vec![stream_head(), chunk(&bad), stream_end()]).await.expect_err("no event");
        assert!(body_of(&bad).is_some_and(|body| body.starts_with(&half)), "{name}: {bad:?}");
        assert!(spoken.ask(vec![Step::Close]).await.expect_err("closed").detail.is_none(), "{name}");
    }
}

#[tokio::test]
async fn a_failed_reply_that_comes_whole_is_kept_as_far_as_it_came() {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"choices\":";
    let server = Server::start(vec![Step::Send(head.into()), Step::Close]).await;
    let failure = ask(&adapter(&server.url), false).await.expect_err("cut");
    assert_eq!(body_of(&failure), Some("{\"choices\":"));
    for (more, is_cut) in [(0, false), (1, true), (1 << 20, true)] {
        for status in ["500 x", "200 OK"] {
            let body = "x".repeat(KEPT_REPLY_BYTES + more);
            let server = Server::start(response(status, "content-type: application/json\r\n", &body)).await;
            let failure = ask(&adapter(&server.url), false).await.expect_err("no reply");
            let kept = body_of(&failure).map(str::len);
            assert_eq!(kept, Some(KEPT_REPLY_BYTES), "{status}, {more} more");
            assert_eq!(failure.detail.map(|detail| detail.is_cut), Some(is_cut), "{status}, {more} more");
        }
    }
}

#[tokio::test]
async fn e22_a_call_that_is_dropped_lets_its_connection_go_on_each_wire() {
    for spoken in &SPOKEN {
        let mut steps = vec![stream_head()];
        steps.extend(spoken.no_progress.iter().map(|piece| chunk(piece)));
        steps.push(Step::Hang);
        let mut server = Server::start(steps).await;
        let model = HttpModel::new(spoken.config(&server.url)).expect("good");
        let mut deltas = model.call(request(true));
        let waits = tokio::time::timeout(std::time::Duration::from_millis(SHORT), deltas.next()).await;
        assert!(waits.is_err() || matches!(waits, Ok(Some(Ok(_)))), "{}: {waits:?}", spoken.name);
        drop(deltas);
        server.connection_gone().await;
    }
}

#[tokio::test]
async fn e39_the_provider_s_own_count_is_read_on_each_wire() {
    for spoken in &SPOKEN {
        let usage = spoken.recorded_reply(spoken.text).await.expect("a reply").usage;
        assert!(!usage.estimated && usage.input > 0 && usage.output > 0, "{}: {usage:?}", spoken.name);
    }
}

#[tokio::test]
async fn e42_errors_have_their_kind_words_and_wait_on_each_wire() {
    let known = [
        ("429 Too Many Requests", FailureKind::RateLimited),
        ("503 Service Unavailable", FailureKind::Overloaded),
        ("529 Overloaded", FailureKind::Overloaded),
        ("500 Internal Server Error", FailureKind::Server),
        ("401 Unauthorized", FailureKind::Auth),
        ("400 Bad Request", FailureKind::BadRequest),
    ];
    for spoken in &SPOKEN {
        for (status, kind) in known {
            let failure = spoken.ask(response(status, "retry-after: 2\r\n", spoken.error)).await;
            let failure = failure.expect_err("refused");
            assert_eq!(failure.kind, kind, "{}: {failure}", spoken.name);
            assert!(failure.message.starts_with("Slow down."), "{}: {failure}", spoken.name);
            assert_eq!(failure.retry_after_ms, Some(2_000), "{}: {failure:?}", spoken.name);
            assert_eq!(failure.usage.total(), 0);
        }
    }
}

#[tokio::test]
async fn e43_e45_keys_and_paths_whatever_the_base_url_s_form_on_each_wire() {
    for spoken in &SPOKEN {
        let server = Server::start(spoken.stream(&spoken.recorded(spoken.text))).await;
        let base = spoken.wire().facts().base_path;
        for end in ["", "/", base, &format!("{base}/")] {
            let config = spoken.config(&format!("{}{end}", server.url));
            ask(&HttpModel::new(config).expect("good"), true).await.expect("a reply");
        }
        let seen = server.seen();
        assert_eq!(seen.len(), 4);
        for seen in seen {
            assert_eq!(seen.path(), spoken.path, "{}", spoken.name);
            assert!(seen.head.contains(spoken.key), "{}: {}", spoken.name, seen.head);
            let names = ["authorization:", "x-api-key:", "x-goog-api-key:"];
            let keys = names.iter().filter(|name| seen.head.contains(**name)).count();
            assert_eq!(keys, 1, "{}: {}", spoken.name, seen.head);
        }
    }
}

#[tokio::test]
async fn e53_a_server_that_repeats_the_key_does_not_give_it_away_on_each_wire() {
    for (number, spoken) in SPOKEN.iter().enumerate() {
        let key = format!("sk-{}-secret-{number}", spoken.name);
        let echo = spoken.error.replace("Slow down.", &format!("Bad key {key}."));
        let server = Server::start(response("401 Unauthorized", "", &echo)).await;
        let config = HttpModelConfig { key: Some(key.as_str().into()), ..spoken.config(&server.url) };
        let failure = ask(&HttpModel::new(config).expect("good"), true).await.expect_err("refused");
        let shown = format!("{failure:?}");
        assert!(shown.contains("***") && !shown.contains("secret"), "{shown}");
    }
}

#[tokio::test]
async fn e56_pings_comments_and_empty_pieces_are_no_progress_on_each_wire() {
    for spoken in &SPOKEN {
        let mut steps = vec![stream_head()];
        steps.extend(spoken.no_progress.iter().map(|piece| chunk(piece)));
        steps.push(Step::Hang);
        let server = Server::start(steps).await;
        let limits = |first_token_ms, idle_ms| Timeouts {
            connect_ms: LONG,
            first_token_ms,
            idle_ms,
            thinking_ms: LONG,
            total_ms: LONG,
        };
        let config = HttpModelConfig { timeouts: limits(SHORT, LONG), ..spoken.config(&server.url) };
        let failure = ask(&HttpModel::new(config).expect("good"), true).await.expect_err("late");
        let words = format!("no first token within {SHORT} ms");
        assert!(failure.message.starts_with(&words), "{}: {failure}", spoken.name);
        // After a token, too: the limit between tokens strikes.
        let whole = spoken.recorded(spoken.text);
        let half: String = whole.chars().take(whole.chars().count() * 2 / 3).collect();
        let pieces = spoken.no_progress.join("");
        let half = half.rfind('\n').map_or(String::new(), |end| half[..=end].to_owned());
        let steps = vec![stream_head(), chunk(&half), chunk("\n"), chunk(&pieces), Step::Hang];
        let server = Server::start(steps).await;
        let config = HttpModelConfig { timeouts: limits(LONG, SHORT), ..spoken.config(&server.url) };
        let failure = ask(&HttpModel::new(config).expect("good"), true).await.expect_err("late");
        let words = format!("no further token within {SHORT} ms");
        assert!(failure.message.starts_with(&words), "{}: {failure}", spoken.name);
    }
}

#[tokio::test]
async fn e62_a_command_s_key_is_made_when_the_model_is_called_on_each_wire() {
    for (number, spoken) in SPOKEN.iter().enumerate() {
        let server = Server::start(spoken.stream(&spoken.recorded(spoken.text))).await;
        let command = KeyCommand::shared(&["printf".into(), format!("made-{number}-%s"), "now".into()], None);
        let config = spoken.config(&server.url);
        let config = HttpModelConfig { key: None, key_command: Some(command), ..config };
        ask(&HttpModel::new(config).expect("good"), true).await.expect("a reply");
        let expected = spoken.key.replace("KEY", &format!("made-{number}-now"));
        let head = &server.seen()[0].head;
        assert!(head.contains(&expected), "{}: {head}", spoken.name);
    }
}
