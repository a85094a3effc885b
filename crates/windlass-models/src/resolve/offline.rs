//! Owns `WINDLASS_OFFLINE`: a switch that keeps models on other machines from being asked.

use super::{Env, set};
use crate::{HttpModel, ModelError};

/// The variable that forbids calls of models on other machines: any value but `0`, `false`, `no` and `off` sets it.
pub const OFFLINE: &str = "WINDLASS_OFFLINE";

/// Whether [`OFFLINE`] is set.
pub fn is_offline(env: Env<'_>) -> bool {
    let off = |value: &str| ["0", "false", "no", "off"].iter().any(|no| value.eq_ignore_ascii_case(no));
    set(env, OFFLINE).is_some_and(|value| !off(value.trim()))
}

/// The model, unless it is offline and the model's server is not on a loopback address.
pub(super) fn admit(model: HttpModel, name: &str, env: Env<'_>) -> Result<HttpModel, ModelError> {
    let server = &model.server().endpoint;
    if is_offline(env) && !server.is_loopback() {
        return Err(ModelError::Offline { name: name.to_owned(), host: server.host.clone() });
    }
    Ok(model)
}
