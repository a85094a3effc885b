//! Errors of agents and runs.

use thiserror::Error;

use windlass_core::budget::LOST_ATTEMPTS;
use windlass_core::{InvalidInput, RunId, SessionId, Status, Text};
use windlass_models::ModelError;
use windlass_models::providers::provider_names;
use windlass_store::StoreError;
use windlass_tools::ToolSetError;

use crate::branches::MAX_BRANCH_DEPTH;
use crate::settings::SettingsError;

/// Errors of agents and runs. The end of a run is no error, however it ended: see [`Run::status`](crate::Run::status).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The agent cannot be built: its loop settings.
    #[error("agent `{agent}` cannot be built")]
    Policy {
        /// The agent.
        agent: String,
        /// Why.
        #[source]
        source: SettingsError,
    },
    /// The agent cannot be built: its tools.
    #[error("agent `{agent}` cannot be built")]
    Tools {
        /// The agent.
        agent: String,
        /// Why.
        #[source]
        source: ToolSetError,
    },
    /// The agent cannot be built: the schema of its input or output.
    #[error("the {which} schema of agent `{agent}` cannot be used")]
    Schema {
        /// The agent.
        agent: String,
        /// `input` or `output`.
        which: &'static str,
        /// Why.
        #[source]
        source: windlass_core::schema::SchemaFault,
    },
    /// The agent cannot be built: two things that the model may call have one name.
    #[error("agent `{agent}` has two tools named `{name}`: one from {first}, one from {second}")]
    SameName {
        /// The agent.
        agent: String,
        /// The name.
        name: Text,
        /// Source of the first one.
        first: Text,
        /// Source of the second one.
        second: Text,
    },
    /// The agent cannot be built: too many branches stand one under another.
    #[error("the branches of agent `{agent}` are nested more than {MAX_BRANCH_DEPTH} levels deep")]
    BranchDepth {
        /// The agent.
        agent: String,
    },
    /// The agent cannot be built: a single turn that must finish has nothing to finish with.
    #[error("agent `{agent}` ends after one turn with its output, but has no output schema")]
    NoOutput {
        /// The agent.
        agent: String,
    },
    /// A service that the agent uses cannot be set up. The run stands as its last durable event left it.
    #[error("service `{service}` of agent `{agent}` cannot be set up")]
    Service {
        /// The agent.
        agent: String,
        /// The service.
        service: String,
        /// Why.
        #[source]
        source: windlass_tools::ServiceError,
    },
    /// The input does not fit the agent's input schema.
    #[error("the input of agent `{agent}` does not fit: {fault}")]
    BadInput {
        /// The agent.
        agent: String,
        /// The error and its place.
        fault: String,
    },
    /// A typed input is no object.
    #[error("the input is not a JSON object: {fault}")]
    NoObject {
        /// The error.
        fault: String,
    },
    /// The output is no value of the type that is asked for.
    #[error("the output of run {run} is not a `{wanted}`")]
    OutputType {
        /// The run.
        run: RunId,
        /// The type.
        wanted: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The agent cannot be built: its limit on cost holds for the agents that it hands tasks to, too.
    #[error(
        "agent `{agent}` has a limit on cost and hands tasks to `{delegate}`, but the price of model `{model}` is unknown"
    )]
    UnknownPriceBelow {
        /// The agent with the limit.
        agent: String,
        /// The agent or branch that it hands tasks to.
        delegate: String,
        /// The model.
        model: Text,
    },
    /// The agent cannot be built: a limit on cost needs prices.
    #[error("agent `{agent}` has a limit on cost, but the price of model `{model}` is unknown")]
    UnknownPrice {
        /// The agent.
        agent: String,
        /// The model.
        model: Text,
    },
    /// The agent cannot be built: a model that it names.
    #[error("cannot use model `{model}` of agent `{agent}`")]
    Model {
        /// The agent.
        agent: String,
        /// Its name.
        model: Text,
        /// Why.
        #[source]
        source: Box<ModelError>,
    },
    /// The agent cannot be built: it has no model.
    #[error("agent `{agent}` has no model")]
    NoModel {
        /// The agent.
        agent: String,
    },
    /// The instructions are not a valid template, or use something that is not there.
    #[error("the instructions of agent `{agent}` cannot be rendered")]
    Template {
        /// The agent.
        agent: String,
        /// Why.
        #[source]
        source: windlass_agent_file::template::TemplateError,
    },
    /// The system gives no thread to run on.
    #[error("cannot start a thread for the run")]
    NoThread {
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The log failed. The run stands as its last durable event left it.
    #[error(transparent)]
    Log(StoreError),
    /// An input did not fit the run.
    #[error(transparent)]
    Refused(InvalidInput),
    /// The run's agent is another one, or has changed since.
    #[error("{}", other_agent(*run, expected, found, changes))]
    AgentChanged {
        /// The run.
        run: RunId,
        /// Name and digest of the run's agent.
        expected: String,
        /// Name and digest of the one given.
        found: String,
        /// Known differences, in words.
        changes: Vec<String>,
    },
    /// No agent of that name is available to resume the run.
    #[error("run {run} belongs to agent `{agent}`, which is not available here")]
    UnknownAgent {
        /// The run.
        run: RunId,
        /// The name of its agent.
        agent: Text,
    },
    /// A changed agent lacks a model that the run began with.
    #[error("run {run} uses model `{model}`, which this agent does not have")]
    ModelGone {
        /// The run.
        run: RunId,
        /// The model.
        model: Text,
    },
    /// A log begins with something else than a run's start.
    #[error("run {run} cannot be read: its base {base} is missing")]
    MissingBase {
        /// The run.
        run: RunId,
        /// The run that it is based on.
        base: RunId,
    },
    /// The session's last run has not ended.
    #[error("session {session} is busy: its run {run} has not ended")]
    SessionBusy {
        /// The session.
        session: SessionId,
        /// The run.
        run: RunId,
    },
    /// Only a run that a limit cut can be continued.
    #[error("run {run} ended as {status}; only a run that ended at a limit can be continued")]
    NotCut {
        /// The run.
        run: RunId,
        /// Final status.
        status: Status,
    },
    /// A run from elsewhere is not sound.
    #[error("run {run} cannot be imported: at event {seq}: {what}")]
    BadImport {
        /// The run.
        run: RunId,
        /// The event.
        seq: u64,
        /// The error.
        what: String,
    },
    /// A line of an export cannot be read, or does not follow the lines before it.
    #[error("line {line}: {what}")]
    BadExport {
        /// The number of the line.
        line: u64,
        /// The error.
        what: String,
    },
    /// An export was written by a newer version.
    #[error("line {line}: events of schema {found}, but this version knows {known}")]
    NewerExport {
        /// The number of the line.
        line: u64,
        /// The schema of its events.
        found: u32,
        /// The newest schema that this version reads.
        known: u32,
    },
    /// An export holds no run.
    #[error("the export contains no run")]
    EmptyExport,
    /// A different run has this id.
    #[error("run {run} is already in this log and differs from event {seq} on")]
    ImportDiffers {
        /// The run.
        run: RunId,
        /// The first event that differs.
        seq: u64,
    },
    /// The run has no event with this number to fork after.
    #[error("run {run} has no event {at}: it has {version} events")]
    NoSuchEvent {
        /// The run.
        run: RunId,
        /// The event that was asked for.
        at: u64,
        /// Number of its events.
        version: u64,
    },
    /// The process died too often during one model call of the run.
    #[error(
        "run {run} is not resumed: {attempts} consecutive attempts at one model call were lost with their processes"
    )]
    LostAttempts {
        /// The run that was to be resumed, or one of its child runs.
        run: RunId,
        /// Number of consecutive lost attempts.
        attempts: u32,
    },
    /// A run claims to be a child of a run that did not start it.
    #[error("run {run} is not a child of run {parent}")]
    NotHandedOver {
        /// The run.
        run: RunId,
        /// The run that names it.
        parent: RunId,
    },
    /// The run has not ended.
    #[error("run {run} has not ended; resume it instead")]
    NotEnded {
        /// The run.
        run: RunId,
    },
}

impl Error {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Policy { source, .. } => source.code(),
            Self::Tools { .. } => "agent.tools",
            Self::Schema { .. } => "agent.schema",
            Self::SameName { .. } => "agent.same_name",
            Self::BranchDepth { .. } => "agent.branch_depth",
            Self::NoOutput { .. } => "agent.no_output",
            Self::Service { .. } => "agent.service",
            Self::BadInput { .. } | Self::NoObject { .. } => "run.bad_input",
            Self::OutputType { .. } => "run.output_type",
            Self::UnknownPrice { .. } | Self::UnknownPriceBelow { .. } => "agent.unknown_price",
            Self::Model { source, .. } => source.code(),
            Self::NoModel { .. } => "agent.no_model",
            Self::Template { .. } => "agent.template",
            Self::NoThread { .. } => "run.no_thread",
            Self::Log(source) => source.code(),
            Self::Refused(source) => source.code(),
            Self::AgentChanged { .. } => "run.agent_changed",
            Self::UnknownAgent { .. } => "run.unknown_agent",
            Self::ModelGone { .. } => "run.model_gone",
            Self::MissingBase { .. } => "run.missing_base",
            Self::SessionBusy { .. } => "session.busy",
            Self::NotCut { .. } => "run.not_cut",
            Self::BadImport { .. } => "import.unsound",
            Self::BadExport { .. } => "import.line",
            Self::NewerExport { .. } => "import.newer",
            Self::EmptyExport => "import.empty",
            Self::ImportDiffers { .. } => "import.differs",
            Self::NoSuchEvent { .. } => "run.no_such_event",
            Self::LostAttempts { .. } => "run.lost_attempts",
            Self::NotHandedOver { .. } => "run.not_handed_over",
            Self::NotEnded { .. } => "run.not_ended",
        }
    }

    /// A remedy, in words.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Policy { source, .. } => source.help(),
            Self::Tools { source: ToolSetError::Clash { .. }, .. } => {
                Some("rename one of them, or give a tool server another `name`".to_owned())
            }
            Self::Tools { source, .. } => source.help(),
            Self::Schema { source, .. } => source.help().map(str::to_owned),
            Self::SameName { .. } => {
                Some("rename one of them; names that begin with `__` are Windlass's own".to_owned())
            }
            Self::BranchDepth { .. } => Some("remove a nested branch".to_owned()),
            Self::NoOutput { .. } => {
                Some("give the agent `output: { schema: ... }`, or several turns with `max_steps`".to_owned())
            }
            Self::Service { .. } => {
                Some("`windlass tools list FILE` shows the state of the agent's services".to_owned())
            }
            Self::BadInput { .. } => {
                Some("give an object that matches the agent's `input.schema`".to_owned())
            }
            Self::NoObject { .. } => Some("give a struct or a map with text keys".to_owned()),
            Self::OutputType { .. } => {
                Some("ask for the type that the agent was built with (`.output::<T>()`)".to_owned())
            }
            Self::UnknownPrice { .. } | Self::UnknownPriceBelow { .. } => {
                Some("give the model `prices: { input, output }` in USD per million tokens".to_owned())
            }
            Self::Model { source, .. } => model_help(source),
            Self::NoModel { .. } => Some("name one with `.model(\"provider/NAME\")`".to_owned()),
            Self::Log(source) => source.help(),
            Self::Refused(source) => source.help(),
            Self::AgentChanged { run, .. } => Some(format!(
                "`windlass runs resume {run} --with FILE` (from Rust: `.with_changed_agent()`) goes on with the agent as it \
                 is now; calls that wait for approval, and have changed, are asked about anew"
            )),
            Self::UnknownAgent { agent, .. } => {
                Some(format!("give an agent with the name `{agent}`, or resume the run where its agent is"))
            }
            Self::ModelGone { model, .. } => {
                Some(format!("keep `{model}` among the agent's models until the run has ended"))
            }
            Self::SessionBusy { run, .. } => Some(format!(
                "`windlass runs show {run}` shows what it waits for; resume, answer or cancel it"
            )),
            Self::NotCut { .. } => Some("start a new run of its session instead".to_owned()),
            Self::BadImport { .. } => Some("export it again, with the runs that it is based on".to_owned()),
            Self::NewerExport { .. } => Some("import it with a newer Windlass".to_owned()),
            Self::ImportDiffers { .. } => {
                Some("import it into another log (`--log FILE`), or fork the existing run".to_owned())
            }
            Self::NoSuchEvent { run, .. } => {
                Some(format!("`windlass runs show -e {run}` lists its events with their numbers"))
            }
            Self::LostAttempts { .. } => Some(format!(
                "look at what the model replies and why the process dies; `windlass runs resume RUN` by hand allows \
                 {LOST_ATTEMPTS} more attempts"
            )),
            Self::NotHandedOver { .. } => Some("run the task in a new run".to_owned()),
            Self::NotEnded { run } => Some(format!("`windlass runs resume {run}`")),
            Self::Template { .. }
            | Self::MissingBase { .. }
            | Self::NoThread { .. }
            | Self::BadExport { .. }
            | Self::EmptyExport => None,
        }
    }
}

impl From<StoreError> for Error {
    fn from(source: StoreError) -> Self {
        Self::Log(source)
    }
}

/// A remedy for a model that a program names.
fn model_help(error: &ModelError) -> Option<String> {
    let object = "give the model as an object: `.model((NAME, HttpModel::new(config)?))`";
    if let ModelError::UnknownProvider { name, nearest } = error {
        return Some(unknown_provider_help(name, nearest, object));
    }
    if let ModelError::MissingKey { variable, .. } = error {
        return Some(format!("set {variable}, or {object}"));
    }
    if let ModelError::LaterProvider { provider, .. } = error {
        return Some(provider.compatible_url().map_or_else(
            || format!("meanwhile, use an OpenAI-compatible gateway: {object}"),
            |url| {
                format!(
                    "meanwhile, use its OpenAI-compatible API at {url}, with its key in `config`: {object}"
                )
            },
        ));
    }
    if matches!(error, ModelError::MissingBaseUrl { .. }) {
        return Some(object.to_owned());
    }
    error.help()
}

fn unknown_provider_help(name: &str, nearest: &[String], object: &str) -> String {
    if name == "auto" {
        return "`windlass::models::choose_auto` finds one: `.model((found.name, found.model))`".to_owned();
    }
    let all: Vec<&str> = provider_names().collect();
    let supported = all.join(", ");
    if nearest.len() == all.len() {
        return format!("supported are {supported}; for any other server {object}");
    }
    format!("did you mean {}? Supported are {supported}", nearest.join(" or "))
}

/// Error for a run whose agent has changed.
fn other_agent(run: RunId, expected: &str, found: &str, changes: &[String]) -> String {
    if changes.is_empty() {
        return format!("run {run} belongs to agent `{expected}`, found `{found}`");
    }
    format!("the agent of run {run} has changed since the run began: {}", changes.join("; "))
}

/// An error with all its causes, in one line.
pub fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
