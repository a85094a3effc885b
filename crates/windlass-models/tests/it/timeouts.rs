//! E42: each time limit, driven by what the server does.

use futures_util::StreamExt;
use tokio::net::{TcpSocket, TcpStream};
use windlass_core::model::{FailureKind, ModelFailure};
use windlass_models::wires::anthropic_messages::AnthropicMessages;
use windlass_models::wires::openai_responses::OpenAiResponses;
use windlass_models::{Delta, HttpModel, HttpModelConfig, Model, Timeouts, assemble};

use crate::server::*;

/// Longer than any test runs.
const LONG: u64 = 600_000;

/// A limit that is reached, in milliseconds.
const SHORT: u64 = 50;

fn long() -> Timeouts {
    Timeouts { connect_ms: LONG, first_token_ms: LONG, idle_ms: LONG, thinking_ms: LONG, total_ms: LONG }
}

/// The failure says which limit was reached, and its key.
fn assert_words(failure: &ModelFailure, words: &str, key: &str) {
    let message = &failure.message;
    assert!(message.starts_with(words) && message.ends_with(&format!("(`timeouts.{key}`)")), "{message}");
}

#[tokio::test]
async fn e42_no_first_token_from_a_silent_server() {
    let server = Server::start(vec![Step::Hang]).await;
    let failure = ask(&within(&server.url, Timeouts { first_token_ms: SHORT, ..long() }), true)
        .await
        .expect_err("late");
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(
        failure.message.starts_with("no first token within 50 ms from 127.0.0.1:"),
        "{}",
        failure.message
    );
    assert_eq!(failure.usage.total(), 0);
}

#[tokio::test]
async fn e42_comments_and_roles_are_no_first_token() {
    let role = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
    let server = Server::start(vec![stream_head(), chunk(": working\n\n"), chunk(role), Step::Hang]).await;
    let failure = ask(&within(&server.url, Timeouts { first_token_ms: SHORT, ..long() }), true)
        .await
        .expect_err("late");
    assert_words(&failure, "no first token within 50 ms", "first_token_ms");
}

#[tokio::test]
async fn e42_a_reply_that_is_not_streamed_has_no_first_token() {
    let server = Server::start(vec![Step::Hang]).await;
    let timeouts = Timeouts { first_token_ms: 1, idle_ms: 1, total_ms: SHORT, ..long() };
    let failure = ask(&within(&server.url, timeouts), false).await.expect_err("late");
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert_words(&failure, "no end of the reply within 50 ms", "total_ms");
}

#[tokio::test]
async fn e42_e41_idle_between_tokens_counts_what_was_paid() {
    let first = chunk(&format!("data: {}\n\n", HELLO[0]));
    let server = Server::start(vec![stream_head(), first, chunk(": still here\n\n"), Step::Hang]).await;
    let model = within(&server.url, Timeouts { idle_ms: SHORT, ..long() });
    let mut deltas = model.call(request(true));
    assert_eq!(deltas.next().await, Some(Ok(Delta::Text("Hel".into()))));
    let failure = deltas.next().await.expect("an end").expect_err("late");
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert_words(&failure, "no further token within 50 ms", "idle_ms");
    assert!(
        failure.usage.estimated && failure.usage.input > 0 && failure.usage.output == 1,
        "{:?}",
        failure.usage
    );
    assert!(deltas.next().await.is_none());
}

/// A server that keeps the connection busy brings nothing, however fast.
#[tokio::test]
async fn e56_a_flood_of_comments_and_empty_pieces_does_not_hold_off_the_idle_limit() {
    let first = chunk(&format!("data: {}\n\n", HELLO[0]));
    let empty = ": ping\n\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
    let server = Server::start(vec![stream_head(), first, Step::Flood(chunk_bytes(empty))]).await;
    let failure =
        ask(&within(&server.url, Timeouts { idle_ms: SHORT, ..long() }), true).await.expect_err("late");
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert_words(&failure, "no further token within 50 ms", "idle_ms");
}

#[tokio::test]
async fn e42_idle_inside_a_whole_body() {
    let head =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"choices\":"
            .to_vec();
    let server = Server::start(vec![Step::Send(head), Step::Hang]).await;
    let failure =
        ask(&within(&server.url, Timeouts { idle_ms: SHORT, ..long() }), false).await.expect_err("late");
    assert_words(&failure, "no further token within 50 ms", "idle_ms");
}

#[tokio::test]
async fn e42_total_of_a_stream_that_never_ends() {
    let flood = Step::Flood(chunk_bytes(&format!("data: {}\n\n", HELLO[0])));
    let server = Server::start(vec![stream_head(), flood]).await;
    let failure =
        ask(&within(&server.url, Timeouts { total_ms: SHORT, ..long() }), true).await.expect_err("late");
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert_words(&failure, "no end of the reply within 50 ms", "total_ms");
    assert!(failure.usage.output > 0);
}

#[tokio::test]
async fn e42_a_whole_reply_is_kept_when_the_limit_strikes_after_its_end() {
    let mut steps = events(&HELLO[..2]);
    steps.pop();
    steps.push(Step::Hang);
    let server = Server::start(steps).await;
    let reply =
        ask(&within(&server.url, Timeouts { idle_ms: SHORT, ..long() }), true).await.expect("it is whole");
    assert_eq!(reply.text.as_deref(), Some("Hello"));
}

#[tokio::test]
async fn e42_nobody_takes_the_connection() {
    // A listener whose queue is full lets further connections wait.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let listener = socket.listen(1).expect("it listens");
    let address = listener.local_addr().expect("an address");
    let mut queue = Vec::new();
    for _ in 0..2 {
        queue.push(TcpStream::connect(address).await.expect("room in the queue"));
    }
    let model = within(&format!("http://{address}"), Timeouts { connect_ms: SHORT, ..long() });
    let failure = ask(&model, true).await.expect_err("no connection");
    assert_eq!(failure.kind, FailureKind::Connect);
    assert_eq!(&*failure.message, format!("no connection to {address} within 50 ms (`timeouts.connect_ms`)"));
    drop((listener, queue));
}

/// Servers that keep the connection open behind a reply and say no `[DONE]` cost no minute a call.
#[tokio::test]
async fn e56_a_stream_is_over_once_its_finish_and_usage_came() {
    let begin = std::time::Instant::now();
    let text = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n";
    let server = Server::start(vec![stream_head(), chunk(text), chunk(usage), Step::Hang]).await;
    let reply = ask(&within(&server.url, long()), true).await.expect("a reply");
    assert_eq!((reply.usage.input, reply.usage.estimated), (3, false));
    assert!(begin.elapsed().as_millis() < 1_500, "at once: {:?}", begin.elapsed());
    let server = Server::start(vec![stream_head(), chunk(text), Step::Hang]).await;
    let reply = ask(&within(&server.url, long()), true).await.expect("a reply");
    assert!(reply.usage.estimated, "{:?}", reply.usage);
    assert!(begin.elapsed().as_secs() < 60, "two seconds: {:?}", begin.elapsed());
}

/// Counts that came by themselves before the finish are the last ones; those beside pieces may be followed by others.
#[tokio::test]
async fn e56_a_usage_before_the_finish_ends_the_stream_at_once_unless_it_is_a_running_one() {
    let said = |delta: &str, end: &str, usage: &str| {
        chunk(&format!("data: {{\"choices\":[{{\"delta\":{delta},\"finish_reason\":{end}}}]{usage}}}\n\n"))
    };
    let counts = |output: u64| format!(",\"usage\":{{\"prompt_tokens\":3,\"completion_tokens\":{output}}}");
    let alone = |output: u64| chunk(&format!("data: {{\"choices\":[]{}}}\n\n", counts(output)));
    let (text, stop) = ("{\"content\":\"Hi\"}", "\"stop\"");
    let took = async |steps: Vec<Step>| {
        let steps = [vec![stream_head()], steps, vec![Step::Hang]].concat();
        let server = Server::start(steps).await;
        let begin = std::time::Instant::now();
        let reply = ask(&within(&server.url, long()), true).await.expect("a reply");
        assert!(!reply.usage.estimated && reply.text.as_deref() == Some("Hi"), "{reply:?}");
        (reply.usage.output, begin.elapsed().as_millis() < 1_500)
    };
    let (before, finish) = (said(text, "null", ""), said("{}", stop, ""));
    assert_eq!(took(vec![before.clone(), alone(7), finish.clone()]).await, (7, true));
    assert_eq!(took(vec![said(text, "null", &counts(1)), said("{}", stop, &counts(7))]).await, (7, true));
    // Counts of a piece, and those at the very beginning, are not all.
    assert_eq!(took(vec![said(text, "null", &counts(1)), finish.clone()]).await, (1, false));
    assert_eq!(took(vec![alone(1), before, finish.clone()]).await, (1, false));
    assert_eq!(took(vec![said(text, "null", &counts(1)), finish, alone(7)]).await, (7, true));
}

/// A piece of reasoning, as DeepSeek streams it.
const THOUGHT: &str = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Hm\"}}]}\n\n";

async fn late(
    timeouts: Timeouts,
    label: &str,
    name: &str,
    reasoning: Option<&str>,
    steps: Vec<Step>,
) -> String {
    let server = Server::start(steps).await;
    let config = HttpModelConfig { timeouts, ..config(&server.url) };
    let model = HttpModel::new(HttpModelConfig { name: label.into(), ..config }).expect("a good base URL");
    let mut asked = request(true);
    asked.model.name = name.into();
    asked.model.reasoning = reasoning.map(Into::into);
    let failure = assemble(model.call(asked), "test/m1").await.expect_err("late");
    assert_eq!(failure.kind, FailureKind::Timeout, "{failure}");
    failure.message.split(" from ").next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn k50_a_model_that_thinks_has_a_limit_of_its_own_until_it_speaks() {
    const THINKING: u64 = 3 * SHORT;
    let short = Timeouts { idle_ms: SHORT, first_token_ms: LONG, thinking_ms: THINKING, ..long() };
    let text = chunk(&format!("data: {}\n\n", HELLO[0]));
    let comment = || chunk(": working\n\n");
    let thinking = format!("no content within {THINKING} ms of thinking");
    // Between two thoughts, and before the first one: by the setting, and by the provider's entry.
    let thought = || vec![stream_head(), chunk(THOUGHT), comment(), Step::Hang];
    assert_eq!(late(short, "test", "test/m1", Some("high"), thought()).await, thinking);
    assert_eq!(late(short, "openai", "openai/o3-mini", None, thought()).await, thinking);
    let silent = Timeouts { first_token_ms: 2 * SHORT, ..short };
    let nothing = || vec![stream_head(), comment(), Step::Hang];
    assert_eq!(late(silent, "openai", "openai/gpt-5-mini", None, nothing()).await, thinking);
    // A model that does not reason, or is not to, keeps the usual limits; so do the head of the response, and what follows content.
    let (first, idle) =
        (format!("no first token within {} ms", 2 * SHORT), format!("no further token within {SHORT} ms"));
    assert_eq!(late(silent, "test", "test/m1", None, nothing()).await, first);
    assert_eq!(late(silent, "openai", "openai/gpt-5-mini", Some("none"), nothing()).await, first);
    assert_eq!(late(silent, "openai", "openai/gpt-5-mini", None, vec![Step::Hang]).await, first);
    assert_eq!(late(short, "test", "test/m1", None, thought()).await, idle);
    let spoken = vec![stream_head(), chunk(THOUGHT), text, comment(), Step::Hang];
    assert_eq!(late(short, "test", "test/m1", Some("high"), spoken).await, idle);
}

#[tokio::test]
async fn k50_an_open_item_of_reasoning_is_thinking_though_nothing_of_it_comes() {
    const THINKING: u64 = 3 * SHORT;
    let timeouts = Timeouts { idle_ms: SHORT, thinking_ms: THINKING, ..long() };
    let cases: [(&'static dyn windlass_models::wires::Wire, &str); 2] = [
        (
            &OpenAiResponses,
            "data: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"delta\":\"Hi\"}\n\n\
            data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"reasoning\",\"id\":\"r\"}}\n\n",
        ),
        (
            &AnthropicMessages,
            "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Hi\"}}\n\n\
            data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
            data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n",
        ),
    ];
    for (wire, events) in cases {
        let server = Server::start(vec![stream_head(), chunk(events), Step::Hang]).await;
        let config = HttpModelConfig {
            timeouts,
            allow_proxy: false,
            ..HttpModelConfig::new(wire, "test", server.url.as_str())
        };
        let mut asked = request(true);
        asked.model.reasoning = Some("high".into());
        let model = HttpModel::new(config).expect("a good base URL");
        let failure = assemble(model.call(asked), "test/m1").await.expect_err("late");
        let words = format!("no content within {THINKING} ms of thinking");
        assert!(failure.message.starts_with(&words), "{failure}");
    }
}
