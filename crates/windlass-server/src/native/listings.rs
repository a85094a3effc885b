//! Listings, a page at a time.

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_api::{
    ListQuestions, ListRuns, ListSessions, Page, PendingQuestion, RunSummary, Session, SessionOf, SessionRuns,
};
use windlass_core::{Owner, RunState, SessionId};
use windlass_read::load;
use windlass_store::{Cursor, RunFilter, RunStatus, SessionFilter};

use super::forms::{question, seen, session as session_form, summary};
use crate::error::Error;
use crate::http::reply::Json;
use crate::http::route::{Call, Nothing};

/// The most lines of a page.
const LINES: usize = 1_000;
const DEFAULT_LINES: usize = 100;

/// The length of a page.
pub(super) fn limit(asked: Option<usize>, default: usize) -> Result<usize, Error> {
    match asked.unwrap_or(default) {
        lines @ 1..=LINES => Ok(lines),
        lines => Err(Error::Value { what: "limit", fault: format!("it is {lines}, expected 1 to {LINES}") }),
    }
}

/// The mark behind a page, as the next request names it.
fn mark(next: Option<Cursor>) -> Option<String> {
    next.map(|cursor| cursor.as_str().to_owned())
}

fn status(name: &str) -> Result<RunStatus, Error> {
    RunStatus::from_name(name).ok_or_else(|| {
        let all = RunStatus::ALL.map(RunStatus::name).join(", ");
        Error::Value { what: "status", fault: format!("there is no state `{name}`: expected one of {all}") }
    })
}

pub(super) async fn runs(call: Call<Nothing, ListRuns>) -> Result<Json<Page<RunSummary>>, Error> {
    let ListRuns {
        agent,
        owner,
        session,
        status: state,
        parent,
        since,
        until,
        due,
        queued,
        asks,
        after,
        limit: lines,
    } = call.query;
    let filter = RunFilter {
        owner: owner.map(|owner| owner.as_str().into()),
        session: session.map(SessionId::from),
        agent: agent.map(Into::into),
        status: state.as_deref().map(status).transpose()?,
        parent,
        since,
        until,
        due,
        queued,
        asks,
        after: after.map(Cursor::from),
        limit: limit(lines, DEFAULT_LINES)?,
    };
    let page = call.caller.host(&call.server).runs(filter).await?;
    let items = page.items.iter().filter(|run| call.caller.sees(run)).map(summary).collect();
    Ok(Json(Page { items, next: mark(page.next) }))
}

pub(super) async fn sessions(call: Call<Nothing, ListSessions>) -> Result<Json<Page<Session>>, Error> {
    let ListSessions { owner, agent, after, limit: lines } = call.query;
    let filter = SessionFilter {
        owner: owner.map(|owner| owner.as_str().into()),
        agent: agent.map(Into::into),
        after: after.map(Cursor::from),
        limit: limit(lines, DEFAULT_LINES)?,
    };
    let page = call.caller.host(&call.server).sessions(filter).await?;
    let items = page.items.iter().filter(|line| call.caller.sees(&line.head)).map(session_form).collect();
    Ok(Json(Page { items, next: mark(page.next) }))
}

/// The session in a path.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OfSession {
    /// The session's name.
    session: String,
}

/// The runs of a session, newest first, with its head.
pub(super) async fn session(call: Call<OfSession, SessionOf>) -> Result<Json<SessionRuns>, Error> {
    let name = &call.path.session;
    let unknown = || Error::UnknownSession { session: name.clone() };
    let host = call.caller.host(&call.server);
    let owner = call.query.owner.as_deref().map_or_else(|| call.caller.owner().clone(), Owner::from);
    if !host.scope().sees(&owner) {
        return Err(unknown());
    }
    let session = SessionId::from(name.clone());
    let head = call.server.host().log().head(&owner, &session).await?.ok_or_else(unknown)?;
    seen(&call, head).await.map_err(|_| unknown())?;
    let filter =
        RunFilter { owner: Some(owner), session: Some(session), limit: LINES, ..RunFilter::default() };
    let page = host.runs(filter).await?;
    Ok(Json(SessionRuns { head, items: page.items.iter().map(summary).collect(), next: mark(page.next) }))
}

pub(super) async fn questions(
    call: Call<Nothing, ListQuestions>,
) -> Result<Json<Page<PendingQuestion>>, Error> {
    let ListQuestions { agent, owner, after, limit: lines } = call.query;
    let filter = RunFilter {
        owner: owner.map(|owner| owner.as_str().into()),
        agent: agent.map(Into::into),
        asks: true,
        after: after.map(Cursor::from),
        limit: limit(lines, DEFAULT_LINES)?,
        ..RunFilter::default()
    };
    let page = call.caller.host(&call.server).runs(filter).await?;
    let mut items = Vec::new();
    for line in page.items.iter().filter(|line| call.caller.sees(line)) {
        let state = load(&**call.server.host().log(), line.run).await?;
        if matches!(state.run_state(), RunState::Ended(_)) {
            continue;
        }
        for open in state.questions() {
            items.push(PendingQuestion { run: summary(line), question: question(&state, open)? });
        }
    }
    Ok(Json(Page { items, next: mark(page.next) }))
}
