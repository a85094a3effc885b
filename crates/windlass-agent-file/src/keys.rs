//! The keys of an agent file, at its top and in a branch.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use windlass_core::policy::LoopKeys;
use windlass_core::policy::{DefaultLoop, Merge, Transport};

use super::AgentFile;
use super::code::CodeKeys;
use super::delegates::{self, DelegateKeys};
use super::examples::{self, ExampleKeys};
use super::instructions::agents_md::{self, AgentsMdKey};
use super::instructions::{InstructionKeys, Instructions};
use super::json_schema::{OutputKeys, SchemaKeys, checked};
use super::kinds::{Filled, TextOr};
use super::loop_section::LoopSection;
use super::models::{self, ModelKeys};
use super::prompt::{PromptEntry, PromptKeys};
use super::reading::Reading;
use super::timeouts::AgentTimeouts;
use super::tools::skills::{self, SkillKeys};
use super::tools::{self, ToolKeys};
use crate::yaml::{At, Field, Problem, YamlError};

/// A part of the file that is decoded later, when another part is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deferred<T>(PhantomData<T>);

impl<'de, T> Deserialize<'de> for Deferred<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Deferred<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

fn yes() -> bool {
    true
}

macro_rules! agent_keys {
    ($($(#[$doc:meta])* $key:ident: $Type:ty,)*) => {
        /// An agent: its models, instructions, tools and loop.
        #[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub(super) struct AgentKeys {
            /// The agent's name. Default: the file's name without its ending.
            pub(super) name: Option<Filled>,
            /// Whether a server that finds the file in its folder of agents offers it. Default: true.
            #[schemars(with = "bool", default = "yes")]
            serve: Option<bool>,
            $($(#[$doc])* $key: $Type,)*
        }

        /// A branch: it begins with this agent's conversation and may call its tools. It has the keys of an agent file.
        #[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        #[schemars(rename = "branch", extend("required" = ["instructions"]))]
        pub(super) struct BranchKeys {
            /// Default merge mode. A branch without an output is summarized in any case.
            merge: Merge,
            $($(#[$doc])* $key: $Type,)*
        }

        /// Keys that both kinds have.
        struct Body { $($key: $Type,)* }

        impl From<AgentKeys> for Body {
            fn from(keys: AgentKeys) -> Self {
                Self { $($key: keys.$key,)* }
            }
        }

        impl From<BranchKeys> for Body {
            fn from(keys: BranchKeys) -> Self {
                Self { $($key: keys.$key,)* }
            }
        }
    };
}

agent_keys! {
    /// Description of the agent.
    description: String,
    /// The model: provider/model, auto (the first that is set up) or tour (offline); with settings; or a list: fallbacks in
    /// order.
    model: Option<At<ModelKeys>>,
    /// Instructions for the model: a minijinja template in which the run's input is `input`.
    instructions: Option<At<InstructionKeys>>,
    /// How the system message is made of the instructions, which are the objective then: `plain` (as they are, the default), `react`
    /// (a scaffold of objective, tools, and how to think, act and observe), either with more instructions, or a template.
    prompt: Option<At<PromptKeys>>,
    /// The `AGENTS.md` of the working folder as instructions after the agent's own (`true`), or that of a folder, which starts from the
    /// folder of the file. The nearest one counts, up to the root of the repository.
    agents_md: Option<At<AgentsMdKey>>,
    /// Agent Skills: folders whose `SKILL.md` the model reads when a task needs it, or such folders with settings.
    skills: Option<At<SkillKeys>>,
    /// Worked examples, sent before the input. Small models need them.
    examples: Vec<At<ExampleKeys>>,
    /// A typed input.
    input: Option<SchemaKeys>,
    /// A typed output. An agent with one and without a preset gets the preset `typed`: in one turn if it has neither tools nor
    /// agents, else with ten model calls.
    output: Option<At<OutputKeys>>,
    /// The tools.
    tools: Vec<At<ToolKeys>>,
    /// Delegates, each offered as a tool of its name with one argument `task`: the path of an agent file, that with another name,
    /// a remote agent, or a branch.
    agents: Vec<At<TextOr<DelegateKeys>>>,
    /// The loop: a preset, and what differs from it.
    #[serde(rename = "loop")]
    loop_: Option<At<Deferred<LoopKeys>>>,
    /// Timeouts of model calls, tools and child runs.
    timeouts: AgentTimeouts,
    /// Retries of the transport. They use up no model calls.
    retry: Transport,
    /// Code mode: the model writes Python that calls tools.
    code: CodeKeys,
}

impl AgentKeys {
    pub(super) fn file(mut self, reading: &mut Reading<'_>) -> Result<AgentFile, YamlError> {
        let name = self.name.take().map_or_else(|| reading.default_name(), |name| name.0);
        let serve = self.serve.unwrap_or(true);
        let mut file = Body::from(self).file("", name, reading)?;
        file.serve = serve;
        file.unmasked = std::mem::take(&mut reading.unmasked);
        file.unchecked = std::mem::take(&mut reading.unchecked);
        file.literal_secrets = std::mem::take(&mut reading.literal_secrets);
        file.remarks = reading.remarks.take();
        file.working_folder = reading.working_folder.take();
        file.texts = reading.texts.take();
        Ok(file)
    }
}

impl At<BranchKeys> {
    pub(super) fn file(
        &self,
        name: String,
        reading: &mut Reading<'_>,
    ) -> Result<(AgentFile, Merge), YamlError> {
        if self.value.instructions.is_none() {
            let problem = Problem::MissingKey { path: self.path.clone(), key: "instructions".to_owned() };
            return Err(YamlError::new(self.place, format!("{}.instructions", self.path), problem));
        }
        let file = Body::from(self.value.clone()).file(&self.path, name, reading)?;
        Ok((file, self.value.merge))
    }
}

impl Body {
    /// The file of these keys, which stand at that path of the document.
    fn file(self, path: &str, name: String, reading: &mut Reading<'_>) -> Result<AgentFile, YamlError> {
        let schema = |keys: Option<SchemaKeys>, reading: &mut Reading<'_>| {
            keys.map(|keys| checked(&keys.schema, reading)).transpose()
        };
        let models = self.model.map(|model| models::entries(&model, reading)).transpose()?;
        let instructions = self.instructions.as_ref();
        let instructions = instructions.map(|keys| Instructions::read(keys, reading)).transpose()?;
        let prompt = self.prompt.map(|keys| PromptEntry::read(&keys, reading)).transpose()?;
        let agents_md = self.agents_md.as_ref().map(|key| agents_md::read(key, reading)).transpose()?;
        let skills =
            self.skills.as_ref().map(|keys| skills::read(keys, reading)).transpose()?.unwrap_or_default();
        let examples = self.examples.into_iter().map(examples::example).collect::<Result<_, _>>()?;
        if let (None, "", Some(read), Some(keys)) = (&self.input, path, &instructions, &self.instructions) {
            read.check_text_input(keys, reading)?;
        }
        let takes = self.input.as_ref().map_or(Ok(()), SchemaKeys::takes_objects);
        let input_schema = schema(self.input, reading)?;
        takes?;
        let output_mode = self.output.as_ref().and_then(|output| output.value.mode);
        let output_json = self.output.as_ref().is_some_and(|output| output.value.json);
        let output_schema = self.output.map(|output| output.checked(reading)).transpose()?;
        let has_no_tools = self.tools.is_empty() && skills.is_empty();
        let tools::Entries { called: tools, hosted } = tools::entries(&self.tools, reading)?;
        let agents = self.agents.iter().map(|keys| delegates::entry(keys, reading));
        let agents = agents.collect::<Result<_, _>>()?;
        let section = self.loop_.and_then(|section| Some((reading.root.at(&section.path)?, section.path)));
        let default_loop =
            DefaultLoop::of(output_schema.is_some(), !(has_no_tools && self.agents.is_empty()));
        let section = section.map(|(node, path)| LoopSection::read(&Field::new(node, path), default_loop));
        Ok(AgentFile {
            name,
            description: self.description,
            models: models.unwrap_or_default(),
            instructions: instructions.unwrap_or_default(),
            prompt: prompt.unwrap_or_default(),
            agents_md: agents_md.flatten(),
            skills,
            examples,
            input_schema,
            output_schema,
            output_mode,
            output_json,
            tools,
            hosted,
            agents,
            loop_section: section.transpose()?.unwrap_or_default(),
            timeout_settings: self.timeouts.into(),
            retry: self.retry,
            code: self.code.into(),
            serve: true,
            folder: reading.folder.clone(),
            file: reading.file.clone(),
            unmasked: Vec::new(),
            unchecked: Vec::new(),
            literal_secrets: Vec::new(),
            remarks: Vec::new(),
            working_folder: None,
            texts: Vec::new(),
            node: reading.root.at(path).unwrap_or(reading.root).clone(),
        })
    }
}
