//! Owns the [`Mask`] that hides a server's secrets in texts.

use windlass_core::secret::{mask, mask_url_parts};

use crate::mcp::config::{McpConfig, McpTransport};
use crate::mcp::url::redacted_url;

/// Hides secrets in the texts of errors: servers and HTTP libraries like to repeat what they were given. Headers and the
/// child's environment are [`Secret`](windlass_core::secret::Secret)s and masked as such; what is left is the URL.
#[derive(Clone, Debug, Default)]
pub(super) struct Mask {
    /// The URL in the forms in which it may turn up, and its redacted form.
    urls: Vec<(String, String)>,
}

impl Mask {
    /// The mask of a server. The credentials in its URL are masked from then on.
    pub(super) fn of(config: &McpConfig) -> Self {
        let McpTransport::Http { url, .. } = &config.transport else { return Self::default() };
        mask_url_parts(url);
        let redacted = redacted_url(url);
        let as_written = url::Url::parse(url).map(String::from).ok();
        let forms = as_written.into_iter().chain([url.clone()]);
        Self { urls: forms.filter(|form| *form != redacted).map(|form| (form, redacted.clone())).collect() }
    }

    /// The text without the secrets.
    pub(super) fn hide(&self, text: &str) -> String {
        let text =
            self.urls.iter().fold(text.to_owned(), |text, (url, redacted)| text.replace(url, redacted));
        mask(&text).into_owned()
    }
}

#[cfg(test)]
mod tests;
