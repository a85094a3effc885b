use std::collections::BTreeSet;

use serde_json::json;
use windlass_core::model::Prices;
use windlass_core::tool::HostedTool;

use super::{
    Auto, CallWire, JSON, Provider, ProviderFile, Table, YAML, list_price, provider, provider_names,
    providers, quirks_of_host,
};
use crate::wires::WIRES;

fn with(file: serde_json::Value) -> Table {
    let mut table = Table::default();
    table.take(&serde_json::from_str(JSON).expect("the built-in file"));
    table.take(&serde_json::from_value(file).expect("a file"));
    table
}

fn named<'t>(table: &'t Table, name: &str) -> &'t Provider {
    table.providers.iter().find(|provider| provider.name == name).expect("it is there")
}

#[test]
fn the_built_in_file_can_be_read_and_every_entry_is_whole() {
    let file: ProviderFile = serde_json::from_str(JSON).expect("the file fits its shape");
    let count =
        YAML.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ") && line.ends_with(':'));
    assert_eq!((file.providers.0.len(), providers().len()), (count.count(), file.providers.0.len()));
    let names =
        provider_names().chain(providers().iter().flat_map(|entry| &entry.aliases).map(String::as_str));
    let names: Vec<_> = names.collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "a name stands twice: {names:?}");
    for entry in providers() {
        let name = &entry.name;
        assert!(entry.wire().is_some(), "{name}");
        assert!(!matches!((&entry.auto, entry.keys.as_slice()), (Auto::Key(_), [])), "{name}");
        assert!(!entry.local || !entry.start.is_empty(), "{name}: how is it started?");
        assert!(entry.is_given() || entry.address_variable().is_some(), "{name}");
        for price in &entry.prices {
            let source = price.source.as_deref().unwrap_or_default();
            assert!(source.starts_with("https://") && price.as_of.is_some(), "{name}/{}", price.model);
        }
    }
    for known in
        ["azure", "bedrock", "vertex", "litellm", "lmstudio", "vllm", "huggingface", "cerebras", "qwen"]
    {
        assert!(provider(known).is_some(), "{known}");
    }
}

#[test]
fn every_key_variable_is_one_that_auto_knows() {
    for entry in providers().iter().filter(|entry| entry.key_variable().is_some()) {
        // Deployments of Azure have names of their own.
        assert!(entry.name == "azure" || entry.auto != Auto::Never, "{}", entry.name);
    }
}

#[test]
fn a_wire_s_facts_are_whole() {
    for wire in WIRES {
        let facts = wire.facts();
        assert!(facts.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", facts.name);
        assert!(facts.base_path.starts_with('/') && facts.call_path.starts_with('/'), "{}", facts.name);
        assert!(!facts.models_path.starts_with('/'), "{}", facts.name);
        for (name, _) in facts.headers {
            assert!(http::HeaderName::try_from(*name).is_ok_and(|header| header.as_str() == *name), "{name}");
        }
    }
}

#[test]
fn models_that_hold_their_answer_to_a_schema_beside_tools_are_known_at_their_own_address() {
    let holds =
        |name: &str, model: &str, host: &str| provider(name).expect("it is there").holds_output(model, host);
    for (name, host, models) in [
        (
            "openai",
            "api.openai.com",
            [("gpt-5-mini", true), ("gpt-4o-2024-05-13", false), ("gpt-3.5-turbo", false)],
        ),
        (
            "anthropic",
            "api.anthropic.com",
            [("claude-sonnet-4-6", true), ("claude-opus-4-20250514", false), ("claude-3-7-sonnet", false)],
        ),
        (
            "gemini",
            "generativelanguage.googleapis.com",
            [("gemini-3.8-flash", true), ("gemini-2.5-pro", false), ("gemma-3-27b", false)],
        ),
    ] {
        for (model, wanted) in models {
            assert_eq!(holds(name, model, host), wanted, "{model}");
            assert!(!holds(name, model, "127.0.0.1"), "another server under the provider's name");
        }
    }
    let table = with(
        json!({ "providers": { "house": { "wire": "openai_chat", "base_url": "http://models.house:8000/v1",
        "models": [{ "model": "*", "native_output": true }] } } }),
    );
    let house = named(&table, "house");
    assert_eq!(["models.house", "other.house"].map(|host| house.holds_output("m", host)), [true, false]);
}

#[test]
fn models_that_take_no_sampling_settings_are_known() {
    let openai = provider("openai").expect("it is there");
    let taken = |model: &str| openai.takes_sampling(model);
    assert_eq!([taken("gpt-5-mini"), taken("o3"), taken("gpt-4o")], [Some(false), Some(false), None]);
    let table = with(
        json!({ "providers": { "openai": { "models": [{ "model": "gpt-5-chat*", "sampling": true }] } } }),
    );
    let taken = |model: &str| named(&table, "openai").takes_sampling(model);
    assert_eq!([taken("gpt-5-chat-latest"), taken("gpt-5")], [Some(true), Some(false)]);
}

#[test]
fn a_file_adds_providers_and_changes_what_it_says_of_known_ones() {
    let table = with(json!({ "providers": {
        "mine": { "base_url": "https://llm.example/v1", "key": ["MY_KEY", "MY_OTHER_KEY"], "quirks": ["return_reasoning"] },
        "openai": { "prices": [{ "model": "gpt-5-mini", "input": 1, "output": 2, "cache_write": 3, "hosted": { "web_search": 10 } }], "auto": false },
        "claude": { "base_url": "https://claude.example" },
    }, "secrets": ["ANOTHER_KEY"] }));
    let mine = named(&table, "mine");
    assert_eq!(
        (mine.wires.as_slice(), mine.key_variable()),
        (&["openai_chat".to_owned()][..], Some("MY_KEY"))
    );
    assert!(mine.quirks.return_reasoning && !mine.quirks.cache_control);
    let openai = named(&table, "openai");
    assert_eq!(
        openai.price_of("gpt-5-mini"),
        Some(
            Prices::per_million(1.0, 2.0, None)
                .with_cache_write(3.0)
                .with_hosted([(HostedTool::WebSearch, 10.0)])
        )
    );
    assert!(openai.price_of("gpt-5-nano").is_some(), "other prices stay");
    assert_eq!((openai.base_url.as_deref(), &openai.auto), (Some("https://api.openai.com/v1"), &Auto::Never));
    assert!(!named(&table, "anthropic").is_named("claude"), "the name is the new provider's");
    assert!(table.secrets.contains(&"ANOTHER_KEY".to_owned()));
}

#[test]
fn a_faulty_file_is_refused() {
    let refused = |file: serde_json::Value| {
        serde_json::from_value::<ProviderFile>(file).expect_err("it is refused").to_string()
    };
    let entry = |entry: serde_json::Value| refused(json!({ "providers": { "x": entry } }));
    assert!(entry(json!({ "wires": "gemini" })).contains("unknown field `wires`"));
    assert_eq!(
        entry(json!({ "wire": "openai_chta" })),
        "unknown wire `openai_chta`; did you mean openai_chat?"
    );
    assert!(entry(json!({ "base_url": "ftp://x" })).contains("must begin with http://"));
    assert!(entry(json!({ "base_url": "https://${X" })).contains("has no `}`"));
    assert!(entry(json!({ "key": "A B" })).contains("no name of a variable"));
    assert!(entry(json!({ "quirks": ["short"] })).contains("unknown variant `short`"));
    let price = |price: serde_json::Value| entry(json!({ "prices": [price] }));
    assert!(price(json!({ "model": "m", "input": -1, "output": 1 })).contains("a number from 0"));
    let hosted =
        |hosted: serde_json::Value| price(json!({ "model": "m", "input": 1, "output": 1, "hosted": hosted }));
    assert!(hosted(json!({ "web_search": -1 })).contains("a number from 0"));
    assert!(hosted(json!({ "bing": 1 })).contains("unknown variant `bing`"));
    assert!(price(json!({ "model": "m", "input": 1, "output": 1, "as_of": "today" })).contains("YYYY-MM-DD"));
    assert!(refused(json!({ "providers": { "auto": {} } })).contains("`auto` is no name"));
}

#[test]
fn an_unknown_price_is_unknown_and_never_zero() {
    assert_eq!(list_price("anthropic/claude-haiku-4-5"), list_price("claude/claude-haiku-4-5"));
    assert!(list_price("claude/claude-haiku-4-5").is_some_and(|price| price.cache_write == 1_250_000));
    for unknown in ["plain", "nobody/m", "tour", "openai/some-new-model", "ollama/qwen3:4b"] {
        assert_eq!(list_price(unknown), None, "{unknown}");
    }
}

#[test]
fn quirks_go_by_the_host_and_its_subdomains() {
    assert!(quirks_of_host("api.openai.com").completion_tokens);
    assert!(quirks_of_host("eu.api.openai.com").completion_tokens);
    assert!(!quirks_of_host("api.openai.com.example").completion_tokens);
    assert!(!quirks_of_host("notapi.openai.com").completion_tokens);
    assert!(quirks_of_host("openrouter.ai").cache_control && !quirks_of_host("127.0.0.1").cache_control);
    assert!(quirks_of_host("api.deepseek.com").return_reasoning);
}

#[test]
fn entries_say_how_calls_go_and_whether_servers_know_schemas() {
    let table = with(json!({ "providers": {
        "mine": { "base_url": "https://llm.example/v1", "structured_output": false },
        "gemini": { "calls": [{ "model": "gemma-3-27b*", "by": "schema" }] },
    } }));
    let mine = named(&table, "mine");
    assert_eq!((mine.structured_output, mine.wire_of_calls("any")), (false, None));
    let gemini = named(&table, "gemini");
    assert!(gemini.structured_output);
    assert_eq!(gemini.wire_of_calls("gemma-3-27b-it"), Some(CallWire::Schema), "a user's entry comes first");
    assert_eq!(gemini.wire_of_calls("gemma-3-4b-it"), Some(CallWire::Fenced));
    assert_eq!(gemini.wire_of_calls("gemini-3.8-flash"), None);
    assert!(!named(&table, "deepseek").structured_output);
}
