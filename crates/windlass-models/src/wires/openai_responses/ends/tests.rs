use super::*;

fn ended(json: &str) -> Result<StopReason, (FailureKind, String)> {
    let response = Fields::read(json).expect("an object");
    stop_reason(&response, "completed", false).map_err(|error| (error.kind, error.message))
}

#[test]
fn a_status_is_a_stop_reason_or_a_failure() {
    let incomplete = |reason: &str| {
        ended(&format!("{{\"status\":\"incomplete\",\"incomplete_details\":{{\"reason\":\"{reason}\"}}}}"))
    };
    assert_eq!(ended("{}"), Ok(StopReason::Stop), "the event says that it is complete");
    assert_eq!(incomplete("max_output_tokens"), Ok(StopReason::Length));
    assert_eq!(incomplete("content_filter"), Ok(StopReason::Filtered));
    let (kind, words) = incomplete("solar_flare").expect_err("unknown");
    assert_eq!(kind, FailureKind::Protocol);
    assert!(words.contains("`solar_flare`"), "{words}");
    for status in ["failed", "cancelled", "queued", "in_progress", "paused"] {
        let failed = ended(&format!("{{\"status\":\"{status}\"}}"));
        let kind = if status == "failed" { FailureKind::Server } else { FailureKind::Protocol };
        assert_eq!(failed.map_err(|(kind, _)| kind), Err(kind), "{status}");
    }
}

#[test]
fn the_event_s_word_counts_where_the_response_has_no_status() {
    let response = Fields::default();
    let kind = |status| stop_reason(&response, status, false).map_err(|error| error.kind);
    assert_eq!(kind("failed"), Err(FailureKind::Server));
    assert_eq!(kind("cancelled"), Err(FailureKind::Protocol));
    assert_eq!(stop_reason(&response, "completed", true), Ok(StopReason::Refused));
}

#[test]
fn codes_of_errors_are_kinds_of_failures() {
    for (code, message, kind) in [
        ("server_error", "an error", FailureKind::Server),
        ("vector_store_timeout", "too slow", FailureKind::Server),
        ("rate_limit_exceeded", "too fast", FailureKind::RateLimited),
        ("slow_down", "later", FailureKind::Overloaded),
        ("server_is_overloaded", "later", FailureKind::Overloaded),
        ("context_length_exceeded", "too long", FailureKind::ContextLength),
        ("", "Your input exceeds the context window of this model.", FailureKind::ContextLength),
        ("invalid_prompt", "no", FailureKind::BadRequest),
        ("image_parse_error", "no", FailureKind::BadRequest),
        ("bio_policy", "no", FailureKind::BadRequest),
        ("data_residency_mismatch", "no", FailureKind::BadRequest),
        ("invalid_api_key", "no", FailureKind::Auth),
        ("previous_response_not_found", "gone", FailureKind::Server),
        ("", "Previous response with id 'resp_0' not found.", FailureKind::Server),
        ("invalid_request_error", "Invalid `previous_response_id`.", FailureKind::Server),
        ("a_new_one", "who knows", FailureKind::Server),
    ] {
        let event = format!("{{\"type\":\"error\",\"code\":\"{code}\",\"message\":\"{message}\"}}");
        let top = error_event(&Fields::read(&event).expect("an object"), event.as_bytes());
        assert_eq!((top.kind, top.message.as_str()), (kind, message), "{code}");
        let nested = format!("{{\"error\":{{\"code\":\"{code}\",\"message\":\"{message}\"}}}}");
        let below = reported(&Fields::read(&nested).expect("an object")).expect("an error");
        assert_eq!((below.kind, below.message.as_str()), (kind, message), "{code}");
    }
}

#[test]
fn an_error_without_words_is_quoted_and_a_long_one_is_cut() {
    let event = r#"{"type":"error","sequence_number":3}"#;
    let error = error_event(&Fields::read(event).expect("an object"), event.as_bytes());
    assert!(error.message.contains("sequence_number"), "{}", error.message);
    let long = format!("{{\"error\":{{\"message\":\"{}\"}}}}", "ü".repeat(1_000_000));
    let error = reported(&Fields::read(&long).expect("an object")).expect("an error");
    assert!(error.message.len() < 5_000, "{}", error.message.len());
}
