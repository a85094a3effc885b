//! Owns what candidates say of tools that the provider runs, of sources, and of probabilities of tokens (API reference, `Candidate`).

use std::collections::VecDeque;

use serde_json::Value;
use serde_json::value::RawValue;
use windlass_core::message::{Alternative, Citation, HostedStep, HostedTool, Source, Span, TokenLogprob};

use super::shapes::Candidate;
use crate::wires::annotations::{cited, input, json, lines, list, logprobs, number, page, step, text};
use crate::{Cited, Delta};

/// The most queries, pages and sources that are kept of a reply until it ends.
const MAX_KEPT: usize = 512;

/// The sources of a reply that are known so far. A stream may tell them in several pieces, and tell them again.
#[derive(Debug, Default)]
pub(super) struct Annotating {
    queries: Vec<Value>,
    chunks: Vec<Source>,
    /// Pages that were fetched by their address, with their status.
    pages: Vec<(Value, bool)>,
    /// Whether a part of the text has a source.
    is_supported: bool,
    /// Number of steps without an id of the provider.
    unnamed: usize,
}

impl Candidate {
    /// Whether it has more than its content and its end.
    pub(super) fn is_annotated(&self) -> bool {
        self.grounding_metadata.is_some()
            || self.url_context_metadata.is_some()
            || self.citation_metadata.is_some()
            || self.logprobs_result.is_some()
    }
}

impl Annotating {
    /// Takes what a candidate says beside its content. Gives about how many bytes are kept of it.
    pub(super) fn take(&mut self, candidate: &mut Candidate, out: &mut VecDeque<Delta>) -> usize {
        if let Some(result) = candidate.logprobs_result.take() {
            logprobs(out, tokens(&result));
        }
        if let Some(metadata) = candidate.citation_metadata.take() {
            // Both names are in use: the Gemini API's and Vertex AI's.
            let all = list(&metadata, "citationSources").iter().chain(list(&metadata, "citations"));
            all.for_each(|one| cited(out, recited(one)));
        }
        let before = self.bytes();
        if let Some(metadata) = candidate.url_context_metadata.take() {
            let pages = list(&metadata, "urlMetadata").iter().take(MAX_KEPT).map(|page| {
                let status = text(page, "urlRetrievalStatus").unwrap_or_default();
                (page.clone(), !status.is_empty() && !status.ends_with("SUCCESS"))
            });
            self.pages = pages.collect();
        }
        if let Some(metadata) = candidate.grounding_metadata.take() {
            self.grounded(&metadata, out);
        }
        self.bytes().saturating_sub(before)
    }

    fn bytes(&self) -> usize {
        (self.queries.len() + self.chunks.len() + self.pages.len()) * 256
    }

    /// Sources of a search ("Grounding with Google Search"). Places are in bytes of a part, and their words stand beside.
    fn grounded(&mut self, metadata: &Value, out: &mut VecDeque<Delta>) {
        let queries = list(metadata, "webSearchQueries").iter().chain(list(metadata, "retrievalQueries"));
        for query in queries {
            if self.queries.len() < MAX_KEPT && !self.queries.contains(query) {
                self.queries.push(query.clone());
            }
        }
        let chunks = list(metadata, "groundingChunks");
        if !chunks.is_empty() {
            self.chunks = chunks.iter().take(MAX_KEPT).map(chunk).collect();
        }
        for support in list(metadata, "groundingSupports") {
            let segment = support.get("segment").unwrap_or(&Value::Null);
            let from = number(segment, "startIndex").unwrap_or(0);
            let span = number(segment, "endIndex").map(|to| Span(from, to));
            for index in list(support, "groundingChunkIndices") {
                let source = index.as_u64().and_then(|index| self.chunks.get(usize::try_from(index).ok()?));
                let Some(source) = source.filter(|source| !source.is_empty()) else { continue };
                self.is_supported = true;
                let citation = Citation { span, source: source.clone(), ..Citation::default() };
                let words = text(segment, "text").map(|words| words.to_string());
                cited(out, Cited { citation, words, in_chars: false });
            }
        }
    }

    /// Takes a part of the content that belongs to a tool of the provider.
    pub(super) fn part(&mut self, raw: &RawValue, out: &mut VecDeque<Delta>) {
        let Ok(part) = serde_json::from_str::<Value>(raw.get()) else { return };
        let field = |name: &str| part.get(name).filter(|value| value.is_object());
        let one = if let Some(code) = field("executableCode") {
            HostedStep { tool: HostedTool::Code, input: text(code, "code"), ..self.begun(code) }
        } else if let Some(result) = field("codeExecutionResult") {
            let outcome = text(result, "outcome").unwrap_or_default();
            let failed = !outcome.is_empty() && !outcome.ends_with("OUTCOME_OK");
            let output = text(result, "output").or(Some(outcome).filter(|_| failed));
            HostedStep { tool: HostedTool::Code, output, failed, ..self.ended(result) }
        } else if let Some(call) = field("toolCall") {
            let (tool, name) = tool(call);
            let args = call.get("args").and_then(|args| input(tool, args));
            HostedStep { tool, name, input: args, ..self.begun(call) }
        } else if let Some(response) = field("toolResponse") {
            let (tool, name) = tool(response);
            let output = response.get("response").and_then(json);
            HostedStep { tool, name, output, ..self.ended(response) }
        } else {
            return;
        };
        step(out, one);
    }

    /// A step by its id, or by its number where it has none.
    fn begun(&mut self, of: &Value) -> HostedStep {
        let id = text(of, "id").unwrap_or_else(|| {
            self.unnamed += 1;
            self.unnamed.to_string().into()
        });
        HostedStep { id: Some(id), ..HostedStep::default() }
    }

    fn ended(&self, of: &Value) -> HostedStep {
        let id = text(of, "id").unwrap_or_else(|| self.unnamed.to_string().into());
        HostedStep { id: Some(id), ..HostedStep::default() }
    }

    /// Says what is known once the reply has ended.
    pub(super) fn end(self, out: &mut VecDeque<Delta>) {
        for (page, failed) in self.pages {
            let output = text(&page, "urlRetrievalStatus").filter(|_| failed);
            let input = text(&page, "retrievedUrl");
            step(out, HostedStep { tool: HostedTool::Url, input, output, failed, ..HostedStep::default() });
        }
        if !self.is_supported {
            for source in self.chunks.iter().filter(|source| !source.is_empty()) {
                let citation = Citation { source: source.clone(), ..Citation::default() };
                cited(out, Cited { citation, ..Cited::default() });
            }
        }
        if !self.queries.is_empty() || !self.chunks.is_empty() {
            let is_search = !self.queries.is_empty() || self.chunks.iter().any(|chunk| chunk.url.is_some());
            let tool = if is_search { HostedTool::WebSearch } else { HostedTool::FileSearch };
            let input = lines(self.queries.iter().map(json));
            let sources = self.chunks.into_iter().filter(|source| !source.is_empty()).collect();
            step(out, HostedStep { tool, input, sources, ..HostedStep::default() });
        }
    }
}

/// A source of a search: a page of the web, a passage of a file, or a place of a map.
fn chunk(chunk: &Value) -> Source {
    let of = ["web", "retrievedContext", "maps", "image"].into_iter().find_map(|kind| chunk.get(kind));
    let Some(of) = of else { return Source::default() };
    let url = text(of, "uri").or_else(|| text(of, "sourceUri"));
    let file = text(of, "fileSearchStore").or_else(|| text(of, "documentName"));
    Source { title: text(of, "title"), file: file.filter(|_| url.is_none()), url }
}

/// A passage that the model recited from its training ("CitationMetadata").
fn recited(one: &Value) -> Cited {
    let from = number(one, "startIndex").unwrap_or(0);
    let span = number(one, "endIndex").map(|to| Span(from, to));
    Cited { citation: Citation { span, source: page(one), ..Citation::default() }, ..Cited::default() }
}

/// A tool by the type that a part gives it ("Tool combination"), and its name where the kind does not say it.
fn tool(of: &Value) -> (HostedTool, Option<windlass_core::Text>) {
    let name = text(of, "toolType").unwrap_or_default();
    let tool = match &*name {
        kind if kind.starts_with("GOOGLE_SEARCH") => HostedTool::WebSearch,
        "URL_CONTEXT" => HostedTool::Url,
        "FILE_SEARCH" => HostedTool::FileSearch,
        _ => HostedTool::Other,
    };
    (tool, Some(name).filter(|name| tool == HostedTool::Other && !name.is_empty()))
}

/// The tokens that were chosen, each with the most likely ones at its place ("LogprobsResult").
fn tokens(result: &Value) -> Vec<TokenLogprob> {
    let alternative = |of: &Value| {
        let logprob = of.get("logProbability")?.as_f64()?;
        Some(Alternative { text: of.get("token")?.as_str()?.into(), logprob })
    };
    let tops = list(result, "topCandidates");
    let chosen = list(result, "chosenCandidates").iter().enumerate().filter_map(|(at, chosen)| {
        let Alternative { text, logprob } = alternative(chosen)?;
        let top = tops.get(at).map_or(&[][..], |top| list(top, "candidates"));
        Some(TokenLogprob { text, logprob, top: top.iter().filter_map(alternative).collect() })
    });
    chosen.collect()
}
