//! Prices of the models that an agent's runs may ask, those included that only a hook chooses.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::{LimitKind, ModelChoice, Policy, Prices, Text};
use windlass_models::Model;

use crate::builder::AgentBuilder;
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

/// A limit on cost needs the price of every model that may be asked (contract 15).
pub(crate) fn check_prices<'m>(
    agent: &str,
    policy: &Policy,
    mut models: impl Iterator<Item = &'m ModelChoice>,
) -> Result<(), Error> {
    let limited = policy.bounds.limits.contains_key(&LimitKind::CostUsd);
    match models.find(|model| limited && model.prices.is_none()) {
        Some(model) => Err(Error::UnknownPrice { agent: agent.to_owned(), model: model.name.clone() }),
        None => Ok(()),
    }
}

/// The prices that are known, by the models' names.
pub(crate) fn prices_of<'m>(models: impl Iterator<Item = &'m ModelChoice>) -> Arc<BTreeMap<Text, Prices>> {
    Arc::new(models.filter_map(|choice| Some((choice.name.clone(), choice.prices?))).collect())
}
