//! Output of a command that ends without success: one line, which begins with `error:` if something went wrong, its causes, hints,
//! and an exit code.

pub(crate) mod hints;
mod missing;

use std::borrow::Cow;
use std::error::Error as StdError;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use windlass_client::ClientError;
use windlass_core::secret::mask;
use windlass_core::text::nearest;
use windlass_error::{Diagnostic as _, Kind, causes};
use windlass_models::ModelError;
use windlass_runtime::agent_file::AgentFileError;
use windlass_runtime::{AssembleError, Error};
use windlass_store::StoreError;
use windlass_testing::fixture::{FixtureError, RecordedError};

use self::hints::Hinted as _;
use crate::home::quoted;
use crate::out::{self, Style};

/// Exit codes. The numbers are part of the command line's contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Answered, concluded, or asked back; or the command did what it was told.
    Good = 0,
    /// The run failed, or the command could not do what it was told.
    Failed = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// A file cannot be used.
    BadFile = 65,
    /// A model or tool server cannot be reached or used.
    Unavailable = 69,
    /// The log or Windlass itself failed.
    Internal = 70,
    /// The run is suspended.
    Suspended = 75,
    /// A limit cut the run.
    Limit = 124,
    /// The user cancelled it.
    Cancelled = 130,
    /// SIGHUP ended the process.
    HungUp = 129,
    /// SIGQUIT ended the process.
    Quit = 131,
    /// SIGTERM ended the process.
    Terminated = 143,
}

impl Exit {
    /// Whether a signal ended the process, and no run was cancelled.
    pub(crate) fn is_left(self) -> bool {
        matches!(self, Self::HungUp | Self::Quit | Self::Terminated)
    }

    /// The signal's name.
    pub(crate) fn signal(self) -> &'static str {
        match self {
            Self::HungUp => "SIGHUP",
            Self::Quit => "SIGQUIT",
            Self::Terminated => "SIGTERM",
            Self::Good
            | Self::Failed
            | Self::Usage
            | Self::BadFile
            | Self::Unavailable
            | Self::Internal
            | Self::Suspended
            | Self::Limit
            | Self::Cancelled => "a signal",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An end of a command other than success, in words for people.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// Whether something went wrong: a run that waits, was stopped, or has an answer at its limit is no error.
    is_error: bool,
    message: String,
    details: Vec<String>,
    causes: Vec<String>,
    hints: Vec<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        let message = masked(message);
        let (details, causes, hints) = (Vec::new(), Vec::new(), Vec::new());
        Self { exit, is_error: true, message, details, causes, hints }
    }

    /// An end that is no error: the message is shown without `error:`.
    pub(crate) fn note(exit: Exit, message: impl Into<String>) -> Self {
        Self { is_error: false, ..Self::new(exit, message) }
    }

    /// An error with its causes. A cause that only repeats what was said is left out.
    pub(crate) fn of(exit: Exit, error: &dyn StdError) -> Self {
        let mut failure = Self::new(exit, error.to_string());
        for cause in causes(error) {
            let text = masked(cause.to_string());
            if text != failure.message && failure.causes.last() != Some(&text) {
                failure.causes.push(text);
            }
        }
        failure
    }

    /// Without a message: the reader of our output has gone away.
    fn closed() -> Self {
        Self::new(Exit::Good, "")
    }

    pub(crate) fn cause(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(masked(cause));
        self
    }

    /// More of what happened.
    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(masked(detail));
        self
    }

    /// Adds a hint. Equal hints are shown once.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        let hint = masked(hint);
        if !self.hints.contains(&hint) {
            self.hints.push(hint);
        }
        self
    }

    pub(crate) fn maybe_hint(self, hint: Option<String>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// The error message without causes and hints.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Says it on stderr.
    pub(crate) fn show(&self) {
        if self.message.is_empty() {
            return;
        }
        let head = self.is_error.then_some((Style::Error, "error: "));
        out::say_wrapped(head, &self.message);
        for detail in &self.details {
            out::say_wrapped(None, &format!("  {detail}"));
        }
        for cause in &self.causes {
            out::say_wrapped(None, &format!("  caused by: {cause}"));
        }
        self.hints.iter().for_each(|hint| show_hint(hint));
    }

    /// The same as data.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "exit": self.exit as u8,
            "message": self.message,
            "details": self.details,
            "causes": self.causes,
            "hints": self.hints,
        })
    }
}

/// Says on stderr what to do.
fn show_hint(hint: &str) {
    let head = (Style::Hint, "hint: ");
    // A command alone is copied as one line.
    if hint.starts_with("windlass ") {
        out::say_styled(&[head, (Style::Plain, hint)]);
    } else {
        out::say_wrapped(Some(head), hint);
    }
}

/// An error may quote a server, and servers like to repeat what they were given.
fn masked(text: impl Into<String>) -> String {
    let text = text.into();
    match mask(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(masked) => masked,
    }
}

/// Leaves out suggestions that are not near: the parser takes `schema` for `chek`.
fn only_near(error: &mut clap::Error) {
    const KINDS: [(ContextKind, ContextKind); 2] = [
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
    ];
    for (wrong, suggested) in KINDS {
        let Some(ContextValue::String(typed)) = error.get(wrong) else { continue };
        let bare = |word: &str| word.trim_start_matches('-').to_owned();
        let is_near = |name: &String| !nearest(&bare(typed), [bare(name).as_str()]).is_empty();
        let near = match error.get(suggested) {
            Some(ContextValue::Strings(names)) => {
                ContextValue::Strings(names.iter().filter(|name| is_near(name)).cloned().collect())
            }
            Some(ContextValue::String(name)) if !is_near(name) => ContextValue::None,
            _ => continue,
        };
        let is_empty = matches!(&near, ContextValue::None)
            || matches!(&near, ContextValue::Strings(names) if names.is_empty());
        if is_empty {
            error.remove(suggested);
        } else {
            error.insert(suggested, near);
        }
    }
}

/// Says what is wrong with the command line, or gives the help that it asks for.
pub(crate) fn misused(mut error: clap::Error) -> Result<Exit, Failure> {
    only_near(&mut error);
    let text = error.render().to_string();
    let text = text.trim_end();
    if error.use_stderr() {
        out::say_wrapped(None, text);
        if error.kind() == ErrorKind::MissingRequiredArgument
            && let Some(hint) = missing::hint(text, Path::new("."))
        {
            show_hint(&hint);
        }
        return Ok(Exit::Usage);
    }
    out::line(text)?;
    Ok(Exit::Good)
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::closed()
        } else {
            Self::new(Exit::Internal, "cannot write the output").cause(error.to_string())
        }
    }
}

impl From<AgentFileError> for Failure {
    fn from(error: AgentFileError) -> Self {
        let failure = Self::of(Exit::BadFile, &error).maybe_hint(error.hint());
        if let AgentFileError::Read { path, .. } = error
            && !path.exists()
        {
            let file = quoted(&path.display().to_string());
            failure.hint(format!("`windlass agents init {file}` writes one to start from"))
        } else {
            failure
        }
    }
}

impl From<FixtureError> for Failure {
    fn from(error: FixtureError) -> Self {
        Self::of(Exit::BadFile, &error).maybe_hint(error.hint())
    }
}

impl From<windlass_server::Error> for Failure {
    fn from(error: windlass_server::Error) -> Self {
        let exit = match error.kind() {
            Kind::Invalid => Exit::BadFile,
            Kind::Internal => Exit::Internal,
            Kind::NotFound | Kind::Conflict | Kind::Forbidden | Kind::Exhausted | Kind::Unavailable => {
                Exit::Failed
            }
        };
        let failure = Self::of(exit, &error).maybe_hint(error.hint());
        match error {
            windlass_server::Error::Folder { folder, source } if source.kind() == io::ErrorKind::NotFound => {
                let file = quoted(&folder.join("agent.yaml").display().to_string());
                failure.hint(format!("`windlass agents init {file}` makes it, with an agent"))
            }
            _ => failure,
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let exit = match error.kind() {
            Kind::Invalid if error.refusal().is_none() => Exit::Usage,
            Kind::Unavailable => Exit::Unavailable,
            Kind::Internal => Exit::Internal,
            Kind::Invalid | Kind::NotFound | Kind::Conflict | Kind::Forbidden | Kind::Exhausted => {
                Exit::Failed
            }
        };
        Self::of(exit, &error).maybe_hint(hints::advice(&error))
    }
}

impl From<RecordedError> for Failure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
    fn from(error: RecordedError) -> Self {
        match error {
            RecordedError::Read(source) => source.into(),
            _ => Self::of(Exit::Failed, &error).maybe_hint(error.hint()),
        }
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self::of(model_exit(&error), &error).maybe_hint(error.hint())
    }
}

/// A name that no key or server could make good is a fault of the file that it stands in.
fn model_exit(error: &ModelError) -> Exit {
    let unavailable = matches!(
        error,
        ModelError::MissingKey { .. }
            | ModelError::Offline { .. }
            | ModelError::Http(_)
            | ModelError::Failed(_)
    );
    if unavailable { Exit::Unavailable } else { Exit::BadFile }
}

impl From<AssembleError> for Failure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
    fn from(error: AssembleError) -> Self {
        let exit = match error {
            AssembleError::File(error) => return error.into(),
            AssembleError::Agent(error) => return error.into(),
            AssembleError::Model { ref source, .. } => model_exit(source),
            AssembleError::Server { .. } => Exit::Unavailable,
            _ => Exit::BadFile,
        };
        Self::of(exit, &error).maybe_hint(error.hint())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let failed = matches!(
            error,
            StoreError::UnknownRun { .. }
                | StoreError::Held { .. }
                | StoreError::Ended { .. }
                | StoreError::InboxFull { .. }
        );
        let exit = match (&error, error.kind()) {
            _ if failed => Exit::Failed,
            (StoreError::Remote(_), Kind::Unavailable) => Exit::Unavailable,
            (
                StoreError::Remote(_),
                Kind::Invalid | Kind::NotFound | Kind::Conflict | Kind::Forbidden | Kind::Exhausted,
            ) => Exit::Failed,
            _ => Exit::Internal,
        };
        let failure = if let StoreError::Held { run, holder } = &error {
            Self::new(exit, format!("another process works on run {run}: it is held by {}", process(holder)))
        } else {
            Self::of(exit, &error)
        };
        failure.maybe_hint(error.hint())
    }
}

/// A holder without its id in the log, which tells a person nothing.
fn process(holder: &str) -> &str {
    match holder.rsplit_once(' ') {
        Some((pid, id)) if pid.starts_with("pid ") && uuid::Uuid::parse_str(id).is_ok() => pid,
        _ => holder,
    }
}

impl From<windlass_read::Error> for Failure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
    fn from(error: windlass_read::Error) -> Self {
        use windlass_read::Error;
        let exit = match error {
            Error::Log(source) => return source.into(),
            Error::BadImport { .. } => Exit::BadFile,
            Error::MissingBase { .. } => Exit::Internal,
            _ => Exit::Failed,
        };
        Self::of(exit, &error).maybe_hint(error.hint())
    }
}

impl From<Error> for Failure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
    fn from(error: Error) -> Self {
        let exit = match error {
            Error::Log(source) => return source.into(),
            Error::Read(source) => return source.into(),
            Error::Refused(ref invalid) => {
                return Self::new(Exit::Failed, invalid.to_string()).maybe_hint(error.hint());
            }
            Error::AgentChanged { .. }
            | Error::Policy { .. }
            | Error::Tools { .. }
            | Error::UnknownPrice { .. }
            | Error::NoModel { .. }
            | Error::Template { .. }
            | Error::Prompt { .. }
            | Error::SameInCode { .. }
            | Error::PromptTwice { .. } => Exit::BadFile,
            _ => Exit::Failed,
        };
        Self::of(exit, &error).maybe_hint(error.hint())
    }
}
