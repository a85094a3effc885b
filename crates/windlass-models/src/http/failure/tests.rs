use windlass_core::model::FailureKind::{
    self, Auth, BadRequest, ContextLength, NotFound, Overloaded, Protocol, RateLimited, Server, Unsupported,
};
use windlass_core::model::Refusal::{self, Schema, ToolChoice, Tools};

use super::{ErrorWords, report};
use crate::wires::Wire;
use crate::wires::openai_chat::OpenAiChat;

fn words() -> &'static ErrorWords {
    OpenAiChat.facts().errors
}

fn kind(status: u16, body: &str) -> FailureKind {
    words().kind(status, &report(body.as_bytes()))
}

#[test]
fn e42_failures_by_status() {
    for (status, expected) in [
        (429, RateLimited),
        (503, Overloaded),
        (529, Overloaded),
        (500, Server),
        (502, Server),
        (504, Server),
        (401, Auth),
        (403, Auth),
        (404, NotFound),
        (400, BadRequest),
        (413, BadRequest),
        (422, BadRequest),
        (302, Protocol),
    ] {
        assert_eq!(kind(status, "{}"), expected, "{status}");
    }
}

#[test]
fn a_full_context_by_code_or_words() {
    let openai =
        r#"{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}"#;
    assert_eq!(kind(400, openai), ContextLength);
    let vllm =
        r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","code":400}"#;
    assert_eq!(kind(400, vllm), ContextLength);
    let llama = r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}"#;
    assert_eq!(kind(400, llama), ContextLength);
    assert_eq!(kind(500, llama), ContextLength);
    assert_eq!(kind(429, llama), RateLimited, "the status is clear");
    let perplexity = r#"{"error":{"message":"Too long.","type":"too_many_prompt_tokens","code":400}}"#;
    assert_eq!(kind(400, perplexity), ContextLength);
    let ollama = r#"{"error":{"message":"prompt too long; exceeded max context length by 7 tokens"}}"#;
    assert_eq!(kind(400, ollama), ContextLength);
}

#[test]
fn keys_and_models_that_are_not_known_behind_a_400() {
    let xai = r#"{"code":"invalid-argument","error":"Incorrect API key provided: x."}"#;
    assert_eq!(kind(400, xai), Auth);
    let openai = r#"{"error":{"message":"The requested model 'x' does not exist.","type":"invalid_request_error","code":"model_not_found"}}"#;
    assert_eq!(kind(400, openai), NotFound);
    assert!(kind(400, openai).may_fall_back(), "another model may be known");
}

#[test]
fn tools_that_are_not_supported() {
    let ollama = r#"{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools"}}"#;
    assert_eq!(kind(400, ollama), Unsupported);
    let llama =
        r#"{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}"#;
    assert_eq!(kind(500, llama), Unsupported);
    assert_eq!(kind(400, r#"{"error":"tool_choice 'required' is unsupported"}"#), Unsupported);
    assert_eq!(kind(400, r#"{"error":{"message":"Invalid schema for function 'f'"}}"#), BadRequest);
    assert_eq!(kind(400, r#"{"error":{"message":"tools.0.name is too long"}}"#), BadRequest);
}

#[test]
fn words_from_bodies_of_all_shapes() {
    let words = |body: &str| report(body.as_bytes()).message;
    assert_eq!(
        words(r#"{"error":{"message":"Invalid schema","param":"tools[3].function.parameters"}}"#),
        "Invalid schema (tools[3].function.parameters)"
    );
    assert_eq!(words(r#"{"error":{"message":"Bad temperature","param":"temperature"}}"#), "Bad temperature");
    assert_eq!(words(r#"{"error":{"message":"m","code":"c"}}"#), "m");
    assert_eq!(words(r#"{"error":"e"}"#), "e");
    assert_eq!(words(r#"{"message":"m"}"#), "m");
    assert_eq!(words(r#"{"detail":"d"}"#), "d");
    assert_eq!(words(r#"{"error":null,"message":"m"}"#), "m");
    assert_eq!(words(" Bad gateway \n"), "Bad gateway");
    assert_eq!(words(r#"{"detail":[{"loc":["body"]}]}"#), r#"{"detail":[{"loc":["body"]}]}"#);
    assert_eq!(words(""), "");
    assert_eq!(words(&"ü".repeat(5000)).chars().count(), 2003);
    assert_eq!(report(&[0xff, b'x']).message, "\u{fffd}x");
}

#[test]
fn the_status_that_a_body_names() {
    assert_eq!(report(br#"{"error":{"message":"m","code":429}}"#).status, Some(429));
    assert_eq!(report(br#"{"error":{"message":"m","code":7}}"#).status, None);
    assert_eq!(report(br#"{"error":{"message":"m","code":"429"}}"#).status, None);
}

#[test]
fn k41_what_a_server_refuses_is_read_from_its_words() {
    let refused = |status: u16, message: &str| -> Option<Refusal> {
        let kind = kind(status, &format!("{{\"error\":{{\"message\":\"{message}\"}}}}"));
        words().refusal(kind, Some(status), message)
    };
    assert_eq!(refused(400, "gemma:2b does not support tools"), Some(Tools));
    assert_eq!(refused(422, "tools: Extra inputs are not permitted"), Some(Tools));
    assert_eq!(refused(400, "Function calling is not enabled"), Some(Tools));
    assert_eq!(refused(500, "tools param requires --jinja flag"), Some(Tools));
    assert_eq!(refused(400, "tool_choice 'required' is unsupported"), Some(ToolChoice));
    assert_eq!(refused(400, "tool_calls must be followed by messages"), None, "a history at fault");
    assert_eq!(refused(413, "the tools are too long"), None, "another status");
    assert_eq!(refused(500, "the tools are broken"), None);
    assert_eq!(refused(400, "temperature must be at most 2"), None);
    assert_eq!(words().refusal(Unsupported, None, "not here"), Some(Tools));
    // Schemas of replies: DeepSeek, OpenAI, Gemini's gemma, llama-server.
    assert_eq!(refused(400, "This response_format type is unavailable now"), Some(Schema));
    assert_eq!(
        refused(
            400,
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model"
        ),
        Some(Schema)
    );
    assert_eq!(refused(400, "JSON mode is not enabled for models/gemma-3-27b-it"), Some(Schema));
    assert_eq!(refused(400, "Failed to initialize samplers: failed to parse grammar"), Some(Schema));
    assert_eq!(refused(400, "response_format is not supported with tools"), Some(Tools));
    assert_eq!(kind(400, r#"{"error":{"message":"response_format is not supported"}}"#), Unsupported);
}

#[test]
fn a_list_that_holds_an_error_and_a_status_that_is_a_word() {
    let body = r#"[{"error":{"code":429,"message":"Resource exhausted.","status":"RESOURCE_EXHAUSTED",
        "details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}]"#;
    let report = report(body.as_bytes());
    assert_eq!(
        (report.message.as_str(), report.code.as_str()),
        ("Resource exhausted.", "RESOURCE_EXHAUSTED")
    );
    assert_eq!((report.status, report.retry_after_ms), (Some(429), Some(7000)));
    let key = r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#;
    assert_eq!(kind(400, key), Auth);
}

#[test]
fn words_of_gateways_lists_and_statuses_beside_words() {
    let list =
        report(br#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]"#);
    assert_eq!(
        (list.message.as_str(), list.code.as_str(), list.status),
        ("API key not valid.", "INVALID_ARGUMENT", Some(400))
    );
    let azure = report(br#"{"error":{"code":"content_filter","message":"filtered","status":400}}"#);
    assert_eq!((azure.code.as_str(), azure.status), ("content_filter", Some(400)));
    assert_eq!(report(br#"{"error":{"message":"m","status_code":413}}"#).status, Some(413));
    let raw = |raw: &str| {
        report(
            format!(r#"{{"error":{{"message":"Provider returned error","metadata":{{"raw":{raw}}}}}}}"#)
                .as_bytes(),
        )
        .message
    };
    assert_eq!(raw(r#""{\"error\":{\"message\":\"too long\"}}""#), "Provider returned error: too long");
    assert_eq!(raw(r#"{"message":"too long"}"#), "Provider returned error: too long");
    assert_eq!(raw(r#""plain words""#), "Provider returned error: plain words");
    assert_eq!(raw("null"), "Provider returned error");
    let full = r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"maximum context length is 4096"}}}"#;
    assert_eq!(kind(400, full), ContextLength, "the real words tell the kind");
    assert_eq!((kind(402, "{}"), kind(498, "{}")), (Auth, Overloaded));
}
