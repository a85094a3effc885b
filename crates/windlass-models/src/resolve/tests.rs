use super::{ModelSettings, resolve, resolve_server};
use crate::ModelError;
use windlass_core::secret::Secret;
use windlass_error::Diagnostic as _;

fn env<'v>(variables: &'v [(&str, &str)]) -> impl Fn(&str) -> Option<String> + Sync + 'v {
    move |name| variables.iter().find(|(have, _)| *have == name).map(|(_, value)| (*value).to_owned())
}

/// Destination of calls with these settings.
fn address(settings: &ModelSettings, variables: &[(&str, &str)]) -> String {
    let adapter = resolve_server(settings, &env(variables)).expect("it resolves");
    let path = adapter.server().wire.path("x", false);
    adapter.server().at(&path).expect("an address").url.to_string()
}

fn error(name: &str, variables: &[(&str, &str)]) -> ModelError {
    resolve(&ModelSettings::named(name), &env(variables)).expect_err("it does not resolve")
}

#[test]
fn providers_have_their_usual_places() {
    let at = |name: &str, variables: &[(&str, &str)]| address(&ModelSettings::named(name), variables);
    assert_eq!(at("openai/x", &[("OPENAI_API_KEY", "k")]), "https://api.openai.com/v1/chat/completions");
    let moved = [("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "http://h:1/v1/")];
    assert_eq!(at("openai/x", &moved), "http://h:1/v1/chat/completions");
    assert_eq!(at("openai/x", &[("OPENAI_BASE_URL", "http://h:1")]), "http://h:1/v1/chat/completions");
    assert_eq!(at("ollama/x", &[]), "http://127.0.0.1:11434/api/chat");
    assert_eq!(at("llama/x", &[]), "http://127.0.0.1:8080/v1/chat/completions");
    assert_eq!(at("llama/x", &[("LLAMA_BASE_URL", "http://h:2")]), "http://h:2/v1/chat/completions");
}

#[test]
fn a_base_url_of_its_own_wins() {
    let own =
        |name: &str| ModelSettings { base_url: Some("http://h:3/v1".into()), ..ModelSettings::named(name) };
    let variables =
        [("OPENAI_BASE_URL", "http://wrong"), ("OLLAMA_HOST", "wrong"), ("LLAMA_BASE_URL", "http://wrong")];
    for name in ["openai/x", "mistral/x", "llama/x", "openai-compatible/x", "meta-llama/Llama-3", "plain"] {
        assert_eq!(address(&own(name), &variables), "http://h:3/v1/chat/completions", "{name}");
    }
}

#[test]
fn a32_e43_a_providers_key_never_goes_to_another_address() {
    let variables = [("OPENAI_API_KEY", "the-key")];
    let own = ModelSettings { base_url: Some("http://h:3".into()), ..ModelSettings::named("openai/x") };
    let sends_key = |settings: &ModelSettings| {
        let adapter = resolve_server(settings, &env(&variables)).expect("it resolves");
        adapter.server().ready().expect("it can be used").1.contains_key("authorization")
    };
    assert!(sends_key(&ModelSettings::named("openai/x")));
    assert!(!sends_key(&own));
    assert!(sends_key(&ModelSettings { key: Some(Secret::from("own")), ..own }));
    assert!(!sends_key(&ModelSettings::named("ollama/x")));
}

#[test]
fn what_does_not_resolve_says_why_and_what_to_do() {
    let unknown = error("opnai/x", &[]);
    assert_eq!(
        (unknown.code(), unknown.to_string().as_str()),
        ("unknown_provider", "unknown model provider `opnai`")
    );
    assert!(unknown.help().expect("help").contains("openai"), "{unknown:?}");
    assert!(error("zzzzzzz", &[]).help().expect("help").contains("tour"), "all of them, where none is near");
    let keyless = error("openai/x", &[("OPENAI_API_KEY", " ")]);
    assert_eq!(keyless.code(), "missing_key");
    assert_eq!(keyless.to_string(), "`openai/x` needs an API key, but OPENAI_API_KEY is not set");
    assert_eq!(error("openai", &[("OPENAI_API_KEY", "k")]).code(), "no_model");
    assert_eq!(error("ollama/", &[]).code(), "no_model");
    assert_eq!(error("openai-compatible/x", &[]).code(), "missing_base_url");
    assert_eq!(error("llama/x", &[("LLAMA_BASE_URL", "h:2")]).code(), "bad_base_url");
    assert_eq!(error("", &[]).code(), "unknown_provider");
}

#[test]
fn the_tour_needs_nothing() {
    for name in ["tour", "windlass/tour"] {
        let model = resolve(&ModelSettings::named(name), &env(&[])).expect("it resolves");
        assert_eq!(model.provider(), "windlass");
    }
}

#[test]
fn all_forms_of_ollama_host() {
    let url = |host: &str| address(&ModelSettings::named("ollama/x"), &[("OLLAMA_HOST", host)]);
    for (host, base) in [
        (" ", "http://127.0.0.1:11434/api"),
        ("0.0.0.0", "http://127.0.0.1:11434/api"),
        ("192.168.1.2:99", "http://192.168.1.2:99/api"),
        (":99", "http://127.0.0.1:99/api"),
        ("http://h:99/", "http://h:99/api"),
        ("http://h:99/api", "http://h:99/api"),
        ("https://h/ollama/", "https://h/ollama/api"),
        ("[::1]:99", "http://[::1]:99/api"),
    ] {
        assert_eq!(url(host), format!("{base}/chat"), "{host}");
    }
    assert_eq!(url("http://h:99/v1"), "http://h:99/v1/chat/completions");
}

#[test]
fn ollama_is_asked_on_the_wire_that_its_base_url_names() {
    let url = |base: &str, api| {
        let base_url = Some(base.to_owned());
        address(&ModelSettings { base_url, api, ..ModelSettings::named("ollama/x") }, &[])
    };
    assert_eq!(url("http://h", None), "http://h/api/chat");
    assert_eq!(url("https://ollama.com/api/", None), "https://ollama.com/api/chat");
    assert_eq!(url("http://h/api/chat", None), "http://h/api/chat");
    assert_eq!(url("http://h/v1/", None), "http://h/v1/chat/completions");
    assert_eq!(url("http://h/v1", Some("ollama")), "http://h/v1/chat", "the settings name the wire");
    assert_eq!(url("http://h", Some("openai_chat")), "http://h/v1/chat/completions");
}

#[test]
fn gemini_is_asked_on_the_compatible_api_where_its_base_url_says_so() {
    let base = "https://generativelanguage.googleapis.com/v1beta/openai";
    for end in ["", "/", "/chat/completions"] {
        let base_url = Some(format!("{base}{end}"));
        let settings = ModelSettings { base_url, key: Some("k".into()), ..ModelSettings::named("gemini/x") };
        assert_eq!(address(&settings, &[]), format!("{base}/chat/completions"), "{end}");
    }
}

#[test]
fn parts_of_an_address_stand_in_variables() {
    let at = |name: &str, variables: &[(&str, &str)]| address(&ModelSettings::named(name), variables);
    assert_eq!(
        at("azure/my-deployment", &[("AZURE_OPENAI_RESOURCE", "res"), ("AZURE_API_KEY", "k")]),
        "https://res.openai.azure.com/openai/v1/chat/completions"
    );
    let bedrock = [("AWS_BEARER_TOKEN_BEDROCK", "k")];
    assert_eq!(
        at("bedrock/m", &bedrock),
        "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/chat/completions"
    );
    let elsewhere = [("AWS_BEARER_TOKEN_BEDROCK", "k"), ("AWS_DEFAULT_REGION", "eu-central-1")];
    assert!(at("aws/m", &elsewhere).starts_with("https://bedrock-runtime.eu-central-1."));
    let place = [("GOOGLE_CLOUD_PROJECT", "p"), ("GOOGLE_CLOUD_LOCATION", "europe-west4")];
    assert_eq!(
        at("vertex/x", &place),
        "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/google/models/x:generateContent"
    );
    let compatible =
        ModelSettings { api: Some("openai_chat"), ..ModelSettings::named("vertex/google/gemini-m") };
    assert_eq!(
        address(&compatible, &place),
        "https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/p/locations/europe-west4/endpoints/openapi/chat/completions"
    );
    let missing = error("azure/m", &[("AZURE_API_KEY", "k")]);
    assert_eq!(missing.code(), "missing_variable");
    assert_eq!(
        missing.to_string(),
        "the address of `azure/m` needs AZURE_OPENAI_RESOURCE or AZURE_RESOURCE_NAME, which is not set"
    );
    let keyless = error("gemini/m", &[]);
    assert_eq!(
        keyless.to_string(),
        "`gemini/m` needs an API key, but GEMINI_API_KEY or GOOGLE_API_KEY is not set"
    );
    let help = keyless.help().expect("help");
    assert!(help.contains("`key: \"${GEMINI_API_KEY}\"`"), "{help}");
}

#[test]
fn a_provider_answers_to_its_other_names() {
    for name in ["mistralai/m", "grok/m", "kimi/m"] {
        let adapter =
            resolve_server(&ModelSettings { key: Some("k".into()), ..ModelSettings::named(name) }, &env(&[]));
        let adapter = adapter.expect("it resolves");
        assert_eq!(adapter.server().dialect.plain_name(name), "m", "{name}");
    }
    let dialect = crate::wires::Dialect { label: "openai-compatible".into(), ..Default::default() };
    assert_eq!(dialect.plain_name("meta-llama/Llama-3"), "meta-llama/Llama-3");
}

#[test]
fn e62_keys_come_from_the_settings_then_variables_then_commands() {
    let command = |settings: &ModelSettings, variables: &[(&str, &str)]| {
        let adapter = resolve_server(settings, &env(variables)).expect("it resolves");
        let signed = adapter.server().ready().expect("it can be used").1.contains_key("authorization");
        (signed, adapter.server().key_command.is_some())
    };
    let vertex = ModelSettings::named("vertex/m");
    let project = ("GOOGLE_CLOUD_PROJECT", "p");
    assert_eq!(command(&vertex, &[project]), (false, true), "the provider's own command");
    assert_eq!(
        command(&ModelSettings { key: Some("k".into()), ..vertex.clone() }, &[project]),
        (true, false)
    );
    let elsewhere = ModelSettings { base_url: Some("http://h:1".into()), ..vertex };
    assert_eq!(command(&elsewhere, &[]), (false, false), "a provider's key never goes to another address");
    let own = ModelSettings { key_command: vec!["print-key".into()], ..ModelSettings::named("openai/m") };
    assert_eq!(command(&own, &[("OPENAI_API_KEY", "k")]), (false, true));
    assert_eq!(command(&ModelSettings { base_url: Some("http://h:1".into()), ..own }, &[]), (false, true));
}

#[test]
fn quirks_go_by_the_provider_s_name_and_those_of_openai_by_its_host() {
    let quirks = |name: &str, url: Option<&str>| {
        let settings = ModelSettings {
            base_url: url.map(str::to_owned),
            key: Some("k".into()),
            ..ModelSettings::named(name)
        };
        resolve_server(&settings, &env(&[])).expect("it resolves").server().dialect.quirks
    };
    let elsewhere = Some("http://127.0.0.1:9");
    assert!(quirks("openai/m", None).completion_tokens && !quirks("openai/m", elsewhere).completion_tokens);
    assert!(quirks("deepseek/m", None).return_reasoning && quirks("deepseek/m", elsewhere).return_reasoning);
    assert!(quirks("openai-compatible/m", Some("https://api.mistral.ai/v1")).short_ids);
    assert!(!quirks("openrouter/m", elsewhere).cache_control && quirks("litellm/m", elsewhere).cache_control);
}

#[test]
fn offline_only_servers_on_this_machine_are_asked() {
    let at = |url: &str| ModelSettings { base_url: Some(url.into()), ..ModelSettings::named("mine/x") };
    let offline = [("WINDLASS_OFFLINE", "1")];
    for url in [
        "http://127.0.0.1:1/v1",
        "http://127.9.9.9",
        "http://localhost:8080",
        "http://[::1]:2",
        "http://a.localhost",
    ] {
        assert!(resolve(&at(url), &env(&offline)).is_ok(), "{url}");
    }
    for url in [
        "https://api.example.com/v1",
        "http://10.0.0.1",
        "http://localhost.example.com",
        "http://[::2]",
        "http://0.0.0.0",
    ] {
        let error = resolve(&at(url), &env(&offline)).expect_err("it is elsewhere");
        assert_eq!(error.code(), "offline", "{url}");
        assert!(resolve(&at(url), &env(&[])).is_ok(), "{url}");
    }
    assert!(resolve(&ModelSettings::named("tour"), &env(&offline)).is_ok());
    let keyed = [("OPENAI_API_KEY", "k"), ("WINDLASS_OFFLINE", "yes")];
    let refused = error("openai/x", &keyed);
    assert_eq!(
        refused.to_string(),
        "`openai/x` is on api.openai.com:443, and WINDLASS_OFFLINE forbids calls of models on other machines"
    );
    assert!(refused.help().is_some_and(|help| help.starts_with("unset WINDLASS_OFFLINE to ask it")));
    for no in ["", " ", "0", "false", "No", "off"] {
        let variables = [("OPENAI_API_KEY", "k"), ("WINDLASS_OFFLINE", no)];
        assert!(resolve(&ModelSettings::named("openai/x"), &env(&variables)).is_ok(), "{no:?}");
    }
}
