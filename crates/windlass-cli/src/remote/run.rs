//! `windlass run` on a server: it drives the run, and this process shows it.

use std::time::Duration;

use windlass_api::{Fate, Input, StartRun, Started};
use windlass_client::ClientError;
use windlass_core::{RunId, SessionId};
use windlass_read::words::name;
use windlass_store::{Index as _, StoreError};

use super::Server;
use super::following::Foreground;
use crate::asking::{Place, Roots, Terminal};
use crate::drive::{Words, verdict};
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::view::{View, ViewArgs};

/// The time between two looks whether a message that waits has begun its run.
const LOOK: Duration = Duration::from_millis(200);

/// An input for an agent of a server.
pub(crate) struct Task {
    /// The agent's name.
    pub(crate) agent: String,
    pub(crate) input: Input,
    pub(crate) session: SessionId,
    pub(crate) only_tools: Option<Vec<String>>,
    pub(crate) view: ViewArgs,
}

/// Starts a run, and shows it to its end or to a wait.
pub(crate) async fn run(server: &Server, task: Task) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    let Task { agent, input, session, only_tools, view: args } = task;
    let mut view = View::new(args).logged(&server.words);
    let words = Words { log: server.words.clone(), file: Some(agent.clone()), ..Words::default() };
    let session = Some(session.as_str().to_owned());
    let start = StartRun { agent, input, session, only_tools, wait_ms: 0 };
    let Some(run) = started(server, &start, &mut view, &mut interrupts).await? else {
        return view.close().map(|()| Exit::Good);
    };
    let place = Place { log: server.store.clone(), roots: Roots::default(), chat: false };
    let terminal = if args.json { None } else { Terminal::open(place) };
    let foreground = Foreground { server, run, from_event: None, goes_on: false, terminal };
    let run = foreground.drive(&mut view, &mut interrupts, &words).await?;
    let verdict = verdict(&run, &words);
    view.left(&*server.store, &run, verdict.as_ref().err()).await?;
    view.close()?;
    verdict
}

/// The run that answers the message, once it has begun. `None`: the message has entered a run that goes on.
pub(super) async fn started(
    server: &Server,
    start: &StartRun,
    view: &mut View,
    interrupts: &mut Interrupts,
) -> Result<Option<RunId>, Failure> {
    let started = interrupts.or(server.client.start(start, None)).await?;
    let Started { run, fate, behind, .. } = match started {
        Ok(started) => started,
        Err(error) => return Err(refused(server, start, error).await),
    };
    let session = name(start.session.as_deref().unwrap_or_default());
    match (fate, behind) {
        (Fate::Started | Fate::Repeated, _) => Ok(Some(run)),
        (Fate::Steered, _) => {
            view.remark(&format!("session `{session}` is busy: the message steers run {run}"));
            Ok(None)
        }
        (Fate::Queued, behind) => {
            let behind = behind.unwrap_or(run);
            view.remark(&format!(
                "session `{session}` is busy: the message waits for the end of run {behind}"
            ));
            tokio::select! {
                begun = begun(server, run) => begun.map(|()| Some(run)),
                interrupt = interrupts.next() => {
                    Err(Failure::note(interrupt.exit(), "the message waits at the server, which runs it in its turn"))
                }
            }
        }
    }
}

/// Waits until the run of a message has begun.
async fn begun(server: &Server, run: RunId) -> Result<(), Failure> {
    loop {
        match server.store.summary(run).await {
            Ok(_) => return Ok(()),
            Err(StoreError::UnknownRun { .. }) => tokio::time::sleep(LOOK).await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// The refusal of a start: of an agent that is not there, with those that are.
async fn refused(server: &Server, start: &StartRun, error: ClientError) -> Failure {
    let is_unknown = error.reason() == "agent.unknown";
    let failure = Failure::from(error);
    if !is_unknown {
        return failure;
    }
    let agents = server.client.agents().await.map(|agents| agents.items).unwrap_or_default();
    let names: Vec<_> = agents.iter().map(|agent| name(&agent.name)).collect();
    let failure = if names.is_empty() {
        failure
    } else {
        failure.detail(format!("the server has: {}", names.join(", ")))
    };
    if std::path::Path::new(&start.agent).exists() {
        let file = crate::home::quoted(&start.agent);
        return failure.hint(format!(
            "{file} is a file: leave `--server` out and unset WINDLASS_SERVER to run it on this machine"
        ));
    }
    failure
}
