//! A subscriber's view of a run over its restarts: every fact once and in order, and the pieces as the format writes them.

use serde_json::json;
use windlass_runtime::{self as runtime, Updates};
use windlass_store::Batch;

use super::way::Mode;
use crate::fixture::{Update, UpdateKind};

/// A subscriber's view so far. After a restart it subscribes again, after its last fact.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) updates: Vec<Update>,
    /// The number of the last fact.
    pub(super) facts: u64,
    /// Description of a missing, repeated or reordered update.
    pub(super) hole: Option<String>,
}

impl Seen {
    pub(super) async fn collect(&mut self, mut updates: Updates) {
        while let Some(update) = updates.next().await {
            let (kind, value) = match update {
                runtime::Update::Text { text, .. } => (UpdateKind::Text, json!(text)),
                runtime::Update::Reasoning { text, .. } => (UpdateKind::Reasoning, json!(text)),
                runtime::Update::Call { name: Some(name), .. } => (UpdateKind::Call, json!(name)),
                runtime::Update::Partial { output, .. } => {
                    (UpdateKind::Partial, serde_json::Value::clone(&output))
                }
                runtime::Update::Void { .. } => (UpdateKind::Void, json!(true)),
                runtime::Update::Events(batch) => {
                    self.batch(&batch);
                    continue;
                }
                runtime::Update::Call { .. } | runtime::Update::Log(_) | runtime::Update::Refused { .. } => {
                    continue;
                }
            };
            self.updates.push(Update { kind, value });
        }
    }

    fn batch(&mut self, batch: &Batch) {
        if batch.first != self.facts + 1 {
            let hole = format!("a subscriber saw event {} after event {}", batch.first, self.facts);
            self.hole.get_or_insert(hole);
        }
        self.facts = batch.last();
        self.updates.extend(
            batch
                .events
                .iter()
                .map(|event| Update { kind: UpdateKind::Event, value: json!(event.fact.kind()) }),
        );
    }

    /// The run has come to rest: who listened all the time knows everything.
    pub(super) fn ends_at(&mut self, mode: Mode, version: u64) {
        if mode == Mode::Streaming && self.facts != version {
            self.hole.get_or_insert(format!("a subscriber saw {} of {version} events", self.facts));
        }
    }
}
