//! Names the setting that a provider refuses a request for: the run goes on without it.

use windlass_core::{InputKind, State};

use crate::agent::Agent;

/// Names the setting in a failure whose words name one.
pub(crate) fn name_refused(agent: &Agent, state: &State, what: &mut InputKind) {
    let InputKind::ModelFailed { action, failure, .. } = what else { return };
    let Some(request) = state.request(*action).filter(|_| failure.may_name_setting()) else { return };
    let setting =
        agent.model(&request.model.name).and_then(|model| model.refused_setting(request.model, failure));
    if let Some(setting) = setting {
        failure.detail.get_or_insert_default().setting = Some(setting.into());
    }
}
