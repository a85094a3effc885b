//! Hooks: what follows from the edits that a hook makes after a step. They are part of the input and recorded, so that
//! replay runs no hook.

use serde_json::Value;
use windlass_schema::check_value;

use crate::codec::args::check_args;
use crate::codec::forms::ReadCall;
use crate::machine::decision::{Decided, Decision, RAW_OUTPUT};
use crate::policy::own_tools::branch::{BRANCH_TOOL, MAX_STEP_BRANCHES};
use crate::protocol::fact::HistoryEdited;
use crate::protocol::fact::calls::StepBranched;
use crate::protocol::input::{HookEnd, StepEdits};
use crate::state::open_call::{OpenCall, Origin, Stage};
use crate::state::{Phase, State};
use crate::vocabulary::ids::{ActionId, Text};
use crate::vocabulary::outcome::{CallOutcome, FailKind, Status};
use crate::vocabulary::reply::ReplyCall;
use crate::vocabulary::tool::{OutputForm, ToolKind};

impl Decision {
    pub(crate) fn hook_ended(&mut self, action: ActionId, edits: StepEdits) -> Decided {
        if !matches!(self.state.phase, Phase::Stepping { seq } if self.state.action(seq) == action) {
            return Err(self.unknown(action));
        }
        if !edits.branches.is_empty() {
            self.branch_off(edits.branches);
            return Ok(());
        }
        if let Some(adjusted) = edits.adjusted {
            self.record(adjusted);
        }
        if !edits.splices.is_empty() {
            let mut edited = self.state.conversation.history().clone();
            edited.edit(&edits.splices);
            if let Some(fault) = edited.fault() {
                let error = format!("the hook left a conversation that no provider accepts: {fault}");
                self.fail(FailKind::Hook, error.into());
                return Ok(());
            }
            self.record(HistoryEdited { splices: edits.splices, refused: None });
        }
        match edits.end {
            None => {
                self.notice_stuck();
                self.next_turn();
            }
            Some(HookEnd::Abort(error)) => self.fail(FailKind::Hook, error),
            Some(HookEnd::Finish(output)) => self.finished_by_hook(output),
        }
        Ok(())
    }

    /// Starts the branches that the hook asks for. Their results follow the step's, and then the hook is asked again.
    fn branch_off(&mut self, branches: Vec<Text>) {
        if self.state.turn.branched().len() + branches.len() > MAX_STEP_BRANCHES {
            let error = format!("the hook asked for more than {MAX_STEP_BRANCHES} branches after one step");
            self.fail(FailKind::Hook, error.into());
            return;
        }
        let before = self.state.turn.branched().len();
        let asked = branches.into_iter().enumerate();
        let calls = asked.map(|(place, args)| ReplyCall {
            id: Some(format!("branch_{}_{}", self.state.turn.number(), before + place + 1).into()),
            name: BRANCH_TOOL.into(),
            args,
        });
        let calls = self.identify(self.state.turn.number(), calls.map(ReadCall::from).collect());
        self.record(StepBranched { calls });
        self.start_branches();
    }

    /// Starts the branches of a hook that have not begun. What cannot be started is said first.
    pub(crate) fn start_branches(&mut self) {
        let queued = |open: &&OpenCall| matches!(open.stage(), Stage::Queued);
        let open: Vec<OpenCall> = self.open_calls().iter().filter(queued).cloned().collect();
        for open in open {
            if let Some(message) = self.cannot_branch(&open) {
                self.finish_call(open.call.id, CallOutcome::Malformed { message: message.into() });
            }
        }
        self.go_on();
    }

    /// Why a branch that a hook requested cannot be started. It is checked again when the branch's turn comes, because the
    /// tools may have changed and a new tool of the same name was not meant.
    pub(crate) fn cannot_branch(&self, open: &OpenCall) -> Option<String> {
        if *open.origin() != Origin::Hook {
            return None;
        }
        let args: Value = serde_json::from_str(&open.call.args).unwrap_or_default();
        let name = args.get("name").cloned().unwrap_or_default();
        let tool = self.state.tool(BRANCH_TOOL);
        if let Some(branch) = self.state.target(open).filter(|_| tool.is_some() && open.reaches()) {
            return check_args(branch, open.args()).err();
        }
        let tool = tool.filter(|tool| tool.kind == ToolKind::Branch);
        Some(
            tool.map_or_else(
                || "the agent has no branches".to_owned(),
                |tool| self.state.not_there(tool, &name),
            ),
        )
    }

    fn finished_by_hook(&mut self, output: Value) {
        let checked = match self.state.setup.output() {
            Some(schema) => check_value(schema, &output),
            None => Ok(()),
        };
        match checked {
            Ok(()) => {
                // Without an output of its own form, a run that is finished with a text is answered with it.
                if let Value::String(text) = &output
                    && self.state.setup.output().is_none()
                {
                    return self.end_with(Status::Answered, Some(text.as_str().into()), None, None);
                }
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
        !self.toolbox.all().iter().any(|tool| none(tool.kind))
    }
}
