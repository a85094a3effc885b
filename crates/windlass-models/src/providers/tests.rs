use std::collections::BTreeSet;

use windlass_core::model::Prices;

use super::{Address, Auto, ListPrice, PROVIDERS, list_price, provider, provider_names, quirks_of_host};

#[test]
fn every_entry_is_whole() {
    let names: BTreeSet<_> = provider_names().collect();
    assert_eq!(names.len(), PROVIDERS.len() + 1, "a name stands twice: {names:?}");
    for entry in PROVIDERS {
        let name = entry.name;
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{name}");
        assert!(!matches!((entry.auto, entry.key), (Auto::Key(_), None)), "{name}");
        if let Address::Url { usual, .. } | Address::Listening { usual, .. } = entry.address {
            assert!(usual.parse::<http::Uri>().is_ok_and(|uri| uri.host().is_some()), "{name}: {usual}");
        }
        for price in entry.prices {
            let day: Vec<_> = price.as_of.split('-').map(str::len).collect();
            assert_eq!(day, [4, 2, 2], "{name}/{}", price.model);
            assert!(price.source.starts_with("https://"), "{name}/{}", price.model);
        }
    }
}

#[test]
fn a_wire_s_facts_are_whole() {
    for entry in PROVIDERS {
        let facts = entry.wire.facts();
        assert!(facts.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", facts.name);
        assert!(facts.base_path.starts_with('/') && facts.call_path.starts_with('/'), "{}", facts.name);
        assert!(!facts.models_path.starts_with('/'), "{}", facts.name);
        for (name, _) in facts.headers {
            assert!(http::HeaderName::try_from(*name).is_ok_and(|header| header.as_str() == *name), "{name}");
        }
    }
}

#[test]
fn a_list_price_is_found_by_the_model_s_name() {
    let price = ListPrice {
        model: "m/1",
        input: 0.25,
        output: 2.0,
        cached: None,
        as_of: "2026-11-22",
        source: "https://provider.example/prices",
    };
    let mut entry = *provider("openai").expect("it is in the table");
    entry.prices = Box::leak(Box::new([price]));
    assert_eq!(entry.price_of("m/1"), Some(Prices::per_million(0.25, 2.0, None)));
    assert_eq!(entry.price_of("m"), None);
    assert_eq!((list_price("plain"), list_price("nobody/m"), list_price("tour")), (None, None, None));
}

#[test]
fn quirks_go_by_the_host_and_its_subdomains() {
    assert!(quirks_of_host("api.openai.com").completion_tokens);
    assert!(quirks_of_host("eu.api.openai.com").completion_tokens);
    assert!(!quirks_of_host("api.openai.com.example").completion_tokens);
    assert!(!quirks_of_host("notapi.openai.com").completion_tokens);
    assert!(quirks_of_host("openrouter.ai").cache_control && !quirks_of_host("127.0.0.1").cache_control);
}
