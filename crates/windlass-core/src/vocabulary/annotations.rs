//! Annotations of a reply: steps of tools that the provider ran itself, sources of the text, and probabilities of its tokens.
//!
//! Each provider has its own forms; this is the one form of all. It is kept with the reply to be read, and is never sent back: what a
//! provider needs back stands in its [`ProviderMetadata`](crate::message::ProviderMetadata).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::vocabulary::call_args::Span;
use crate::vocabulary::hosted::HostedTool;
use crate::vocabulary::ids::Text;
use crate::vocabulary::payload::cut;

/// Maximum number of steps that are kept of a reply.
pub const MAX_STEPS: usize = 256;

/// Maximum number of sources that are kept of a step.
pub const MAX_STEP_SOURCES: usize = 64;

/// Maximum number of citations that are kept of a reply.
pub const MAX_CITATIONS: usize = 512;

/// Maximum number of tokens whose probabilities are kept of a reply.
pub const MAX_LOGPROBS: usize = 4096;

/// Maximum number of bytes that are kept of all annotations of a reply (1 MiB).
pub const MAX_ANNOTATION_BYTES: u64 = 1024 * 1024;

/// Maximum number of bytes that are kept of one text of an annotation; the middle of a longer one is left out, with a note.
pub const KEPT_ANNOTATION_BYTES: u64 = 4096;

/// Additions of a provider to a reply, beside its text, reasoning, media and calls. They are bounded; [`Omitted`] counts the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Annotations {
    /// Steps of tools that ran at the provider, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<HostedStep>,
    /// Sources of the text, in the provider's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Citation>,
    /// The tokens of the text with their probabilities, in order, where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logprobs: Vec<TokenLogprob>,
    /// How much more the provider sent than is kept.
    #[serde(default, skip_serializing_if = "Omitted::is_none")]
    pub omitted: Omitted,
}

/// One use of a tool that ran at the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostedStep {
    /// The provider's id of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Text>,
    /// The kind of tool.
    #[serde(default)]
    pub tool: HostedTool,
    /// The provider's own name of the tool, where its kind does not say it: `advisor`, or `SERVER.TOOL` of an MCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// The request: a query, an address, code, or arguments as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Text>,
    /// The text that came back, or the error; `None` where the provider does not show it, or nothing came back yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Text>,
    /// Pages and files that the step found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Whether the step failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// A page or a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Text>,
    /// The name or id of a file at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Text>,
}

impl Source {
    /// Whether nothing is known of it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether both are the same page or file: by address, else by file, else by title.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.url, &self.file) {
            (None, None) => other.url.is_none() && other.file.is_none() && self.title == other.title,
            (None, file) => other.url.is_none() && *file == other.file,
            (url, _) => *url == other.url,
        }
    }
}

/// A source of a part of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// The part of the reply's text that it supports, in bytes. `None`: the provider does not say it, or the text was changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// The words of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Text>,
    /// The source.
    #[serde(default, skip_serializing_if = "Source::is_empty")]
    pub source: Source,
    /// The part of the source that it is taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passage: Option<Passage>,
}

/// A part of a source, in the provider's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// The unit of both places.
    pub unit: PassageUnit,
    /// The first place.
    pub from: u64,
    /// The place behind the last one.
    pub to: u64,
}

/// The unit of a [`Passage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassageUnit {
    /// Pages, from 1.
    Page,
    /// Characters, from 0.
    Char,
    /// Blocks of content, from 0.
    Block,
}

/// A token of the text and the natural logarithm of its probability.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenLogprob {
    /// The token.
    pub text: Text,
    /// The logarithm of its probability, rounded to a millionth so that its stored form reads back as the same number.
    pub logprob: f64,
    /// The most likely tokens at this place, as many as were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<Alternative>,
}

/// A token that could have stood at a place of the text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// The token.
    pub text: Text,
    /// The logarithm of its probability, rounded as that of [`TokenLogprob`].
    pub logprob: f64,
}

/// Number of annotations of a reply that are not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Omitted {
    /// Steps.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: u32,
    /// Sources of steps.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sources: u32,
    /// Citations.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub citations: u32,
    /// Tokens with their probabilities.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub logprobs: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Omitted {
    /// Whether everything is kept.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Annotations {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The sources of the text, each once, in the order in which they are cited.
    pub fn sources(&self) -> Vec<&Source> {
        let mut all: Vec<&Source> = Vec::new();
        for Citation { source, .. } in &self.citations {
            if !source.is_empty() && !all.iter().any(|known| known.is_same(source)) {
                all.push(source);
            }
        }
        all
    }

    /// How often each tool of the provider was used, without the steps that failed.
    pub fn uses(&self) -> BTreeMap<HostedTool, u64> {
        let mut uses = BTreeMap::new();
        for step in self.steps.iter().filter(|step| !step.failed) {
            *uses.entry(step.tool).or_default() += 1;
        }
        uses
    }

    /// Removes the spans that are no part of this text.
    pub fn fit(&mut self, text: Option<&str>) {
        let text = text.unwrap_or_default();
        for citation in &mut self.citations {
            citation.span = citation.span.filter(|span| span.0 < span.1 && span.in_text(text).is_some());
        }
    }

    /// Removes all spans: the text is another one than that which they were made for.
    pub fn without_spans(&mut self) {
        self.citations.iter_mut().for_each(|citation| citation.span = None);
    }

    /// Removes the probabilities of tokens.
    pub fn without_logprobs(&mut self) {
        count(&mut self.omitted.logprobs, std::mem::take(&mut self.logprobs).len());
    }

    /// Visits every text.
    pub fn visit(&mut self, visitor: &mut impl FnMut(&mut Text)) {
        self.steps.iter_mut().for_each(|step| step.visit(visitor));
        self.citations.iter_mut().for_each(|citation| citation.visit(visitor));
        self.logprobs.iter_mut().for_each(|token| token.visit(visitor));
    }

    /// About how many bytes they take.
    pub fn bytes(&self) -> u64 {
        let steps: u64 = self.steps.iter().map(HostedStep::bytes).sum();
        let citations: u64 = self.citations.iter().map(Citation::bytes).sum();
        steps + citations + self.logprobs.iter().map(TokenLogprob::bytes).sum::<u64>()
    }
}

/// Annotations that are being collected, within their bounds.
#[derive(Clone, Debug, Default)]
pub struct AnnotationsBuilder {
    all: Annotations,
    bytes: u64,
}

impl AnnotationsBuilder {
    /// Adds a step. One with the id of an earlier step tells the rest of that.
    pub fn add_step(&mut self, mut step: HostedStep) {
        step.visit(&mut shorten);
        let Annotations { steps, omitted, .. } = &mut self.all;
        let is_full = self.bytes >= MAX_ANNOTATION_BYTES;
        let has_room = steps.len() < MAX_STEPS && !is_full;
        let known = steps.iter_mut().rev().find(|known| known.id.is_some() && known.id == step.id);
        let kept = known.as_ref().map_or(0, |known| known.sources.len());
        let left = MAX_STEP_SOURCES.saturating_sub(kept);
        count(&mut omitted.sources, step.sources.len().saturating_sub(left));
        step.sources.truncate(left);
        match known {
            Some(known) => {
                if is_full {
                    count(&mut omitted.sources, step.sources.len());
                    step.sources.clear();
                }
                self.bytes += step.bytes();
                known.goes_on_with(step);
            }
            None if has_room => {
                self.bytes += step.bytes();
                steps.push(step);
            }
            None => count(&mut omitted.steps, 1),
        }
    }

    /// Adds a citation.
    pub fn add_citation(&mut self, mut citation: Citation) {
        citation.visit(&mut shorten);
        if self.all.citations.len() < MAX_CITATIONS && self.bytes < MAX_ANNOTATION_BYTES {
            self.bytes += citation.bytes();
            self.all.citations.push(citation);
        } else {
            count(&mut self.all.omitted.citations, 1);
        }
    }

    /// Adds the next token of the text.
    pub fn add_logprob(&mut self, mut token: TokenLogprob) {
        if self.all.logprobs.len() < MAX_LOGPROBS && self.bytes < MAX_ANNOTATION_BYTES {
            token.visit(&mut shorten);
            token.round();
            self.bytes += token.bytes();
            self.all.logprobs.push(token);
        } else {
            count(&mut self.all.omitted.logprobs, 1);
        }
    }

    /// The citations so far, to find their places.
    pub fn citations_mut(&mut self) -> &mut [Citation] {
        &mut self.all.citations
    }

    /// The annotations of a reply with this text; `None`: there are none.
    pub fn finish(mut self, text: Option<&str>) -> Option<Box<Annotations>> {
        if self.all.is_empty() {
            return None;
        }
        self.all.fit(text);
        Some(Box::new(self.all))
    }
}

/// About how many bytes an annotation takes beside its texts.
const FRAME: u64 = 32;

fn count(omitted: &mut u32, more: usize) {
    *omitted = omitted.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
}

fn shorten(text: &mut Text) {
    if text.len() as u64 > KEPT_ANNOTATION_BYTES {
        *text = cut(text, KEPT_ANNOTATION_BYTES).into();
    }
}

fn length(text: Option<&Text>) -> u64 {
    text.map_or(0, |text| text.len() as u64)
}

impl HostedStep {
    /// Takes over what another one with its id says.
    fn goes_on_with(&mut self, other: Self) {
        let Self { id: _, tool, name, input, output, sources, failed } = other;
        if self.tool == HostedTool::Other {
            self.tool = tool;
        }
        self.name = self.name.take().or(name);
        self.input = input.or(self.input.take());
        self.output = output.or(self.output.take());
        self.sources.extend(sources);
        self.failed |= failed;
    }

    /// Visits every text.
    pub fn visit(&mut self, visitor: &mut impl FnMut(&mut Text)) {
        let texts = [&mut self.id, &mut self.name, &mut self.input, &mut self.output];
        texts.into_iter().flatten().for_each(&mut *visitor);
        self.sources.iter_mut().for_each(|source| source.visit(visitor));
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> u64 {
        let texts = [&self.id, &self.name, &self.input, &self.output];
        let texts: u64 = texts.into_iter().map(|text| length(text.as_ref())).sum();
        FRAME + texts + self.sources.iter().map(Source::bytes).sum::<u64>()
    }
}

impl Source {
    /// Visits every text.
    pub fn visit(&mut self, visitor: &mut impl FnMut(&mut Text)) {
        [&mut self.title, &mut self.url, &mut self.file].into_iter().flatten().for_each(visitor);
    }

    fn bytes(&self) -> u64 {
        FRAME + [&self.title, &self.url, &self.file].map(|text| length(text.as_ref())).iter().sum::<u64>()
    }
}

impl Citation {
    /// Visits every text.
    pub fn visit(&mut self, visitor: &mut impl FnMut(&mut Text)) {
        self.quote.iter_mut().for_each(&mut *visitor);
        self.source.visit(visitor);
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> u64 {
        length(self.quote.as_ref()) + self.source.bytes()
    }
}

impl TokenLogprob {
    /// Visits every text.
    pub fn visit(&mut self, visitor: &mut impl FnMut(&mut Text)) {
        visitor(&mut self.text);
        self.top.iter_mut().for_each(|other| visitor(&mut other.text));
    }

    fn round(&mut self) {
        self.logprob = rounded(self.logprob);
        self.top.iter_mut().for_each(|other| other.logprob = rounded(other.logprob));
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> u64 {
        let top: u64 = self.top.iter().map(|other| other.text.len() as u64 + FRAME).sum();
        self.text.len() as u64 + FRAME + top
    }
}

/// A logarithm to a millionth, within what JSON can write: some providers send no number for a probability of zero.
fn rounded(logprob: f64) -> f64 {
    if logprob.is_finite() { (logprob.clamp(-1e6, 0.0) * 1e6).round() / 1e6 } else { -1e6 }
}

#[cfg(test)]
mod tests;
