//! Renders a request as it would go out: its address and headers without secrets.

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName};
use windlass_core::secret::mask;

use crate::wires::{KeyHeader, WireFacts};
use crate::{WrittenRequest, providers};

/// The variable of a key whose origin says nothing of one.
const SOME_KEY: &str = "API_KEY";

/// The parts that the requests to a server have in common.
pub(super) struct RequestParts<'s> {
    pub(super) facts: &'s WireFacts,
    pub(super) url: &'s str,
    pub(super) headers: &'s HeaderMap,
    /// Whether a command prints the key, which is added when a request is sent.
    pub(super) key_comes_later: bool,
    /// Origin of the key.
    pub(super) key_source: Option<&'s str>,
    /// The provider's name.
    pub(super) provider: &'s str,
}

/// The request with this body.
pub(super) fn written(of: &RequestParts<'_>, body: Vec<u8>) -> WrittenRequest {
    let url = mask(of.url).into_owned();
    let key = key_variable(of);
    let mut headers = rendered(of.headers, of.facts, &key);
    if of.key_comes_later {
        let (name, value) = key_header(of.facts, &key);
        if !headers.iter().any(|(known, _)| *known == name.as_str()) {
            headers.push((name.to_string(), value));
        }
    }
    WrittenRequest { method: "POST", url, headers, body }
}

fn rendered(headers: &HeaderMap, facts: &WireFacts, key: &str) -> Vec<(String, String)> {
    let (of_key, with_key) = key_header(facts, key);
    let rendered = headers.iter().map(|(name, value)| {
        let value = if !value.is_sensitive() {
            value.to_str().unwrap_or_default().to_owned()
        } else if *name == of_key {
            with_key.clone()
        } else {
            format!("${}", variable(name.as_str()))
        };
        (name.to_string(), value)
    });
    rendered.collect()
}

/// The header of the key, with a variable in its place.
fn key_header(facts: &WireFacts, key: &str) -> (HeaderName, String) {
    match facts.key {
        KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer ${key}")),
        KeyHeader::Named(name) => (HeaderName::from_static(name), format!("${key}")),
    }
}

/// The variable that the key comes from, or usually comes from.
fn key_variable(of: &RequestParts<'_>) -> String {
    let is_variable = |text: &&str| {
        let mut chars = text.chars();
        chars.next().is_some_and(|first| first.is_ascii_uppercase() || first == '_')
            && chars.all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    // `NAME (FILE:LINE:COLUMN)`, where a file names the variable.
    let source = of.key_source.and_then(|source| source.split(' ').next()).filter(is_variable);
    let default = || providers::provider(of.provider).and_then(|provider| provider.key_variable());
    source.or_else(default).unwrap_or(SOME_KEY).to_owned()
}

/// The name of a header as that of a variable.
fn variable(header: &str) -> String {
    header.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}
