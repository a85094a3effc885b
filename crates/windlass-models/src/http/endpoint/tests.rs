use super::Endpoint;
use crate::ModelError;
use crate::wires::Wire;
use crate::wires::openai_chat::OpenAiChat;

fn parse(base: &str) -> Result<Endpoint, ModelError> {
    Endpoint::parse(base, OpenAiChat.facts())
}

fn at(base: &str, path: &str) -> String {
    let target = parse(base).expect("a base URL").at(path).expect("an address");
    assert!(target.url.ends_with(&target.path.to_string()), "{target:?}");
    target.url
}

#[test]
fn e45_a_base_url_with_or_without_slash_or_v1() {
    for base in
        ["http://h:8080", "http://h:8080/", "http://h:8080/v1", "http://h:8080/v1/", " http://h:8080/v1// "]
    {
        assert_eq!(at(base, "chat/completions"), "http://h:8080/v1/chat/completions", "{base}");
        assert_eq!(at(base, "models"), "http://h:8080/v1/models", "{base}");
        assert_eq!(parse(base).expect("a base URL").host, "h:8080");
    }
}

#[test]
fn e45_another_path_is_kept() {
    for (base, chat) in [
        ("https://g.example/openai/v1", "https://g.example/openai/v1/chat/completions"),
        ("https://g.example/api/paas/v4/", "https://g.example/api/paas/v4/chat/completions"),
        ("https://g.example/v1/chat/completions", "https://g.example/v1/chat/completions"),
        ("https://g.example/d?api-version=1", "https://g.example/d/chat/completions?api-version=1"),
    ] {
        assert_eq!(at(base, "chat/completions"), chat);
    }
    assert_eq!(at("http://h/d?a=1", "m:stream?alt=sse"), "http://h/d/m:stream?alt=sse&a=1");
    assert_eq!(parse("https://[::1]/").expect("a base URL").host, "[::1]:443");
}

#[test]
fn what_is_no_base_url_says_why() {
    let reason = |base: &str| {
        let error = parse(base).expect_err("no base URL");
        let ModelError::BadBaseUrl { url, reason } = error else { panic!("{error:?}") };
        (url, reason)
    };
    assert!(reason("localhost:8080/v1").1.contains("http://"));
    assert!(reason("ftp://h").1.contains("http://"));
    assert_eq!(reason("").1, "relative URL without a base");
}

#[test]
fn e53_a_login_in_the_base_url_is_refused_and_not_shown() {
    let error = parse("http://user:hunter2@h/v1").expect_err("a login");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    assert!(!format!("{:?}", parse("ftp://user:hunter2@h")).contains("hunter2"));
}
