//! Building an agent, and refusing what cannot work before anything runs.

pub(crate) mod branch;
mod digests;
mod finishing;
mod iterations;
pub(crate) mod models;
mod people;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use windlass_agent_file::Written;
use windlass_code::Code;
use windlass_core::event::AgentRef;
use windlass_core::policy::{LimitKind, LimitValue, OutputMode};
use windlass_core::tool::HostedTool;
use windlass_core::{Message, Policy, Text, ToolSpec};
use windlass_store::{MemoryLog, Store};
use windlass_tools::skills::Skills;
use windlass_tools::{SharedService, Tool, ToolSet, ToolSetError};

use crate::agent::binding::digested;
use crate::agent::changes::reachable;
use crate::agent::delegates::Delegate;
use crate::agent::edges::Edges;
use crate::agent::files::AgentFiles;
use crate::agent::hooks::{OutputChecks, Step, StepFn, StepHook};
use crate::agent::models::{Chosen, ModelSet};
use crate::agent::people::People;
use crate::agent::prices::check_prices;
use crate::agent::prompt::{PromptBuilder, PromptContext, PromptFn};
use crate::agent::schemas::check_schemas;
use crate::agent::source::ToolSource;
use crate::agent::spec::AgentSpec;
use crate::agent::toolset::{Current, Toolbox, Toolset, further_tools, with_further};
use crate::agent::{Agent, Parts};
use crate::platform::environment::{Environment, SystemEnvironment};
use crate::platform::error::Error;
use branch::Branch;
use digests::with_branches;
use finishing::{check_hosted, check_names, check_output, check_required, schema_of};
use iterations::iterates;
use models::ModelRef;

/// An agent in the making.
#[derive(Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct AgentBuilder {
    name: Text,
    description: Text,
    instructions: String,
    /// Whether the instructions are no template.
    verbatim: bool,
    /// Added to the instructions, one sentence or rule each.
    extra: Vec<String>,
    /// Texts at the end of the system message.
    appendix: Vec<String>,
    prompt: Option<Arc<dyn PromptBuilder>>,
    examples: Vec<Message>,
    policy: Option<Policy>,
    settings: Option<Value>,
    limits: Vec<(LimitKind, LimitValue)>,
    search: bool,
    input: Option<Value>,
    output: Option<Value>,
    output_mode: Option<OutputMode>,
    hook: Option<Arc<dyn StepHook>>,
    checks: OutputChecks,
    people: Option<Arc<dyn People>>,
    delegates: Vec<Arc<dyn Delegate>>,
    /// With whether models are offered them.
    branches: Vec<(Branch, bool)>,
    tools: ToolSet,
    tools_error: Option<ToolSetError>,
    models: Vec<ModelRef>,
    pub(crate) known: Vec<Chosen>,
    sources: Vec<Arc<dyn ToolSource>>,
    services: Vec<SharedService>,
    /// Tools that the model's provider runs.
    hosted: Vec<ToolSpec>,
    /// Parts of the agent's file other than tools.
    written: Written,
    /// The files that the agent is made of.
    files: Option<Arc<AgentFiles>>,
    /// The names of models that were chosen here and now: `auto` in the file.
    chosen: Vec<Text>,
    log: Option<Arc<dyn Store>>,
    /// The program that runs code.
    code: Option<Code>,
    environment: Arc<dyn Environment>,
}

impl AgentBuilder {
    pub(crate) fn new(name: Text) -> Self {
        Self {
            name,
            description: "".into(),
            instructions: String::new(),
            verbatim: false,
            extra: Vec::new(),
            appendix: Vec::new(),
            prompt: None,
            examples: Vec::new(),
            policy: None,
            settings: None,
            limits: Vec::new(),
            search: false,
            output_mode: None,
            input: None,
            output: None,
            hook: None,
            checks: OutputChecks::default(),
            people: None,
            delegates: Vec::new(),
            branches: Vec::new(),
            tools: ToolSet::default(),
            tools_error: None,
            models: Vec::new(),
            known: Vec::new(),
            sources: Vec::new(),
            services: Vec::new(),
            hosted: Vec::new(),
            written: Written::default(),
            files: None,
            chosen: Vec::new(),
            log: None,
            code: None,
            environment: Arc::new(SystemEnvironment),
        }
    }

    /// The description: the purpose in words.
    pub fn description(mut self, text: impl Into<Text>) -> Self {
        self.description = text.into();
        self
    }

    /// The instructions: text, or a minijinja template that sees the input as `input`. Empty: no system message.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = text.into();
        self.verbatim = false;
        self
    }

    /// The instructions as they stand: no template, braces stay braces.
    pub fn verbatim_instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = text.into();
        self.verbatim = true;
        self
    }

    /// Makes the system message of each run from its objective (the instructions), its tools and its context, such as
    /// [`React`](crate::React). What it made is recorded: resumed runs, forks and replays do not call the builder.
    pub fn prompt(mut self, builder: impl PromptBuilder + 'static) -> Self {
        self.prompt = Some(Arc::new(builder));
        self
    }

    /// [`prompt`](Self::prompt) as a function.
    pub fn prompt_fn(
        self,
        generate: impl Fn(&str, &[ToolSpec], &PromptContext) -> Result<String, String> + Send + Sync + 'static,
    ) -> Self {
        self.prompt(PromptFn(generate))
    }

    /// Instructions that follow the others as a list. Each is text, or a template as they are. With a prompt builder they are
    /// refused: give them to the builder.
    pub fn extra_instructions<T: Into<String>>(mut self, texts: impl IntoIterator<Item = T>) -> Self {
        self.extra.extend(texts.into_iter().map(Into::into));
        self
    }

    /// Text at the end of the system message, whatever makes that. It stands as it is: it is no template.
    pub fn appendix(mut self, text: impl Into<String>) -> Self {
        self.appendix.push(text.into());
        self
    }

    /// Agent Skills: the system message names them, and a tool gives the text of one when the model needs it.
    pub fn skills(self, skills: &Skills) -> Self {
        let builder = if skills.is_empty() { self } else { self.appendix(skills.section()) };
        skills.tools().into_iter().fold(builder, Self::shared_tool)
    }

    /// Worked examples, sent before the input.
    pub fn examples(mut self, messages: impl IntoIterator<Item = Message>) -> Self {
        self.examples.extend(messages);
        self
    }

    /// A tool.
    pub fn tool(self, tool: impl Tool + 'static) -> Self {
        self.shared_tool(Arc::new(tool))
    }

    /// A tool that is shared already, or came from a tool server.
    pub fn shared_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        if let Err(error) = self.tools.add(tool) {
            self.tools_error.get_or_insert(error);
        }
        self
    }

    /// A service with all its tools, named `service__tool`: it is set up before the first run that uses it, and torn down
    /// when the last one has come to rest.
    pub fn service(mut self, service: &SharedService) -> Self {
        for tool in service.tools() {
            self = self.shared_tool(tool);
        }
        self.uses(service)
    }

    /// Some tools of a service, under their own names.
    pub fn service_tools<'n>(
        mut self,
        service: &SharedService,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        match service.pick(names) {
            Ok(tools) => {
                for tool in tools {
                    self = self.shared_tool(tool);
                }
            }
            Err(error) => drop(self.tools_error.get_or_insert(error)),
        }
        self.uses(service)
    }

    /// Sets a service up and tears it down around the runs; its tools are given otherwise.
    pub fn uses(mut self, service: &SharedService) -> Self {
        if !self.services.iter().any(|known| known.is(service)) {
            self.services.push(service.clone());
        }
        self
    }

    /// A tool that the model's provider runs itself, with the provider's own options of it. A model whose API has no such tool
    /// refuses the request.
    pub fn hosted(mut self, tool: HostedTool, options: Map<String, Value>) -> Self {
        self.hosted.push(ToolSpec::hosted_by_provider(tool, options));
        self
    }

    /// A tool server, or anything else whose tools may change while the agent lives.
    pub fn source(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.sources.push(source);
        self
    }

    /// The whole policy. Default: the preset `chat`. For an agent with an output schema it is `typed`, in one turn if the agent
    /// has neither tools nor agents, else with ten model calls.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// The policy as a `loop` section of an agent file says it, in JSON: `{"preset": "chat", "limits": {"model_calls": 5}}`.
    pub fn settings(mut self, settings: &Value) -> Self {
        self.settings = Some(settings.clone());
        self.policy = None;
        self
    }

    /// A limit, in the unit that people write: counts, seconds or a `Duration`, dollars.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass_core::policy::LimitKind;
    /// use windlass_models::Tour;
    /// use windlass_runtime::Agent;
    ///
    /// # fn main() -> Result<(), windlass_runtime::Error> {
    /// let agent = Agent::builder("brief")
    ///     .model(Tour)
    ///     .limit(LimitKind::ModelCalls, 10)
    ///     .limit(LimitKind::Seconds, Duration::from_secs(90))
    ///     .build()?;
    /// assert_eq!(agent.policy().limit(LimitKind::ModelCalls), Some(10));
    /// # Ok(())
    /// # }
    /// ```
    pub fn limit(mut self, kind: LimitKind, max: impl Into<LimitValue>) -> Self {
        self.limits.push((kind, max.into()));
        self
    }

    /// Shows the model only `search_tools`, which finds the other tools by keywords; all of them can be called (acorn's
    /// `tool_discovery = "search"`). For agents with many tools.
    pub fn search_tools(mut self) -> Self {
        self.search = true;
        self
    }

    /// JSON Schema of a typed input: runs take an object, which goes to the model as XML with the schema's descriptions.
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.input = Some(schema);
        self
    }

    /// JSON Schema of a typed output: runs end with a value that fits.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output = Some(schema);
        self
    }

    /// How models are asked for the typed output, in the place of the policy's way.
    pub fn output_mode(mut self, mode: OutputMode) -> Self {
        self.output_mode = Some(mode);
        self
    }

    /// The input as a type: runs are given one of these ([`RunMessages::typed`](crate::RunMessages::typed)).
    pub fn input<T: JsonSchema>(self) -> Self {
        self.input_schema(schema_of::<T>())
    }

    /// The output as a type: runs end with one of these ([`Run::output_as`](crate::Run::output_as)).
    pub fn output<T: JsonSchema>(self) -> Self {
        self.output_schema(schema_of::<T>())
    }

    /// A check of an output that fits the schema, before the run ends with it. The text of an error goes to the model,
    /// which tries again, `parse_retries` times at most; what the check returned is kept, so that a replay does not run it.
    /// An output that a hook gives is not checked.
    pub fn validate(mut self, check: impl Fn(&Value) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.checks.add(Arc::new(check));
        self
    }

    /// [`validate`](Self::validate) for an output of a type. What is no such value is an objection too.
    pub fn validate_as<T: DeserializeOwned + 'static>(
        self,
        check: impl Fn(T) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.validate(move |output| {
            let typed = T::deserialize(output).map_err(|error| error.to_string())?;
            check(typed)
        })
    }

    /// A function that is called after the tools of each step, before the next model call. It gives the step back with
    /// its changes, or an error that ends the run.
    pub fn on_step(self, hook: impl Fn(Step) -> Result<Step, String> + Send + Sync + 'static) -> Self {
        self.step_hook(Arc::new(StepFn(hook)))
    }

    /// A hook as a type, where the function of [`on_step`](Self::on_step) is not enough.
    pub fn step_hook(mut self, hook: Arc<dyn StepHook>) -> Self {
        self.hook = Some(hook);
        self
    }

    /// Another agent, offered as a tool of its name with the one argument `task`.
    pub fn delegate(mut self, delegate: Arc<dyn Delegate>) -> Self {
        self.delegates.push(delegate);
        self
    }

    /// A branch: an agent that begins with this one's conversation. The model starts it through the tool `branch`.
    pub fn branch(mut self, branch: impl Into<Branch>) -> Self {
        self.branches.push((branch.into(), true));
        self
    }

    /// A branch that no model is offered, but a hook may ask for ([`Step::branch`]).
    pub fn known_branch(mut self, branch: impl Into<Branch>) -> Self {
        self.branches.push((branch.into(), false));
        self
    }

    /// The log that runs are kept in. Default: one in memory, which dies with the process.
    pub fn log(mut self, log: Arc<dyn Store>) -> Self {
        self.log = Some(log);
        self
    }

    /// The program that runs code which the model writes: one whose main calls [`code_child`](crate::code_child) first, such as
    /// `windlass`. Default: this program, if its main does.
    pub fn code_program(mut self, path: impl Into<std::path::PathBuf>) -> Self {
        self.code = Some(Code::program(path));
        self
    }

    /// Time, ids and chance. Default: [`SystemEnvironment`].
    pub fn environment(mut self, environment: Arc<dyn Environment>) -> Self {
        self.environment = environment;
        self
    }

    /// The agent.
    ///
    /// # Errors
    /// Settings, tools, models or instructions that cannot work together: nothing is left to fail in mid-run.
    pub fn build(mut self) -> Result<Agent, Error> {
        let agent = self.name.to_string();
        let log = self.log.take().unwrap_or_else(|| Arc::new(MemoryLog::new()));
        let policy = self.made_policy().map_err(|source| Error::Policy { agent: agent.clone(), source })?;
        let models = self.chosen_models(&policy)?;
        let code = self.program_of_code(&policy)?;
        let branches = self.built_branches(&log, &models)?;
        check_output(&agent, &policy, self.output.is_some())?;
        iterates(&agent, &policy, &self.instructions)?;
        if let Some(source) = self.tools_error {
            return Err(Error::Tools { agent, source });
        }
        let choices = || models.iter().chain(&self.known).map(|(choice, _)| choice);
        check_prices(&self.name, &policy, choices(), &self.delegates, &branches)?;
        check_schemas(&agent, self.input.as_ref(), self.output.as_ref())?;
        let (prompting, system) = self.prompting(&agent)?;
        let finish = self.finish_tool(&policy);
        let delegates = self.delegates.iter().map(|agent| reachable(&agent.spec()));
        check_hosted(&agent, &policy, &self.hosted)?;
        let further = further_tools(delegates, &branches, None, &self.hosted, finish.as_ref());
        let all = self.all_tools().map_err(|source| Error::Tools { agent: agent.clone(), source })?;
        self.reserve_names(&all, &policy, !branches.is_empty())?;
        let examples: Vec<_> = std::mem::take(&mut self.examples).into_iter().map(Arc::new).collect();
        let system = system.map(|text| Arc::new(Message::system(text)));
        let prompt: Arc<Vec<_>> = Arc::new(system.into_iter().chain(examples.iter().cloned()).collect());
        let specs = with_further(all.specs(), &further);
        check_names(&agent, &specs, &policy)?;
        check_required(&agent, &policy.tools.require, &specs, &self.sources)?;
        let models = ModelSet::new(models, self.known.clone());
        let own = with_further(self.tools.specs(), &further);
        let identity = self.digests(&own, &examples, &models.choices, &policy);
        let [digest, identity] = identity.map(|digest| with_branches(digest, &branches));
        let salt = self.environment.salt();
        let mut tools = Toolset {
            own: self.tools,
            sources: self.sources,
            services: self.services,
            delegates: self.delegates,
            branches,
            hosted: self.hosted,
            finish,
            code,
            hook: self.hook,
            checks: self.checks,
            ..Toolset::default()
        };
        let digests = digested(&salt, &tools.bound(&all, &self.written));
        tools.now = Current::new(Toolbox { tools: all, specs, digests });
        Ok(Agent::of(Parts {
            spec: AgentSpec {
                agent_ref: AgentRef { name: self.name.clone(), digest },
                identity,
                written: self.written,
                files: self.files,
                salt,
                name: self.name,
                description: self.description,
                prompting,
                prompt,
                examples,
                policy: Arc::new(policy),
                input: self.input.map(Arc::new),
                output: self.output.map(Arc::new),
            },
            tools,
            models,
            edges: Edges::new(log, self.environment, self.people),
        }))
    }
}
