//! Answering, steering and cancelling a run that another process may be driving.
//!
//! Every input goes to the run's durable inbox, from any process that shares the log. Servers use the functions of this module;
//! programs that hold the agent use its methods ([`Agent::answer`], [`Agent::steer`], [`Agent::cancel`]).

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::join;
use sha2::{Digest as _, Sha256};
use windlass_core::event::{AnswerSource, InputReceived, Millis, RunEnded, Steered};
use windlass_core::{Answer, Fact, InputKind, InvalidInput, Owner, QuestionId, RunId, State, Text};
use windlass_store::{Holder, Log, Post, PostId, PostKey, Store, StoreError};

pub use crate::above::{Given, asked_at, given, resumed_at};
use crate::above::{settled, unfinished_above};
use crate::agent::Agent;
use crate::environment::{Environment, SystemEnvironment, again};
use crate::error::Error;
use crate::lease::request_key;
use crate::off_thread::fits;
use crate::run::Run;
use crate::stand_in::stand_in;
use windlass_read::load;

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

/// The outcome of a request to cancel.
#[derive(Clone, Debug)]
pub enum Cancelled {
    /// The run had no driver, so it was ended here.
    Ended(Box<Run>),
    /// This process drives the run, and was asked to stop it. [`run_end`] waits for its end.
    Asked(Holder),
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
            match taken(&environment, log, (run, post), looks).await? {
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
    Ok(post_in(&SystemEnvironment, log, (run, at), what, None).await?.1)
}

async fn post_in(
    environment: &dyn Environment,
    log: &dyn Store,
    (run, at): (RunId, Millis),
    what: InputKind,
    key: Option<PostKey>,
) -> Result<(PostId, Delivery), Error> {
    check_in(environment, load(log, run).await?, at, what).await?.under(key).post_in(environment, log).await
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
    (run, post): (RunId, PostId),
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
/// that asks it ([`asked_at`]); [`resumed_at`] is the run to resume.
///
/// # Errors
/// The question is not open, the answer does not fit it, or the log failed.
pub async fn answer(
    log: &dyn Store,
    run: RunId,
    at: Millis,
    (question, answer): (QuestionId, Answer),
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
pub async fn steer(log: &dyn Store, run: RunId, at: Millis, said: Steered) -> Result<Delivery, Error> {
    post(log, run, at, InputKind::Steer(said)).await
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
    said: Steered,
    key: Option<PostKey>,
) -> Result<bool, Error> {
    let (environment, log) = (&**agent.environment(), &**agent.log());
    let (post, delivery) =
        post_in(environment, log, (run, environment.now()), InputKind::Steer(said), key).await?;
    Ok(delivery == Delivery::Waiting || taken(environment, log, (run, post), LOOKS).await? != Some(false))
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

/// Cancels a run that any process drives, or none, without its agent: no further work begins.
///
/// # Errors
/// The run has ended or is being stopped, or the log failed.
pub async fn cancel(log: &Arc<dyn Store>, run: RunId, at: Millis, reason: Text) -> Result<Cancelled, Error> {
    cancel_by(None, log, (run, at), reason).await
}

/// Asks the process that drives a run to stop it. One that nobody drives is ended here: by this agent if it is the run's, else by one that
/// stands in for it.
async fn cancel_by(
    agent: Option<&Agent>,
    log: &Arc<dyn Store>,
    (run, at): (RunId, Millis),
    reason: Text,
) -> Result<Cancelled, Error> {
    loop {
        if let Some(holder) = log.summary(run).await?.holder {
            let environment =
                agent.map_or(&SystemEnvironment as &dyn Environment, |own| &**own.environment());
            let what = InputKind::Cancel { reason: Some(reason) };
            Box::pin(post_in(environment, &**log, (run, at), what, None)).await?;
            return Ok(Cancelled::Asked(holder));
        }
        let ended = end(&ender(agent, log, run).await?, run, reason.clone()).await;
        if let Some(ended) = ended_unless_held(ended)? {
            return Ok(ended);
        }
    }
}

/// The agent that ends a run.
async fn ender(agent: Option<&Agent>, log: &Arc<dyn Store>, run: RunId) -> Result<Agent, Error> {
    let Some(agent) = agent else { return stand_in(log, run).await?.build() };
    match agent.resume(run).check().await {
        Err(Error::AgentChanged { .. }) => {
            stand_in(log, run).await?.environment(agent.environment().clone()).build()
        }
        _ => Ok(agent.clone()),
    }
}

/// As [`cancel`], under a key of its sender's: the request is posted, so that it is known by its key, and then the run is ended where
/// nobody drives it.
pub(crate) async fn cancel_under(
    log: &Arc<dyn Store>,
    (run, at): (RunId, Millis),
    reason: Text,
    key: PostKey,
) -> Result<Cancelled, Error> {
    let what = InputKind::Cancel { reason: Some(reason) };
    Box::pin(post_in(&SystemEnvironment, &**log, (run, at), what, Some(key))).await?;
    being_cancelled(log, run).await
}

/// What becomes of a run whose cancellation was posted. Where nobody drives it, it is ended here.
pub(crate) async fn being_cancelled(log: &Arc<dyn Store>, run: RunId) -> Result<Cancelled, Error> {
    let ended = async || -> Result<Option<Cancelled>, Error> {
        let state = load(&**log, run).await?;
        Ok(state.is_finished().then(|| Cancelled::Ended(Box::new(Run::new(state)))))
    };
    if let Some(ended) = ended().await? {
        return Ok(ended);
    }
    if let Some(holder) = log.summary(run).await?.holder {
        return Ok(Cancelled::Asked(holder));
    }
    let agent = stand_in(log, run).await?.build()?;
    // Its driver finds the cancellation in the inbox.
    let driven = match agent.resume(run).standing_in().by_hand().prepare().await {
        Ok(prepared) => prepared.drive().await?,
        Err(Error::Log(StoreError::Held { holder, .. })) => {
            return Ok(Cancelled::Asked(Holder(holder.into())));
        }
        // Another process has ended it meanwhile.
        Err(refused) => return ended().await?.ok_or(refused),
    };
    release_above(&agent, run).await?;
    Ok(Cancelled::Ended(Box::new(driven)))
}

/// Waits for the end of a run that any process drives.
///
/// # Errors
/// There is no such run, or the log failed.
pub async fn run_end(log: &dyn Log, run: RunId) -> Result<RunEnded, Error> {
    let mut batches = log.follow(run, 1);
    while let Some(batch) = batches.next().await {
        for event in batch?.events.iter() {
            if let Fact::RunEnded(end) = &event.fact {
                return Ok(end.clone());
            }
        }
    }
    Err(Error::NotEnded { run })
}

/// The end of a run; `None`: another process took the run over first, and is to be asked.
fn ended_unless_held(ended: Result<Run, Error>) -> Result<Option<Cancelled>, Error> {
    match ended {
        Ok(run) => Ok(Some(Cancelled::Ended(Box::new(run)))),
        Err(Error::Log(StoreError::Held { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Takes over a run without a driver in order to end it.
async fn end(agent: &Agent, run: RunId, reason: Text) -> Result<Run, Error> {
    let prepared = agent.resume(run).standing_in().by_hand().prepare().await?;
    let handle = prepared.handle();
    // The driver looks into its inbox before it polls any work.
    let (cancelled, ended) = join(handle.cancel(reason), prepared.drive()).await;
    let ended = ended?;
    cancelled?;
    release_above(agent, run).await?;
    Ok(ended)
}

/// Answers, at the root, the questions of a child run that has ended: no run above it is left waiting.
async fn release_above(agent: &Agent, run: RunId) -> Result<(), Error> {
    let log = &**agent.log();
    let Some(above) = unfinished_above(log, run).await? else { return Ok(()) };
    for (question, answer) in settled(log, &above).await? {
        match agent.answer(above.run(), question, answer).await {
            // It was answered meanwhile.
            Ok(_) | Err(Error::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Agent {
    /// Answers a question of a run that any process drives. If none does, [`resume`](Agent::resume) continues it with the answer.
    ///
    /// # Errors
    /// The question is not open, or the answer does not fit it.
    pub async fn answer(
        &self,
        run: RunId,
        question: impl Into<QuestionId>,
        answer: Answer,
    ) -> Result<Delivery, Error> {
        let (run, question) = asked_at(&**self.log(), run, question.into()).await?;
        self.post(run, answered(question, answer)).await
    }

    /// Steers a run that any process drives, or none: the message enters the conversation at the next turn. A text is a message of
    /// the kind `steering`; [`Steered`] has the others.
    ///
    /// # Errors
    /// The run has ended, or is being stopped.
    pub async fn steer(&self, run: RunId, said: impl Into<Steered>) -> Result<Delivery, Error> {
        self.post(run, InputKind::Steer(said.into())).await
    }

    /// Pauses a run that any process drives, or none. Calls that are going on come to their end, and the model is not asked
    /// again. The run is suspended then, until its question of the kind `pause` is answered with [`Answer::Resume`].
    ///
    /// # Errors
    /// The run has ended, is being stopped, or is paused already.
    pub async fn pause(&self, run: RunId, reason: Option<Text>) -> Result<Delivery, Error> {
        self.post(run, InputKind::Pause { reason }).await
    }

    /// Ends the pause of a run that any process drives, with a message to the agent or without. If none does,
    /// [`resume`](Agent::resume) continues it.
    ///
    /// # Errors
    /// The run is not paused.
    pub async fn unpause(&self, run: RunId, text: Option<Text>) -> Result<Delivery, Error> {
        let question = paused_at(&**self.log(), run).await?;
        self.answer(run, question, Answer::Resume { text }).await
    }

    /// Cancels a run that any process drives. If none does, the run is ended here: this agent ends its child runs and stops
    /// what a dead process left running. If this is not the agent of the run, the run is ended without one.
    ///
    /// # Errors
    /// The run has ended or is being stopped, or the log failed.
    pub async fn cancel(&self, run: RunId, reason: impl Into<Text>) -> Result<Cancelled, Error> {
        cancel_by(Some(self), self.log(), (run, self.environment().now()), reason.into()).await
    }

    /// Posts any input to the driver of the run, after a check against the run's state.
    ///
    /// # Errors
    /// The input does not fit the run.
    pub async fn post(&self, run: RunId, what: InputKind) -> Result<Delivery, Error> {
        self.post_request(run, what, None).await
    }

    pub(crate) async fn post_request(
        &self,
        run: RunId,
        what: InputKind,
        key: Option<PostKey>,
    ) -> Result<Delivery, Error> {
        let environment = &**self.environment();
        // Boxed: a future that may post holds no room for it.
        let posted = Box::pin(post_in(environment, &**self.log(), (run, environment.now()), what, key));
        Ok(posted.await?.1)
    }
}
