//! E55: requests take their turns before they are sent, whatever wire and adapter they are of.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use windlass_core::model::{FailureKind, ModelChoice};
use windlass_models::wires::{anthropic_messages::AnthropicMessages, openai_responses::OpenAiResponses};
use windlass_models::{HttpModel, HttpModelConfig, Model, ModelRequest, Rate, Secret, Timeouts, assemble};

use crate::server::*;

fn with(url: &str, key: &str, rate: Option<Rate>) -> HttpModel {
    let config = HttpModelConfig { key: Some(Secret::unmasked(key)), rate, ..config(url) };
    HttpModel::new(config).expect("a good base URL")
}

/// A server whose first answer is this one, and the others are good.
async fn first(status: &'static str, headers: &'static str, body: &'static str) -> Server {
    let count = Arc::new(AtomicUsize::new(0));
    Server::routes(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => response(status, headers, body),
        _ => json(HELLO_WHOLE),
    })
    .await
}

#[tokio::test]
async fn e55_a_refusal_holds_the_other_requests_of_the_key() {
    let server = first("429 Too Many Requests", "retry-after-ms: 300\r\n", "{}").await;
    let refused = ask(&with(&server.url, "a", None), false).await.expect_err("refused");
    assert_eq!((refused.kind, refused.retry_after_ms), (FailureKind::RateLimited, Some(300)));
    let begun = Instant::now();
    ask(&with(&server.url, "b", None), false).await.expect("another key does not wait");
    assert!(begun.elapsed() < Duration::from_millis(290));
    let others: Vec<_> = (0..3).map(|_| with(&server.url, "a", None)).collect();
    join_all(others.iter().map(|model| ask(model, true))).await.into_iter().for_each(|reply| {
        reply.expect("it waited");
    });
    assert!(begun.elapsed() >= Duration::from_millis(250), "{:?}", begun.elapsed());
    assert_eq!(server.seen().len(), 5);
}

#[tokio::test]
async fn e55_a_long_wait_fails_at_once_and_nothing_is_sent() {
    let server = first("429 Too Many Requests", "retry-after: 3600\r\n", "{}").await;
    let model = with(&server.url, "a", None);
    ask(&model, false).await.expect_err("refused");
    let failure = ask(&model, true).await.expect_err("an hour");
    assert_eq!((failure.kind, failure.status), (FailureKind::RateLimited, None));
    assert!(failure.retry_after_ms.is_some_and(|ms| ms > 3_590_000 && ms <= 3_600_000), "{failure:?}");
    let words = format!("no turn at {} within 30000 ms, but in ", server.url.trim_start_matches("http://"));
    assert!(failure.message.starts_with(&words), "{}", failure.message);
    assert!(failure.message.ends_with("ms: the provider asked for the wait"), "{}", failure.message);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn e55_limits_of_the_settings_are_kept_on_each_wire() {
    let server = Server::start(json("{}")).await;
    let models: [HttpModelConfig; 3] = [
        config(&server.url),
        HttpModelConfig {
            allow_proxy: false,
            ..HttpModelConfig::new(&OpenAiResponses, "test", &*server.url)
        },
        HttpModelConfig {
            allow_proxy: false,
            ..HttpModelConfig::new(&AnthropicMessages, "test", &*server.url)
        },
    ];
    let two = Rate { requests_per_minute: NonZeroU64::new(2), max_wait_ms: Some(1_000), ..Rate::default() };
    for (number, config) in models.into_iter().enumerate() {
        let key = Some(Secret::unmasked(format!("key-{number}")));
        let config = HttpModelConfig { key, rate: Some(two), ..config };
        let (one, other) =
            (HttpModel::new(config.clone()).expect("good"), HttpModel::new(config).expect("good"));
        for model in [&one, &other] {
            ask(model, false).await.expect_err("no reply, but it was sent");
        }
        let failure = ask(&one, true).await.expect_err("the third is one too many");
        assert_eq!(failure.kind, FailureKind::RateLimited, "{failure:?}");
        assert!(failure.message.ends_with("`rate` allows 2 requests a minute"), "{}", failure.message);
        assert!(failure.retry_after_ms.is_some_and(|ms| ms > 50_000 && ms <= 60_100), "{failure:?}");
        assert_eq!(server.seen().len(), 2 * (number + 1));
    }
}

#[tokio::test]
async fn e55_a_reply_s_usage_corrects_the_estimate() {
    for stream in [false, true] {
        let answer = if stream { events(&HELLO) } else { json(HELLO_WHOLE) };
        let server = Server::start(answer).await;
        let most = NonZeroU64::new(1_000);
        let rate = Some(Rate { tokens_per_minute: most, max_wait_ms: Some(0), ..Rate::default() });
        let model = with(&server.url, "a", rate);
        let asked = || {
            let choice = ModelChoice { max_tokens: Some(900), ..request(stream).model };
            assemble(model.call(ModelRequest { model: choice, ..request(stream) }), "test/m1")
        };
        asked().await.expect("there is room");
        asked().await.expect("the first took 9 tokens, not 900");
        let (one, other) = futures_util::future::join(asked(), asked()).await;
        assert!(one.is_ok() && other.is_err(), "two at once have no room: {one:?} {other:?}");
    }
}

#[tokio::test]
async fn e55_the_wait_for_a_turn_counts_for_no_timeout() {
    let server = first("429 Too Many Requests", "retry-after-ms: 400\r\n", "{}").await;
    let short = Timeouts { first_token_ms: 300, total_ms: 350, ..Timeouts::default() };
    let model = within(&server.url, short);
    ask(&model, true).await.expect_err("refused");
    ask(&model, true).await.expect("it waited longer than the call may take");
}

#[tokio::test]
async fn e55_headers_of_a_good_reply_teach() {
    let spent = "content-type: application/json\r\nx-ratelimit-remaining-requests: 0\r\nx-ratelimit-reset-requests: 250ms\r\n";
    let server = first("200 OK", spent, HELLO_WHOLE).await;
    let model = with(&server.url, "a", None);
    ask(&model, false).await.expect("a reply");
    let begun = Instant::now();
    ask(&model, false).await.expect("a reply");
    assert!(begun.elapsed() >= Duration::from_millis(200), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn e55_an_error_within_a_reply_asks_for_a_wait_and_holds() {
    let quota = r#"{"type":"error","code":"insufficient_quota","message":"You exceeded your current quota, please check your plan and billing details."}"#;
    let limit = r#"{"type":"error","code":"rate_limit_exceeded","message":"Rate limit reached for m. Please try again in 90s."}"#;
    let ask_responses = async |event: &'static str| {
        let server = Server::start(events(&[event])).await;
        let config = HttpModelConfig {
            allow_proxy: false,
            ..HttpModelConfig::new(&OpenAiResponses, "test", &*server.url)
        };
        let model = HttpModel::new(config).expect("good");
        let failure = ask(&model, true).await.expect_err("refused");
        (failure.kind, failure.retry_after_ms, ask(&model, true).await.expect_err("again").status)
    };
    assert_eq!(ask_responses(quota).await, (FailureKind::RateLimited, None, None), "no time ends it");
    assert_eq!(ask_responses(limit).await, (FailureKind::RateLimited, Some(90_000), None));
    let google = r#"{"error":{"code":429,"message":"Resource exhausted.","status":"RESOURCE_EXHAUSTED",
        "details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}"#;
    let server = Server::start(json(google)).await;
    let failure = ask(&adapter(&server.url), false).await.expect_err("refused");
    assert_eq!((failure.kind, failure.retry_after_ms), (FailureKind::RateLimited, Some(7_000)));
}

#[tokio::test]
async fn e55_a_limit_on_spending_is_no_fault_of_the_request() {
    let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2999-01-01 at 00:00 UTC."}}"#;
    let server = Server::start(response("400 Bad Request", "", body)).await;
    let config = HttpModelConfig {
        allow_proxy: false,
        ..HttpModelConfig::new(&AnthropicMessages, "test", &*server.url)
    };
    let failure = ask(&HttpModel::new(config).expect("good"), true).await.expect_err("refused");
    assert_eq!((failure.kind, failure.status), (FailureKind::RateLimited, Some(400)));
    assert_eq!(failure.retry_after_ms, Some(35 * 24 * 3_600_000), "the longest that is believed");
}

#[tokio::test]
async fn e55_words_ask_for_a_wait_only_where_a_wait_helps() {
    let body = r#"{"error":{"message":"upstream connection reset after 30s"}}"#;
    let server = Server::start(response("500 Oops", "", body)).await;
    let failure = ask(&adapter(&server.url), false).await.expect_err("broken");
    assert_eq!((failure.kind, failure.retry_after_ms), (FailureKind::Server, None));
}
