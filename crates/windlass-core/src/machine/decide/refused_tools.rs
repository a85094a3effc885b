//! A provider refuses a request because of one tool: the run goes on without it (E58).

use crate::machine::decision::Decision;
use crate::protocol::fact::Adjusted;
use crate::protocol::fact::refused::RefusedTool;
use crate::protocol::fact::turns::{TurnFailed, TurnStarted};
use crate::state::model_calls::ModelCall;
use crate::vocabulary::purpose::ToolChoice;
use crate::vocabulary::reply::ModelFailure;
use crate::vocabulary::tool::ToolKind;

impl Decision {
    /// Takes the tool out that the provider names, and asks the same turn again. A tool that the request cannot do without stays: the
    /// one that it demands, and the one that ends the run.
    pub(crate) fn one_tool_refused(&mut self, model_call: &ModelCall, failure: &ModelFailure) -> bool {
        let Some(name) = failure.tool() else { return false };
        let demanded = matches!(model_call.choice(), ToolChoice::Named(demanded) if demanded == name);
        let offered =
            self.state.toolbox.visible().iter().find(|tool| tool.name == *name && tool.is_offered());
        let Some(tool) = offered.filter(|_| !demanded) else { return false };
        if matches!(tool.kind, ToolKind::Finish(_)) {
            return false;
        }
        let model =
            self.state.setup.models().get(model_call.model() as usize).map(|model| model.name.clone());
        let refused = RefusedTool {
            tool: name.clone(),
            model: model.unwrap_or_default(),
            message: failure.message.clone(),
        };
        let retry_at = Some(self.at);
        self.record(TurnFailed { retry_at, ..TurnFailed::last(model_call, failure.clone()) });
        self.record(Adjusted { refused: Some(refused), ..Adjusted::default() });
        self.begin(TurnStarted { attempt: 1, ..model_call.again() });
        true
    }
}
