//! Admission to sessions: a message begins a run, or goes to the session's run that has not ended.

use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, TryFutureExt as _};
use windlass_core::event::{PeopleFact, RunFact, RunInput};
use windlass_core::policy::{Memory, WhileRunning};
use windlass_core::{Fact, InputKind, Owner, RunId, SessionId, State};
use windlass_read::load;

use crate::agent::Agent;
use crate::agent::input::{RunMessages, check_media, has_documents, take_input, with_documents};
use crate::driver::control::{Delivery, heard, post_request};
use crate::driver::options::DriveOptions;
use crate::driver::requests::{START, digest_of, run_for};
use crate::driver::starting::{Beginning, Opening, begin};
use crate::host::cancelling::{Cancelled, cancel_with};
use crate::platform::error::Error;
use crate::work::prepared::Prepared;

pub(crate) mod requests;
pub(crate) mod turns;

use requests::{STEERED, begin_alone, key_of, sent_before};
use turns::{answer_first, begin_queued, begun, end_of, unanswered};

/// The fate of a message. A run of its own is prepared ([`Agent::admit`]), or driven by a host ([`Host::start`](crate::host::Host::start)).
#[derive(Debug)]
pub enum Admitted<R = Prepared> {
    /// A run of its own answers it. One that is prepared begins when it is [driven](Prepared::drive).
    Started(R),
    /// It enters the conversation of the session's running run.
    Steered {
        /// That run.
        run: RunId,
    },
    /// It waits in the log for the end of the session's running run ([`Agent::await_turn`], [`Agent::next_queued`]).
    Queued {
        /// The run that it waits for.
        behind: RunId,
        /// The id of the run that will answer it.
        run: RunId,
    },
    /// The same request was sent before, and did not begin anything again.
    Repeated {
        /// The run that it began, or that is to answer it once its turn has come.
        run: RunId,
    },
}

impl<R> Admitted<R> {
    /// The same fate, with something else for a run of its own.
    pub(crate) fn map<S>(self, started: impl FnOnce(R) -> S) -> Admitted<S> {
        match self {
            Self::Started(run) => Admitted::Started(started(run)),
            Self::Steered { run } => Admitted::Steered { run },
            Self::Queued { behind, run } => Admitted::Queued { behind, run },
            Self::Repeated { run } => Admitted::Repeated { run },
        }
    }
}

/// Gives a message to the session that `options` name ([`Agent::admit`]).
///
/// Boxed here: the code of a future is compiled where it is polled, and this is to be compiled once, with this crate's options.
pub(crate) fn admit(
    agent: &Agent,
    input: RunMessages,
    options: DriveOptions,
) -> BoxFuture<'_, Result<Admitted, Error>> {
    let session = options.session.clone().filter(|_| agent.policy().past.memory != Memory::Off);
    match session {
        None => begin_alone(agent, input, options),
        Some(session) => Box::pin(admit_to(agent, session, input, options)),
    }
}

async fn admit_to(
    agent: &Agent,
    session: SessionId,
    input: RunMessages,
    options: DriveOptions,
) -> Result<Admitted, Error> {
    loop {
        let end = session_end(agent, &options.owner, &session).await;
        // What was sent to a run before this one has ended with it, and is known by now. It costs no fold.
        if let Some(admitted) = Box::pin(sent_before(agent, &input, &options)).await? {
            return Ok(admitted);
        }
        let (run, session) = match end {
            Ok(end) => {
                if let Some(end) = &end
                    && let Some(waiting) = unanswered(&**agent.log(), end).await?
                {
                    Box::pin(answer_first(agent, end, &waiting, &options)).await?;
                    continue;
                }
                if agent.policy().past.while_running == WhileRunning::Refuse && options.key.is_none() {
                    // It is refused when it is driven, should another message be faster.
                    let prepared = prepare_after(agent, input, end, options).await;
                    return prepared.map(Admitted::Started);
                }
                let prepared = prepare_after(agent, input.clone(), end, options.clone()).await?;
                if let Some(prepared) = begun(Box::pin(prepared.begun()).await)? {
                    return Ok(Admitted::Started(prepared));
                }
                // Another message was faster, and this one is a further message to its run.
                continue;
            }
            Err(Error::SessionBusy { run, session }) => (run, session),
            Err(error) => return Err(error),
        };
        if let Some(admitted) = Box::pin(admit_to_busy(agent, run, session, &input, &options)).await? {
            return Ok(admitted);
        }
    }
}

/// Begins the first run of a session ([`Agent::begin_first`]).
pub(crate) fn begin_first(
    agent: &Agent,
    input: RunMessages,
    options: DriveOptions,
) -> BoxFuture<'_, Result<Option<Prepared>, Error>> {
    Box::pin(async move {
        let prepared = prepare_after(agent, input, None, options).await?;
        begun(Box::pin(prepared.begun()).await)
    })
}

/// Begins the run of the next message that waits in a session ([`Agent::next_queued`]).
pub(crate) async fn next_queued(
    agent: &Agent,
    session: &SessionId,
    options: DriveOptions,
) -> Result<Option<Prepared>, Error> {
    match session_end(agent, &options.owner, session).await? {
        Some(end) => next_behind(agent, end, options).await,
        None => Ok(None),
    }
}

/// As [`next_queued`], behind a run that has ended, as it was read: the session is read again where it has another
/// head by now.
pub(crate) async fn next_behind(
    agent: &Agent,
    end: State,
    options: DriveOptions,
) -> Result<Option<Prepared>, Error> {
    let Some(session) = end.session().cloned() else { return Ok(None) };
    let mut end = end;
    loop {
        if let Some(waiting) = unanswered(&**agent.log(), &end).await?
            && let Some(prepared) = Box::pin(begin_queued(agent, &end, &waiting, &options)).await?
        {
            return Ok(Some(prepared));
        }
        if agent.log().head(&options.owner, &session).await? == Some(end.run()) {
            return Ok(None);
        }
        let Some(fresh) = session_end(agent, &options.owner, &session).await? else { return Ok(None) };
        end = fresh;
    }
}

/// The admission of a message to this busy session; `None`: the run has ended meanwhile.
async fn admit_to_busy(
    agent: &Agent,
    run: RunId,
    session: SessionId,
    input: &RunMessages,
    options: &DriveOptions,
) -> Result<Option<Admitted>, Error> {
    match agent.policy().past.while_running {
        WhileRunning::Refuse => Err(Error::SessionBusy { session, run }),
        WhileRunning::Steer => match steer_under(agent, run, input, options).await {
            Ok(true) => Ok(Some(Admitted::Steered { run })),
            Ok(false) | Err(Error::Refused(_)) => end_of(agent, run).await.map(|()| None),
            Err(error) => Err(error),
        },
        WhileRunning::Interrupt => match cancel_with(agent, run, "interrupted by a new message".into()).await
        {
            Ok(Cancelled::Ended(_)) => Ok(None),
            Ok(Cancelled::Asked(_)) | Err(Error::Refused(_)) => end_of(agent, run).await.map(|()| None),
            Err(error) => Err(error),
        },
        WhileRunning::Queue => queue(agent, run, input, options).await,
    }
}

async fn steer_under(
    agent: &Agent,
    run: RunId,
    input: &RunMessages,
    options: &DriveOptions,
) -> Result<bool, Error> {
    let key = match &options.key {
        Some(_) => {
            take_input(agent, input.clone()).map(|(taken, _)| key_of(agent, STEERED, &taken, options))?
        }
        None => None,
    };
    let message = input.steering();
    // What does not fit is refused at once, and not by the run's driver.
    Box::pin(check_media(agent, &message.parts)).await?;
    heard(agent, run, message, key).await
}

async fn queue(
    agent: &Agent,
    behind: RunId,
    input: &RunMessages,
    options: &DriveOptions,
) -> Result<Option<Admitted>, Error> {
    // What does not fit is refused at once, not when its turn comes.
    let (taken, _) = take_input(agent, input.clone())?;
    if has_documents(agent, input) {
        Box::pin(with_documents(agent, input.clone())).await?;
    }
    let (request, key) = (digest_of(agent, &taken, options), key_of(agent, START, &taken, options));
    let RunInput::Messages(messages) = taken else { return Ok(None) };
    let run = run_for(agent, options);
    let what = InputKind::Queue { run, request_digest: request, messages };
    match post_request(agent, behind, what, key).await {
        Ok(Delivery::Waiting) => Ok(Some(Admitted::Queued { behind, run })),
        // The end of a run empties its inbox: only its log says whether the message was kept.
        Ok(Delivery::Driven(_) | Delivery::Taken) if kept(agent, behind, run).await? => {
            Ok(Some(Admitted::Queued { behind, run }))
        }
        Ok(Delivery::Driven(_) | Delivery::Taken) | Err(Error::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a message was recorded before the run's end.
async fn kept(agent: &Agent, behind: RunId, run: RunId) -> Result<bool, Error> {
    let mut batches = agent.log().follow(behind, 1);
    while let Some(batch) = batches.next().await {
        for event in batch?.events.iter() {
            if matches!(&event.fact, Fact::People(PeopleFact::MessageQueued(queued)) if queued.run == run) {
                return Ok(true);
            }
            if matches!(event.fact, Fact::Run(RunFact::Ended(_))) {
                return Ok(false);
            }
        }
    }
    Ok(false)
}

/// Prepares the run of a message, on the end of its session's last run.
pub(super) fn prepare_after(
    agent: &Agent,
    input: RunMessages,
    base: Option<State>,
    options: DriveOptions,
) -> impl Future<Output = Result<Prepared, Error>> + Send {
    let run = run_for(agent, &options);
    let beginning = Beginning::new(run, Opening::Messages(input), options).on(base);
    begin(agent, beginning).map_ok(Prepared::new)
}

/// The end of a session's head; `None`: there is no such session.
///
/// # Errors
/// Its run has not ended ([`Error::SessionBusy`]), or the log failed.
pub(super) async fn session_end(
    agent: &Agent,
    owner: &Owner,
    session: &SessionId,
) -> Result<Option<State>, Error> {
    let Some(run) = agent.log().head(owner, session).await? else { return Ok(None) };
    let state = load(&**agent.log(), run).await?;
    if state.is_finished() {
        Ok(Some(state))
    } else {
        Err(Error::SessionBusy { session: session.clone(), run })
    }
}
