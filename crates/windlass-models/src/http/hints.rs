//! Words that say of a failure what its status and the provider's words do not: a page in place of an API, names that are meant,
//! the origin of a key.

use windlass_core::text::did_you_mean;

use crate::providers;

/// The most bytes of a body that are looked at.
const MOST_BYTES: usize = 4096;
/// The most characters of a page's title that are shown.
const TITLE_CHARS: usize = 80;

/// Words for a body that is a web page: with its title, if it has one.
pub(super) fn web_page(body: &[u8]) -> Option<String> {
    let start = body.get(..MOST_BYTES).unwrap_or(body);
    let start = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(start).trim_ascii_start();
    // Each whole reply is looked at: one that is no page costs no copy.
    if !start.starts_with(b"<") {
        return None;
    }
    let text = String::from_utf8_lossy(start);
    let lower = text.to_ascii_lowercase();
    if !["<!doctype html", "<html", "<head", "<body"].iter().any(|begin| lower.starts_with(begin)) {
        return None;
    }
    let title = lower.find("<title").and_then(|at| {
        let begin = at + lower.get(at..)?.find('>')? + 1;
        let end = begin + lower.get(begin..)?.find("</title")?;
        text.get(begin..end)
    });
    let title: String = title.unwrap_or_default().trim().chars().take(TITLE_CHARS).collect();
    Some(if title.is_empty() { "a web page".to_owned() } else { format!("a web page (\"{title}\")") })
}

/// The words for a page where a reply of the API was expected.
pub(super) fn page_words(page: &str) -> String {
    format!("the address answers with {page}: is base_url right?")
}

/// `; did you mean a?`, of the provider's models that are known by their prices.
pub(super) fn near(provider: &str, model: &str) -> String {
    let model = model.strip_prefix(provider).and_then(|rest| rest.strip_prefix('/')).unwrap_or(model);
    did_you_mean(&providers::models_near(provider, model))
}

/// A key as it is sent: without quotes around it and the `Bearer ` in front that were copied with it.
pub(super) fn bare(key: &str) -> &str {
    let mut key = key.trim();
    loop {
        let inner = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”')]
            .into_iter()
            .find_map(|(open, close)| key.strip_prefix(open)?.strip_suffix(close));
        let scheme = key.get(..7).filter(|start| start.eq_ignore_ascii_case("bearer "));
        let shorter = inner.or_else(|| scheme.and(key.get(7..)));
        match shorter.map(str::trim).filter(|shorter| !shorter.is_empty()) {
            Some(shorter) => key = shorter,
            None => return key,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sent_without_what_was_copied_with_it() {
        for key in [
            "abc",
            " abc\n",
            "\"abc\"",
            "'abc'",
            "Bearer abc",
            "bearer  abc",
            "\"Bearer abc\"",
            "Bearer 'abc'",
            "“abc”",
        ] {
            assert_eq!(bare(key), "abc", "{key}");
        }
        for key in ["a\"b", "\"abc", "\"\"", "Bearerabc", "ab'"] {
            assert_eq!(bare(key), key);
        }
    }

    #[test]
    fn a_web_page_is_known_by_its_beginning() {
        for (body, page) in [
            ("<!DOCTYPE html><html><head><title> Welcome </title>", "a web page (\"Welcome\")"),
            ("\u{feff}\n<html lang=en><TITLE id=a>404</TITLE>", "a web page (\"404\")"),
            ("<HTML>", "a web page"),
            ("<html><title>x", "a web page"),
        ] {
            assert_eq!(web_page(body.as_bytes()).as_deref(), Some(page), "{body}");
        }
        for body in ["", "{\"error\": \"<html>\"}", "<xml/>", "html"] {
            assert_eq!(web_page(body.as_bytes()), None, "{body}");
        }
    }
}
