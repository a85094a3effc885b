//! Owns how pieces of annotations become those of a reply: places in the text are found once the text is whole.

use windlass_core::message::{Annotations, AnnotationsBuilder, Span};

use crate::Annotation;
use crate::model::annotation::in_bytes;

/// The annotations of a reply that is coming in.
#[derive(Clone, Debug, Default)]
pub(super) struct Collected {
    builder: AnnotationsBuilder,
    /// Citations whose place is to be found, by their number.
    open: Vec<Open>,
    unplaced: bool,
}

#[derive(Clone, Debug)]
struct Open {
    citation: usize,
    in_chars: bool,
    words: Option<String>,
}

impl Collected {
    pub(super) fn add(&mut self, annotation: Annotation) {
        match annotation {
            Annotation::Step(step) => self.builder.add_step(step),
            Annotation::Citation(cited) => {
                let citation = self.builder.citations_mut().len();
                self.builder.add_citation(cited.citation);
                let is_open = cited.in_chars || cited.words.is_some();
                if is_open && citation < self.builder.citations_mut().len() {
                    self.open.push(Open { citation, in_chars: cited.in_chars, words: cited.words });
                }
            }
            Annotation::Logprobs(tokens) => {
                for token in tokens {
                    self.builder.add_logprob(token);
                }
            }
            Annotation::Unplaced => self.unplaced = true,
        }
    }

    pub(super) fn finish(mut self, text: Option<&str>) -> Option<Box<Annotations>> {
        self.find_places(text.unwrap_or_default());
        let mut all = self.builder.finish(text)?;
        if self.unplaced {
            all.without_spans();
        }
        Some(all)
    }

    fn find_places(&mut self, text: &str) {
        let citations = self.builder.citations_mut();
        // Both lists have one order.
        let mut open = self.open.iter().filter(|open| open.in_chars).peekable();
        let in_chars = (0..).zip(citations.iter_mut()).filter_map(|(at, citation)| {
            open.next_if(|open| open.citation == at).map(|_| &mut citation.span)
        });
        in_bytes(in_chars, text);
        // Words that repeat are most likely meant in their order.
        let mut behind = 0;
        for open in &self.open {
            let Some(citation) = citations.get_mut(open.citation) else { continue };
            let Some(words) = open.words.as_deref().filter(|words| !words.is_empty()) else { continue };
            if citation.span.and_then(|span| span.in_text(text)) != Some(words) {
                let next = text.get(behind..).and_then(|rest| rest.find(words)).map(|at| behind + at);
                let found = next.or_else(|| text.find(words));
                citation.span = found.map(|from| Span(from, from + words.len()));
            }
            behind = citation.span.map_or(behind, |span| span.0);
        }
    }
}

#[cfg(test)]
mod tests;
