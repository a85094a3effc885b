//! Owns how one message is written as blocks: text, media, calls, results, and what goes back to the provider as it came.

use serde_json::value::RawValue;
use windlass_core::Message;
use windlass_core::message::Part;
use windlass_core::message::{AssistantMessage, Content, Media, MediaSource, ToolCall, ToolMessage};

use super::ids::{call_id, fitting_name};
use crate::wires::Dialect;
use crate::wires::content::note;
use crate::wires::json::{field, json_string};
use crate::wires::layout::{Kind, Placed, placed};
use crate::wires::own_ids::OwnIds;

/// The speaker of a message, as the API sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
    /// A system message amid the conversation, where the model knows them.
    System,
}

/// The role of a message among the others.
pub(super) fn role_of(message: &Message) -> Role {
    match message {
        Message::Assistant(_) => Role::Assistant,
        Message::System { .. } | Message::User { .. } | Message::TaskDelegation { .. } | Message::Tool(_) => {
            Role::User
        }
    }
}

/// How blocks are written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Form<'m> {
    /// The last block that may carry a cache marker carries this one.
    pub(super) mark: Option<&'m [u8]>,
    /// It is the request's last message.
    pub(super) is_last: bool,
}

/// Writes a system message at the front; nothing if it is blank, because the API refuses blank texts.
pub(super) fn system_block(out: &mut Vec<u8>, message: &Message, mark: Option<&[u8]>) {
    let Message::System { text } = message else { return };
    let mut writer = Writer::new(out);
    writer.text(text, None);
    if let Some(marker) = mark {
        writer.mark(marker);
    }
}

/// Writes the blocks of a message, with commas between them; nothing where it has none.
pub(super) fn blocks(out: &mut Vec<u8>, dialect: &Dialect, ids: &OwnIds, message: &Message, form: Form<'_>) {
    let mut writer = Writer::new(out);
    match message {
        Message::System { text } if text.trim().is_empty() => {}
        Message::System { text } => writer.text(&format!("<system>\n{text}\n</system>"), None),
        Message::User { content, .. } | Message::TaskDelegation { content } => writer.content(content, true),
        Message::Assistant(reply) => assistant(&mut writer, dialect, ids, reply, form.is_last),
        Message::Tool(result) => tool_result(&mut writer, ids, result),
    }
    if let Some(marker) = form.mark {
        writer.mark(marker);
    }
}

fn assistant(
    writer: &mut Writer<'_>,
    dialect: &Dialect,
    ids: &OwnIds,
    reply: &AssistantMessage,
    is_last: bool,
) {
    let parts = placed(reply, &dialect.label, crate::wires::anthropic_messages::NAME);
    let mut parts = parts.unwrap_or_else(|| plain(reply));
    // "Final assistant content cannot end with trailing whitespace", the API says of a last message.
    if is_last
        && let Some(last) = parts.iter_mut().rfind(|part| part.kind != Kind::Text || !is_blank(part.text))
    {
        last.text = if last.kind == Kind::Text { last.text.trim_end() } else { last.text };
    }
    for part in parts {
        let own = part.own.as_deref();
        match part.kind {
            Kind::Text => writer.text(part.text, own),
            // Thinking without a signature is refused.
            Kind::Reasoning if own.is_none() => {}
            Kind::Reasoning => writer.block("thinking", false, |out| {
                field(out, "thinking");
                json_string(out, part.text);
                more(out, own);
            }),
            Kind::Call => {
                if let Some(call) = reply.calls.get(part.at) {
                    tool_use(writer, ids, call, own);
                }
            }
            Kind::Media if own.is_some() => writer.own(own),
            // Models on this wire make media as files of their container only: another one did.
            Kind::Media => {
                if let Some(media) = reply.media.get(part.at) {
                    writer.text(&note("file", media), None);
                }
            }
            Kind::Own => writer.own(own),
        }
    }
}

/// The parts of a message that another provider made, or that has none of its own.
fn plain(reply: &AssistantMessage) -> Vec<Placed<'_>> {
    let part = |kind, text, at| Placed { kind, text, at, own: None };
    let text = reply.text.as_deref().map(|text| part(Kind::Text, text, 0));
    let media = (0..reply.media.len()).map(|at| part(Kind::Media, "", at));
    let calls = (0..reply.calls.len()).map(|at| part(Kind::Call, "", at));
    text.into_iter().chain(media).chain(calls).collect()
}

fn tool_use(writer: &mut Writer<'_>, ids: &OwnIds, call: &ToolCall, own: Option<&RawValue>) {
    writer.block("tool_use", true, |out| {
        field(out, "id");
        json_string(out, &call_id(ids, &call.id));
        field(out, "name");
        json_string(out, &fitting_name(&call.name));
        field(out, "input");
        let args = call.args.trim();
        match serde_json::from_str::<&RawValue>(args) {
            Ok(_) if args.starts_with('{') => out.extend_from_slice(args.as_bytes()),
            _ if args.is_empty() || args == "null" => out.extend_from_slice(b"{}"),
            // The API takes nothing but objects.
            _ => {
                out.extend_from_slice(b"{\"INVALID_JSON\":");
                json_string(out, &call.args);
                out.push(b'}');
            }
        }
        more(out, own);
    });
}

fn tool_result(writer: &mut Writer<'_>, ids: &OwnIds, result: &ToolMessage) {
    writer.block("tool_result", true, |out| {
        field(out, "tool_use_id");
        json_string(out, &call_id(ids, &result.call));
        match &result.content {
            Content::Text(text) if is_blank(text) => {}
            Content::Text(text) => {
                field(out, "content");
                json_string(out, text);
            }
            content @ Content::Parts(_) => {
                let begin = out.len();
                out.extend_from_slice(b",\"content\":[");
                let start = out.len();
                // "All content must be type `text` if `is_error` is true."
                Writer::new(out).content(content, !result.failed);
                if out.len() == start {
                    out.truncate(begin);
                } else {
                    out.push(b']');
                }
            }
        }
        if result.failed {
            out.extend_from_slice(b",\"is_error\":true");
        }
    });
}

/// Writes the fields of a block that only the provider understands, behind the others.
fn more(out: &mut Vec<u8>, own: Option<&RawValue>) {
    let fields = own.map_or("", |own| own.get().trim());
    let fields = fields.strip_prefix('{').and_then(|fields| fields.strip_suffix('}')).unwrap_or_default();
    if !fields.is_empty() {
        out.push(b',');
        out.extend_from_slice(fields.as_bytes());
    }
}

/// Blocks in a row.
struct Writer<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    /// Where the last block that may carry a marker ends, before its brace.
    markable: Option<usize>,
}

impl<'o> Writer<'o> {
    fn new(out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        Self { out, start, markable: None }
    }

    fn next(&mut self) {
        if self.out.len() > self.start {
            self.out.push(b',');
        }
    }

    fn block(&mut self, kind: &str, may_be_marked: bool, fields: impl FnOnce(&mut Vec<u8>)) {
        self.next();
        self.out.extend_from_slice(b"{\"type\":\"");
        self.out.extend_from_slice(kind.as_bytes());
        self.out.push(b'"');
        fields(self.out);
        if may_be_marked {
            self.markable = Some(self.out.len());
        }
        self.out.push(b'}');
    }

    /// A text, unless it is blank: the API refuses those.
    fn text(&mut self, text: &str, own: Option<&RawValue>) {
        if is_blank(text) {
            return;
        }
        self.block("text", true, |out| {
            field(out, "text");
            json_string(out, text);
            more(out, own);
        });
    }

    /// A block as it came.
    fn own(&mut self, own: Option<&RawValue>) {
        if let Some(own) = own {
            self.next();
            self.out.extend_from_slice(own.get().as_bytes());
        }
    }

    fn content(&mut self, content: &Content, with_media: bool) {
        let parts = match content {
            Content::Text(text) => return self.text(text, None),
            Content::Parts(parts) => parts,
        };
        for part in parts {
            match part {
                Part::Text { text } => self.text(text, None),
                Part::Stored(stored) => self.text(&stored.placeholder(), None),
                Part::Image(media) | Part::File(media) if with_media && is_image(media) => {
                    self.media("image", media);
                }
                Part::File(media) if with_media && is_pdf(media) => self.media("document", media),
                Part::Image(media) => self.text(&note("image", media), None),
                Part::File(media) => self.text(&note("file", media), None),
            }
        }
    }

    fn media(&mut self, kind: &str, media: &Media) {
        let (form, key, content) = match &media.source {
            MediaSource::Base64(data) => ("base64", "data", data),
            MediaSource::Url(url) => ("url", "url", url),
            MediaSource::ProviderFile(id) => ("file", "file_id", id),
            MediaSource::Stored(_) => return self.text(&note(kind, media), None),
        };
        self.block(kind, true, |out| {
            out.extend_from_slice(b",\"source\":{\"type\":");
            json_string(out, form);
            if form == "base64" {
                field(out, "media_type");
                json_string(out, &media.media_type);
            }
            field(out, key);
            json_string(out, content);
            out.push(b'}');
            if let Some(name) = media.name.as_deref().filter(|name| kind == "document" && !is_blank(name)) {
                field(out, "title");
                json_string(out, name);
            }
        });
    }

    /// Marks the last block that may be marked.
    fn mark(&mut self, marker: &[u8]) {
        if let Some(at) = self.markable {
            self.out.splice(at..at, marker.iter().copied());
        }
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Whether a person's message may hold the part.
pub(in crate::wires::anthropic_messages) fn takes(part: &Part) -> bool {
    match part {
        Part::Text { .. } | Part::Stored(_) => true,
        Part::Image(media) => is_image(media),
        Part::File(media) => is_image(media) || is_pdf(media),
    }
}

/// Whether the API takes it as an image: one of four kinds ("Vision"), or an address that names no kind.
fn is_image(media: &Media) -> bool {
    let known = matches!(&*media.media_type, "image/jpeg" | "image/png" | "image/gif" | "image/webp");
    match &media.source {
        MediaSource::Base64(_) => known,
        MediaSource::Url(_) | MediaSource::ProviderFile(_) => known || &*media.media_type == "image/*",
        MediaSource::Stored(_) => false,
    }
}

/// Whether the API takes it as a document ("PDF support").
fn is_pdf(media: &Media) -> bool {
    &*media.media_type == "application/pdf" && !matches!(media.source, MediaSource::Stored(_))
}
