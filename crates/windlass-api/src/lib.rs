//! The native API of a Windlass server as types. The server writes and describes them (OpenAPI), clients read them.
//!
//! Fields are only added, never renamed or removed: a client ignores those that it does not know, and a server refuses a
//! request with fields that it does not know. Times are milliseconds since the Unix epoch, costs are US dollars.
//!
//! ```
//! use windlass_api::StartRun;
//!
//! let start: StartRun = serde_json::from_str(r#"{"agent":"librarian","input":"Which files are here?"}"#).unwrap();
//! assert_eq!(start.agent, "librarian");
//! ```

mod agents;
mod error;
mod health;
mod listings;
mod requests;
mod runs;
mod updates;

pub use agents::{Agent, Agents, FailedFile, Reloaded};
pub use error::{ErrorBody, Fault};
pub use health::{Check, Health, Ready};
pub use listings::{
    ListQuestions, ListRuns, ListSessions, Page, PendingQuestion, Session, SessionOf, SessionRuns, UsageLine,
    UsageOf, UsageReport,
};
pub use requests::{
    AgentVersion, AnswerQuestion, AttachmentSource, CancelRun, Fate, ForkRun, Input, InputPart, PauseRun,
    PreviewSwitch, ResumeRun, StartRun, Started, SteerRun, SwitchPreview, Taken, TakenState,
};
pub use runs::{Artifact, Artifacts, Event, Events, Question, Report, Run, RunSummary, Source, Spend};
pub use updates::{EndReason, Positioned, StreamEnd, Update, Updates};

/// The header that carries the idempotency key of a request (E65).
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The most bytes of an idempotency key.
pub const KEY_BYTES: usize = 256;
