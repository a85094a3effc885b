//! What is found out about a model: probes against servers of recorded bytes, each wire's own.

use serde_json::Value;
use windlass_core::model::FailureKind;
use windlass_models::probe::{Ability, Outcome, probe};
use windlass_models::wires::openai_responses::OpenAiResponses;
use windlass_models::{HttpModel, HttpModelConfig, ModelError};

use crate::server::*;

/// A whole reply of Chat Completions with this message.
fn chat(message: &str, usage: &str) -> Vec<Step> {
    json(&format!(
        r#"{{"choices":[{{"message":{message},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":2000,"completion_tokens":9{usage}}}}}"#
    ))
}

fn call(id: &str, args: &str) -> String {
    let args = Value::from(args);
    format!(r#"{{"id":"{id}","type":"function","function":{{"name":"add","arguments":{args}}}}}"#)
}

/// A model of Chat Completions that can do all, judged by what its requests ask for.
fn able(seen: &Seen) -> Vec<Step> {
    let body: Value = serde_json::from_str(&seen.body).expect("JSON");
    assert!(body["max_tokens"].as_u64().is_some_and(|most| most <= 512), "{body}");
    let calls = |calls: &[String]| {
        chat(&format!(r#"{{"role":"assistant","content":null,"tool_calls":[{}]}}"#, calls.join(",")), "")
    };
    let one = call("a", r#"{"a":2,"b":5}"#);
    if body["stream"] == true {
        events(&HELLO)
    } else if body["parallel_tool_calls"] == true {
        calls(&[one, call("b", r#"{"a":3,"b":4}"#)])
    } else if body.get("tools").is_some() {
        calls(&[one])
    } else if body["response_format"]["type"] == "json_schema" {
        chat(r#"{"role":"assistant","content":"{\"sum\":7}"}"#, "")
    } else if seen.body.contains("data:image/png;base64,") {
        chat(r#"{"role":"assistant","content":"Red."}"#, "")
    } else if body["reasoning_effort"] == "low" {
        let counted = r#","completion_tokens_details":{"reasoning_tokens":5}"#;
        chat(r#"{"role":"assistant","content":"391","reasoning_content":"17 * 23"}"#, counted)
    } else {
        let cached = r#","prompt_tokens_details":{"cached_tokens":1024}"#;
        chat(r#"{"role":"assistant","content":"blue"}"#, cached)
    }
}

#[tokio::test]
async fn all_that_a_model_can_do_is_found_by_one_request_each() {
    let server = Server::answering(able).await;
    let report = probe(&adapter(&server.url), "test/m1").await.expect("it answers");
    assert_eq!(report.text.text.as_deref(), Some("blue"));
    let found: Vec<_> = report.findings.iter().map(|one| (one.outcome, one.found.as_str())).collect();
    let works = |found| (Outcome::Works, found);
    assert_eq!(
        found,
        [
            works("pieces: 2"),
            works(r#"add({"a":2,"b":5})"#),
            works(r#"add({"a":2,"b":5}), add({"a":3,"b":4})"#),
            works(r#"{"sum":7}"#),
            works("it says: Red."),
            works("readable thoughts, tokens: 5"),
            works("cached 1024 of 2000 tokens, written before: 0"),
        ]
    );
    assert_eq!(report.findings.iter().map(|one| one.ability).collect::<Vec<_>>(), Ability::ALL);
    assert_eq!(server.seen().len(), 1 + Ability::ALL.len() + 1, "text, each ability, and the cache twice");
    let cache = report.findings.last().expect("the cache").usage;
    assert_eq!((cache.input, cache.cached), (4000, 2048), "both requests count");
}

#[tokio::test]
async fn a_model_that_only_talks_is_missing_the_rest() {
    let server = Server::start(json(HELLO_WHOLE)).await;
    let report = probe(&adapter(&server.url), "test/m1").await.expect("it answers");
    for finding in &report.findings {
        assert_eq!(finding.outcome, Outcome::Missing, "{finding:?}");
    }
    assert_eq!(report.findings[1].found, "it says: Hello");
}

#[tokio::test]
async fn a_failed_probe_says_the_provider_s_words_and_the_others_go_on() {
    let server = Server::answering(|seen| {
        if seen.body.contains("\"tools\"") {
            let error = r#"{"error":{"message":"m1 does not support tools"}}"#;
            return response("400 Bad Request", "content-type: application/json\r\n", error);
        }
        able(seen)
    })
    .await;
    let report = probe(&adapter(&server.url), "test/m1").await.expect("it answers");
    for finding in &report.findings {
        let tools = matches!(finding.ability, Ability::ToolCall | Ability::ParallelCalls);
        assert_eq!(finding.outcome, if tools { Outcome::Failed } else { Outcome::Works }, "{finding:?}");
        assert_eq!(finding.found.contains("m1 does not support tools"), tools, "{finding:?}");
    }
}

#[tokio::test]
async fn a_model_without_text_is_asked_nothing_else() {
    let error = r#"{"error":{"message":"no such key"}}"#;
    let server = Server::start(response("401 Unauthorized", "", error)).await;
    let failed = probe(&adapter(&server.url), "test/m1").await.expect_err("refused");
    assert!(matches!(failed, ModelError::Failed(failure) if failure.kind == FailureKind::Auth));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn recorded_replies_of_another_wire_are_judged_in_the_same_way() {
    let file = |name: &str| {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/openai_responses");
        std::fs::read_to_string(folder.join(name)).expect("it is in the corpus")
    };
    let (thoughts, text) = (file("reasoning_summary.json"), file("text.json"));
    let server = Server::answering(move |seen| {
        json(if seen.body.contains("\"effort\":\"low\"") { &thoughts } else { &text })
    })
    .await;
    let config = HttpModelConfig::new(&OpenAiResponses, "openai", server.url.clone());
    let model = HttpModel::new(HttpModelConfig { allow_proxy: false, ..config }).expect("a good base URL");
    let report = probe(&model, "openai/gpt-5.2").await.expect("it answers");
    for finding in &report.findings {
        let reasoning = finding.ability == Ability::Reasoning;
        let cached = finding.ability == Ability::Cache && finding.usage.cached > 0;
        let works = finding.outcome == Outcome::Works;
        assert_eq!(works, reasoning || cached, "{finding:?}");
    }
}
