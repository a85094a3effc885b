//! A run as JSON lines on stdout. The forms are those of the library.

use std::io;

use serde_json::Value;
use windlass_core::Event;
use windlass_read::json as forms;
use windlass_read::reports::Receipt;
use windlass_runtime::{Run, Update};

use crate::failure::Failure;
use crate::out;

/// Writes a JSON object a line, until that fails for the first time.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub(super) broken: Option<io::Error>,
}

impl Writer {
    pub(crate) fn value(&mut self, value: &Value) {
        if self.broken.is_none() {
            self.broken = out::json(value).err();
        }
    }

    pub(super) fn event(&mut self, number: u64, fact: &Event) {
        self.value(&forms::event(number, fact));
    }

    pub(super) fn update(&mut self, update: &Update) {
        for value in update.to_json() {
            self.value(&value);
        }
    }
}

/// A run's current state, with the failure reported on stderr.
pub(crate) fn run(run: &Run, failure: Option<&Failure>, receipts: &[Receipt]) -> Value {
    let mut value = forms::run(run.state());
    if let Some(fields) = value.as_object_mut() {
        fields.insert("receipts".to_owned(), forms::receipts(receipts));
        fields.insert("failure".to_owned(), failure.map_or(Value::Null, Failure::json));
    }
    value
}
