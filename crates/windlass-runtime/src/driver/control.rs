//! Inputs to a run that another process may be driving: they go to its durable inbox.

use futures_core::future::BoxFuture;
use futures_util::StreamExt;
use sha2::{Digest as _, Sha256};
use windlass_core::event::{AnswerSource, InputReceived, Millis, RunEnded, RunFact, Steered};
use windlass_core::{Answer, Fact, InputKind, InvalidInput, Owner, QuestionId, RunId, State, Text};
use windlass_read::load;
use windlass_store::{Holder, Log, Post, PostId, PostKey, Store, StoreError};

use crate::agent::Agent;
use crate::driver::deciding::fits;
use crate::driver::lease::request_key;
use crate::driver::parents::{Given, asked_at};
use crate::platform::environment::{Environment, SystemEnvironment};
use crate::platform::error::Error;
use crate::platform::retry::again;

/// How often an input is posted that the run's driver refuses although it fits the run's state.
const TRIES: u32 = 2;
/// How often a sender looks whether a run's driver has taken its post. A driver that is busy for longer takes it later.
const LOOKS: u32 = 60;
/// The time between two looks, in milliseconds.
const LOOK_MS: u64 = 50;

/// The delivery of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// This process drives the run, and takes the input from the inbox.
    Driven(Holder),
    /// The run has no driver: the input waits until the run is [resumed](Agent::resume).
    Waiting,
    /// The run has taken the input, now or when it was sent before under its key.
    Taken,
}

/// An input that fits a run's state, as it was read: it can be posted without reading the run again.
#[derive(Clone, Debug)]
pub struct Checked {
    run: RunId,
    owner: Owner,
    at: Millis,
    what: InputKind,
    /// The key of its sender's; `None`: it is a request by itself.
    key: Option<PostKey>,
}

/// Checks an input against a run's state, as it was read.
///
/// # Errors
/// The input does not fit the run.
pub async fn check(state: &State, at: Millis, what: InputKind) -> Result<Checked, Error> {
    check_in(&SystemEnvironment, state.clone(), at, what).await
}

async fn check_in(
    environment: &dyn Environment,
    state: State,
    at: Millis,
    what: InputKind,
) -> Result<Checked, Error> {
    let (run, owner) = (state.run(), state.owner().clone());
    fits(environment, state, at, what.clone()).await?;
    Ok(Checked { run, owner, at, what, key: None })
}

impl Checked {
    /// The input comes under a key of its sender's.
    pub(crate) fn under(self, key: Option<PostKey>) -> Self {
        Self { key, ..self }
    }

    /// Posts the input to the run's durable inbox. What has come to the run since it was read may still refuse it there.
    ///
    /// # Errors
    /// The run has ended meanwhile, or the log failed.
    pub async fn post(self, log: &dyn Store) -> Result<Delivery, Error> {
        Ok(self.post_in(&SystemEnvironment, log).await?.1)
    }

    /// As [`post`](Self::post), and waits for a moment until the run's driver has taken the input: what it refuses is refused to the
    /// sender. Needs a Tokio runtime.
    ///
    /// # Errors
    /// The input did not fit any more when the driver read it, or the log failed.
    pub async fn deliver(self, log: &dyn Store) -> Result<Delivery, Error> {
        let (environment, run) = (SystemEnvironment, self.run);
        for _ in 0..TRIES {
            let (post, delivery) = self.clone().post_in(&environment, log).await?;
            let looks = if delivery == Delivery::Waiting { 1 } else { LOOKS };
            match taken(&environment, log, run, post, looks).await? {
                Some(true) => return Ok(Delivery::Taken),
                None => return Ok(delivery),
                Some(false) => {}
            }
            // The run's state, which has changed meanwhile, says why it was refused.
            fits(&environment, load(log, run).await?, self.at, self.what.clone()).await?;
        }
        Err(Error::NotTaken { run })
    }

    async fn post_in(
        self,
        environment: &dyn Environment,
        log: &dyn Store,
    ) -> Result<(PostId, Delivery), Error> {
        let Self { run, owner, at, what, key } = self;
        let key = key.map_or_else(|| key_of(owner, &what), Ok)?;
        let post = Post { at, what: what.clone(), key: Some(key) };
        let post = match again(environment, || log.post(run, post.clone())).await {
            // The run has ended meanwhile, and its end says what came too late.
            Err(ended @ StoreError::Ended { .. }) => {
                fits(environment, load(log, run).await?, at, what).await?;
                return Err(ended.into());
            }
            posted => posted?,
        };
        let holder = log.summary(run).await?.holder;
        Ok((post, holder.map_or(Delivery::Waiting, Delivery::Driven)))
    }
}

/// Posts an input to a run's durable inbox after checking it against the run's current state.
///
/// The run's driver reads it from there. A driver checks the inbox once more after it has given up its lease, so an input is
/// [waiting](Delivery::Waiting) only if the run has no driver *after* the post. A run ends only once its driver has read all
/// that was posted.
///
/// # Errors
/// The input does not fit the run, or the log failed.
pub async fn post(log: &dyn Store, run: RunId, at: Millis, what: InputKind) -> Result<Delivery, Error> {
    Ok(post_in(&SystemEnvironment, log, Sending { run, at, what, key: None }).await?.1)
}

/// An input on its way to a run.
pub(crate) struct Sending {
    pub(crate) run: RunId,
    pub(crate) at: Millis,
    pub(crate) what: InputKind,
    /// The key of its sender's; `None`: it is a request by itself.
    pub(crate) key: Option<PostKey>,
}

/// Boxed: a future that may post holds no room for it.
pub(crate) fn post_in<'a>(
    environment: &'a dyn Environment,
    log: &'a dyn Store,
    sending: Sending,
) -> BoxFuture<'a, Result<(PostId, Delivery), Error>> {
    Box::pin(async move {
        let Sending { run, at, what, key } = sending;
        let checked = check_in(environment, load(log, run).await?, at, what).await?;
        checked.under(key).post_in(environment, log).await
    })
}

/// Posts an input to the driver of a run ([`Agent::post`]), under its sender's key if it has one.
pub(crate) async fn post_request(
    agent: &Agent,
    run: RunId,
    what: InputKind,
    key: Option<PostKey>,
) -> Result<Delivery, Error> {
    let environment = &**agent.environment();
    let sending = Sending { run, at: environment.now(), what, key };
    Ok(post_in(environment, &**agent.log(), sending).await?.1)
}

/// The key of a post that is a request by itself: should the store's reply be lost, it is sent again under it.
fn key_of(owner: Owner, what: &InputKind) -> Result<PostKey, StoreError> {
    let bytes = serde_json::to_vec(what).map_err(|error| StoreError::Failed(Box::new(error)))?;
    Ok(PostKey { owner, key: request_key(), digest: Sha256::digest(bytes).into() })
}

/// Whether a run's driver has accepted a post, or refused it; `None`: it has not at so many looks.
async fn taken(
    environment: &dyn Environment,
    log: &dyn Store,
    run: RunId,
    post: PostId,
    looks: u32,
) -> Result<Option<bool>, Error> {
    for look in 0..looks {
        if look > 0 {
            environment.sleep_until(environment.now().saturating_add(LOOK_MS)).await;
        }
        // A post may still be listed after its use, and be used between two looks.
        let listed = log.inbox(run, None).await?.iter().any(|other| other.id == post);
        if log.used(run, &[post]).await?.contains(&post) {
            return Ok(Some(true));
        }
        if !listed {
            return Ok(Some(false));
        }
    }
    Ok(None)
}

/// Answers a question of a run that any process drives, or none. The question of a child run is answered at the topmost run
/// that asks it ([`asked_at`]); [`resumed_at`](crate::control::resumed_at) is the run to resume.
///
/// # Errors
/// The question is not open, the answer does not fit it, or the log failed.
pub async fn answer(
    log: &dyn Store,
    run: RunId,
    at: Millis,
    question: QuestionId,
    answer: Answer,
) -> Result<Delivery, Error> {
    let (run, question) = asked_at(log, run, question).await?;
    post(log, run, at, answered(question, answer)).await
}

/// An answer that a program gives.
pub(crate) fn answered(question: QuestionId, answer: Answer) -> InputKind {
    InputKind::Answered { question, answer, by: Some(AnswerSource::Program.into()) }
}

/// Steers a run that any process drives, or none: the message enters the conversation at the next turn.
///
/// # Errors
/// The run has ended or is being stopped, or the log failed.
pub async fn steer(log: &dyn Store, run: RunId, at: Millis, message: Steered) -> Result<Delivery, Error> {
    post(log, run, at, InputKind::Steer(message)).await
}

/// Pauses a run that any process drives, or none: what is going on comes to its end, then the run waits for
/// [`Answer::Resume`].
///
/// # Errors
/// The run has ended, is being stopped or is paused already, or the log failed.
pub async fn pause(log: &dyn Store, run: RunId, at: Millis, reason: Option<Text>) -> Result<Delivery, Error> {
    post(log, run, at, InputKind::Pause { reason }).await
}

/// The question of a run's pause: [`Answer::Resume`] ends it.
///
/// # Errors
/// The run is not paused, or the log failed.
pub async fn paused_at(log: &dyn Store, run: RunId) -> Result<QuestionId, Error> {
    let state = load(log, run).await?;
    let question = state.pause().map(|open| open.id.clone());
    question.ok_or_else(|| {
        let expected = state.questions().iter().map(|open| open.id.clone()).collect();
        Error::Refused(InvalidInput::UnknownQuestion { found: "pause".into(), expected })
    })
}

/// Whether a pause waits in the run's inbox, which no driver has taken yet.
///
/// # Errors
/// The log failed.
pub async fn pause_waits(log: &dyn Store, run: RunId) -> Result<bool, Error> {
    let posts = log.inbox(run, None).await?;
    Ok(posts.iter().any(|post| matches!(post.what, InputKind::Pause { .. })))
}

/// Whether a run has heard a message: its driver has accepted it, or will look once there is one.
pub(crate) async fn heard(
    agent: &Agent,
    run: RunId,
    message: Steered,
    key: Option<PostKey>,
) -> Result<bool, Error> {
    let (environment, log) = (&**agent.environment(), &**agent.log());
    let sending = Sending { run, at: environment.now(), what: InputKind::Steer(message), key };
    let (post, delivery) = post_in(environment, log, sending).await?;
    Ok(delivery == Delivery::Waiting || taken(environment, log, run, post, LOOKS).await? != Some(false))
}

/// The answer to a question that waits in the run's inbox, which no driver has taken yet; `None`: there is none.
///
/// # Errors
/// The log failed.
pub async fn answer_waits(
    log: &dyn Store,
    run: RunId,
    question: &QuestionId,
) -> Result<Option<Given>, Error> {
    let posts = log.inbox(run, None).await?;
    let mut answers = posts.into_iter().filter_map(|post| {
        let InputKind::Answered { question, answer, by } = post.what else { return None };
        Some(Given { received: InputReceived { question, answer, by }, at: post.at })
    });
    Ok(answers.find(|given| given.received.question == *question))
}

/// Waits for the end of a run that any process drives.
///
/// # Errors
/// There is no such run, or the log failed.
pub async fn run_end(log: &dyn Log, run: RunId) -> Result<RunEnded, Error> {
    let mut batches = log.follow(run, 1);
    while let Some(batch) = batches.next().await {
        for event in batch?.events.iter() {
            if let Fact::Run(RunFact::Ended(end)) = &event.fact {
                return Ok(end.clone());
            }
        }
    }
    Err(Error::NotEnded { run })
}
