//! The models of an agent, and what this process has detected of them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use windlass_core::model::{ModelChoice, Prices};
use windlass_core::policy::Wire;
use windlass_core::secret::{Secret, mask};
use windlass_core::{Policy, State, Text};
use windlass_models::{Known, Model, PrefixCell};

use crate::agent::binding::joined;
use crate::platform::capabilities;

/// The name of a reply's format, where a reply in text must be an output.
pub(crate) const OUTPUT_NAME: &str = "output";

/// A model with its settings, ready to be asked.
pub(crate) type Chosen = (ModelChoice, Arc<dyn Model>);

/// Models by name, in the order of fallback.
#[derive(Clone)]
pub(crate) struct ModelSet {
    pub(crate) by_name: BTreeMap<Text, Arc<dyn Model>>,
    pub(crate) choices: Arc<Vec<ModelChoice>>,
    /// Statements of the models about themselves, in the order of `choices`: asked for once, by the first run.
    stated: Arc<OnceLock<Vec<Known>>>,
    /// Wires detected by runs of this process: the ones for models that refuse tools.
    pub(crate) wires: Arc<RwLock<BTreeMap<Text, Wire>>>,
    /// Forms and encodings of its tools' schemas, shared by the requests of all its runs.
    pub(crate) prefix: PrefixCell,
    /// The prices of all models that a run may ask, those included that only a hook chooses.
    pub(crate) prices: Arc<BTreeMap<Text, Prices>>,
}

impl ModelSet {
    /// The models in the order of fallback, and others that only a hook chooses.
    pub(crate) fn new(models: Vec<Chosen>, known: Vec<Chosen>) -> Self {
        let choices: Vec<ModelChoice> = models.iter().map(|(choice, _)| choice.clone()).collect();
        let prices = prices_of(choices.iter().chain(known.iter().map(|(choice, _)| choice)));
        let all = models.into_iter().chain(known);
        Self {
            by_name: all.map(|(choice, model)| (choice.name, model)).collect(),
            choices: Arc::new(choices),
            stated: Arc::default(),
            wires: Arc::default(),
            prefix: PrefixCell::default(),
            prices,
        }
    }

    /// The models with what is known of them: what their providers' entries say, and their detected wires, from this process, from the
    /// run of the same agent that a session continues, or from what is [kept](capabilities).
    pub(crate) fn known(&self, policy: &Policy, base: Option<&State>, now: u64) -> Arc<Vec<ModelChoice>> {
        let own = &self.choices;
        let before = |name: &Text| base?.models().iter().find(|model| model.name == *name)?.wire;
        let open = policy.request.wire == Wire::Auto;
        let sampled = policy.request.temperature.is_some();
        if !open && !sampled {
            return own.clone();
        }
        let detected_here = self.wires.read().unwrap_or_else(PoisonError::into_inner);
        let known = own.iter().zip(self.stated()).map(|(model, stated)| {
            let name = &model.name;
            let Known { id, structured, wire, sampling } = stated;
            let sampling = model.sampling.or(sampling.filter(|_| sampled));
            if !open {
                return ModelChoice { sampling, ..model.clone() };
            }
            // A secret that was registered since is masked in what is kept.
            let remembered = || {
                let id = id.as_deref().filter(|_| !capabilities::is_empty())?;
                capabilities::wire_of(&mask(id), now)
            };
            let own = detected_here.get(name).copied().or_else(|| before(name));
            ModelChoice {
                structured: model.structured.or(*structured),
                sampling,
                wire: own.or_else(remembered).or(*wire),
                ..model.clone()
            }
        });
        let known: Vec<ModelChoice> = known.collect();
        if known == **own { own.clone() } else { Arc::new(known) }
    }

    fn stated(&self) -> &[Known] {
        let stated = |choice: &ModelChoice| {
            let model = self.by_name.get(&choice.name);
            model.map(|model| model.known(&choice.name)).unwrap_or_default()
        };
        self.stated.get_or_init(|| self.choices.iter().map(stated).collect())
    }

    /// Stores the wires that a run detected for later runs.
    pub(crate) fn learn(&self, models: &[ModelChoice], now: u64) {
        for choice in models {
            let (Some(model), Some(wire)) = (self.by_name.get(&choice.name), choice.wire) else { continue };
            if let Some(id) = model.known(&choice.name).id {
                capabilities::learn(&id, wire, now);
            } else {
                let mut wires = self.wires.write().unwrap_or_else(PoisonError::into_inner);
                wires.insert(choice.name.clone(), wire);
            }
        }
    }

    /// Addresses of the agent's models. The part has no name of its own, because whether there are addresses depends on what
    /// `auto` finds.
    pub(crate) fn bound(&self) -> String {
        let bound = self.by_name.iter().map(|(name, model)| (name, model.binding()));
        let of = |(name, parts): (&Text, Vec<(String, Secret)>)| {
            let parts = parts.iter().flat_map(|(part, value)| [part.as_str(), value.expose()]);
            joined(std::iter::once(&**name).chain(parts))
        };
        let all: Vec<String> = bound.filter(|(_, parts)| !parts.is_empty()).map(of).collect();
        joined(all.iter().map(String::as_str))
    }

    /// A model that may be asked and whose price is unknown.
    pub(crate) fn unpriced(&self) -> Option<&Text> {
        self.by_name.keys().find(|name| !self.prices.contains_key(*name))
    }

    /// The same models for summaries under a policy: a temperature of the policy is for all of them.
    pub(crate) fn for_summaries(&self, policy: &Policy) -> Self {
        let mut choices = Vec::clone(&self.choices);
        if policy.request.temperature.is_some() {
            for choice in &mut choices {
                choice.temperature = None;
            }
        }
        Self { choices: Arc::new(choices), ..self.clone() }
    }
}

/// The prices that are known, by the models' names.
fn prices_of<'m>(models: impl Iterator<Item = &'m ModelChoice>) -> Arc<BTreeMap<Text, Prices>> {
    Arc::new(models.filter_map(|choice| Some((choice.name.clone(), choice.prices?))).collect())
}
