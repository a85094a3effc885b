//! Prices of the models that an agent's runs may ask, those included that only a hook chooses.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::model::{ModelChoice, Prices};
use windlass_core::policy::LimitKind;
use windlass_core::{Policy, Text};
use windlass_models::Model;

use crate::agent::Agent;
use crate::branches::OwnBranch;
use crate::builder::AgentBuilder;
use crate::delegates::Delegate;
use crate::error::Error;

impl AgentBuilder {
    /// A model that is never asked by itself, but may be chosen by a hook.
    pub fn known_model(self, name: impl Into<Text>, model: Arc<dyn Model>) -> Self {
        self.known_model_with(ModelChoice { name: name.into(), ..ModelChoice::default() }, model)
    }

    /// A model that is never asked by itself, but may be chosen by a hook, with its prices: a limit on cost needs them.
    /// Its other settings are those of the model in whose place it is asked.
    pub fn known_model_with(mut self, choice: ModelChoice, model: Arc<dyn Model>) -> Self {
        self.known.push((choice, model));
        self
    }
}

impl Agent {
    /// A model that a run of this agent may ask, or one of an agent or branch that does tasks of it, whose price is unknown.
    pub(crate) fn unpriced(&self) -> Option<Text> {
        self.model_set().unpriced().cloned().or_else(|| self.toolset().unpriced())
    }
}

/// A limit on cost needs the price of every model that may be asked (contract 15), including the models of the agent's
/// sub-agents and branches, because they are lent parts of the limit.
pub(crate) fn check_prices<'m>(
    agent: &str,
    policy: &Policy,
    mut models: impl Iterator<Item = &'m ModelChoice>,
    (delegates, branches): (&[Arc<dyn Delegate>], &[OwnBranch]),
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
            Err(Error::UnknownPriceBelow { agent, delegate, model })
        }
        None => Ok(()),
    }
}

/// The prices that are known, by the models' names.
pub(crate) fn prices_of<'m>(models: impl Iterator<Item = &'m ModelChoice>) -> Arc<BTreeMap<Text, Prices>> {
    Arc::new(models.filter_map(|choice| Some((choice.name.clone(), choice.prices?))).collect())
}
