//! Output about a run in progress: for people ([`Plain`]) or for programs ([`json`]).

pub(crate) mod asked;
pub(crate) mod json;
mod plain;

pub(crate) mod table;
mod waits;
pub(crate) mod warnings;

use std::future::Future;
use std::io;
use std::pin::pin;

use clap::Args;
use futures_util::future::{Either, select};
use windlass_core::{Event, Message, State, Status};
use windlass_read::numbered;
use windlass_read::words::receipts;
use windlass_runtime::agent_file::UnmatchedPattern;
use windlass_runtime::{Environment as _, Run, SystemEnvironment, Update};
use windlass_store::Store;
use windlass_tools::ToolWarning;

use crate::face::{Delegates, Face};
use crate::failure::{Exit, Failure};
use crate::out;
use crate::waiting::with_progress;

pub(crate) use plain::{Detail, Plain, fenced};

/// Time between two looks at what a run waits for, where a face shows it.
const WAIT_MS: u64 = 250;

/// Output options of a run.
#[derive(Clone, Copy, Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct ViewArgs {
    /// One JSON object an event or update on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Lines one after another, without anything that is drawn again: for screen readers, and terminals that are recorded
    /// [env: WINDLASS_PLAIN=1]
    #[arg(long)]
    pub(crate) plain: bool,
    /// No progress on stderr, only the answer and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Also show the model's reasoning and the agent's log lines
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

impl ViewArgs {
    /// No progress is shown from here on, if these options say so.
    pub(crate) fn calm(self) {
        out::calm(self.json || self.quiet || self.is_plain());
    }

    fn is_plain(self) -> bool {
        self.plain || out::wants_lines()
    }

    /// Whether a terminal may show what goes on by drawing it again.
    pub(crate) fn draws(self) -> bool {
        !self.json && !self.is_plain()
    }

    fn detail(self) -> Detail {
        match (self.quiet, self.verbose) {
            (true, _) => Detail::Quiet,
            (false, true) => Detail::Verbose,
            (false, false) => Detail::Default,
        }
    }
}

/// Shows a run.
#[derive(Debug)]
pub(crate) enum View {
    Plain(Box<Plain>),
    Json(json::Writer),
}

impl View {
    pub(crate) fn new(args: ViewArgs) -> Self {
        args.calm();
        if args.json {
            Self::Json(json::Writer::default())
        } else {
            Self::Plain(Box::new(Plain::new(args.detail())))
        }
    }

    /// The option that names the log, for commands that are suggested.
    pub(crate) fn logged(mut self, words: &str) -> Self {
        if let Self::Plain(plain) = &mut self {
            words.clone_into(&mut plain.log_words);
        }
        self
    }

    /// The run is shown within the face of a conversation.
    pub(crate) fn within(mut self, face: Option<&Face>, delegates: Option<Delegates>) -> Self {
        if let Self::Plain(plain) = &mut self {
            plain.face = face.cloned();
            plain.paper.face = face.cloned();
            plain.delegates = delegates.map(|delegates| delegates.logged(&plain.log_words));
        }
        self
    }

    /// An error follows that says why the run failed.
    pub(crate) fn says_end(&mut self) {
        if let Self::Plain(plain) = self {
            plain.says_end = true;
        }
    }

    pub(crate) fn update(&mut self, update: &Update) {
        match self {
            Self::Plain(plain) => {
                plain.waits.update(update);
                plain.update(update);
            }
            Self::Json(writer) => writer.update(update),
        }
    }

    /// A request to the run was refused where it is driven.
    pub(crate) fn refused(&mut self, code: &str, message: &str) {
        match self {
            Self::Plain(plain) => plain.warn(&format!("refused: {message}")),
            Self::Json(writer) => {
                writer.value(&serde_json::json!({ "type": "refused", "code": code, "message": message }));
            }
        }
    }

    /// An event that was read from the log.
    pub(crate) fn event(&mut self, number: u64, event: &Event) {
        match self {
            Self::Plain(plain) => plain.event(event),
            Self::Json(writer) => writer.event(number, event),
        }
    }

    /// Something beside the run: which model was chosen, say.
    pub(crate) fn remark(&mut self, text: &str) {
        match self {
            Self::Plain(plain) => plain.remark(text),
            Self::Json(writer) => writer.value(&serde_json::json!({ "type": "remark", "text": text })),
        }
    }

    /// Something beside the run that somebody has to act on.
    pub(crate) fn warn(&mut self, text: &str) {
        match self {
            Self::Plain(plain) => plain.warn(text),
            Self::Json(_) => self.remark(text),
        }
    }

    /// Tools that cannot be used as their servers say.
    pub(crate) fn warnings(&mut self, all: &[ToolWarning]) {
        match self {
            Self::Plain(plain) => warnings::lines(all).iter().for_each(|line| plain.warn(line)),
            Self::Json(writer) => all.iter().for_each(|warning| writer.value(&warnings::value(warning))),
        }
    }

    /// Patterns of `approve` and `deny` that match no tool.
    pub(crate) fn unmatched(&mut self, all: &[UnmatchedPattern]) {
        match self {
            Self::Plain(plain) => all.iter().map(warnings::pattern_line).for_each(|line| plain.warn(&line)),
            Self::Json(writer) => {
                all.iter().map(warnings::pattern_value).for_each(|value| writer.value(&value));
            }
        }
    }

    /// Shows the earlier conversation of a resumed run.
    pub(crate) fn recall(&mut self, state: &State) {
        if let Self::Plain(plain) = self {
            plain.recall(state);
        }
    }

    /// One of many runs in a conversation: which one is of no interest.
    pub(crate) fn brief(mut self) -> Self {
        if let Self::Plain(plain) = &mut self {
            plain.brief = true;
        }
        self
    }

    /// Another process drives the run, which stands as `state` says: its questions are shown, too.
    pub(crate) fn watch(&mut self, state: &State, started_at: u64) {
        self.recall(state);
        if let Self::Plain(plain) = self {
            plain.questions = true;
            plain.started_at = started_at;
        }
    }

    /// Awaits more of the run, and shows at a terminal what the run waits for.
    pub(crate) async fn waiting<T>(&self, work: impl Future<Output = T>) -> T {
        let environment = SystemEnvironment;
        if let Self::Plain(plain) = self
            && let Some(face) = &plain.face
        {
            return with_face(&environment, face, &plain.waits, work).await;
        }
        let wait = || if let Self::Plain(plain) = self { plain.waits.now(environment.now()) } else { None };
        with_progress(&environment, wait, work).await
    }

    /// Whether stdout has been closed by its reader.
    pub(crate) fn is_broken(&self) -> bool {
        match self {
            Self::Plain(plain) => plain.paper.broken.is_some(),
            Self::Json(writer) => writer.broken.is_some(),
        }
    }

    /// The run is no longer driven here.
    pub(crate) async fn left(
        &mut self,
        log: &dyn Store,
        run: &Run,
        failure: Option<&Failure>,
    ) -> Result<(), Failure> {
        // Without a call, and without a provider's tool, there is no effect to name, and the log need not be read.
        let effects =
            run.state().counters().tool_calls > 0 || run.messages().any(|message| has_steps(message));
        let is_read = effects || matches!(self, Self::Json(_));
        let receipts = if is_read { run.receipts(log).await? } else { Vec::new() };
        match self {
            Self::Plain(plain) => receipts::line(&receipts).into_iter().for_each(|line| plain.remark(&line)),
            Self::Json(writer) => writer.value(&json::run(run, failure, &receipts)),
        }
        Ok(())
    }

    /// The output error, unless it only is a reader that went away.
    pub(crate) fn close(self) -> Result<(), Failure> {
        let broken = match self {
            Self::Plain(plain) => plain.close(),
            Self::Json(writer) => writer.broken,
        };
        match broken {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// Awaits the work, and lets the face show what is waited for meanwhile.
async fn with_face<T>(
    environment: &SystemEnvironment,
    face: &Face,
    waits: &waits::Waits,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(work);
    loop {
        let now = environment.now();
        face.waits(waits.now(now).map(|wait| (wait.what, wait.since)));
        match select(work.as_mut(), environment.sleep_until(now + WAIT_MS)).await {
            Either::Left((done, _)) => return done,
            Either::Right(((), _)) => {}
        }
    }
}

/// The exit code of an end.
pub(crate) fn exit_of(status: Status) -> Exit {
    match status {
        Status::Answered | Status::Concluded | Status::Clarification => Exit::Good,
        Status::Limit(_) => Exit::Limit,
        Status::Cancelled => Exit::Cancelled,
        Status::Failed(windlass_core::event::FailKind::Model) => Exit::Unavailable,
        Status::Failed(windlass_core::event::FailKind::Internal) => Exit::Internal,
        Status::Failed(_) => Exit::Failed,
    }
}

/// Writes to stdout until that fails for the first time.
#[derive(Debug, Default)]
struct Paper {
    broken: Option<io::Error>,
    /// The face of the conversation, which shows the text itself.
    face: Option<Face>,
}

impl Paper {
    fn piece(&mut self, text: &str) {
        if let Some(face) = &self.face {
            face.text(text);
        } else if self.broken.is_none() {
            self.broken = out::answer(text).err();
        }
    }
}

/// All events of an update, one by one.
fn each(update: &Update, mut show: impl FnMut(u64, &Event)) {
    if let Update::Events(batch) = update {
        numbered(batch).for_each(|(number, event)| show(number, event));
    }
}

/// Whether the provider ran tools of its own for a reply.
fn has_steps(message: &Message) -> bool {
    let Message::Assistant(reply) = message else { return false };
    reply.annotations.as_ref().is_some_and(|all| !all.steps.is_empty())
}
