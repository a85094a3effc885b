//! Converts an entry of a scripted model into the pieces of a stream.

use serde_json::Value;
use windlass_core::message::Annotations;
use windlass_core::model::{FailureKind, ModelFailure};
use windlass_models::wires::Wire;
use windlass_models::wires::openai_chat::OpenAiChat;
use windlass_models::{Annotation, Assembler, Cited, Delta, ModelRequest, blamed};

use crate::fixture::{FailWith, ModelEntry, ScriptedCall, ScriptedDelta};
use crate::fn_model::model_failure;

/// A reply in pieces, and how it ends.
pub(super) type Pieces = Vec<Result<Delta, ModelFailure>>;

/// The pieces of an entry.
pub(super) fn pieces(entry: &ModelEntry, request: &ModelRequest) -> Pieces {
    let mut pieces: Pieces = Vec::new();
    if let Some(failed) = &entry.fail {
        let message = failed.message.as_deref();
        let usage = entry.usage.unwrap_or_default();
        let (kind, status, retry_after_ms, words) = match failed.with {
            FailWith::Status { status, retry_after_ms } => {
                (kind_of(status), Some(status), retry_after_ms, "refused")
            }
            FailWith::Connect => (FailureKind::Connect, None, None, "no connection"),
            FailWith::Timeout => (FailureKind::Timeout, None, None, "no reply in time"),
            FailWith::CutAfter(bytes) => {
                let text = entry.text.as_deref().unwrap_or_default();
                let cut = text.floor_char_boundary(bytes.min(text.len()));
                pieces.extend(
                    cut_up(text.get(..cut).unwrap_or_default(), entry.pieces)
                        .map(|text| Ok(Delta::Text(text))),
                );
                (FailureKind::Cut, None, None, "the stream broke")
            }
        };
        // The usage comes first, so that a broken call is not estimated beside it.
        pieces.insert(0, Ok(Delta::Usage(usage)));
        let words = message.unwrap_or(words);
        // A scripted server words its refusals as those of the usual wire do.
        let refuses = OpenAiChat.facts().errors.refusal(kind, status, words);
        let failed = model_failure(request, kind, words);
        let failed = ModelFailure { status, retry_after_ms, refuses, usage, ..failed };
        pieces.push(Err(blamed(failed, &request.tools)));
        return pieces;
    }
    let only_deltas = entry.text.is_none() && entry.reasoning.is_none() && entry.calls.is_empty();
    match &entry.deltas {
        // Where nothing else is given, the pieces are the reply, streamed or not.
        Some(deltas) if request.stream || only_deltas => {
            pieces.extend(deltas.iter().map(|delta| Ok(delta.delta())));
        }
        deltas => {
            let spelled = deltas.as_deref().map(|deltas| spelled(&entry.calls, deltas));
            whole(entry, spelled.as_deref().unwrap_or(&entry.calls), request.stream, &mut pieces);
        }
    }
    if let Some(annotations) = &entry.annotations {
        pieces.extend(annotated(annotations).map(|one| Ok(Delta::Annotation(Box::new(one)))));
    }
    pieces.push(Ok(Delta::Usage(entry.usage.unwrap_or_default())));
    pieces.push(Ok(Delta::Stop(entry.stop)));
    pieces
}

/// The calls with the very text that the pieces give their arguments: another spelling of the same value is no other
/// call, streamed or not.
fn spelled(calls: &[ScriptedCall], deltas: &[ScriptedDelta]) -> Vec<ScriptedCall> {
    let mut assembler = Assembler::new("scripted");
    let all = deltas.iter().all(|delta| assembler.push(delta.delta()).is_ok());
    let written = if all { assembler.finish().calls } else { Vec::new() };
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    let same =
        |call: &ScriptedCall, args: &str| value(args).is_some_and(|args| value(&call.args) == Some(args));
    let respelled = calls.iter().enumerate().map(|(place, call)| {
        let args =
            written.get(place).filter(|written| *written.name == *call.name).map(|written| &*written.args);
        let args = args.filter(|args| same(call, args)).unwrap_or(&call.args);
        ScriptedCall { args: args.to_owned(), ..call.clone() }
    });
    respelled.collect()
}

fn annotated(annotations: &Annotations) -> impl Iterator<Item = Annotation> {
    let Annotations { steps, citations, logprobs, .. } = annotations.clone();
    let cited = |citation| Annotation::Citation(Cited { citation, ..Cited::default() });
    let tokens = (!logprobs.is_empty()).then_some(Annotation::Logprobs(logprobs));
    steps.into_iter().map(Annotation::Step).chain(citations.into_iter().map(cited)).chain(tokens)
}

fn whole(entry: &ModelEntry, calls: &[ScriptedCall], stream: bool, pieces: &mut Pieces) {
    let size = entry.pieces.filter(|_| stream);
    if let Some(text) = &entry.reasoning {
        pieces.extend(cut_up(text, size).map(|text| Ok(Delta::Reasoning(text))));
    }
    if let Some(text) = &entry.text {
        pieces.extend(cut_up(text, size).map(|text| Ok(Delta::Text(text))));
    }
    for (place, call) in calls.iter().enumerate() {
        let index = Some(place as u32);
        let name = Some(call.name.clone());
        if size.is_none() {
            pieces.push(Ok(Delta::Call { index, id: call.id.clone(), name, args: call.args.clone() }));
            continue;
        }
        pieces.push(Ok(Delta::Call { index, id: call.id.clone(), name, args: String::new() }));
        pieces.extend(
            cut_up(&call.args, size).map(|args| Ok(Delta::Call { index, id: None, name: None, args })),
        );
    }
}

/// Pieces of so many bytes, never within a character.
fn cut_up(text: &str, size: Option<usize>) -> impl Iterator<Item = String> {
    let size = size.unwrap_or(usize::MAX).max(1);
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.floor_char_boundary(size.min(rest.len()));
        if end == 0 {
            end = rest.chars().next().map_or(rest.len(), char::len_utf8);
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece.to_owned())
    })
    .collect::<Vec<_>>()
    .into_iter()
}

fn kind_of(status: u16) -> FailureKind {
    match status {
        401 | 403 => FailureKind::Auth,
        404 => FailureKind::NotFound,
        408 => FailureKind::Timeout,
        429 => FailureKind::RateLimited,
        503 | 529 => FailureKind::Overloaded,
        500..=599 => FailureKind::Server,
        _ => FailureKind::BadRequest,
    }
}
