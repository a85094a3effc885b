use super::Endpoint;
use crate::ModelError;

#[test]
fn e45_a_base_url_with_or_without_slash_or_v1() {
    for base in
        ["http://h:8080", "http://h:8080/", "http://h:8080/v1", "http://h:8080/v1/", " http://h:8080/v1// "]
    {
        let endpoint = Endpoint::parse(base).expect("a base URL");
        assert_eq!(endpoint.chat.as_str(), "http://h:8080/v1/chat/completions", "{base}");
        assert_eq!(endpoint.models.as_str(), "http://h:8080/v1/models", "{base}");
        assert_eq!(endpoint.host, "h:8080");
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
        assert_eq!(Endpoint::parse(base).expect("a base URL").chat.as_str(), chat);
    }
    assert_eq!(Endpoint::parse("https://[::1]/").expect("a base URL").host, "[::1]:443");
}

#[test]
fn what_is_no_base_url_says_why() {
    let reason = |base: &str| match Endpoint::parse(base).expect_err("no base URL") {
        ModelError::BadBaseUrl { url, reason } => (url, reason),
        other => panic!("{other:?}"),
    };
    assert!(reason("localhost:8080/v1").1.contains("http://"));
    assert!(reason("ftp://h").1.contains("http://"));
    assert_eq!(reason("").1, "relative URL without a base");
}

#[test]
fn e53_a_login_in_the_base_url_is_refused_and_not_shown() {
    let error = Endpoint::parse("http://user:hunter2@h/v1").expect_err("a login");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    assert!(!format!("{:?}", Endpoint::parse("ftp://user:hunter2@h")).contains("hunter2"));
}

#[test]
fn only_openai_itself_is_openai() {
    let is = |base: &str| Endpoint::parse(base).expect("a base URL").is_openai();
    assert!(is("https://api.openai.com/v1"));
    assert!(is("https://eu.api.openai.com/v1"));
    assert!(!is("https://api.openai.com.example/v1"));
    assert!(!is("http://127.0.0.1:8080"));
}
