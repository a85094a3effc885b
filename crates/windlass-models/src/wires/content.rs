//! Owns forms of content that several wires write: notes in place of media, and arguments of calls.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use windlass_core::message::{Media, MediaSource};

/// Text in place of media that the model cannot be shown; `what` is `image` or `file`.
pub(crate) fn note(what: &str, media: &Media) -> String {
    let name = media.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
    let kind = &media.media_type;
    match &media.source {
        MediaSource::Base64(data) => {
            format!("[{what}{name}: {kind}, {} bytes, not shown]", data.len() / 4 * 3)
        }
        MediaSource::Url(url) => format!("[{what}{name}: {kind}, {url}]"),
        MediaSource::Stored(stored) => {
            format!("[{what}{name}: {kind}, {} bytes, not shown]", stored.bytes / 4 * 3)
        }
    }
}

/// The arguments of an earlier call as a JSON object. Servers and chat templates parse them and refuse a history whose
/// arguments are anything else: such text is wrapped.
pub(crate) fn object_args(args: &str) -> Cow<'_, str> {
    if matches!(args.trim(), "" | "null") {
        return Cow::Borrowed("{}");
    }
    if args.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(args).is_ok() {
        return Cow::Borrowed(args);
    }
    Cow::Owned(serde_json::json!({ "INVALID_JSON": args }).to_string())
}
