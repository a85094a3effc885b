//! Keeps secrets out of what a run takes in: an input is masked before the core sees it, and so before anything of it
//! is stored, shown or sent on; the pieces of a reply are masked before subscribers see them.
//!
//! Messages of people are not masked, and neither are the texts of the agent's own file and hooks.

use std::borrow::Cow;
use std::collections::BTreeMap;

use windlass_core::message::{Annotations, Content, Media, MediaSource, Part};
use windlass_core::model::Reply;
use windlass_core::run::Found;
use windlass_core::secret::{Masker, StreamMask, mask};
use windlass_core::{CallOutcome, InputKind, Text};
use windlass_models::{Annotation, Delta};
use windlass_threads::LARGE_BYTES;

use crate::platform::environment::Environment;
use crate::platform::off_thread::off_thread;

/// Placeholder for an image or file whose bytes contain a secret: masking them would break it.
const LEFT_OUT: &str = "[left out: its bytes hold a credential of this agent]";

/// Whether an input takes its time to be masked ([`masked`]). A short one is masked at once ([`mask_input`]).
pub(crate) fn is_long(what: &InputKind) -> bool {
    !Masker::of_process().is_empty() && what.text_bytes() >= LARGE_BYTES
}

/// A long input without secrets.
pub(crate) async fn masked(environment: &dyn Environment, mut what: InputKind) -> InputKind {
    let size = what.text_bytes();
    let masked = move || {
        mask_input(&mut what);
        what
    };
    off_thread(environment, size, masked).await
}

/// Masks secrets in an input, as far as it comes from models, tools and other agents.
pub(crate) fn mask_input(what: &mut InputKind) {
    if Masker::of_process().is_empty() {
        return;
    }
    match what {
        InputKind::Replied { reply, .. } => mask_reply(reply),
        InputKind::ModelFailed { failure, .. } => {
            hide(&mut failure.message);
            if let Some(reply) = failure.detail.as_mut().and_then(|detail| detail.reply.as_mut()) {
                mask_content(reply);
            }
        }
        InputKind::CodeCalls { calls, .. } => calls.iter_mut().for_each(|call| {
            hide(&mut call.name);
            hide(&mut call.args);
        }),
        InputKind::CodeEnded { outcome, stdout, .. } => {
            mask_outcome(outcome);
            stdout.iter_mut().for_each(hide);
        }
        InputKind::CallEnded { outcome, .. }
        | InputKind::CallLost { outcome, .. }
        | InputKind::DelegateEnded { outcome, .. }
        | InputKind::Checked { found: Found::Happened(outcome), .. } => mask_outcome(outcome),
        InputKind::DelegateAsks { text, suggestions, .. } => {
            hide(text);
            suggestions.iter_mut().for_each(hide);
        }
        InputKind::DelegateDeferred { model, .. } => hide(model),
        InputKind::Checked { .. }
        | InputKind::Start(_)
        | InputKind::Resumed { .. }
        | InputKind::HookEnded { .. }
        | InputKind::Answered { .. }
        | InputKind::Steer(_)
        | InputKind::Pause { .. }
        | InputKind::Queue { .. }
        | InputKind::Cancel { .. }
        // Tool servers mask their tools when they list them.
        | InputKind::ToolsChanged { .. }
        | InputKind::TimerFired { .. } => {}
    }
}

fn hide(text: &mut Text) {
    if let Cow::Owned(masked) = mask(text) {
        *text = masked.into();
    }
}

fn mask_outcome(outcome: &mut CallOutcome) {
    match outcome {
        CallOutcome::Ok { content } => mask_content(content),
        CallOutcome::Error { kind, message } => {
            kind.iter_mut().for_each(hide);
            hide(message);
        }
        CallOutcome::Malformed { message } | CallOutcome::Rejected { message } => hide(message),
        CallOutcome::Skipped { reason } => hide(reason),
        CallOutcome::Denied { reason, .. } => reason.iter_mut().for_each(hide),
        CallOutcome::TimedOut { .. }
        | CallOutcome::UnknownTool { .. }
        | CallOutcome::Interrupted
        | CallOutcome::Abandoned
        | CallOutcome::Unknown => {}
    }
}

fn mask_content(content: &mut Content) {
    match content {
        Content::Text(text) => hide(text),
        Content::Parts(parts) => parts.iter_mut().for_each(mask_part),
    }
}

fn mask_part(part: &mut Part) {
    match part {
        Part::Text { text } => hide(text),
        Part::Image(media) | Part::File(media) => {
            if mask_media(media).is_none() {
                *part = Part::Text { text: LEFT_OUT.into() };
            }
        }
        Part::Stored(stored) => {
            hide(&mut stored.head);
            hide(&mut stored.tail);
        }
    }
}

/// `None`: its bytes hold a secret.
fn mask_media(media: &mut Media) -> Option<()> {
    hide(&mut media.media_type);
    media.name.iter_mut().for_each(hide);
    match &mut media.source {
        MediaSource::Base64(data) => matches!(mask(data), Cow::Borrowed(_)).then_some(()),
        MediaSource::Url(place) | MediaSource::ProviderFile(place) => {
            hide(place);
            Some(())
        }
        MediaSource::Stored(_) => Some(()),
    }
}

fn mask_reply(reply: &mut Reply) {
    let before = reply.text.clone();
    reply.text.iter_mut().for_each(hide);
    if let Some(annotations) = &mut reply.annotations {
        if reply.text != before {
            annotations.without_spans();
        }
        mask_annotations(annotations);
    }
    if let Some(reasoning) = &mut reply.reasoning {
        hide(&mut reasoning.text);
        reasoning.provider_metadata.iter_mut().for_each(|sealed| hide(&mut sealed.data));
    }
    reply.media.retain_mut(|media| mask_media(media).is_some());
    for call in &mut reply.calls {
        call.id.iter_mut().for_each(hide);
        hide(&mut call.name);
        hide(&mut call.args);
    }
}

fn mask_annotations(annotations: &mut Annotations) {
    annotations.visit(&mut hide);
    // Tokens are shorter than secrets: together they may be one.
    let tokens: String = annotations.logprobs.iter().map(|token| &*token.text).collect();
    if matches!(mask(&tokens), Cow::Owned(_)) {
        annotations.without_logprobs();
    }
}

fn mask_annotation(annotation: &mut Annotation) {
    match annotation {
        Annotation::Step(step) => step.visit(&mut hide),
        Annotation::Citation(cited) => {
            cited.citation.visit(&mut hide);
            if let Some(Cow::Owned(masked)) = cited.words.as_deref().map(mask) {
                cited.words = Some(masked);
            }
        }
        Annotation::Logprobs(tokens) => tokens.iter_mut().for_each(|token| token.visit(&mut hide)),
        Annotation::Unplaced => {}
    }
}

/// Masks secrets in the pieces of a reply, including secrets split across pieces of one kind.
pub(crate) struct Masks {
    text: StreamMask<'static>,
    reasoning: StreamMask<'static>,
    /// Bytes of text that came, and of text that was passed on.
    text_bytes: (usize, usize),
    /// Whether a piece has a place in the text.
    is_annotated: bool,
    /// By the place of the call.
    args: BTreeMap<Option<u32>, StreamMask<'static>>,
}

impl Masks {
    /// `None`: this process knows no secret.
    pub(crate) fn of_process() -> Option<Self> {
        let masker = Masker::of_process();
        let (text, reasoning) = (masker.stream(), masker.stream());
        let (text_bytes, is_annotated) = ((0, 0), false);
        let masks = Self { text, reasoning, text_bytes, is_annotated, args: BTreeMap::new() };
        (!masker.is_empty()).then_some(masks)
    }

    /// Takes the next piece, and passes on the pieces that can be shown by now, in order, until one is refused.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) fn pass<E>(
        &mut self,
        delta: Delta,
        mut on: impl FnMut(Delta) -> Result<(), E>,
    ) -> Result<(), E> {
        let masked = match delta {
            Delta::Text(text) => {
                self.end_reasoning(&mut on)?;
                self.end_calls(&mut on)?;
                self.text_bytes.0 += text.len();
                let masked = self.text.push(text);
                self.text_bytes.1 += masked.len();
                Delta::Text(masked)
            }
            Delta::Reasoning(text) => {
                self.end_text(&mut on)?;
                self.end_calls(&mut on)?;
                Delta::Reasoning(self.reasoning.push(text))
            }
            Delta::Call { index, id, name, args } => {
                self.end_text(&mut on)?;
                self.end_reasoning(&mut on)?;
                if index.is_none() && (id.is_some() || name.is_some()) {
                    // It opens another call.
                    self.end_calls(&mut on)?;
                }
                let mask = self.args.entry(index).or_insert_with(|| Masker::of_process().stream());
                let whole = |text: String| mask_text(&text);
                Delta::Call { index, id: id.map(whole), name: name.map(whole), args: mask.push(args) }
            }
            Delta::Sealed(mut sealed) => {
                hide(&mut sealed.data);
                Delta::Sealed(sealed)
            }
            Delta::Media(mut media) => match mask_media(&mut media) {
                Some(()) => Delta::Media(media),
                None => return Ok(()),
            },
            Delta::Annotation(mut annotation) => {
                self.is_annotated |= matches!(*annotation, Annotation::Citation(_));
                mask_annotation(&mut annotation);
                Delta::Annotation(annotation)
            }
            Delta::Stop(reason) => {
                self.end(&mut on)?;
                Delta::Stop(reason)
            }
            Delta::Whole(mut reply) => {
                mask_reply(&mut reply);
                Delta::Whole(reply)
            }
            Delta::Usage(usage) => Delta::Usage(usage),
            Delta::Thought => {
                self.end_text(&mut on)?;
                Delta::Thought
            }
        };
        if has_content(&masked) { on(masked) } else { Ok(()) }
    }

    fn end_text<E>(&mut self, mut on: impl FnMut(Delta) -> Result<(), E>) -> Result<(), E> {
        let rest = self.text.finish();
        self.text_bytes.1 += rest.len();
        if rest.is_empty() { Ok(()) } else { on(Delta::Text(rest)) }
    }

    fn end_reasoning<E>(&mut self, mut on: impl FnMut(Delta) -> Result<(), E>) -> Result<(), E> {
        let rest = self.reasoning.finish();
        if rest.is_empty() { Ok(()) } else { on(Delta::Reasoning(rest)) }
    }

    fn end_calls<E>(&mut self, mut on: impl FnMut(Delta) -> Result<(), E>) -> Result<(), E> {
        while let Some((index, mut mask)) = self.args.pop_first() {
            let rest = mask.finish();
            if !rest.is_empty() {
                on(Delta::Call { index, id: None, name: None, args: rest })?;
            }
        }
        Ok(())
    }

    /// Passes on the held-back pieces at the end of the stream.
    ///
    /// # Errors
    /// As with [`pass`](Self::pass).
    pub(crate) fn end<E>(&mut self, mut on: impl FnMut(Delta) -> Result<(), E>) -> Result<(), E> {
        self.end_text(&mut on)?;
        self.end_reasoning(&mut on)?;
        self.end_calls(&mut on)?;
        if self.is_annotated && self.text_bytes.0 != self.text_bytes.1 {
            on(Delta::Annotation(Box::new(Annotation::Unplaced)))?;
        }
        Ok(())
    }
}

/// Whether anything of a piece can be shown yet.
fn has_content(delta: &Delta) -> bool {
    match delta {
        Delta::Text(text) | Delta::Reasoning(text) => !text.is_empty(),
        Delta::Call { id: None, name: None, args, .. } => !args.is_empty(),
        Delta::Sealed(_)
        | Delta::Media(_)
        | Delta::Call { .. }
        | Delta::Annotation(_)
        | Delta::Usage(_)
        | Delta::Stop(_)
        | Delta::Whole(_)
        | Delta::Thought => true,
    }
}

fn mask_text(text: &str) -> String {
    mask(text).into_owned()
}

#[cfg(test)]
mod tests;
