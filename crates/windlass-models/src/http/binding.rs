//! Destination of calls, without credentials.

use http::HeaderMap;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use url::Url;
use windlass_core::secret::Secret;

use crate::wires::WireFacts;

/// Parts of names of headers and query fields whose values are credentials.
const CREDENTIALS: [&str; 9] =
    ["auth", "cookie", "credential", "key", "passw", "secret", "session", "signature", "token"];

/// The address and the headers of calls, without credentials: a key may be rotated, and the calls go where they went.
pub(super) fn of(address: &Url, headers: &HeaderMap, wire: &WireFacts) -> Vec<(String, Secret)> {
    let mut bare = address.clone();
    let kept: Vec<_> = address.query_pairs().filter(|(name, _)| !is_credential(name)).collect();
    bare.set_query(None);
    if !kept.is_empty() {
        bare.query_pairs_mut().extend_pairs(kept);
    }
    let of_wire = |name: &str| wire.headers.iter().any(|(header, _)| *header == name);
    let more = headers.iter().filter(|(name, _)| {
        let ours = **name == CONTENT_TYPE || **name == AUTHORIZATION || of_wire(name.as_str());
        !ours && !is_credential(name.as_str())
    });
    let more =
        more.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    let all = std::iter::once(("address".to_owned(), bare.to_string())).chain(more);
    // Secrets from files and variables were registered for masking when they were read.
    all.map(|(name, value)| (name, Secret::unmasked(value))).collect()
}

pub(super) fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    CREDENTIALS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use crate::{HttpModel, HttpModelConfig, Model as _};
    use windlass_core::secret::Secret;

    fn bound(url: &str, key: &str, headers: &[(&str, &str)]) -> Vec<(String, String)> {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value)));
        let model = HttpModel::new(HttpModelConfig {
            key: Some(Secret::new(key)),
            headers: headers.collect(),
            ..HttpModelConfig::openai_chat("openai", url)
        });
        let bound = model.unwrap().binding();
        bound.into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect()
    }

    #[test]
    fn e24_where_calls_go_is_bound_and_a_credential_is_not() {
        let at = |url: &str| bound(url, "key-one", &[]);
        let usual = at("https://one.example/v1");
        assert_eq!(usual, [("address".to_owned(), "https://one.example/v1/chat/completions".to_owned())]);
        assert_eq!(usual, bound("https://one.example/v1/", "key-two", &[("X-Api-Key", "another-key")]));
        for other in [
            "http://one.example/v1",
            "https://one.example:8443/v1",
            "https://other.example/v1",
            "https://one.example/v2",
        ] {
            assert_ne!(usual, at(other), "{other}");
        }
        let query =
            |key: &str, version: &str| at(&format!("https://one.example/v1?api-key={key}&version={version}"));
        assert_eq!(query("one", "1"), query("two", "1"));
        assert_ne!(query("one", "1"), query("one", "2"));
        let routed = |to: &str| bound("https://one.example/v1", "key-one", &[("x-route", to)]);
        assert_ne!(routed("here"), routed("there"), "a header says where a gateway sends it");
    }
}
