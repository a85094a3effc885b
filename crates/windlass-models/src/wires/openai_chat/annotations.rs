//! Owns what replies of this API and its dialects say of their sources, of probabilities of tokens, and of speech.

use std::collections::VecDeque;

use serde_json::Value;
use windlass_core::message::{Citation, Media, MediaSource, Source, Span, TokenLogprob};

use super::shapes::{Audio, Logprobs};
use crate::wires::annotations::{WireToken, cited, logprobs, number, page, text};
use crate::{Cited, Delta};

/// The sources that are listed for the whole reply: each piece of it may repeat the list, so that the last one is told at the end.
/// And speech, which comes in pieces and is told whole.
#[derive(Debug, Default)]
pub(super) struct Annotating {
    listed: Vec<Source>,
    audio: String,
}

impl Annotating {
    /// Takes lists of sources: addresses, and the same with titles (Perplexity, "Chat completions"; xAI, "Live search").
    pub(super) fn listed(&mut self, addresses: Option<&[Value]>, results: Option<&[Value]>) {
        let results = results.unwrap_or_default();
        let address = |one: &Value| match one {
            Value::String(url) => Source { url: Some(url.as_str().into()), ..Source::default() },
            other => page(other),
        };
        let sources: Vec<Source> = match addresses {
            // A text refers to the addresses by their number.
            Some(addresses) => addresses
                .iter()
                .map(address)
                .map(|source| {
                    let titled = results.iter().map(page).find(|titled| titled.is_same(&source));
                    titled.unwrap_or(source)
                })
                .collect(),
            None => results.iter().map(page).collect(),
        };
        if !sources.is_empty() {
            self.listed = sources;
        }
    }

    /// Takes a piece of speech.
    pub(super) fn speak(&mut self, piece: &Audio) {
        self.audio.push_str(piece.data.as_deref().unwrap_or_default());
    }

    /// Bytes that are kept until the reply ends.
    pub(super) fn bytes(&self) -> usize {
        self.audio.len()
    }

    /// Whether any speech came.
    pub(super) fn has_audio(&self) -> bool {
        !self.audio.is_empty()
    }

    /// Says at the end of the reply what was taken.
    pub(super) fn end(&mut self, out: &mut VecDeque<Delta>) {
        for source in std::mem::take(&mut self.listed) {
            let citation = Citation { source, ..Citation::default() };
            cited(out, Cited { citation, ..Cited::default() });
        }
        if !self.audio.is_empty() {
            let data = std::mem::take(&mut self.audio);
            let (media_type, name) = (sound_type(&data).into(), None);
            out.push_back(Delta::Media(Media { media_type, name, source: MediaSource::Base64(data.into()) }));
        }
    }
}

/// The media type of sound in base64, by its first bytes. What has no head is the raw form that streams have (`pcm16`).
fn sound_type(base64: &str) -> &'static str {
    match base64 {
        wave if wave.starts_with("UklGR") => "audio/wav",
        mp3 if mp3.starts_with("SUQz") || mp3.starts_with("//") => "audio/mpeg",
        flac if flac.starts_with("ZkxhQ") => "audio/flac",
        ogg if ogg.starts_with("T2dnUw") => "audio/ogg",
        _ => "audio/pcm",
    }
}

/// Says the sources within a message (API reference, `annotations`; OpenRouter, "Web search"). Places are in characters.
pub(super) fn citations(annotations: &[Value], out: &mut VecDeque<Delta>) {
    for one in annotations {
        let of = one.get("url_citation").or(one.get("file_citation")).or(one.get("file")).unwrap_or(one);
        let (from, to) = (number(of, "start_index"), number(of, "end_index"));
        // OpenRouter writes two zeros where it knows no place.
        let span = from.zip(to).filter(|(from, to)| from < to).map(|(from, to)| Span(from, to));
        let title = text(of, "title").or_else(|| text(of, "filename")).or_else(|| text(of, "name"));
        let file = text(of, "file_id").or_else(|| text(of, "hash"));
        let source = Source { title, url: text(of, "url"), file };
        if !source.is_empty() {
            let citation = Citation { span, quote: text(of, "content"), source, passage: None };
            cited(out, Cited { citation, in_chars: span.is_some(), words: None });
        }
    }
}

/// Says tokens with their probabilities.
pub(super) fn tokens(read: Logprobs, out: &mut VecDeque<Delta>) {
    let Logprobs { content, refusal, tokens, numbers } = read;
    let own = [content, refusal].into_iter().flatten().flatten().filter_map(WireToken::read);
    let apart = tokens.unwrap_or_default().into_iter().zip(numbers.unwrap_or_default());
    let apart = apart.filter_map(|(text, logprob)| {
        Some(TokenLogprob { text: text.into(), logprob: logprob?, top: Vec::new() })
    });
    logprobs(out, own.chain(apart).collect());
}
