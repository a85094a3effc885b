//! Names that become models, and `auto`.

use windlass_error::Diagnostic as _;
use windlass_models::resolve::{ModelSettings, PROBE_MS, Places, check, choose_auto_at, list_models};

use crate::server::*;

/// An address where nobody listens: port 1 is below those that are given out.
const NOBODY: &str = "http://127.0.0.1:1";

fn nothing(_: &str) -> Option<String> {
    None
}

/// Places with all the time that a busy machine may need.
fn at(ollama: &str, llama: &str) -> Places {
    let servers = [("ollama", ollama.to_owned()), ("llama", llama.to_owned())].into();
    Places { servers, probe_ms: 60_000 }
}

async fn ollama() -> Server {
    Server::routes(|path| match path {
        "/" => response("200 OK", "content-type: text/plain\r\n", "Ollama is running"),
        "/api/tags" => json(r#"{"models":[{"name":"qwen3:4b","size":1},{"name":"gemma3:1b"}]}"#),
        // Whichever of its wires is there.
        "/v1/chat/completions" => json(HELLO_WHOLE),
        "/api/chat" => {
            json(r#"{"message":{"role":"assistant","content":"Hello"},"done":true,"done_reason":"stop"}"#)
        }
        _ => response("404 Not Found", "", "404 page not found"),
    })
    .await
}

async fn llama() -> Server {
    let models = r#"{"models":[{"name":"x"}],"object":"list","data":[{"id":"/models/gemma.gguf","owned_by":"llamacpp"}]}"#;
    Server::routes(move |path| if path == "/v1/models" { json(models) } else { json(HELLO_WHOLE) }).await
}

#[tokio::test]
async fn a_key_comes_first() {
    let env = |name: &str| (name == "OPENAI_API_KEY").then(|| "key".to_owned());
    let local = ollama().await;
    let auto = choose_auto_at(&env, &at(&local.url, NOBODY)).await;
    assert_eq!((auto.model.provider(), auto.reason.as_str()), ("openai", "OPENAI_API_KEY is set"));
    assert!(local.seen().is_empty(), "nobody else is asked");
}

#[tokio::test]
async fn every_provider_with_a_key_is_found_by_it() {
    for (variable, name) in [
        ("ANTHROPIC_API_KEY", "anthropic/"),
        ("GOOGLE_API_KEY", "gemini/"),
        ("DEEPSEEK_API_KEY", "deepseek/"),
        ("HF_TOKEN", "huggingface/"),
        ("AWS_BEARER_TOKEN_BEDROCK", "bedrock/"),
    ] {
        let env = move |name: &str| (name == variable).then(|| "key".to_owned());
        let auto = choose_auto_at(&env, &at(NOBODY, NOBODY)).await;
        assert!(auto.name.starts_with(name), "{}", auto.name);
        assert_eq!(auto.reason, format!("{variable} is set"));
    }
}

#[tokio::test]
async fn ollama_is_found_by_what_it_says() {
    let (first, second) = (ollama().await, llama().await);
    for (path, call) in [("", "/api/chat"), ("/v1", "/v1/chat/completions")] {
        let auto = choose_auto_at(&nothing, &at(&format!("{}{path}", first.url), &second.url)).await;
        assert_eq!(auto.name, "ollama/qwen3:4b");
        let host = first.url.strip_prefix("http://").expect("a URL");
        assert_eq!(auto.reason, format!("Ollama answers on {host}"));
        let reply = check(&*auto.model, &auto.name).await.expect("a reply");
        assert_eq!(reply.text.as_deref(), Some("Hello"));
        let asked = first.seen().into_iter().find(|seen| seen.path() == call).expect("a call");
        assert!(asked.body.starts_with(r#"{"model":"qwen3:4b","#), "{}", asked.body);
    }
}

#[tokio::test]
async fn llama_server_is_found_by_what_it_says() {
    let server = llama().await;
    let auto = choose_auto_at(&nothing, &at(NOBODY, &server.url)).await;
    assert_eq!(auto.name, "llama/gemma.gguf");
    assert!(auto.reason.starts_with("llama-server answers on 127.0.0.1:"), "{}", auto.reason);
}

#[tokio::test]
async fn other_servers_and_silent_ones_are_passed_over() {
    let other =
        Server::start(json(r#"{"data":[{"id":"m","owned_by":"somebody"}],"models":[{"name":"m"}]}"#)).await;
    let silent = Server::start(vec![Step::Hang]).await;
    let empty = Server::routes(|path| match path {
        "/" => response("200 OK", "", "Ollama is running"),
        _ => json(r#"{"models":[]}"#),
    })
    .await;
    for (first, second) in [(&other.url, &other.url), (&silent.url, &silent.url), (&empty.url, &other.url)] {
        let auto = choose_auto_at(&nothing, &Places { probe_ms: PROBE_MS, ..at(first, second) }).await;
        assert_eq!((auto.name.as_str(), auto.model.provider()), ("tour", "windlass"));
        assert_eq!(auto.reason, "no key and no local server: the offline tour");
    }
}

#[tokio::test]
async fn models_are_listed_with_their_provider() {
    let local = ollama().await;
    let settings = ModelSettings { base_url: Some(local.url.clone()), ..ModelSettings::named("ollama") };
    assert_eq!(
        list_models(&settings, &nothing).await.expect("a list"),
        ["ollama/gemma3:1b", "ollama/qwen3:4b"]
    );
    let server = llama().await;
    let settings = ModelSettings { base_url: Some(server.url.clone()), ..ModelSettings::named("llama") };
    assert_eq!(list_models(&settings, &nothing).await.expect("a list"), ["llama//models/gemma.gguf"]);
    assert_eq!(list_models(&ModelSettings::named("tour"), &nothing).await.expect("a list"), ["tour"]);
    let nobody = ModelSettings { base_url: Some(NOBODY.into()), ..ModelSettings::named("llama") };
    assert_eq!(list_models(&nobody, &nothing).await.expect_err("nobody").code(), "model_failed");
}

#[tokio::test]
async fn a_check_tells_the_providers_words() {
    let server = Server::start(response("401 Unauthorized", "", r#"{"error":{"message":"bad key"}}"#)).await;
    let error = check(&adapter(&server.url), "test/m").await.expect_err("refused");
    assert_eq!(error.to_string(), "bad key (401)");
}
