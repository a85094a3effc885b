//! The prices that a limit on cost needs.

use std::sync::Arc;

use windlass_core::Policy;
use windlass_core::model::ModelChoice;
use windlass_core::policy::LimitKind;

use crate::agent::branches::OwnBranch;
use crate::agent::delegates::Delegate;
use crate::platform::error::Error;

/// A limit on cost needs the price of every model that may be asked (contract 15), including the models of the agent's
/// sub-agents and branches, because they are lent parts of the limit.
pub(crate) fn check_prices<'m>(
    agent: &str,
    policy: &Policy,
    mut models: impl Iterator<Item = &'m ModelChoice>,
    delegates: &[Arc<dyn Delegate>],
    branches: &[OwnBranch],
) -> Result<(), Error> {
    if !policy.bounds.limits.contains_key(&LimitKind::CostUsd) {
        return Ok(());
    }
    if let Some(model) = models.find(|model| model.prices.is_none()) {
        return Err(Error::UnknownPrice { agent: agent.to_owned(), model: model.name.clone() });
    }
    let delegates = delegates.iter().map(|delegate| (delegate.name(), delegate.unpriced()));
    let branches = branches.iter().map(|branch| (&**branch.agent.name(), branch.agent.unpriced()));
    match delegates.chain(branches).find_map(|(name, model)| Some((name, model?))) {
        Some((name, model)) => {
            let (agent, delegate) = (agent.to_owned(), name.to_owned());
            Err(Error::UnknownDelegatePrice { agent, delegate, model })
        }
        None => Ok(()),
    }
}
