//! Owns bringing a reply back to the schemas of its request, where the provider was sent strict forms of them.
//!
//! The wire knows the forms ([`WireFacts::restore`]). What follows a schema is given out whole: its pieces say nothing before it
//! is brought back.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use serde_json::Value;
use windlass_core::ToolSpec;
use windlass_core::model::{ModelFailure, Reply};

use crate::wires::{Restore, WireFacts};
use crate::{Assembler, Delta, Deltas, ModelRequest};

/// The schemas that a reply is brought back to, and the pieces that wait for it.
#[derive(Debug)]
pub(super) struct Restoring {
    way_back: Restore,
    tools: Arc<Vec<ToolSpec>>,
    /// The schema of the text.
    output: Option<Arc<Value>>,
    /// The calls, and the text if it has a schema.
    held: Assembler,
    ready: VecDeque<Delta>,
    over: bool,
}

impl Restoring {
    /// `None`: the request asks for no strict schemas, or the wire sends them as they were written.
    pub(super) fn of(facts: &WireFacts, request: &ModelRequest) -> Option<Self> {
        let way_back = facts.restore.filter(|_| request.model.strict)?;
        let output = request.response_schema.as_ref().map(|(_, schema)| schema.clone());
        let held = Assembler::new(request.model.name.clone()).bounded(request.model.max_reply_bytes());
        Some(Self {
            way_back,
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
            Delta::Call { .. } => return self.held.push(&delta),
            Delta::Text(_) if self.output.is_some() => return self.held.push(&delta),
            Delta::Whole(mut reply) => {
                self.restore(&mut reply);
                self.ready.push_back(Delta::Whole(reply));
            }
            Delta::Stop(_) => {
                self.release();
                self.ready.push_back(delta);
            }
            Delta::Text(_)
            | Delta::Reasoning(_)
            | Delta::Sealed(_)
            | Delta::Media(_)
            | Delta::Usage(_)
            | Delta::Thought => self.ready.push_back(delta),
        }
        Ok(())
    }

    /// Gives out what was held.
    fn release(&mut self) {
        let held = std::mem::replace(&mut self.held, Assembler::new(""));
        let mut reply = held.finish();
        self.restore(&mut reply);
        self.ready.extend(reply.text.map(|text| Delta::Text(text.to_string())));
        let calls = (0..).zip(reply.calls);
        self.ready.extend(calls.map(|(at, call)| Delta::Call {
            index: Some(at),
            id: call.id.map(|id| id.to_string()),
            name: Some(call.name.to_string()),
            args: call.args.to_string(),
        }));
    }

    fn restore(&self, reply: &mut Reply) {
        for call in &mut reply.calls {
            let spec = self.tools.iter().find(|spec| spec.name == call.name);
            let restored = spec.and_then(|spec| (self.way_back)(&spec.parameters, &call.args));
            if let Some(restored) = restored {
                call.args = restored.into();
            }
        }
        let text = reply.text.as_deref().zip(self.output.as_deref());
        if let Some(restored) = text.and_then(|(text, schema)| (self.way_back)(schema, text)) {
            reply.text = Some(restored.into());
        }
    }
}
