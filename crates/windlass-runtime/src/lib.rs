//! Agents, agent files, and the driver that carries out their runs.
//!
//! Most programs use this crate as `windlass::runtime`; the guide is
//! [`docs/rust.md`](https://github.com/windlass-rs/windlass/blob/main/docs/rust.md).
//!
//! | task | where |
//! |---|---|
//! | build an agent | [`Agent::builder`]; from a file: [`agent_file`], [`assemble()`] |
//! | run it | [`Agent::run`], [`Agent::stream`], [`Agent::prepare`] |
//! | answer its questions | [`People`] at once, [`Agent::answer`] from anywhere |
//! | resume a run | [`Agent::resume`]; all that are due: [`Host::supervise`](host::Host::supervise) |
//! | continue a run that a limit cut | [`Agent::continue_run`] |
//! | look at runs | [`Run`], [`Agent::runs`]; what they did: [`windlass_read`] |
//! | hand tasks to other agents | [`Delegate`], [`AgentDelegate`], [`Branch`] |
//! | change a run after each step | [`StepHook`], [`Step`] |
//! | make the system message of objective and tools | [`PromptBuilder`], [`React`] |
//! | move runs between logs | [`windlass_read::exchange`] |
//! | reach a run that another process drives | [`control`] |

mod above;
mod account;
mod agent;
mod asking;
mod assemble;
mod binding;
mod blocking;
mod branches;
mod builder;
mod changes;
mod clock;
mod coding;
mod delegates;
mod driver;
mod environment;
mod error;
mod forks;
mod hooks;
mod input;
mod lease;
mod listing;
mod lost;
mod masking;
mod off_thread;
mod partial;
mod people;
mod posts;
mod prices;
mod prompt;
mod reading;
mod recall;
mod repeat;
mod resume;
mod run;
mod schemas;
mod scope;
mod searching;
mod second;
mod serving;
mod settings;
mod slots;
mod source;
mod spill;
mod stand_in;
mod starting;
mod taking_over;
#[cfg(feature = "otel")]
mod telemetry;
#[cfg(not(feature = "otel"))]
#[path = "no_telemetry.rs"]
mod telemetry;
mod updates;
mod work;

#[doc(hidden)]
pub mod __private;
pub mod control;
pub mod host;
pub mod learnt;

pub use agent::{Agent, kept_files, kept_files_of};
pub use asking::RecordedRequest;
#[cfg(feature = "mcp")]
pub use assemble::connect;
pub use assemble::{
    AssembleError, Assembling, Assembly, Checked, FileService, WaitedFor, Waits, assemble, check,
    check_delegates, local_tools, prompted, resolved, services, with_tools,
};
pub use branches::Branch;
pub use builder::{AgentBuilder, ModelRef};
pub use delegates::{AgentDelegate, Delegate, Task, TaskEnd};
pub use environment::{Environment, SystemEnvironment};
pub use error::{Error, in_full};
pub use forks::{Fork, ForkOptions, Saved};
pub use hooks::{OutputCheck, Step, StepFn, StepHook};
pub use input::RunMessages;
pub use listing::Listing;
pub use lost::{Lost, given_up};
pub use partial::Partially;
pub use people::{Asked, People};
pub use prompt::{PromptBuilder, PromptContext, PromptFn, React, TemplatePrompt};
pub use repeat::{Repeat, Repeated};
pub use resume::Resume;
pub use run::{DriveOptions, Prepared, Run, RunHandle, RunStream, Unpause};
pub use second::{Admitted, Turn, holding_messages};
pub use settings::SettingsError;
pub use source::ToolSource;
#[cfg(feature = "otel")]
pub use telemetry::set_telemetry;
pub use updates::{UPDATES_KEPT, Update, Updates};
pub use windlass_agent_file::{self as agent_file, yaml};
pub use windlass_code::child as code_child;
pub use windlass_macros::Partial;
pub use windlass_read as read;
pub use windlass_store::RunStatus;
