//! The call that a question is about, in the run that would carry it out.

use serde_json::Value;
use windlass_core::run::{OpenCall, OpenQuestion};
use windlass_core::text::{display_name, display_value};
use windlass_core::{CallId, State, Text, ToolSpec};
use windlass_read::load;
use windlass_store::Log;

/// Maximum number of agents between a question and its call.
const MAX_DEPTH: usize = 32;

/// A call as a person judges it.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) id: CallId,
    pub(super) tool: Text,
    pub(super) args: Value,
    /// The tool's description; `None`: the run no longer has it.
    pub(super) spec: Option<ToolSpec>,
    /// Whether another agent makes the call, whose folder may be another one.
    pub(super) delegated: bool,
    /// The delegate that asks, as its lead calls it; `None`: the agent itself.
    pub(super) asks: Option<Text>,
}

impl Subject {
    /// The call of that question. `None`: the question is about no call, or the call cannot be read.
    pub(super) async fn of(state: &State, question: &OpenQuestion, log: &dyn Log) -> Option<Self> {
        let open = state.open_call(question.call.as_ref()?)?;
        let Some((mut run, asked)) = open.asks() else { return Some(Self::new(state, open)) };
        let (mut asked, delegate) = (asked.clone(), display_name(open.target_name()).into());
        for _ in 0..MAX_DEPTH {
            let child = load(log, run).await.ok()?;
            let question = child.questions().iter().find(|question| question.id == asked)?;
            let open = child.open_call(question.call.as_ref()?)?;
            match open.asks() {
                None => {
                    return Some(Self { delegated: true, asks: Some(delegate), ..Self::new(&child, open) });
                }
                Some((deeper, question)) => (run, asked) = (deeper, question.clone()),
            }
        }
        None
    }

    /// A call of a tool that the run no longer has, for tests.
    #[cfg(test)]
    pub(super) fn example(tool: &str, args: &Value) -> Self {
        Self {
            id: "c1".into(),
            tool: tool.into(),
            args: args.clone(),
            spec: None,
            delegated: false,
            asks: None,
        }
    }

    fn new(state: &State, open: &OpenCall) -> Self {
        let (tool, spec) = (open.target_name().clone(), state.target(open).cloned());
        Self { id: open.call.id.clone(), tool, args: open.value(), spec, delegated: false, asks: None }
    }

    /// The question without the call's id, which tells a person nothing.
    pub(super) fn without_id(&self, text: &str) -> String {
        text.replacen(&format!(" (call {})", display_name(self.id.as_str())), "", 1)
    }

    /// The question without the arguments, which stand below it. `None`: its text is another one.
    pub(super) fn lead(&self, text: &str) -> Option<String> {
        let tool = display_name(&self.tool);
        let whole = format!("May `{tool}` run with {}? ", display_value(&self.args));
        let place = text.find(&whole)?;
        let (before, after) = (text.get(..place)?, text.get(place + whole.len()..)?);
        Some(format!("{before}May `{tool}` run? {after}"))
    }
}
