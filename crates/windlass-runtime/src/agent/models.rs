//! The models of an agent, and what this process has detected of them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use windlass_core::model::{ModelChoice, OutputBy, Prices};
use windlass_core::policy::Wire;
use windlass_core::secret::{Secret, mask};
use windlass_core::{Policy, State, Text};
use windlass_models::{Known, Model, PrefixCell};

use crate::agent::binding::joined;
use crate::agent::output::Wanted;
use crate::platform::capabilities::{self, Detected};

/// A model with its settings, ready to be asked.
pub(crate) type Chosen = (ModelChoice, Arc<dyn Model>);

/// Models by name, in the order of fallback.
#[derive(Clone)]
pub(crate) struct ModelSet {
    pub(crate) by_name: BTreeMap<Text, Arc<dyn Model>>,
    pub(crate) choices: Arc<Vec<ModelChoice>>,
    /// Statements of the models about themselves, in the order of `choices`: asked for once, by the first run.
    stated: Arc<OnceLock<Vec<Known>>>,
    /// How each is asked for the agent's output as far as is known of it, in that order: found by the first run.
    outputs: Arc<OnceLock<Vec<Option<OutputBy>>>>,
    /// Abilities of models without an id that runs of this process detected.
    detected: Arc<RwLock<BTreeMap<Text, Detected>>>,
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
            outputs: Arc::default(),
            detected: Arc::default(),
            prefix: PrefixCell::default(),
            prices,
        }
    }

    /// The models with what is known of them: what their providers' entries say, and their detected wires, from this process, from the
    /// run of the same agent that a session continues, or from what is [kept](capabilities).
    pub(crate) fn known(&self, wanted: Wanted<'_>, base: Option<&State>, now: u64) -> Arc<Vec<ModelChoice>> {
        let (own, policy) = (&self.choices, wanted.policy);
        let before = |name: &Text| base?.models().iter().find(|model| model.name == *name);
        let open = policy.request.wire == Wire::Auto;
        let sampled = policy.request.temperature.is_some();
        let asked = wanted.is_open();
        if !open && !sampled && !asked {
            return own.clone();
        }
        let outputs: &[Option<OutputBy>] = if asked { self.outputs(wanted) } else { &[] };
        let detected_here = self.detected.read().unwrap_or_else(PoisonError::into_inner);
        let known = own.iter().zip(self.stated()).enumerate().map(|(place, (model, stated))| {
            let name = &model.name;
            let Known { id, structured, wire, sampling } = stated;
            // A secret that was registered since is masked in what is kept.
            let kept = id.as_deref().filter(|_| !capabilities::is_empty());
            let kept = kept.map(|id| capabilities::detected(&mask(id), now)).unwrap_or_default();
            let here = detected_here.get(name).copied().unwrap_or_default();
            let mut known = model.clone();
            known.sampling = model.sampling.or(sampling.filter(|_| sampled));
            if open {
                let before = || before(name)?.wire;
                known.structured = model.structured.or(*structured);
                known.wire = here.wire.or_else(before).or(kept.wire).or(*wire);
            }
            if asked {
                let otherwise = wanted.otherwise();
                let refused = here.no_native_output
                    || kept.no_native_output
                    || before(name).is_some_and(|before| before.output == Some(otherwise));
                let stated = || model.output.or_else(|| outputs.get(place).copied().flatten());
                known.output = if refused { Some(otherwise) } else { stated() };
            }
            known
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

    /// How each model is asked for the output, before anything is learnt of it by asking.
    fn outputs(&self, wanted: Wanted<'_>) -> &[Option<OutputBy>] {
        let by = |choice: &ModelChoice| wanted.by(&**self.by_name.get(&choice.name)?, choice);
        self.outputs.get_or_init(|| self.choices.iter().map(by).collect())
    }

    /// How a model is asked for the output, by its file and by what is known of it.
    fn stated_output(&self, name: &Text) -> Option<OutputBy> {
        let (place, own) = self.choices.iter().enumerate().find(|(_, own)| own.name == *name)?;
        own.output.or_else(|| self.outputs.get()?.get(place).copied().flatten())
    }

    /// Stores what a run detected for later runs: wires, and servers that hold no reply to a schema.
    pub(crate) fn learn(&self, models: &[ModelChoice], now: u64) {
        for choice in models {
            let Some(model) = self.by_name.get(&choice.name) else { continue };
            let refused = matches!(choice.output, Some(OutputBy::Tool | OutputBy::Prompt))
                && choice.output != self.stated_output(&choice.name);
            if choice.wire.is_none() && !refused {
                continue;
            }
            let change = |known: &mut Detected| {
                known.wire = choice.wire.or(known.wire);
                known.no_native_output |= refused;
            };
            if let Some(id) = model.known(&choice.name).id {
                capabilities::learn(&id, change, now);
            } else {
                let mut detected = self.detected.write().unwrap_or_else(PoisonError::into_inner);
                change(detected.entry(choice.name.clone()).or_default());
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
    Arc::new(models.filter_map(|choice| Some((choice.name.clone(), choice.prices.clone()?))).collect())
}
