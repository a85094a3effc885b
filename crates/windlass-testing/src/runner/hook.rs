//! The hook of a case: its scripted edits.

use futures_core::future::BoxFuture;
use windlass_core::{CallId, Message};
use windlass_runtime::{Step, StepHook};

use crate::fixture::HookEdit;
use crate::schedule::Turns;

/// Makes the edits of a case after its steps.
#[derive(Debug)]
pub(super) struct ScriptedHook {
    pub(super) edits: Vec<HookEdit>,
    /// Decides which ready work goes first under a seed.
    pub(super) turns: Turns,
}

impl StepHook for ScriptedHook {
    fn on_step(&self, mut step: Step) -> BoxFuture<'_, Result<Step, String>> {
        let counter = step.counter;
        let now = || self.edits.iter().filter(|edit| u64::from(edit.after_step) == counter);
        for branch in now().filter_map(|edit| edit.branch.as_ref()) {
            // What came of it stands in the conversation.
            let _result = step.branch(&branch.name, branch.merge, branch.input.clone());
        }
        if step.asks_for_branches() {
            return Box::pin(async move {
                self.turns.rest().await;
                Ok(step)
            });
        }
        let made = now().map(|edit| make(edit, &mut step)).collect::<Result<Vec<()>, String>>();
        Box::pin(async move {
            self.turns.rest().await;
            made.map(|_| step)
        })
    }
}

fn make(edit: &HookEdit, step: &mut Step) -> Result<(), String> {
    if let Some(reason) = &edit.abort {
        return Err(reason.clone());
    }
    if let Some(set) = &edit.set {
        if let Some(model) = &set.model {
            step.model = model.as_str().into();
        }
        step.temperature = set.temperature.or(step.temperature);
        step.max_tokens = set.max_tokens.or(step.max_tokens);
    }
    let unknown = |name: &String| format!("line {}: there is no tool `{name}`", edit.line);
    for name in &edit.add_tools {
        step.add_tool(name).then_some(()).ok_or_else(|| unknown(name))?;
    }
    for name in &edit.remove_tools {
        step.remove_tool(name).then_some(()).ok_or_else(|| unknown(name))?;
    }
    for (call, text) in &edit.tool_results {
        let known = step.set_result(&CallId::from(call.as_str()), text.as_str());
        known.then_some(()).ok_or_else(|| format!("line {}: there is no call {call}", edit.line))?;
    }
    if let Some(history) = &edit.history {
        if let Some(count) = history.keep_last {
            step.keep_last(usize::try_from(count).unwrap_or(usize::MAX));
        }
        history.append.iter().for_each(|message| step.append(Message::clone(message)));
    }
    if let Some(output) = &edit.finish {
        step.finish(output.clone());
    }
    Ok(())
}
