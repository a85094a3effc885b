//! The driver of Windlass, agents and agent files, and the edges around the loop.

mod agent;
mod assemble;
mod binding;
mod blocking;
mod branches;
mod builder;
mod changes;
mod clock;
mod delegates;
mod driver;
mod effects;
mod environment;
mod error;
mod forks;
mod hooks;
mod import;
mod input;
mod lease;
mod load;
mod lost;
mod masking;
mod partial;
mod people;
mod posts;
mod prices;
mod reading;
mod replays;
mod run;
mod schemas;
mod searching;
mod serving;
mod settings;
mod slots;
mod source;
mod spill;
mod taking_over;
mod telemetry;
mod template;
mod updates;
mod work;

#[doc(hidden)]
pub mod __private;
pub mod agent_file;
pub mod files;
pub mod yaml;

pub use agent::Agent;
pub use assemble::{
    AssembleError, Assembly, FileService, assemble, check_delegates, connect, local_tools, services,
    with_tools,
};
pub use branches::Branch;
pub use builder::AgentBuilder;
pub use delegates::{AgentDelegate, Delegate, Task, TaskEnd};
pub use effects::{CallEffects, EffectEntry, EffectStep, Settlement, effects};
pub use environment::{Environment, SystemEnvironment};
pub use error::{Error, in_full};
pub use forks::{Fork, ForkOptions, Saved};
pub use hooks::{OutputCheck, Step, StepFn, StepHook};
pub use import::{Imported, at_home, import_run};
pub use input::RunMessages;
pub use load::{load, load_until, start_of};
pub use lost::{Lost, given_up};
pub use partial::Partially;
pub use people::People;
pub use replays::{Replayed, replay_run};
pub use run::{DriveOptions, Prepared, Run, RunHandle, RunStream, post};
pub use settings::SettingsError;
pub use source::ToolSource;
pub use telemetry::set_telemetry;
pub use updates::{UPDATES_KEPT, Update, Updates, numbered};
pub use windlass_macros::Partial;
