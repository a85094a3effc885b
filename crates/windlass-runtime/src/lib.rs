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

mod agent;
mod driver;
mod platform;
mod work;

#[doc(hidden)]
pub mod __private;
pub mod host;

pub mod control {
    //! Answering, steering and cancelling a run that another process may be driving.
    //!
    //! Every input goes to the run's durable inbox, from any process that shares the log. Servers use the functions of this module;
    //! programs that hold the agent use its methods ([`Agent::answer`], [`Agent::steer`], [`Agent::cancel`]).
    //!
    //! [`Agent::answer`]: crate::Agent::answer
    //! [`Agent::steer`]: crate::Agent::steer
    //! [`Agent::cancel`]: crate::Agent::cancel

    pub use crate::driver::control::{
        Checked, Delivery, answer, answer_waits, check, pause, pause_waits, paused_at, post, run_end, steer,
    };
    pub use crate::driver::parents::{Given, asked_at, given, resumed_at};
    pub use crate::host::cancelling::{Cancelled, cancel};
}

pub use agent::Agent;
pub use agent::assemble::checking::{Checked, check};
pub use agent::assemble::error::AssembleError;
pub use agent::assemble::family::check_delegates;
pub use agent::assemble::prompts::prompted;
#[cfg(feature = "mcp")]
pub use agent::assemble::servers::connect;
pub use agent::assemble::services::{FileService, services, with_tools};
pub use agent::assemble::waits::{WaitedFor, Waits};
pub use agent::assemble::{Assembling, Assembly, assemble, local_tools, resolved};
pub use agent::builder::AgentBuilder;
pub use agent::builder::branch::Branch;
pub use agent::builder::models::ModelRef;
pub use agent::delegates::{AgentDelegate, Delegate, Task, TaskEnd};
pub use agent::files::{kept_files, kept_files_of};
pub use agent::hooks::{OutputCheck, Step, StepFn, StepHook};
pub use agent::input::RunMessages;
pub use agent::people::{Asked, People};
pub use agent::prompt::react::React;
pub use agent::prompt::template::TemplatePrompt;
pub use agent::prompt::{PromptBuilder, PromptContext, PromptFn};
pub use agent::source::ToolSource;
pub use driver::forks::{ForkOptions, Saved};
pub use driver::handle::RunHandle;
pub use driver::lost::{Lost, given_up};
pub use driver::options::{DriveOptions, Unpause};
pub use driver::partial::Partially;
pub use driver::run::Run;
#[cfg(feature = "otel")]
pub use driver::telemetry::set_telemetry;
pub use driver::updates::{UPDATES_KEPT, Update, Updates};
pub use host::admission::Admitted;
pub use host::admission::turns::{Turn, holding_messages};
pub use host::forking::Fork;
pub use host::listing::Listing;
pub use host::repeat::{Repeat, Repeated};
pub use host::resume::Resume;
pub use host::stream::RunStream;
pub use platform::capabilities;
pub use platform::environment::{Environment, SystemEnvironment};
pub use platform::error::Error;
pub use platform::error::pdf::{PdfError, UnreadPdf};
pub use platform::settings::SettingsError;
pub use windlass_agent_file::{self as agent_file, yaml};
pub use windlass_code::child as code_child;
pub use windlass_error::in_full;
pub use windlass_macros::Partial;
pub use windlass_read as read;
pub use windlass_store::RunStatus;
pub use work::model_call::recorded::RecordedRequest;
pub use work::prepared::Prepared;
