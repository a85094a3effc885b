//! Owns how a reply's first bytes tell whether it is a stream of events.

use std::pin::pin;

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use windlass_core::model::{FailureKind, ModelFailure};
use windlass_error::in_full;
use windlass_http::Body;

use super::Call;
use crate::http::frames::Framing;
use crate::http::timeouts::Watch;

/// The most blanks before a body that are looked through for its first byte.
const MAX_BLANKS: usize = 64 * 1024;

impl Call {
    /// The first bytes of a body, up to one that is no blank; empty where none come.
    pub(super) async fn first_bytes(
        &self,
        body: &mut Body,
        named: bool,
        watch: &mut Watch,
    ) -> Result<Bytes, ModelFailure> {
        let mut first = Bytes::new();
        while first.trim_ascii_start().is_empty() && first.len() < MAX_BLANKS && !body.is_over() {
            match watch.guard(pin!(body.next())).await {
                Ok(Some(Ok(bytes))) if first.is_empty() => first = bytes,
                Ok(Some(Ok(bytes))) => first = [first, bytes].concat().into(),
                Ok(None) => break,
                Ok(Some(Err(error))) => {
                    let what = if named { "stream" } else { "reply" };
                    let host = &self.server.endpoint.host;
                    let words = format!("the {what} from {host} broke off: {}", in_full(&error));
                    return Err(self.failure(FailureKind::Cut, words));
                }
                Err(expired) => return Err(self.expired(expired)),
            }
        }
        Ok(first)
    }
}

/// Whether a body that begins so is a stream of events: types are missing or wrong, but no event of a stream begins as JSON does.
/// `None`: the bytes do not tell.
pub(super) fn shows_events(framing: Framing, first: &[u8]) -> Option<bool> {
    let begin = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first).trim_ascii_start();
    match framing {
        Framing::Events => match begin.first()? {
            b'{' | b'[' | b'<' => Some(false),
            b':' => Some(true),
            _ => {
                let field = |name: &[u8]| begin.starts_with(name);
                [&b"data:"[..], b"event:", b"id:", b"retry:"].into_iter().any(field).then_some(true)
            }
        },
        // A whole reply is a line of JSON, too.
        Framing::Lines => None,
    }
}

/// Whether the body is a stream of events: by its type, else by what was asked for.
pub(super) fn comes_in_events(headers: &HeaderMap, framing: Framing, asked: bool) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim() {
        kind if framing.is_named_by(kind) => true,
        "application/json" | "text/html" => false,
        _ => asked,
    }
}

#[cfg(test)]
mod tests {
    use super::{Framing, shows_events};

    #[test]
    fn the_first_byte_tells_events_from_json() {
        let shows = |first: &[u8]| shows_events(Framing::Events, first);
        assert_eq!(shows(b"\n {\"choices\":"), Some(false));
        assert_eq!(shows(b"\xef\xbb\xbf[{"), Some(false));
        assert_eq!(shows(b"<html>"), Some(false));
        assert_eq!(shows(b": OPENROUTER PROCESSING"), Some(true));
        assert_eq!(shows(b"\r\ndata: {"), Some(true));
        assert_eq!(shows(b"event: error"), Some(true));
        assert_eq!(shows(b"dat"), None);
        assert_eq!(shows(b"  "), None);
        assert_eq!(shows_events(Framing::Lines, b"{"), None);
    }
}
