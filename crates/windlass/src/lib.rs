//! An agent-loop runtime: a language model calls tools, sees their results, and continues until it answers.
//! Every turn that was taken is kept.
//!
//! ```
//! use windlass::{Agent, tool};
//!
//! /// Adds two numbers.
//! #[tool]
//! async fn calculate(
//!     /// Such as `2 + 5`.
//!     expression: String,
//! ) -> Result<String, std::num::ParseIntError> {
//!     let sum = expression.split('+').map(|number| number.trim().parse::<i64>()).sum::<Result<i64, _>>()?;
//!     Ok(sum.to_string())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), windlass::Error> {
//! // The tour is no language model: it shows the loop without a key or a network.
//! let agent = Agent::builder("adder").model("tour").tool(calculate).build()?;
//! let run = agent.run("What is 2 + 5?").await?;
//! assert!(run.text().unwrap_or_default().contains('7'), "{:?}", run.text());
//! # Ok(())
//! # }
//! ```
//!
//! [`docs/rust.md`](https://github.com/windlass-rs/windlass/blob/main/docs/rust.md) continues from here.
//!
//! # Where things are
//!
//! The names at the top are what most programs need. The rest is in modules:
//!
//! | module | holds |
//! |---|---|
//! | [`runtime`] | agents and how they are driven: options, hooks, delegates, agent files, the [host](runtime::host), [control](runtime::control) of runs from other processes |
//! | [`runtime::read`] | what runs did: their states, [JSON](runtime::read::json), [reports](runtime::read::reports) (effects, costs, sessions, comparisons), [export and import](runtime::read::exchange) |
//! | [`message`] | conversations: messages, contents, tool calls |
//! | [`event`] | the facts of a run, as the log keeps them |
//! | [`policy`] | loop settings: presets, limits |
//! | [`machine`] | the pure state machine behind all of it |
//! | [`models`], [`tools`], [`store`] | the edges: model providers, tools, logs |
//!
//! # Cargo features
//!
//! All but `code` are on by default. Without them a program is smaller and builds faster.
//!
//! | feature | gives | brings |
//! |---|---|---|
//! | `sqlite` | [`SqliteLog`], and the memory service of agent files | SQLite (compiled with the program) |
//! | `mcp` | `tools::mcp`, and tool servers in agent files | `rmcp` |
//! | `pdf` | PDFs as text where a model takes none | a parser of PDFs |
//! | `code` | agents whose models write code, for programs whose main begins with [`code_child`] | an interpreter, with a parser of Python |
//! | `otel` | spans and metrics of runs (`runtime::set_telemetry`) | the API of OpenTelemetry |
//!
//! An agent that asks for a part that was left out is refused, with the feature's name.

pub use windlass_error as error;
pub use windlass_models as models;
pub use windlass_runtime as runtime;
pub use windlass_store as store;
pub use windlass_tools as tools;

pub use windlass_core::{Answer, Status};
pub use windlass_models::{Model, Tour};
pub use windlass_runtime::{Agent, Error, Partial, Run, Update, code_child};
#[cfg(feature = "sqlite")]
pub use windlass_store::SqliteLog;
pub use windlass_store::{MemoryLog, Store};
pub use windlass_tools::{Tool, tool};

/// The facts of a run, as the log keeps them and [`Update::Events`] brings them.
pub mod event {
    pub use windlass_core::event::{
        Adjusted, AgentRef, Base, CallDecided, CallDoubted, CallFinished, CallHeld, CallRetried, CallStarted,
        CallVerified, CancelRequested, CandidateItem, CodeCalled, CodeFinished, CodeStarted, Compacted,
        CompactionSkipped, ContextMeasured, ContextWarned, Decision, DelegationFinished, DelegationStarted,
        HistoryEdited, InputReceived, InputRequested, LimitRaised, LimitReached, MessageQueued, Millis,
        OutputRejected, Perceived, Perception, PlanMade, PlanProposed, PlanStep, ProbeAnswered, Recalled,
        RefusalCandidate, RefusedItems, RefusedTool, ResultSummarised, RunEnded, RunInput, RunPaused,
        RunResumed, RunStarted, SteerKind, Steered, StepBranched, StepFinished, StepStatus, StepWork,
        ToolAllowed, TurnCompleted, TurnFailed, TurnStarted,
    };
    pub use windlass_core::{ActionId, CallId, CallOutcome, Event, Fact, QuestionId, RunId, SessionId, Text};
}

/// Conversations: what agents, people and tools say.
pub mod message {
    pub use windlass_core::Message;
    pub use windlass_core::message::Part;
    pub use windlass_core::message::{
        AssistantMessage, Content, Media, MediaSource, Reasoning, ToolCall, ToolMessage,
    };
}

/// Loop settings: presets, limits, and what else an agent file says under `loop`.
pub mod policy {
    pub use windlass_core::Policy;
    pub use windlass_core::policy::{AtLimit, Limit, LimitKind, LimitValue, Preset};
    pub use windlass_runtime::SettingsError;
}

/// The loop as a pure state machine: [`accept`](machine::accept) an input, [`evolve`](machine::evolve) the state by its
/// events, look what is [`pending`](machine::pending). [`runtime`] drives it; programs that only run agents need none of it.
pub mod machine {
    pub use windlass_core::event::{FailKind, QuestionKind};
    pub use windlass_core::run::OpenQuestion;
    pub use windlass_core::{
        Action, ActionKind, Input, InputKind, InvalidInput, RunState, State, accept, evolve, pending, replay,
    };
}

/// The model of that name, such as `openai/gpt-5-mini`, `ollama/qwen3` or `tour`, with its provider's usual environment
/// variables. [`models::resolve::resolve`] takes a base URL, a key, headers and timeouts as well.
///
/// # Errors
/// The provider is unknown, or its key is missing: the error names the variable.
pub fn model(name: &str) -> Result<std::sync::Arc<dyn Model>, models::ModelError> {
    models::resolve::resolve(&models::ModelSettings::named(name), &|variable| std::env::var(variable).ok())
}

#[doc = include_str!("../../../docs/typed.md")]
#[cfg(doctest)]
struct TypedGuide;

#[doc = include_str!("../../../docs/security.md")]
#[cfg(doctest)]
struct SecurityPage;

#[doc = include_str!("../../../docs/rust.md")]
#[cfg(doctest)]
struct RustGuide;
