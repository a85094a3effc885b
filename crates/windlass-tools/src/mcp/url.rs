//! The URL of a server, as messages render it.

/// Renders a URL for messages: without user, password, query and fragment, any of which may be a secret.
pub(super) fn redacted_url(url: &str) -> String {
    let Ok(mut parsed) = url::Url::parse(url) else {
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
