//! Words about a model that cannot be asked.

use crate::kit::{End, Home, end};
use crate::server::{Reply, Server};

/// A question to a model of a server that gives these replies.
fn asked(replies: Vec<Reply>, args: &[&str], key: &str) -> (End, Server) {
    let (home, server) = (Home::new(), Server::start(replies));
    let mut command = home.command(args.iter().chain(&["Hello there."]));
    command.env("OPENAI_API_KEY", key).env("OPENAI_BASE_URL", &server.url);
    (end(command.output().unwrap()), server)
}

const KEY: &str = "sk-no-real-key";

#[test]
fn a_failure_is_said_once_with_what_helps() {
    let invalid = r#"{"message": "Incorrect API key provided", "code": "invalid_api_key"}"#;
    let unknown = r#"{"message": "No such model", "code": "model_not_found"}"#;
    for (reply, words, hint) in [
        (
            Reply::Fails(401, invalid),
            "Incorrect API key provided (401); the key is that of OPENAI_API_KEY",
            "",
        ),
        (
            Reply::Fails(404, unknown),
            "; did you mean gpt-5-mini or gpt-5-nano?",
            "`windlass models list openai`",
        ),
        (
            Reply::Page(200, "<!doctype html><title>Hi</title>"),
            "the address answers with a web page (\"Hi\"): is base_url right?",
            "",
        ),
        (
            Reply::Page(404, "<html><title>None</title>"),
            "a web page (\"None\"): is base_url right? (404)",
            "",
        ),
    ] {
        let (said, _) = asked(vec![reply], &["-m", "openai/gpt-5-minni"], KEY);
        assert_eq!(said.code, 69, "{said:?}");
        assert_eq!(said.stderr.matches(words).count(), 1, "{words}: {}", said.stderr);
        assert!(said.stderr.contains(hint), "{}", said.stderr);
        assert!(!said.stderr.contains("doctor") && !said.stderr.contains("HTTP"), "{}", said.stderr);
    }
}

#[test]
fn a_model_at_an_address_of_its_own_has_no_provider_whose_models_are_listed() {
    let unknown = r#"{"message": "No such model", "code": "model_not_found"}"#;
    let (home, server) = (Home::new(), Server::start(vec![Reply::Fails(404, unknown)]));
    home.write("a.yaml", &format!("name: a\nmodel: {{ use: m, base_url: \"{}\" }}\n", server.url));
    let said = home.windlass(["run", "a.yaml", "Hello"]);
    assert!(said.code == 69 && said.stderr.contains("No such model"), "{said:?}");
    assert!(!said.stderr.contains("models list"), "{said:?}");
}

/// A server that is not there is told once as a try fails, and once as the reason why the run has failed.
#[test]
fn a_failure_that_comes_again_is_told_once_and_its_tries_are_counted() {
    let home = Home::new();
    home.write(
        "a.yaml",
        "name: a\nmodel: { use: m, base_url: \"http://127.0.0.1:9/v1\" }\nretry: { retries: 3, wait_ms: 1, max_wait_ms: 2 }\n",
    );
    let said = home.windlass(["run", "a.yaml", "Hello"]);
    assert_eq!(said.stderr.matches("tcp connect error").count(), 2, "{said:?}");
    for line in ["(try 3 of 4)", "(try 4 of 4)"] {
        let line = said.stderr.lines().find(|shown| shown.ends_with(line)).unwrap_or_default();
        assert!(line.starts_with("again in "), "{said:?}");
    }
    let hint = "start the server of that address, or give another one: `base_url` in the agent file, or `--base-url`";
    assert!(said.code == 69 && said.stderr.contains(hint), "{said:?}");
}

#[test]
fn an_answer_that_may_be_a_proxys_own_names_it() {
    let (home, proxy) = (Home::new(), Server::start(vec![Reply::Status(502, "")]));
    home.write(
        "a.yaml",
        "name: a\nmodel: { use: m, base_url: \"http://model.invalid/v1\" }\nretry: { retries: 0 }\n",
    );
    let address = proxy.url.trim_end_matches("/v1");
    let mut command = home.command(["run", "a.yaml", "Hello"]);
    // The proxy stands on this machine, and is asked in the place of the other one.
    command.env("HTTP_PROXY", address).env_remove("WINDLASS_OFFLINE");
    let said = end(command.output().unwrap());
    let words = format!("it was asked through the proxy {}", address.trim_start_matches("http://"));
    assert!(said.code == 69 && said.stderr.contains(&words), "{said:?}");
}

#[test]
fn a_limit_says_when_it_ends_and_a_spent_quota_is_asked_once() {
    let (said, _) = asked(vec![Reply::Status(429, "retry-after: 3600\r\n")], &["-m", "openai/m"], KEY);
    let hint =
        said.stderr.lines().find(|line| line.starts_with("hint: again in 1 h, at ")).unwrap_or_default();
    assert!(hint.contains("wait_for_quota: true"), "{said:?}");
    let spent = r#"{"message": "You exceeded your current quota", "code": "insufficient_quota"}"#;
    let replies = vec![Reply::Fails(429, spent), Reply::Pieces(vec!["never"])];
    let (said, server) = asked(replies, &["-m", "openai/m"], KEY);
    assert!(said.code == 69 && !said.stderr.contains("again in"), "{said:?}");
    server.requests.recv().unwrap();
    assert!(server.requests.try_recv().is_err(), "asked once");
}

#[test]
fn the_key_of_a_file_and_the_limit_of_a_wait_are_named() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Fails(401, r#"{"message": "No"}"#)]);
    let model = |more: &str| format!("name: a\nmodel:\n  use: m\n  base_url: {}\n{more}", server.url);
    home.write("a.yaml", &model("  key: \"${MY_KEY}\"\n"));
    let run = |args: &[&str]| end(home.command(args).env("MY_KEY", "a-secret-key").output().unwrap());
    let said = run(&["run", "a.yaml", "-q", "Hello"]);
    assert!(said.stderr.contains("the key is that of MY_KEY (a.yaml:5:8)"), "{said:?}");
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    home.write(
        "a.yaml",
        &format!("name: a\nmodel: {{ use: m, base_url: \"{url}\", timeouts: {{ first_token_ms: 50 }} }}\nretry: {{ retries: 0 }}\n"),
    );
    let said = run(&["run", "a.yaml", "-q", "Hello"]);
    assert!(said.stderr.contains("(`timeouts.first_token_ms`)"), "{said:?}");
}

#[test]
fn a_key_that_was_copied_with_quotes_or_its_scheme_is_mended() {
    for key in ["\"sk-no-real-key\"", "Bearer sk-no-real-key", "'Bearer sk-no-real-key' "] {
        let (said, server) = asked(vec![Reply::Pieces(vec!["Hello."])], &["-q", "-m", "openai/m"], key);
        assert_eq!((said.code, &*said.stdout), (0, "Hello.\n"), "{said:?}");
        let head = server.heads.recv().unwrap();
        assert!(head.contains("authorization: bearer sk-no-real-key\r\n"), "{head}");
    }
}

#[test]
fn a_model_without_its_provider_is_suggested_with_it() {
    let home = Home::new();
    for (name, meant) in [
        ("gpt-5-mini", "did you mean openai/gpt-5-mini?"),
        ("gpt5-mini", "did you mean openai/gpt-5-mini"),
        ("claude-haiku-4-5", "anthropic/claude-haiku-4-5"),
    ] {
        let said = home.windlass(["-m", name, "Hello there."]);
        assert!(said.code == 65 && said.stderr.contains(meant), "{name}: {said:?}");
        home.write("a.yaml", &format!("name: a\nmodel: {name}\n"));
        let said = home.windlass(["run", "a.yaml", "Hello there."]);
        assert!(said.code == 65 && said.stderr.contains(meant), "{name}: {said:?}");
    }
    // A letter is no model's name, whatever names it is in.
    let said = home.windlass(["models", "check", "m"]);
    assert!(said.code == 65 && !said.stderr.contains("did you mean"), "{said:?}");
}

#[test]
fn a_base_url_stands_on_the_command_line() {
    let home = Home::new();
    let server = Server::start(vec![Reply::Pieces(vec!["Hello."]), Reply::Pieces(vec!["Again."])]);
    let run = |args: &[&str]| end(home.command(args).env("OPENAI_API_KEY", KEY).output().unwrap());
    let said = run(&["-q", "-m", "some-model", "--base-url", &server.url, "Hello there."]);
    assert_eq!((said.code, &*said.stdout), (0, "Hello.\n"), "{said:?}");
    assert_eq!(server.requests.recv().unwrap()["model"], "some-model");
    assert!(!server.heads.recv().unwrap().contains("authorization"), "no key reaches another server");
    home.write("a.yaml", "name: a\nmodel: openai/m\n");
    let said = run(&["run", "a.yaml", "-q", "--base-url", &server.url, "Hello there."]);
    assert_eq!((said.code, &*said.stdout), (0, "Again.\n"), "{said:?}");
    assert!(!server.heads.recv().unwrap().contains("authorization"), "no key reaches another server");
    let alone = run(&["--base-url", &server.url, "Hello there."]);
    assert!(alone.code == 2 && alone.stderr.contains("-m NAME"), "{alone:?}");
    for bad in ["127.0.0.1:8080", "http://ann:pass@127.0.0.1"] {
        assert_eq!(run(&["-m", "m", "--base-url", bad, "Hello there."]).code, 2, "{bad}");
    }
}
