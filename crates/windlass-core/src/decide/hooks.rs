//! Hooks: what follows from the edits that a hook makes after a step. They are part of the input and recorded, so that
//! replay runs no hook.

use serde_json::Value;

use super::{Decided, Decision, RAW_OUTPUT};
use crate::action::{HookEnd, StepEdits};
use crate::args::check_value;
use crate::event::HistoryEdited;
use crate::ids::ActionId;
use crate::outcome::{FailKind, Status};
use crate::state::{Phase, State};
use crate::tool::{OutputForm, ToolKind};

impl Decision {
    pub(super) fn stepped(&mut self, action: ActionId, edits: StepEdits) -> Decided {
        match self.state.phase {
            Phase::Stepping { seq } if self.state.action(seq) == action => {}
            _ => return Err(self.unknown(action)),
        }
        if let Some(adjusted) = edits.adjusted {
            self.record(adjusted);
        }
        if !edits.splices.is_empty() {
            let mut edited = self.state.history.clone();
            edited.edit(&edits.splices);
            if let Some(fault) = edited.fault() {
                let error = format!("the hook left a conversation that no provider takes: {fault}");
                self.fail(FailKind::Hook, error.into());
                return Ok(());
            }
            self.record(HistoryEdited { splices: edits.splices });
        }
        match edits.end {
            None => self.next_turn(),
            Some(HookEnd::Abort(error)) => self.fail(FailKind::Hook, error),
            Some(HookEnd::Finish(output)) => self.finished_by_hook(output),
        }
        Ok(())
    }

    fn finished_by_hook(&mut self, output: Value) {
        let checked = match &self.state.output {
            Some(schema) => check_value(schema, &output),
            None => Ok(()),
        };
        match checked {
            Ok(()) => {
                let output = self.state.has_output().then_some(output);
                self.end_with(Status::Answered, None, output, None);
            }
            Err(fault) => {
                let error =
                    format!("Failed to validate output from step.finish(): {fault}{RAW_OUTPUT}{output}");
                self.fail(FailKind::Parse, error.into());
            }
        }
    }
}

impl State {
    /// Whether a finished run has an output: an agent whose finish tool takes none never has.
    fn has_output(&self) -> bool {
        let none = |kind: ToolKind| kind == ToolKind::Finish(OutputForm::None);
        !self.tools.iter().any(|tool| none(tool.kind))
    }
}
