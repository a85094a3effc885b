//! The log of a server as a store that only reads.

mod events;
mod summaries;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream;
use windlass_api::{ListRuns, ListSessions, SessionOf, Update};
use windlass_core::{Owner, RunId, SessionId, Text};
use windlass_error::AnyDiagnostic;
use windlass_store::{
    Answer, Append, Batch, Batches, Claim, Cursor, DailyUsage, Due, Fence, Holder, Inbox, Index, KeyedPost,
    Leases, Log, Millis, Page, Payloads, Post, PostId, Posted, Pruning, RunCounts, RunFilter, RunSummary,
    SessionFilter, SessionSummary, StoreError, UsageFilter, Wake,
};

use crate::client::Client;
use crate::error::ClientError;
use crate::following::{Follow, Following};
use crate::reads::{BytesFrom, EventsFrom};
pub use events::batches;
use summaries::{session, summary};

/// The most lines and events of a page of the server.
const PAGE: usize = 1_000;

/// The log of a server as a [`Store`](windlass_store::Store): what reads a log reads it, and sees what the server's own store has.
///
/// Everything that writes is refused ([`StoreError::ReadOnly`]): runs are changed by the server's verbs, which [`Client`] has.
/// Payloads are read of runs whose events were read before.
///
/// ```no_run
/// use windlass_client::{Client, RemoteStore};
/// use windlass_core::RunId;
/// use windlass_read::load;
///
/// async fn cost(client: Client, run: RunId) -> Result<Option<u64>, windlass_read::Error> {
///     Ok(load(&RemoteStore::new(client), run).await?.cost())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct RemoteStore {
    client: Client,
    /// The run of each payload that an event has named: the server gives payloads by run.
    kept_by: Arc<Mutex<HashMap<Text, RunId>>>,
}

impl RemoteStore {
    /// The log of a client's server.
    pub fn new(client: Client) -> Self {
        Self { client, kept_by: Arc::default() }
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    fn learn(&self, run: RunId, batches: &[Batch]) {
        let mut kept_by = self.kept_by.lock().unwrap_or_else(PoisonError::into_inner);
        for event in batches.iter().flat_map(|batch| batch.events.iter()) {
            for stored in event.fact.refs() {
                kept_by.entry(stored.sha256.clone()).or_insert(run);
            }
        }
    }

    async fn read_events(&self, run: RunId, from: u64, max: usize) -> Result<Vec<Batch>, StoreError> {
        let mut read = Vec::new();
        let mut next = Some(from.max(1));
        while let Some(from) = next.take() {
            let left = max.saturating_sub(read.iter().map(|batch: &Batch| batch.events.len()).sum());
            let limit = Some(left.clamp(1, PAGE));
            let page = match self.client.events(run, EventsFrom { from: Some(from), limit }).await {
                Ok(page) => page,
                // As a log that has no such event yet.
                Err(error) if error.reason() == "run.no_such_event" => break,
                Err(error) => return Err(failed(run, error)),
            };
            // Only what is more than a page is asked for piece by piece: how many events `about` is, the server's store says.
            next = page.next.filter(|_| left > PAGE);
            read.extend(batches(run, page.items)?);
        }
        self.learn(run, &read);
        Ok(read)
    }

    async fn following(&self, following: &mut Following, run: RunId) -> Result<Option<Batch>, StoreError> {
        while let Some(next) = following.next().await.map_err(|error| failed(run, error))? {
            let Update::Events { events } = next.update else { continue };
            let mut batches = batches(run, events)?;
            self.learn(run, &batches);
            // Each update has the events of one append.
            if let Some(batch) = batches.pop() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

/// An error of a client as one of a store.
fn remote(error: ClientError) -> StoreError {
    StoreError::Remote(AnyDiagnostic::new(error))
}

/// The same, of a request about a run.
fn failed(run: RunId, error: ClientError) -> StoreError {
    match error.reason() {
        "store.unknown_run" => StoreError::UnknownRun { run },
        _ => remote(error),
    }
}

/// The same, of a request for a page.
fn no_page(after: Option<&Cursor>, error: ClientError) -> StoreError {
    match (error.reason(), after) {
        ("store.bad_cursor", Some(cursor)) => StoreError::BadCursor { cursor: cursor.as_str().to_owned() },
        _ => remote(error),
    }
}

fn refused<T: Send + 'static>(request: &'static str) -> Answer<'static, T> {
    Box::pin(std::future::ready(Err(StoreError::ReadOnly { request })))
}

fn limit(limit: usize) -> Option<usize> {
    (limit > 0).then_some(limit.min(PAGE))
}

fn text(cursor: Option<&Cursor>) -> Option<String> {
    cursor.map(|cursor| cursor.as_str().to_owned())
}

impl Log for RemoteStore {
    fn append(&self, _append: Append) -> Answer<'_, ()> {
        refused("append events")
    }

    fn used(&self, _run: RunId, _posts: &[PostId]) -> Answer<'_, Vec<PostId>> {
        refused("say which posts were used")
    }

    fn read(&self, run: RunId, from: u64, max: usize) -> Answer<'_, Vec<Batch>> {
        Box::pin(self.read_events(run, from, max))
    }

    fn follow(&self, run: RunId, from: u64) -> Batches {
        let follow = Follow { from_event: Some(from.max(1)), causes: true, ..Follow::default() };
        let following = self.client.follow(run, follow);
        let store = self.clone();
        Box::pin(stream::unfold(Some((store, following)), move |open| async move {
            let (store, mut following) = open?;
            match store.following(&mut following, run).await {
                Ok(Some(batch)) => Some((Ok(batch), Some((store, following)))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        }))
    }
}

impl Index for RemoteStore {
    fn list(&self, filter: RunFilter) -> Answer<'_, Page<RunSummary>> {
        Box::pin(async move {
            let RunFilter {
                owner,
                session,
                agent,
                status,
                parent,
                since,
                until,
                due,
                queued,
                asks,
                after,
                limit: most,
            } = filter;
            let mut list = ListRuns {
                agent: agent.map(|agent| agent.to_string()),
                owner: owner.map(|owner| owner.to_string()),
                session: session.map(|session| session.to_string()),
                status: status.map(|status| status.name().to_owned()),
                parent,
                since,
                until,
                due,
                queued,
                asks,
                after: text(after.as_ref()),
                limit: limit(most),
            };
            loop {
                let page = self.client.runs(&list).await.map_err(|error| no_page(after.as_ref(), error))?;
                // A page may be empty though more follow, because its runs are of agents that the token is not for.
                if page.items.is_empty() && page.next.is_some() {
                    list.after = page.next;
                    continue;
                }
                let items = page.items.into_iter().map(summary).collect::<Result<_, _>>()?;
                return Ok(Page { items, next: page.next.map(Cursor::from) });
            }
        })
    }

    fn sessions(&self, filter: SessionFilter) -> Answer<'_, Page<SessionSummary>> {
        Box::pin(async move {
            let SessionFilter { owner, agent, after, limit: most } = filter;
            let mut list = ListSessions {
                owner: owner.map(|owner| owner.to_string()),
                agent: agent.map(|agent| agent.to_string()),
                after: text(after.as_ref()),
                limit: limit(most),
            };
            loop {
                let page =
                    self.client.sessions(&list).await.map_err(|error| no_page(after.as_ref(), error))?;
                if page.items.is_empty() && page.next.is_some() {
                    list.after = page.next;
                    continue;
                }
                let items = page.items.into_iter().map(session).collect::<Result<_, _>>()?;
                return Ok(Page { items, next: page.next.map(Cursor::from) });
            }
        })
    }

    fn summary(&self, run: RunId) -> Answer<'_, RunSummary> {
        Box::pin(async move {
            let found = self.client.summary(run).await.map_err(|error| failed(run, error))?;
            summary(found)
        })
    }

    fn head(&self, owner: &Owner, session: &SessionId) -> Answer<'_, Option<RunId>> {
        let (of, session) = (SessionOf { owner: Some(owner.to_string()) }, session.clone());
        Box::pin(async move {
            match self.client.session(session.as_str(), &of).await {
                Ok(found) => Ok(Some(found.head)),
                Err(error) if error.reason() == "session.unknown" => Ok(None),
                Err(error) => Err(remote(error)),
            }
        })
    }

    fn usage(&self, _filter: UsageFilter) -> Answer<'_, Vec<DailyUsage>> {
        refused("sum up usage, which its own report does")
    }

    fn counts(&self, _now: Millis) -> Answer<'_, RunCounts> {
        refused("count runs, which its metrics do")
    }

    fn pruning(&self) -> Option<&dyn Pruning> {
        None
    }
}

impl Payloads for RemoteStore {
    fn put(&self, _bytes: Arc<[u8]>) -> Answer<'_, Text> {
        refused("keep payloads")
    }

    fn get(&self, sha256: &str, from: u64, max: usize) -> Answer<'_, Vec<u8>> {
        let sha256 = sha256.to_owned();
        Box::pin(async move {
            let kept_by = self.kept_by.lock().unwrap_or_else(PoisonError::into_inner).get(&*sha256).copied();
            let Some(run) = kept_by else { return Err(StoreError::UnknownPayload { sha256 }) };
            let part = BytesFrom { from: Some(from), max: Some(max as u64) };
            match self.client.artifact(run, &sha256, part).await {
                Ok(bytes) => Ok(bytes.into()),
                Err(error) if error.reason() == "run.unknown_artifact" => {
                    Err(StoreError::UnknownPayload { sha256 })
                }
                Err(error) => Err(failed(run, error)),
            }
        })
    }

    fn size_in(&self, run: RunId, sha256: &str) -> Answer<'_, Option<u64>> {
        let sha256 = sha256.to_owned();
        Box::pin(async move {
            match self.client.artifacts(run).await {
                Ok(kept) => Ok(kept.items.iter().find(|kept| kept.sha256 == sha256).map(|kept| kept.bytes)),
                Err(error) if error.reason() == "store.unknown_run" => Ok(None),
                Err(error) => Err(failed(run, error)),
            }
        })
    }
}

impl Inbox for RemoteStore {
    fn post(&self, _run: RunId, _post: Post) -> Answer<'_, PostId> {
        refused("post inputs")
    }

    fn posted(&self, _owner: &Owner, _keys: &[Text]) -> Answer<'_, Vec<Option<KeyedPost>>> {
        refused("look posts up")
    }

    fn inbox(&self, _run: RunId, _after: Option<PostId>) -> Answer<'_, Vec<Posted>> {
        refused("read inboxes")
    }

    fn inbox_changed(&self, _run: RunId, _after: Option<PostId>) -> Answer<'_, ()> {
        refused("read inboxes")
    }

    fn discard(&self, _run: RunId, _post: PostId, _fence: &Fence) -> Answer<'_, ()> {
        refused("remove posts")
    }
}

impl Leases for RemoteStore {
    fn acquire(&self, _run: RunId, _holder: &Holder, _claim: Claim) -> Answer<'_, Fence> {
        refused("lease runs")
    }

    fn acquire_due(&self, _due: Due) -> Answer<'_, Vec<(RunSummary, Fence)>> {
        refused("lease runs")
    }

    fn renew(&self, _run: RunId, _fence: &Fence) -> Answer<'_, Option<Millis>> {
        refused("lease runs")
    }

    fn probe(&self) -> Answer<'_, ()> {
        refused("be written to")
    }

    fn release(&self, _run: RunId, _fence: &Fence) -> Answer<'_, ()> {
        refused("lease runs")
    }

    fn park(&self, _run: RunId, _fence: &Fence, _wake: Option<Wake>) -> Answer<'_, ()> {
        refused("lease runs")
    }
}
