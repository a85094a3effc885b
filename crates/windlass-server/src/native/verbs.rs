//! Requests to runs: what their senders saw is checked, and each is done once under its key.

use std::time::Duration;

use windlass_api::{
    AgentVersion, AnswerQuestion, CancelRun, Fate, ForkRun, PauseRun, PreviewSwitch, ResumeRun, Started,
    SteerRun, SwitchPreview, Taken, TakenState,
};
use windlass_core::event::{AgentRef, AnswerSource, AnsweredBy, ResumedBy, SteerKind, Steered};
use windlass_core::policy::LimitKind;
use windlass_core::{Answer, RunId};
use windlass_read::{json, load, load_until};
use windlass_runtime::control::{Cancelled, Delivery};
use windlass_runtime::host::{Answering, Forked, Position, QuestionSeen, Request, Taking, check_version};
use windlass_runtime::{Agent, DriveOptions, Error as RunError, ForkOptions, RunMessages, Unpause};
use windlass_store::{RunSummary, StoreError};

use super::agents::named;
use super::forms::{OfRun, seen};
use super::starting::{answered, check_wait, part, session_fault};
use crate::error::Error;
use crate::http::reply::{Json, Made};
use crate::http::route::{Call, Nothing};

const DEFAULT_CANCEL_MS: u64 = 2_000;
/// The digits of a question's digest ([`question_digest`]).
const DIGEST_DIGITS: usize = 8;

/// The reply for a run that has taken a request, or will take it.
async fn taken<P, Q, B>(call: &Call<P, Q, B>, run: RunId, state: TakenState) -> Result<Json<Taken>, Error> {
    let line = call.server.host().log().summary(run).await?;
    let position = Position::after(line.version).to_string();
    Ok(Json(Taken { run, state, status: json::listed_state(&line), position }))
}

fn delivered(delivery: &Delivery) -> TakenState {
    match delivery {
        Delivery::Driven(_) => TakenState::Posted,
        Delivery::Waiting => TakenState::Waiting,
        Delivery::Taken => TakenState::Taken,
    }
}

fn request<P, Q, B>(call: &Call<P, Q, B>, seen: Option<u64>) -> Result<Request, Error> {
    Ok(Request { seen, key: call.key()? })
}

/// An answer of the owner whose token the server has seen: what else a client says of who answers is no proof (E66).
fn answering<P, Q, B>(
    call: &Call<P, Q, B>,
    run: RunId,
    question: QuestionSeen,
    answer: Answer,
) -> Result<Answering, Error> {
    Ok(Answering { by: by_client(call), key: call.key()?, ..Answering::new(run, question, answer) })
}

fn by_client<P, Q, B>(call: &Call<P, Q, B>) -> AnsweredBy {
    AnsweredBy { from: AnswerSource::Client, name: Some(call.caller.owner().to_string().into()) }
}

pub(super) async fn answer(call: Call<OfRun, Nothing, AnswerQuestion>) -> Result<Json<Taken>, Error> {
    let line = seen(&call, call.path.run).await?;
    let Ok(question) = call.body.question.parse::<QuestionSeen>();
    // A beginning of it would be guessed soon.
    if question.digest.as_ref().is_none_or(|digest| digest.len() < DIGEST_DIGITS) {
        return Err(Error::NoDigest { question: call.body.question.clone() });
    }
    let answering = answering(&call, line.run, question, call.body.answer.clone())?;
    let delivery = call.caller.host(&call.server).answer(answering).await?;
    taken(&call, line.run, delivered(&delivery)).await
}

pub(super) async fn steer(call: Call<OfRun, Nothing, SteerRun>) -> Result<Json<Taken>, Error> {
    let line = seen(&call, call.path.run).await?;
    let SteerRun { message, parts, kind, pin, seen } = &call.body;
    if message.is_empty() {
        return Err(Error::Value { what: "message", fault: "it is empty".to_owned() });
    }
    if *kind == SteerKind::Objective {
        return Err(Error::Objective);
    }
    let parts = parts.iter().cloned().map(part).collect::<Result<_, _>>()?;
    let message = Steered { pinned: *pin, parts, ..Steered::new(*kind, message.as_str()) };
    let request = request(&call, *seen)?;
    let delivery = call.caller.host(&call.server).steer(line.run, message, request).await?;
    taken(&call, line.run, delivered(&delivery)).await
}

pub(super) async fn pause(call: Call<OfRun, Nothing, PauseRun>) -> Result<Json<Taken>, Error> {
    let line = seen(&call, call.path.run).await?;
    let reason = call.body.reason.as_deref().map(Into::into);
    let request = request(&call, call.body.seen)?;
    let delivery = call.caller.host(&call.server).pause(line.run, reason, request).await?;
    taken(&call, line.run, delivered(&delivery)).await
}

pub(super) async fn cancel(call: Call<OfRun, Nothing, CancelRun>) -> Result<Json<Taken>, Error> {
    let line = seen(&call, call.path.run).await?;
    let wait_ms = call.body.wait_ms.unwrap_or(DEFAULT_CANCEL_MS);
    check_wait(wait_ms)?;
    let (reason, request) = (call.body.reason.clone().unwrap_or_default(), request(&call, call.body.seen)?);
    let host = call.caller.host(&call.server);
    match host.cancel(line.run, reason, request).await? {
        Cancelled::Ended(run) => taken(&call, run.id(), TakenState::Done).await,
        Cancelled::Asked(_) => {
            let log = &**call.server.host().log();
            let end = windlass_runtime::control::run_end(log, line.run);
            let is_still = tokio::time::timeout(Duration::from_millis(wait_ms), end).await;
            let state = if matches!(is_still, Ok(Ok(_))) { TakenState::Done } else { TakenState::Stopping };
            taken(&call, line.run, state).await
        }
    }
}

/// Nothing is taken over: what would refuse the switch refuses its preview.
pub(super) async fn preview(call: Call<OfRun, PreviewSwitch>) -> Result<Json<SwitchPreview>, Error> {
    let line = seen(&call, call.path.run).await?;
    let (log, run) = (&**call.server.host().log(), line.run);
    let PreviewSwitch { with, at } = &call.query;
    let agent = named(&call, with)?;
    let state = match *at {
        Some(at) if !(1..=line.version).contains(&at) => {
            return Err(windlass_runtime::Error::NoSuchEvent { run, at, version: line.version }.into());
        }
        Some(at) => load_until(log, run, at).await?,
        None => load(log, run).await?,
    };
    // One that a limit has cut goes on as a new run.
    if at.is_none() && state.ended().is_none() {
        agent.resume(run).seen(state.clone()).with_changed_agent().check().await?;
    }
    let form =
        |agent: &AgentRef| AgentVersion { name: agent.name.to_string(), digest: agent.digest.to_string() };
    Ok(Json(SwitchPreview {
        run,
        version: state.version(),
        from: state.agent().map(form),
        to: form(agent.agent_ref()),
        changes: agent.switch_changes(&state),
    }))
}

pub(super) async fn resume(call: Call<OfRun, Nothing, ResumeRun>) -> Result<Json<Taken>, Error> {
    let line = seen(&call, call.path.run).await?;
    let host = call.caller.host(&call.server);
    let log = &**call.server.host().log();
    let ResumeRun { message, limits, with, seen: version } = &call.body;
    let other = match (with, version) {
        (Some(name), Some(_)) => Some(named(&call, name)?),
        (Some(_), None) => return Err(Error::NoVersion),
        (None, _) => None,
    };
    let unpause = Some(Unpause { text: message.as_deref().map(Into::into) });
    let taking = Taking::new(line.run).options(DriveOptions { unpause, ..by_hand() }).under(call.key()?);
    let taking = match &other {
        Some(agent) => taking.with(agent.clone(), *version),
        None => taking,
    };
    if host.resumed_before(&taking).await? {
        return match call.key()? {
            // What went on beyond a limit was another request.
            Some(key) if !limits.is_empty() => Err(RunError::KeyReused { key, run: line.run }.into()),
            _ => taken(&call, line.run, TakenState::Taken).await,
        };
    }
    let state = load(log, line.run).await?;
    if message.is_some() && state.pause().is_none() {
        let fault = "the run is not paused: `steer` says something to it".to_owned();
        return Err(Error::Value { what: "message", fault });
    }
    if !limits.is_empty() {
        let agent = match other {
            Some(agent) => {
                check_version(log, &state, *version).await?;
                agent
            }
            None => call.server.host().registry().of_run(&state).await?,
        };
        return continued(&call, &line, &agent).await;
    }
    if other.is_none() && state.pause().is_some() {
        let delivery = host.end_pause(taking.state(state), by_client(&call)).await?;
        return taken(&call, line.run, delivered(&delivery)).await;
    }
    // One that is driven is resumed already. Such a request keeps no key: it changes nothing.
    if other.is_none() && line.holder.is_some() {
        return taken(&call, line.run, TakenState::Taken).await;
    }
    match host.resume(taking.state(state)).await {
        Ok(_) | Err(RunError::Repeated { .. }) => call.server.given_up().resumed(line.run),
        // The same request, sent at the same moment, was faster.
        Err(RunError::Log(StoreError::Held { .. })) if call.key()?.is_some() => {}
        Err(error) => return Err(error.into()),
    }
    taken(&call, line.run, TakenState::Taken).await
}

/// Goes on beyond the limit that cut the run, as a new run.
async fn continued(
    call: &Call<OfRun, Nothing, ResumeRun>,
    line: &RunSummary,
    agent: &Agent,
) -> Result<Json<Taken>, Error> {
    let limits = raised(&call.body.limits)?;
    let options = DriveOptions { key: call.key()?, ..DriveOptions::default() };
    let host = call.caller.host(&call.server);
    // A repeat meets no limit.
    let run = if let Some(run) = host.continued_before(line.run, agent, &limits, &options).await? {
        run
    } else {
        call.server.admit(&line.owner, agent.name()).await?;
        host.continue_run(line.run, agent, &limits, options).await?.run
    };
    taken(call, run, TakenState::Taken).await
}

/// A client asks for it: the run goes on however often its model call was lost.
fn by_hand() -> DriveOptions {
    DriveOptions { resumed_by: ResumedBy::Person, ..DriveOptions::default() }
}

/// Limits in the unit that people write.
fn raised(limits: &serde_json::Map<String, serde_json::Value>) -> Result<Vec<(LimitKind, f64)>, Error> {
    let read = |(name, number): (&String, &serde_json::Value)| {
        let unfit = |fault: String| Error::Value { what: "limits", fault };
        let limit = LimitKind::from_name(name).filter(|limit| LimitKind::SETTABLE.contains(limit));
        let limit = limit.ok_or_else(|| unfit(format!("there is no limit `{name}`")))?;
        let number =
            number.as_f64().ok_or_else(|| unfit(format!("`{name}` is {number}, expected a number")))?;
        Ok((limit, number))
    };
    limits.iter().map(read).collect()
}

pub(super) async fn fork(call: Call<OfRun, Nothing, ForkRun>) -> Result<Made<Started>, Error> {
    let line = seen(&call, call.path.run).await?;
    let key = call.key()?;
    let ForkRun { at, agent, message, session } = call.body.clone();
    if let Some(fault) = session.as_deref().and_then(session_fault) {
        return Err(Error::Value { what: "session", fault });
    }
    let changed = agent.is_some();
    let agent = if let Some(name) = agent {
        named(&call, &name)?
    } else {
        let state = load(&**call.server.host().log(), line.run).await?;
        call.server.host().registry().of_run(&state).await?
    };
    let fork = ForkOptions { at, changed, say: message.map(RunMessages::from) };
    let options = DriveOptions { key, session: session.map(Into::into), ..DriveOptions::default() };
    let host = call.caller.host(&call.server);
    let forked = if let Some(forked) = host.forked_before(line.run, &agent, &fork, &options).await? {
        forked
    } else {
        call.server.admit(call.caller.owner(), agent.name()).await?;
        host.fork(line.run, &agent, fork, options).await?
    };
    let Forked { run, live, .. } = forked;
    let fate = if live.is_some() { Fate::Started } else { Fate::Repeated };
    answered(&call, run, fate, None).await
}
