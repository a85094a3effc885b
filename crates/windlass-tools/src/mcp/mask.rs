//! Owns the [`Mask`] that hides a server's secrets in texts.

use std::borrow::Cow;
use std::fmt;

use super::config::{McpConfig, McpTransport};

/// What stands in a text where a secret stood.
const HIDDEN: &str = "***";

/// Shorter values are not masked: they would blot out ordinary words.
const MIN_MASKED_BYTES: usize = 4;

/// The words of a header's value (`Bearer abc…`) are masked by themselves from this length on.
const MIN_MASKED_WORD_BYTES: usize = 8;

/// Hides one server's secrets in the texts of errors: servers and HTTP libraries like to repeat what they were given.
#[derive(Clone, Default)]
pub(super) struct Mask {
    /// What to look for and what to put in its place, the longest first.
    pairs: Vec<(String, String)>,
}

impl Mask {
    /// The mask of a server: the values of its environment and headers, and what its URL has beyond the address.
    pub(super) fn of(config: &McpConfig) -> Self {
        let mut mask = Self::default();
        match &config.transport {
            McpTransport::Stdio { env, .. } => {
                for value in env.values() {
                    mask.add(value.expose(), HIDDEN, MIN_MASKED_BYTES);
                }
            }
            McpTransport::Http { url, headers } => {
                let shown = shown_url(url);
                if shown != *url {
                    mask.add(url, &shown, MIN_MASKED_BYTES);
                }
                if let Ok(parsed) = reqwest::Url::parse(url) {
                    mask.add_url(&parsed, &shown);
                }
                for value in headers.values() {
                    mask.add(value.expose(), HIDDEN, MIN_MASKED_BYTES);
                    for word in value.expose().split_whitespace() {
                        mask.add(word, HIDDEN, MIN_MASKED_WORD_BYTES);
                    }
                }
            }
        }
        mask.pairs.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
        mask
    }

    /// The text without the secrets.
    pub(super) fn hide(&self, text: &str) -> String {
        let mut text = Cow::Borrowed(text);
        for (secret, shown) in &self.pairs {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), shown));
            }
        }
        text.into_owned()
    }

    fn add(&mut self, secret: &str, shown: &str, min_bytes: usize) {
        if secret.len() >= min_bytes && secret != shown {
            self.pairs.push((secret.to_owned(), shown.to_owned()));
        }
    }

    /// The URL in the form in which the HTTP library writes it, and its secret parts by themselves.
    fn add_url(&mut self, url: &reqwest::Url, shown: &str) {
        self.add(url.as_str(), shown, MIN_MASKED_BYTES);
        if let Some(password) = url.password() {
            self.add(password, HIDDEN, MIN_MASKED_BYTES);
        }
        for (_, value) in url.query_pairs() {
            self.add(&value, HIDDEN, MIN_MASKED_WORD_BYTES);
        }
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mask").field("secrets", &self.pairs.len()).finish()
    }
}

/// A URL as messages show it: without user, password, query and fragment, any of which may be a secret.
pub(super) fn shown_url(url: &str) -> String {
    let Ok(mut parsed) = reqwest::Url::parse(url) else {
        // What cannot be read cannot be taken apart: show what is before the first doubtful character.
        return url.split(['?', '#', '@']).next().unwrap_or_default().to_owned();
    };
    let plain = parsed.username().is_empty()
        && parsed.password().is_none()
        && parsed.query().is_none()
        && parsed.fragment().is_none();
    if plain {
        return url.to_owned();
    }
    // These fail only for URLs that can have neither.
    let _ = parsed.set_username("");
    let _ = parsed.set_password(None);
    parsed.set_query(None);
    parsed.set_fragment(None);
    parsed.into()
}

#[cfg(test)]
mod tests;
