//! The models of an agent in the making. Names are looked up when the agent is built.

use std::sync::Arc;

use windlass_core::model::{ModelChoice, Role};
use windlass_core::policy::Preset;
use windlass_core::{Policy, Text};
use windlass_models::providers::list_price;
use windlass_models::{Model, ModelSettings, Timeouts, Tour, resolve};

use super::AgentBuilder;
use crate::agent::models::Chosen;
use crate::platform::error::Error;

/// A model for [`AgentBuilder::model`]: a name such as `openai/gpt-5-mini`, or a name with a model, `("mine", model)`.
#[derive(Clone, Debug)]
pub struct ModelRef {
    choice: ModelChoice,
    /// `None`: it is looked up by its name.
    model: Option<Arc<dyn Model>>,
}

impl From<&str> for ModelRef {
    fn from(name: &str) -> Self {
        let choice = ModelChoice { name: name.into(), prices: list_price(name), ..ModelChoice::default() };
        Self { choice, model: None }
    }
}

impl From<String> for ModelRef {
    fn from(name: String) -> Self {
        name.as_str().into()
    }
}

impl From<Tour> for ModelRef {
    fn from(tour: Tour) -> Self {
        ("tour", tour).into()
    }
}

impl<N: Into<Text>, M: Model + 'static> From<(N, M)> for ModelRef {
    fn from((name, model): (N, M)) -> Self {
        Self::given(ModelChoice { name: name.into(), ..ModelChoice::default() }, Arc::new(model))
    }
}

impl ModelRef {
    pub(super) fn given(choice: ModelChoice, model: Arc<dyn Model>) -> Self {
        Self { choice, model: Some(model) }
    }

    fn ready(&self, timeouts: Timeouts) -> Result<Chosen, Box<windlass_models::ModelError>> {
        let Self { choice, model } = self;
        let model = if let Some(model) = model {
            model.clone()
        } else {
            let settings = ModelSettings { timeouts, ..ModelSettings::named(&*choice.name) };
            resolve(&settings, &|variable| std::env::var(variable).ok())?
        };
        let key_from = || model.key_from().map(Text::from);
        let choice =
            ModelChoice { key_command: choice.key_command.clone().or_else(key_from), ..choice.clone() };
        Ok((choice, model))
    }
}

impl AgentBuilder {
    /// A model. The first is asked first; the others stand in for it, in order, when it fails for good.
    ///
    /// A name is looked up as in an agent file when the agent is built, with the provider's default environment variables. A model
    /// object comes with the name under which it is called and shown.
    ///
    /// ```
    /// use windlass_error::Diagnostic as _;
    /// use windlass_models::{HttpModel, HttpModelConfig};
    /// use windlass_runtime::Agent;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = HttpModel::new(HttpModelConfig::openai_chat("mine", "http://127.0.0.1:8000"))?;
    /// let agent = Agent::builder("helper").model("ollama/qwen3").model(("mine/qwen3-30b", server)).build()?;
    /// assert_eq!(agent.models().len(), 2);
    ///
    /// let unknown = Agent::builder("helper").model("olama/qwen3").build().unwrap_err();
    /// assert_eq!(unknown.to_string(), "cannot use model `olama/qwen3` of agent `helper`");
    /// assert!(unknown.help().unwrap().starts_with("did you mean ollama or llama? Supported are "));
    /// # Ok(())
    /// # }
    /// ```
    pub fn model(mut self, model: impl Into<ModelRef>) -> Self {
        self.models.push(model.into());
        self
    }

    /// A model with its settings.
    pub fn model_with(mut self, choice: ModelChoice, model: Arc<dyn Model>) -> Self {
        self.models.push(ModelRef::given(choice, model));
        self
    }

    /// The model for simple turns: those that only follow up on results of tools. Once it has failed for good, the run's
    /// other models are asked in its place.
    pub fn simple_model(self, model: impl Into<ModelRef>) -> Self {
        self.with_role(Role::Simple, model)
    }

    /// The model that sums up messages and long results. Once it has failed for good, the run's other models are asked in
    /// its place.
    pub fn summary_model(self, model: impl Into<ModelRef>) -> Self {
        self.with_role(Role::Summarise, model)
    }

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

    fn with_role(mut self, role: Role, model: impl Into<ModelRef>) -> Self {
        let mut model = model.into();
        model.choice.role = role;
        self.models.push(model);
        self
    }

    /// The model that the policy names for summaries, unless the agent has it. One of its models keeps its settings.
    fn add_summariser(&mut self, policy: &Policy) {
        let Some(name) = &policy.past.context.model else { return };
        let named = |model: &&ModelRef| model.choice.name == *name;
        if self.models.iter().filter(named).any(|model| model.choice.role == Role::Summarise) {
            return;
        }
        let own = self.models.iter().find(named);
        let mut model = own.map_or_else(|| ModelRef::from(&**name), ModelRef::clone);
        model.choice.role = Role::Summarise;
        self.models.push(model);
    }

    /// The models, those that were only named included. Models with a role come after all others, so that the first one
    /// is the main model.
    pub(super) fn chosen_models(&mut self, policy: &Policy) -> Result<Vec<Chosen>, Error> {
        self.add_summariser(policy);
        let is_main = |model: &&ModelRef| model.choice.role == Role::Main;
        if !self.models.iter().any(|model| is_main(&model)) {
            return Err(Error::NoModel { agent: self.name.to_string() });
        }
        let total_ms = Preset::named(&policy.preset).map(|preset| preset.total_ms);
        let timeouts = Timeouts::default();
        let timeouts = Timeouts { total_ms: total_ms.unwrap_or(timeouts.total_ms), ..timeouts };
        let main = self.models.iter().filter(is_main);
        let ready = main.chain(self.models.iter().filter(|model| !is_main(model))).map(|model| {
            model.ready(timeouts).map_err(|source| Error::Model {
                agent: self.name.to_string(),
                model: model.choice.name.clone(),
                source,
            })
        });
        ready.collect()
    }
}
