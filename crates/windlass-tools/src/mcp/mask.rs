//! Owns the [`Mask`] that hides a server's secrets in texts.

use windlass_core::secret::{mask, mask_url_parts};

use super::config::{McpConfig, McpTransport};

/// Hides secrets in the texts of errors: servers and HTTP libraries like to repeat what they were given. Headers and the
/// child's environment are [`Secret`](windlass_core::secret::Secret)s and masked as such; what is left is the URL.
#[derive(Clone, Debug, Default)]
pub(super) struct Mask {
    /// The URL in the forms in which it may turn up, and how it is shown.
    urls: Vec<(String, String)>,
}

impl Mask {
    /// The mask of a server. The credentials in its URL are masked from then on.
    pub(super) fn of(config: &McpConfig) -> Self {
        let McpTransport::Http { url, .. } = &config.transport else { return Self::default() };
        mask_url_parts(url);
        let shown = shown_url(url);
        let as_written = reqwest::Url::parse(url).map(String::from).ok();
        let forms = as_written.into_iter().chain([url.clone()]);
        Self { urls: forms.filter(|form| *form != shown).map(|form| (form, shown.clone())).collect() }
    }

    /// The text without the secrets.
    pub(super) fn hide(&self, text: &str) -> String {
        let text = self.urls.iter().fold(text.to_owned(), |text, (url, shown)| text.replace(url, shown));
        mask(&text).into_owned()
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
