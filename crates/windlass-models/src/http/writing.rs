//! Owns showing a request as it would go out: its address and headers without secrets.

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName};
use windlass_core::secret::mask;

use super::model::Server;
use crate::wires::{KeyHeader, WireFacts};
use crate::{WrittenRequest, providers};

/// The variable of a key whose origin says nothing of one.
const SOME_KEY: &str = "API_KEY";

/// The request with this body to that path.
pub(super) fn written(server: &Server, path: &str, body: Vec<u8>) -> WrittenRequest {
    let facts = server.wire.facts();
    let url = mask(server.endpoint.url(path).as_str()).into_owned();
    let mut headers = shown(server.headers(), facts, &key_variable(server));
    if server.key_command.is_some() {
        // A key that a command prints is added when the request is sent.
        let (name, value) = key_header(facts, &key_variable(server));
        if !headers.iter().any(|(known, _)| *known == name.as_str()) {
            headers.push((name.to_string(), value));
        }
    }
    WrittenRequest { method: "POST", url, headers, body }
}

fn shown(headers: &HeaderMap, facts: &WireFacts, key: &str) -> Vec<(String, String)> {
    let (of_key, with_key) = key_header(facts, key);
    let shown = headers.iter().map(|(name, value)| {
        let value = if !value.is_sensitive() {
            value.to_str().unwrap_or_default().to_owned()
        } else if *name == of_key {
            with_key.clone()
        } else {
            format!("${}", variable(name.as_str()))
        };
        (name.to_string(), value)
    });
    shown.collect()
}

/// The header of the key, with a variable in its place.
fn key_header(facts: &WireFacts, key: &str) -> (HeaderName, String) {
    match facts.key {
        KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer ${key}")),
        KeyHeader::Named(name) => (HeaderName::from_static(name), format!("${key}")),
    }
}

/// The variable that the key comes from, or usually comes from.
fn key_variable(server: &Server) -> String {
    let is_variable = |text: &&str| {
        let mut chars = text.chars();
        chars.next().is_some_and(|first| first.is_ascii_uppercase() || first == '_')
            && chars.all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    // `NAME (FILE:LINE:COLUMN)`, where a file names the variable.
    let source = server.key_source.as_deref().and_then(|source| source.split(' ').next()).filter(is_variable);
    let usual = || providers::provider(&server.dialect.label).and_then(|provider| provider.key_variable());
    source.or_else(usual).unwrap_or(SOME_KEY).to_owned()
}

/// The name of a header as that of a variable.
fn variable(header: &str) -> String {
    header.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}
