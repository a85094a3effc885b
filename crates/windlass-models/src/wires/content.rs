//! Owns forms of content that several wires write: notes in place of media, and arguments of calls.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use windlass_core::Message;
use windlass_core::message::{Content, Media, MediaSource, Part};

/// Text in place of a result without any: servers refuse blank texts, and each later request would have it again.
const NO_OUTPUT: &str = "(no output)";

/// Text in place of a message of a person without any.
const EMPTY: &str = "(empty)";

/// Whether servers may refuse a text because it says nothing.
pub(crate) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// The text of a result, or the words that stand for none.
pub(crate) fn output(text: &str) -> &str {
    if is_blank(text) { NO_OUTPUT } else { text }
}

/// The words of a part that is a blank text.
fn says_nothing(part: &Part) -> bool {
    match part {
        Part::Text { text } => is_blank(text),
        Part::Stored(_) | Part::Image(_) | Part::File(_) => false,
    }
}

/// Content without blank texts; `none` stands for content that says nothing else.
fn without_blanks<'c>(content: &'c Content, none: &'static str) -> Cow<'c, Content> {
    match content {
        Content::Text(text) if is_blank(text) => Cow::Owned(Content::Text(none.into())),
        Content::Parts(parts) if parts.iter().all(says_nothing) => Cow::Owned(Content::Text(none.into())),
        Content::Parts(parts) if parts.iter().any(says_nothing) => {
            Cow::Owned(Content::Parts(parts.iter().filter(|part| !says_nothing(part)).cloned().collect()))
        }
        Content::Text(_) | Content::Parts(_) => Cow::Borrowed(content),
    }
}

/// A result's content, in which nothing is blank.
pub(crate) fn result_content(content: &Content) -> Cow<'_, Content> {
    without_blanks(content, NO_OUTPUT)
}

/// A person's content, in which nothing is blank.
pub(crate) fn user_content(content: &Content) -> Cow<'_, Content> {
    without_blanks(content, EMPTY)
}

/// Whether a message is left out of requests because it says nothing: a blank text of the system or of a model that made no call
/// and no media.
pub(crate) fn is_left_out(message: &Message) -> bool {
    match message {
        Message::System { text } => is_blank(text),
        Message::Assistant(reply) => {
            reply.text.as_deref().is_none_or(is_blank) && reply.calls.is_empty() && reply.media.is_empty()
        }
        Message::User { .. } | Message::TaskDelegation { .. } | Message::Tool(_) => false,
    }
}

/// Text in place of media that the model cannot be shown; `what` is `image` or `file`.
pub(crate) fn note(what: &str, media: &Media) -> String {
    let name = media.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
    let kind = &media.media_type;
    match &media.source {
        MediaSource::Base64(data) => {
            format!("[{what}{name}: {kind}, {} bytes, not shown]", data.len() / 4 * 3)
        }
        MediaSource::Url(place) | MediaSource::ProviderFile(place) => {
            format!("[{what}{name}: {kind}, {place}]")
        }
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

#[cfg(test)]
mod tests;
