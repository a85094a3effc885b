//! One of many senders: a process that gives its messages to a session, one after the other, and waits for each answer.
//!
//! It keeps a journal, so that the process that replaces it after a kill knows what was sent. Every second message has an
//! idempotency key and is sent again then; of the others nobody knows what became of them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use windlass_core::event::MessageQueued;
use windlass_core::{Message, RunId, SessionId, Status};
use windlass_read::load;
use windlass_runtime::control::run_end;
use windlass_runtime::host::{Host, Start};
use windlass_runtime::{Admitted, Agent, DriveOptions, Error, Turn, in_full};
use windlass_store::{Index as _, SqliteLog, StoreError};

use super::chain::user_texts;
use crate::error::HarnessError;
use crate::look;
use crate::mock::bracketed;

/// Interval between two looks for a run that another process is to begin, and pause after a refusal.
const LOOK: Duration = Duration::from_millis(20);

/// The task of a sender, which works in the folder that it is started in.
#[derive(Clone, Debug)]
pub struct SenderPlan {
    /// Its name.
    pub name: String,
    /// The session.
    pub session: String,
    /// Number of messages.
    pub messages: u32,
    /// The log's file.
    pub log: PathBuf,
}

/// The fate of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was sent, and its sender died.
    Sent,
    /// The session was busy.
    Refused,
    /// That run answered it.
    Answered(RunId),
    /// That run was cancelled, because another message came.
    Interrupted(RunId),
    /// That run was to answer it, and has not.
    Unanswered(RunId),
    /// Its sender died, and it was not sent again.
    Lost,
}

impl Fate {
    fn words(&self) -> String {
        match self {
            Self::Sent => "sent".to_owned(),
            Self::Refused => "refused".to_owned(),
            Self::Answered(run) => format!("answered {run}"),
            Self::Interrupted(run) => format!("interrupted {run}"),
            Self::Unanswered(run) => format!("unanswered {run}"),
            Self::Lost => "lost".to_owned(),
        }
    }

    fn read(words: &str) -> Option<Self> {
        let (word, run) = words.split_once(' ').unwrap_or((words, ""));
        Some(match word {
            "sent" => Self::Sent,
            "refused" => Self::Refused,
            "answered" => Self::Answered(run.parse().ok()?),
            "interrupted" => Self::Interrupted(run.parse().ok()?),
            "unanswered" => Self::Unanswered(run.parse().ok()?),
            "lost" => Self::Lost,
            _ => return None,
        })
    }
}

/// The text of a sender's message.
pub(super) fn text(sender: &str, number: u32) -> String {
    format!("{sender}.{number}")
}

/// The journal of a sender: its messages in order, each with what became of it.
///
/// # Errors
/// It cannot be read.
pub(super) fn journal(path: &Path) -> io::Result<Vec<Fate>> {
    let written = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        written => written?,
    };
    let mut fates: Vec<Fate> = Vec::new();
    for line in written.lines() {
        let read =
            line.split_once(' ').and_then(|(number, fate)| Some((number.parse().ok()?, Fate::read(fate)?)));
        let (number, fate): (usize, _) =
            read.ok_or_else(|| io::Error::other(format!("a broken line: {line:?}")))?;
        fates.truncate(number);
        fates.push(fate);
    }
    Ok(fates)
}

/// Sends what a former process of this sender has not sent.
///
/// # Errors
/// A message has no fate, or the journal cannot be written.
pub fn send(plan: &SenderPlan) -> Result<(), HarnessError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(HarnessError::system("start a runtime"))?;
    let path = PathBuf::from(&plan.name);
    let known = journal(&path).map_err(HarnessError::file("read", &path))?;
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let mut journal = Journal { file: file.map_err(HarnessError::file("open", &path))?, path };
    runtime.block_on(async {
        let sender = Sender::new(plan).await.map_err(|error| failed("begin", error))?;
        let pending = known.last().is_some_and(|fate| *fate == Fate::Sent);
        let first = known.len() as u32 - u32::from(pending);
        for number in first..plan.messages {
            let keyed = number % 2 == 0;
            let again = pending && number == first;
            let fate = if again && !keyed {
                Fate::Lost
            } else {
                journal.write(number, &Fate::Sent)?;
                let sent = sender.send(&text(&plan.name, number), keyed).await;
                sent.map_err(|error| failed(&text(&plan.name, number), in_full(&error)))?
            };
            journal.write(number, &fate)?;
            if fate == Fate::Refused {
                // The run that is in the way gets some time.
                tokio::time::sleep(LOOK).await;
            }
        }
        sender.host.close().await;
        Ok(())
    })
}

fn failed(what: &str, why: String) -> HarnessError {
    HarnessError::System { what: format!("send ({what})"), source: io::Error::other(why) }
}

struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// One write, so that a killed process leaves no half line.
    fn write(&mut self, number: u32, fate: &Fate) -> Result<(), HarnessError> {
        let line = format!("{number} {}\n", fate.words());
        self.file.write_all(line.as_bytes()).map_err(HarnessError::file("write", &self.path))
    }
}

struct Sender {
    log: Arc<SqliteLog>,
    host: Host,
    agent: Agent,
    session: SessionId,
}

impl Sender {
    async fn new(plan: &SenderPlan) -> Result<Self, String> {
        let log = Arc::new(look::open(&plan.log)?);
        let variable = |name: &str| std::env::var(name).ok();
        let agent = Agent::from_file("agent.yaml", &variable, log.clone()).await;
        let agent = agent.map_err(|error| in_full(&error))?;
        let host = Host::builder(log.clone()).build();
        Ok(Self { log, host, agent, session: SessionId::from(plan.session.as_str()) })
    }

    fn options(&self) -> DriveOptions {
        DriveOptions { session: Some(self.session.clone()), ..DriveOptions::default() }
    }

    /// Sends a message and waits for its fate.
    async fn send(&self, text: &str, keyed: bool) -> Result<Fate, Error> {
        let options = DriveOptions { key: keyed.then(|| text.into()), ..self.options() };
        match self.host.start(Start::new(&self.agent, text).options(options.clone())).await {
            Ok(Admitted::Started(live)) => {
                let run = live.id();
                live.end().await?;
                self.end_of(text, run).await
            }
            Ok(Admitted::Steered { run } | Admitted::Repeated { run }) => self.end_of(text, run).await,
            Ok(Admitted::Queued { behind, run }) => {
                let turn = self.agent.await_turn(&self.session, behind, run, &options).await?;
                if let Turn::Ours(prepared) = turn {
                    self.host.drive(&self.agent, prepared).end().await?;
                }
                self.end_of(text, run).await
            }
            Err(Error::SessionBusy { .. }) => Ok(Fate::Refused),
            Err(error) => Err(error),
        }
    }

    /// Waits for the end of the run that was said to answer a message. Where it has not heard it, another run does.
    async fn end_of(&self, text: &str, mut run: RunId) -> Result<Fate, Error> {
        loop {
            self.begun(run).await?;
            // A supervisor goes on with it where its process has died.
            let end = run_end(&*self.log, run).await?;
            if end.status == Status::Cancelled {
                return Ok(Fate::Interrupted(run));
            }
            let state = load(&*self.log, run).await?;
            let answers = |message: &Message| {
                let reply = if let Message::Assistant(reply) = message { reply.text.as_ref() } else { None };
                reply.is_some_and(|reply| reply.contains(&bracketed(text)))
            };
            if state.history().iter().any(|message| answers(message)) {
                return Ok(Fate::Answered(run));
            }
            let is_ours = |queued: &&Arc<MessageQueued>| {
                user_texts(queued.messages.iter().map(|message| &**message)).iter().any(|sent| sent == text)
            };
            match state.queued().find(is_ours) {
                Some(queued) => run = queued.run,
                None => return Ok(Fate::Unanswered(run)),
            }
        }
    }

    /// Waits until a run has begun. Where its message waits in the session, and the process that is to go on has died, it begins here.
    async fn begun(&self, run: RunId) -> Result<(), Error> {
        loop {
            match self.log.summary(run).await {
                Ok(_) => return Ok(()),
                Err(StoreError::UnknownRun { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            match self.agent.next_queued(&self.session, self.options()).await {
                Ok(Some(prepared)) => drop(self.host.drive(&self.agent, prepared).end().await?),
                Ok(None) => tokio::time::sleep(LOOK).await,
                Err(Error::SessionBusy { run: other, .. }) => drop(run_end(&*self.log, other).await?),
                Err(error) => return Err(error),
            }
        }
    }
}
