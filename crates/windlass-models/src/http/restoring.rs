//! Owns bringing a reply back to the schemas of its request, where the provider was sent other forms of them: strict ones, or the
//! output's under a property.
//!
//! The wire knows the forms ([`WireFacts::restore`](crate::wires::WireFacts::restore), [`Wire::holds_to_objects`]). What follows a schema is given out whole: its pieces say nothing before it
//! is brought back.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use serde_json::Value;
use windlass_core::ToolSpec;
use windlass_core::message::ProviderMetadata;
use windlass_core::model::{ModelFailure, Reply};

use crate::wires::{Restore, Wire, reworded, sent, strict, unwrapped, wrapped};
use crate::{Annotation, Assembler, Delta, Deltas, ModelRequest};

/// The schemas that a reply is brought back to, and the pieces that wait for it.
#[derive(Debug)]
pub(super) struct Restoring {
    /// The way back from strict forms, where they are asked for.
    way_back: Option<Restore>,
    /// Whether a tool was sent in its strict form unless it says otherwise: calls are given out whole. `None`: none was.
    strict_calls: Option<bool>,
    /// Whether the output was sent in a strict form that may be `null` where a property may be left out.
    restores_output: bool,
    /// Whether the output came under a property.
    is_wrapped: bool,
    tools: Arc<Vec<ToolSpec>>,
    /// The schema of the text, where it was sent in another form.
    output: Option<Arc<Value>>,
    /// The calls, and the text if it has a schema.
    held: Assembler,
    /// The metadata that goes back to the provider: it lists the text's parts by their length.
    sealed: Option<ProviderMetadata>,
    /// The lengths of the text, once it was given out.
    lengths: Option<Lengths>,
    ready: VecDeque<Delta>,
    over: bool,
}

/// The lengths of a text, in bytes.
#[derive(Clone, Copy, Debug)]
struct Lengths {
    /// As it came.
    before: usize,
    /// As it is given out.
    after: usize,
}

impl Restoring {
    /// Puts the request's output under a property where the wire wants it so. `None`: the wire sends all schemas as they were
    /// written.
    pub(super) fn of(wire: &dyn Wire, request: &mut ModelRequest) -> Option<Self> {
        let holds_calls =
            wire.facts().restore.is_some() && (request.model.strict || request.is_strict_for_some());
        let restores_output = request.is_output_strict() && strict::may_be_null(request);
        let way_back = wire.facts().restore.filter(|_| holds_calls || restores_output);
        let under = if wire.holds_to_objects() { wrapped(request) } else { None };
        let is_wrapped = under.is_some();
        if way_back.is_none() && !is_wrapped {
            return None;
        }
        let is_other = is_wrapped || restores_output;
        let output = request.response_schema.as_ref().filter(|_| is_other).map(|(_, schema)| schema.clone());
        let held = Assembler::new(request.model.name.clone()).bounded(request.model.max_reply_bytes());
        if let (Some(under), Some((_, schema))) = (under, &mut request.response_schema) {
            *schema = under;
        }
        Some(Self {
            way_back,
            strict_calls: holds_calls.then_some(request.model.strict),
            restores_output,
            is_wrapped,
            sealed: None,
            lengths: None,
            tools: request.tools.clone(),
            output,
            held,
            ready: VecDeque::new(),
            over: false,
        })
    }

    /// The same pieces, with calls and text that follow a schema brought back to it.
    pub(super) fn over(self, deltas: Deltas) -> Deltas {
        Box::pin(stream::unfold((self, deltas), |(mut held, mut deltas)| async move {
            loop {
                if let Some(ready) = held.ready.pop_front() {
                    return Some((Ok(ready), (held, deltas)));
                }
                if held.over {
                    return None;
                }
                let taken = if let Some(delta) = deltas.next().await {
                    delta.and_then(|delta| held.take(delta))
                } else {
                    held.over = true;
                    held.release();
                    Ok(())
                };
                if let Err(failure) = taken {
                    held.over = true;
                    held.ready.clear();
                    return Some((Err(failure), (held, deltas)));
                }
            }
        }))
    }

    fn take(&mut self, delta: Delta) -> Result<(), ModelFailure> {
        match delta {
            Delta::Call { .. } if self.strict_calls.is_some() => return self.held.push(delta),
            Delta::Text(_) if self.output.is_some() => return self.held.push(delta),
            Delta::Whole(mut reply) => {
                let lengths = self.restore(&mut reply);
                if let Some(reasoning) = &mut reply.reasoning {
                    reasoning.provider_metadata =
                        reasoning.provider_metadata.take().map(|sealed| fitted(sealed, lengths));
                }
                self.ready.push_back(Delta::Whole(reply));
            }
            Delta::Annotation(_) if self.output.is_some() => {
                // The schema's text is another one than that which places are in.
                self.ready.extend([delta, Delta::Annotation(Box::new(Annotation::Unplaced))]);
            }
            Delta::Stop(_) => {
                self.release();
                self.ready.push_back(delta);
            }
            Delta::Sealed(sealed) if self.output.is_some() => match self.lengths {
                Some(lengths) => self.ready.push_back(Delta::Sealed(fitted(sealed, lengths))),
                None => self.sealed = Some(sealed),
            },
            Delta::Text(_)
            | Delta::Call { .. }
            | Delta::Reasoning(_)
            | Delta::Sealed(_)
            | Delta::Media(_)
            | Delta::Annotation(_)
            | Delta::Usage(_)
            | Delta::Thought => self.ready.push_back(delta),
        }
        Ok(())
    }

    /// Gives out what was held.
    fn release(&mut self) {
        let held = std::mem::replace(&mut self.held, Assembler::new(""));
        let mut reply = held.finish();
        let lengths = self.restore(&mut reply);
        self.lengths = self.lengths.or(Some(lengths));
        self.ready.extend(reply.text.map(|text| Delta::Text(text.to_string())));
        let calls = (0..).zip(reply.calls);
        self.ready.extend(calls.map(|(at, call)| Delta::Call {
            index: Some(at),
            id: call.id.map(|id| id.to_string()),
            name: Some(call.name.to_string()),
            args: call.args.to_string(),
        }));
        let sealed = self.sealed.take().map(|sealed| Delta::Sealed(fitted(sealed, lengths)));
        self.ready.extend(sealed);
    }

    /// Gives a reply the form that the caller asked for. Returns the lengths of its text.
    fn restore(&self, reply: &mut Reply) -> Lengths {
        let length = |reply: &Reply| reply.text.as_ref().map_or(0, |text| text.len());
        let before = length(reply);
        if let Some((way_back, strict)) = self.way_back.zip(self.strict_calls) {
            self.restore_calls(way_back, strict, reply);
        }
        if let Some(within) = reply.text.as_deref().filter(|_| self.is_wrapped).and_then(unwrapped) {
            reply.text = Some(within.into());
        }
        let text = reply.text.as_deref().zip(self.output.as_deref());
        let restored = text
            .zip(self.way_back.filter(|_| self.restores_output))
            .and_then(|((text, schema), way_back)| way_back(schema, text));
        if let Some(restored) = restored {
            reply.text = Some(restored.into());
        }
        let after = length(reply);
        if before != after
            && let Some(annotations) = &mut reply.annotations
        {
            annotations.without_spans();
        }
        Lengths { before, after }
    }

    fn restore_calls(&self, way_back: Restore, strict: bool, reply: &mut Reply) {
        for call in &mut reply.calls {
            let is_held = |spec: &&ToolSpec| spec.name == call.name && spec.strict.unwrap_or(strict);
            let spec = self.tools.iter().find(is_held);
            let restored = spec.and_then(|spec| way_back(&sent(&spec.parameters, true).schema, &call.args));
            if let Some(restored) = restored {
                call.args = restored.into();
            }
        }
    }
}

/// The metadata that goes back to the provider, for the text that was given out.
fn fitted(sealed: ProviderMetadata, Lengths { before, after }: Lengths) -> ProviderMetadata {
    if before == after {
        return sealed;
    }
    reworded(&sealed, before, after).unwrap_or(sealed)
}
