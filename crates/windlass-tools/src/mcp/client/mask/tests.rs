use super::*;

#[test]
fn header_values_and_their_tokens_are_hidden() {
    let config = McpConfig::http("search", "http://127.0.0.1:1/mcp")
        .header("Authorization", "Bearer abcdefgh12345")
        .header("X-Key", "topsecret");
    let mask = Mask::of(&config);
    let hidden = mask.hide("sent Bearer abcdefgh12345, got abcdefgh12345 and topsecret from a Bearer");
    assert_eq!(hidden, "sent ***, got *** and *** from a Bearer");
    assert!(!format!("{config:?} {mask:?}").contains("abcdefgh12345"));
}

#[test]
fn values_of_the_environment_are_hidden_but_short_ones_stay() {
    let config = McpConfig::stdio("files", ["server"]).env("TOKEN", "s3cr3t!").env("LEVEL", "1");
    let mask = Mask::of(&config);
    assert_eq!(mask.hide("TOKEN=s3cr3t! LEVEL=1"), "TOKEN=*** LEVEL=1");
    assert!(!format!("{config:?}").contains("s3cr3t!"));
}

#[test]
fn a_url_is_shown_without_user_and_query() {
    let url = "http://me:pass12@host:9/mcp?key=longenough&x=1#f";
    assert_eq!(redacted_url(url), "http://host:9/mcp");
    assert_eq!(redacted_url("http://host/mcp"), "http://host/mcp");
    assert_eq!(redacted_url("no url?key=1"), "no url");
    let config = McpConfig::http("search", url);
    let hidden = Mask::of(&config).hide(&format!("error for url ({url}): longenough, pass12"));
    assert_eq!(hidden, "error for url (http://host:9/mcp): ***, ***");
    assert!(!format!("{config:?}").contains("longenough"));
}
