//! Errors of agents and runs.

mod help;
pub(crate) mod host;
pub(crate) mod hosted;
pub(crate) mod pdf;

use thiserror::Error;
use windlass_core::{InvalidInput, RunId, SessionId, Status, Text};
use windlass_error::Diagnostic;
use windlass_models::ModelError;
use windlass_read::Error as ReadError;
use windlass_store::StoreError;
use windlass_tools::ToolSetError;

use crate::platform::settings::SettingsError;
pub(crate) use help::MAX_BRANCH_DEPTH;
use host::HostError;
use hosted::HostedFault;
use pdf::UnreadPdf;

/// Errors of agents and runs. The end of a run is no error, however it ended: see [`Run::status`](crate::Run::status).
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum Error {
    /// The agent cannot be built: its loop settings.
    #[error("agent `{agent}` cannot be built")]
    #[diagnostic(transparent)]
    Policy {
        /// The agent.
        agent: String,
        /// Why.
        #[source]
        source: SettingsError,
    },
    /// The agent cannot be built: its tools.
    #[error("agent `{agent}` cannot be built")]
    #[diagnostic(transparent, code = "agent.tools", help = help::for_tools(source))]
    Tools {
        /// The agent.
        agent: String,
        /// Why.
        #[source]
        source: ToolSetError,
    },
    /// The agent cannot be built: the schema of its input or output.
    #[error("the {which} schema of agent `{agent}` cannot be used")]
    #[diagnostic(transparent, code = "agent.schema")]
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
    #[diagnostic(
        kind = Invalid,
        code = "agent.same_name",
        help = "rename one of them; names that begin with `__` are Windlass's own"
    )]
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
    /// The agent cannot be built: it requires a tool that it does not have.
    #[error(
        "`{pattern}` in `loop.require` matches no tool of agent `{agent}`, so no answer could ever be accepted"
    )]
    #[diagnostic(kind = Invalid, code = "agent.unknown_required", help = help::meant(nearest, help::NO_SUCH_REQUIRED))]
    UnknownRequired {
        /// The agent.
        agent: String,
        /// The pattern.
        pattern: Text,
        /// Tools with close names, nearest first.
        nearest: Vec<String>,
    },
    /// The agent cannot be built: its loop wants of a tool of the provider what only calls can keep to.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Hosted(#[from] HostedFault),
    /// A run was to be given only some of the agent's tools, and a pattern names none of them.
    #[error("`{pattern}` names no tool of agent `{agent}`")]
    #[diagnostic(kind = Invalid, code = "run.unknown_tool", help = help::meant(nearest, help::NO_SUCH_TOOL))]
    UnknownTool {
        /// The agent.
        agent: String,
        /// The pattern.
        pattern: Text,
        /// Tools with close names, nearest first.
        nearest: Vec<String>,
    },
    /// The run's driver has refused an input that fits the run's state.
    #[error("run {run} did not take the input")]
    #[diagnostic(kind = Internal, code = "input.not_taken")]
    NotTaken {
        /// The run.
        run: RunId,
    },
    /// The session is busy, and the message entered the conversation of its run.
    #[error("session {session} is busy: the message steers its run {run}")]
    #[diagnostic(kind = Conflict, code = "session.steered", help = "watch run {run}")]
    MessageSteered {
        /// The session.
        session: SessionId,
        /// The run.
        run: RunId,
    },
    /// The session is busy, and the message waits for the end of its run.
    #[error(
        "session {session} is busy: the message waits for the end of run {behind}, and run {run} will answer it"
    )]
    #[diagnostic(
        kind = Conflict,
        code = "session.queued",
        help = "the next message to the session runs it first, once run {behind} has ended"
    )]
    MessageQueued {
        /// The session.
        session: SessionId,
        /// The run that it waits for.
        behind: RunId,
        /// The id of the run that will answer it.
        run: RunId,
    },
    /// The agent cannot be built: branches are nested too deep.
    #[error("the branches of agent `{agent}` are nested more than {MAX_BRANCH_DEPTH} levels deep")]
    #[diagnostic(kind = Invalid, code = "agent.branch_depth", help = "remove a nested branch")]
    BranchDepth {
        /// The agent.
        agent: String,
    },
    /// The agent cannot be built: a single turn that must finish has nothing to finish with.
    #[error("agent `{agent}` ends after one turn with its output, but has no output schema")]
    #[diagnostic(
        kind = Invalid,
        code = "agent.no_output",
        help = "give the agent `output: {{ schema: ... }}`, or several turns with `max_steps`"
    )]
    NoOutput {
        /// The agent.
        agent: String,
    },
    /// The agent cannot be built: the answer of a plan is a text.
    #[error("agent `{agent}` plans, and the answer of a plan is a text, but it has an output schema")]
    #[diagnostic(
        kind = Invalid,
        code = "agent.output_of_plan",
        help = "leave `output` out, or use another `loop.preset`"
    )]
    OutputOfPlan {
        /// The agent.
        agent: String,
    },
    /// The agent's model writes code, and nothing can run it.
    #[error("agent `{agent}` cannot be built: its model writes code")]
    #[diagnostic(transparent, help = help::for_code(source))]
    Code {
        /// The agent.
        agent: String,
        /// Why no program runs code.
        #[source]
        source: windlass_code::CodeError,
    },
    /// The agent cannot be built: code of its model could not tell two tools apart.
    #[error("agent `{agent}` cannot be built: the tools `{first}` and `{second}` are both `{name}` in code")]
    #[diagnostic(
        kind = Invalid,
        code = "agent.same_in_code",
        help = "rename one of them, or set a `prefix`: characters other than letters and digits are `_` in code"
    )]
    SameInCode {
        /// The agent.
        agent: String,
        /// The one tool.
        first: Text,
        /// The other one.
        second: Text,
        /// The name of both in code.
        name: String,
    },
    /// The agent cannot be built: its loop works towards an objective, and it has no instructions.
    #[error("agent `{agent}` has no objective: its instructions are empty, and its loop works towards them")]
    #[diagnostic(kind = Invalid, code = "agent.no_objective", help = "give it `instructions`, or another `loop.preset`")]
    NoObjective {
        /// The agent.
        agent: String,
    },
    /// The agent cannot be built: nothing may follow an answer that ends the run, or nothing bounds what follows.
    #[error("agent `{agent}`: {reason}")]
    #[diagnostic(
        kind = Invalid,
        code = "agent.another",
        help = "set `loop.stop: text` and `loop.limits.iterations`, or `loop.another: never`"
    )]
    Another {
        /// The agent.
        agent: String,
        /// Why `another` cannot be followed.
        reason: &'static str,
    },
    /// A service that the agent uses cannot be set up. The run stands as its last durable event left it.
    #[error("service `{service}` of agent `{agent}` cannot be set up")]
    #[diagnostic(kind = Unavailable, code = "agent.service")]
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
    #[diagnostic(kind = Invalid, code = "run.bad_input", help = "give an object that matches the agent's `input.schema`")]
    BadInput {
        /// The agent.
        agent: String,
        /// The error and its place.
        fault: String,
    },
    /// The API of the agent's first model has no place for an image or a file of the input.
    #[error(
        "{what} cannot be sent to {model}, the first model of agent `{agent}`: its API takes no such part"
    )]
    #[diagnostic(
        kind = Invalid,
        code = "run.media_not_taken",
        help = "ask a model whose API takes it (docs/models.md has a table), or send its text"
    )]
    MediaNotTaken {
        /// The agent.
        agent: String,
        /// The model.
        model: String,
        /// The image or file, with its media type.
        what: String,
    },
    /// A PDF of the input cannot be sent to the agent's first model as it is, nor as text.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Pdf(#[from] UnreadPdf),
    /// A typed input is no object.
    #[error("the input is not a JSON object: {fault}")]
    #[diagnostic(kind = Invalid, code = "run.bad_input", help = "give a struct or a map with text keys")]
    NoObject {
        /// The error.
        fault: String,
    },
    /// The output is no value of the type that is asked for.
    #[error("the output of run {run} is not a `{wanted}`")]
    #[diagnostic(
        kind = Invalid,
        code = "run.output_type",
        help = "ask for the type that the agent was built with (`.output::<T>()`)"
    )]
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
    #[diagnostic(kind = Invalid, code = "agent.unknown_price", help = help::PRICES)]
    UnknownDelegatePrice {
        /// The agent with the limit.
        agent: String,
        /// The agent or branch that it hands tasks to.
        delegate: String,
        /// The model.
        model: Text,
    },
    /// The agent cannot be built: a limit on cost needs prices.
    #[error("agent `{agent}` has a limit on cost, but the price of model `{model}` is unknown")]
    #[diagnostic(kind = Invalid, code = "agent.unknown_price", help = help::PRICES)]
    UnknownPrice {
        /// The agent.
        agent: String,
        /// The model.
        model: Text,
    },
    /// The agent cannot be built: a model that it names.
    #[error("cannot use model `{model}` of agent `{agent}`")]
    #[diagnostic(transparent, help = help::for_model(source))]
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
    #[diagnostic(kind = Invalid, code = "agent.no_model", help = "name one with `.model(\"provider/NAME\")`")]
    NoModel {
        /// The agent.
        agent: String,
    },
    /// The instructions are not a valid template, or use something that is not there.
    #[error("the instructions of agent `{agent}` cannot be rendered")]
    #[diagnostic(transparent, code = "agent.template")]
    Template {
        /// The agent.
        agent: String,
        /// Why.
        #[source]
        source: windlass_agent_file::template::TemplateError,
    },
    /// The prompt builder of the agent fails, panics, or makes no text.
    #[error("the prompt of agent `{agent}` cannot be made: {reason}")]
    #[diagnostic(kind = Invalid, code = "agent.prompt")]
    Prompt {
        /// The agent.
        agent: String,
        /// Why.
        reason: String,
    },
    /// The agent cannot be built: it has extra instructions and a prompt builder, which knows nothing of them.
    #[error("agent `{agent}` has both a prompt builder and extra instructions")]
    #[diagnostic(
        kind = Invalid,
        code = "agent.prompt_twice",
        help = "give them to the builder, such as `React::new().instructions([..])`, or leave one of the two out"
    )]
    PromptTwice {
        /// The agent.
        agent: String,
    },
    /// The system gives no thread to run on.
    #[error("cannot start a thread for the run")]
    #[diagnostic(kind = Exhausted, code = "run.no_thread")]
    NoThread {
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The log failed. The run stands as its last durable event left it.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Log(#[from] StoreError),
    /// The run cannot be read from its log.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Read(ReadError),
    /// An input did not fit the run.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Refused(InvalidInput),
    /// The run's agent is another one, or has changed since.
    #[error("{}", help::other_agent(*run, expected, found, changes))]
    #[diagnostic(kind = Conflict, code = "run.agent_changed", help = help::CHANGED_AGENT)]
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
    #[diagnostic(
        kind = NotFound,
        code = "run.unknown_agent",
        help = "give an agent with the name `{agent}`, or resume the run where its agent is"
    )]
    UnknownAgent {
        /// The run.
        run: RunId,
        /// The name of its agent.
        agent: Text,
    },
    /// A changed agent lacks a model that the run began with.
    #[error("run {run} uses model `{model}`, which this agent does not have")]
    #[diagnostic(
        kind = Conflict,
        code = "run.model_gone",
        help = "keep `{model}` among the agent's models until the run has ended"
    )]
    ModelGone {
        /// The run.
        run: RunId,
        /// The model.
        model: Text,
    },
    /// The request was sent before: its run has begun, or waits for its turn.
    #[error("run {run} was begun by the same request")]
    #[diagnostic(kind = Conflict, code = "request.repeated", help = "watch run {run}")]
    Repeated {
        /// The run.
        run: RunId,
    },
    /// Another request was sent under the idempotency key.
    #[error("the key `{key}` belongs to another request, which run {run} answers")]
    #[diagnostic(kind = Conflict, code = "request.key_reused", help = "give another request a key of its own")]
    KeyReused {
        /// The key.
        key: Text,
        /// The run.
        run: RunId,
    },
    /// The session's last run has not ended.
    #[error("session {session} is busy: its run {run} has not ended")]
    #[diagnostic(kind = Conflict, code = "session.busy", help = "resume, answer or cancel run {run}")]
    SessionBusy {
        /// The session.
        session: SessionId,
        /// The run.
        run: RunId,
    },
    /// Only a run that a limit cut can be continued.
    #[error("run {run} ended as {status}; only a run that ended at a limit can be continued")]
    #[diagnostic(kind = Conflict, code = "run.not_cut", help = "start a new run of its session instead")]
    NotCut {
        /// The run.
        run: RunId,
        /// Final status.
        status: Status,
    },
    /// The run has no event with this number to fork after.
    #[error("run {run} has no event {at}: it has {version} events")]
    #[diagnostic(kind = NotFound, code = "run.no_such_event", help = "its events are numbered from 1 to {version}")]
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
    #[diagnostic(kind = Exhausted, code = "run.lost_attempts", help = help::lost_attempts())]
    LostAttempts {
        /// The run that was to be resumed, or one of its child runs.
        run: RunId,
        /// Number of consecutive lost attempts.
        attempts: u32,
    },
    /// The files that the agent of a run was made of cannot be read.
    #[error("the files of the agent that are kept under {files} cannot be used")]
    #[diagnostic(transparent)]
    AgentFiles {
        /// SHA-256 of the stored files.
        files: Text,
        /// Why.
        #[source]
        source: windlass_agent_file::SourceError,
    },
    /// A host refuses a request.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Host(#[from] HostError),
    /// A run claims to be a child of a run that did not start it.
    #[error("run {run} is not a child of run {parent}")]
    #[diagnostic(kind = Conflict, code = "run.not_handed_over", help = "run the task in a new run")]
    NotHandedOver {
        /// The run.
        run: RunId,
        /// The run that names it.
        parent: RunId,
    },
    /// The run has not ended.
    #[error("run {run} has not ended; resume it instead")]
    #[diagnostic(kind = Conflict, code = "run.not_ended", help = "resume run {run}")]
    NotEnded {
        /// The run.
        run: RunId,
    },
}

impl From<ReadError> for Error {
    /// A failed log is the same error whoever reads it.
    fn from(source: ReadError) -> Self {
        if let ReadError::Log(source) = source { Self::Log(source) } else { Self::Read(source) }
    }
}
