//! Owns the pieces of a reply's annotations, as a wire reads them: places in the text may be told before the text is whole.

use windlass_core::message::{Citation, HostedStep, Span, TokenLogprob};

/// A piece of a reply's [`Annotations`](windlass_core::message::Annotations).
#[derive(Clone, Debug, PartialEq)]
pub enum Annotation {
    /// A step of a tool of the provider. One with the id of an earlier step tells the rest of that.
    Step(HostedStep),
    /// A source of the text.
    Citation(Cited),
    /// The next tokens of the text with their probabilities.
    Logprobs(Vec<TokenLogprob>),
    /// The text is not the one that the provider sent: places in it count no more.
    Unplaced,
}

/// A citation whose place in the text may have to be found yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cited {
    /// The citation; its span is in bytes of the reply's whole text, unless `in_chars`.
    pub citation: Citation,
    /// Whether the span is in characters.
    pub in_chars: bool,
    /// The words at the place, if the provider repeats them: where they stand elsewhere, that is the place.
    pub words: Option<String>,
}

impl Annotation {
    /// About how many bytes of text it brings.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Step(step) => step.bytes(),
            Self::Citation(cited) => cited.citation.bytes(),
            Self::Logprobs(tokens) => tokens.iter().map(TokenLogprob::bytes).sum(),
            Self::Unplaced => 0,
        }
    }
}

/// Turns spans in characters of a text into spans in bytes, in one pass over the text. One that is no part of it is removed.
pub(crate) fn in_bytes<'s>(spans: impl IntoIterator<Item = &'s mut Option<Span>>, text: &str) {
    let spans: Vec<_> = spans.into_iter().collect();
    let mut chars: Vec<usize> =
        spans.iter().filter_map(|span| **span).flat_map(|span| [span.0, span.1]).collect();
    if chars.is_empty() {
        return;
    }
    chars.sort_unstable();
    chars.dedup();
    let mut wanted = chars.iter().peekable();
    let mut places = Vec::with_capacity(chars.len());
    let bytes = text.char_indices().map(|(byte, _)| byte).chain([text.len()]);
    for (char, byte) in bytes.enumerate() {
        if wanted.next_if(|wanted| **wanted == char).is_some() {
            places.push(byte);
        }
        if wanted.peek().is_none() {
            break;
        }
    }
    let byte = |char: usize| places.get(chars.binary_search(&char).ok()?).copied();
    for span in spans {
        *span = span.and_then(|Span(from, to)| Some(Span(byte(from)?, byte(to)?)));
    }
}
