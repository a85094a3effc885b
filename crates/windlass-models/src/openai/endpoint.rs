//! Owns how a base URL becomes the addresses of an API (E45).

use reqwest::Url;

use windlass_core::{mask, mask_url_parts};

use crate::ModelError;

/// What a base URL without a path of its own gets.
const DEFAULT_PATH: &str = "/v1";

/// The addresses of one server.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// `…/chat/completions`.
    pub(crate) chat: Url,
    /// `…/models`.
    pub(crate) models: Url,
    /// `host:port`, for messages.
    pub(crate) host: String,
}

impl Endpoint {
    /// Reads a base URL: with or without a slash at the end, with or without `/v1`; any other path is kept.
    /// Its credentials are masked from then on.
    pub(crate) fn parse(base: &str) -> Result<Self, ModelError> {
        mask_url_parts(base);
        let bad = |url: &str, reason: &str| ModelError::BadBaseUrl {
            url: mask(url).into_owned(),
            reason: reason.to_owned(),
        };
        let mut url =
            Url::parse(base.trim()).map_err(|error| bad(without_login(base), &error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(without_login(base), "it must begin with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad(without_login(base), "a login does not belong into it: use `key` or `headers`"));
        }
        url.set_fragment(None);
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/chat/completions").unwrap_or(path).trim_end_matches('/').to_owned();
        let path = if path.is_empty() { DEFAULT_PATH } else { &path };
        let at = |end: &str| {
            let mut url = url.clone();
            url.set_path(&format!("{path}/{end}"));
            url
        };
        let host = url.host_str().unwrap_or_default();
        let host = match url.port_or_known_default() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        Ok(Self { chat: at("chat/completions"), models: at("models"), host })
    }

    /// Whether this is the API at OpenAI itself.
    pub(crate) fn is_openrouter(&self) -> bool {
        self.chat.host_str().is_some_and(|host| host == "openrouter.ai" || host.ends_with(".openrouter.ai"))
    }

    pub(crate) fn is_openai(&self) -> bool {
        self.chat.host_str().is_some_and(|host| host == "api.openai.com" || host.ends_with(".api.openai.com"))
    }
}

/// A URL without what stands before an `@`.
fn without_login(url: &str) -> &str {
    url.rsplit_once('@').map_or(url, |(_, rest)| rest)
}

#[cfg(test)]
mod tests;
