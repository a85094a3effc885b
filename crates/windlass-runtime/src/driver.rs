//! The driver: the one loop that runs every run, blocking or streaming, from the library, the command line or a server.
//!
//! It reconciles the work that is going on with the work that should be ([`pending`]), waits for one input, asks the
//! core which facts follow, makes them durable, and only then shows them and acts on them.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use windlass_core::{
    Action, Event, Input, RunId, RunStanding, State, Violation, What, Work, accept, evolve, narrate, pending,
};
use windlass_models::PrefixCell;
use windlass_store::{Append, Batch, EventLog, Fence, PostId, Posted, Standing, StoreError};

use crate::agent::Agent;
use crate::error::Error;
use crate::people::People;
use crate::run::{DriveOptions, RunHandle};
use crate::slots::{Slot, Slots};
use crate::source::changed;
use crate::updates::{Publisher, Update, Updates};
use crate::work::{self, ModelWork, ToolWork};

/// How many inputs may wait for a driver that is busy appending.
const INBOX: usize = 64;

/// Something that somebody in this process sends to a run, and where the answer goes.
pub(crate) struct Sent {
    pub(crate) what: What,
    pub(crate) reply: Option<oneshot::Sender<Result<(), Violation>>>,
}

/// A run that is being driven.
pub(crate) struct Driver {
    agent: Agent,
    state: State,
    fence: Fence,
    people: Option<Arc<dyn People>>,
    wait_for_timers: bool,
    publisher: Publisher,
    prefix: PrefixCell,
    slots: Slots,
    sender: mpsc::Sender<Sent>,
    inbox: mpsc::Receiver<Sent>,
    posts: Posts,
    changes: Option<BoxFuture<'static, Vec<watch::Receiver<u64>>>>,
    first: Option<What>,
}

/// What comes next for a run.
enum Next {
    Sent(Sent),
    Posted(Result<Vec<Posted>, StoreError>),
    ToolsChanged,
    Ended(What),
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("run", &self.state.run()).finish_non_exhaustive()
    }
}

impl Driver {
    pub(crate) fn new(
        agent: Agent,
        state: State,
        fence: Fence,
        first: Option<What>,
        options: DriveOptions,
    ) -> Self {
        let (sender, inbox) = mpsc::channel(INBOX);
        let watches = agent.watches();
        let changes: Option<BoxFuture<'static, _>> =
            if watches.is_empty() { None } else { Some(Box::pin(changed(watches))) };
        Self {
            changes,
            agent,
            state,
            fence,
            people: options.people,
            wait_for_timers: options.wait_for_timers,
            publisher: Publisher::new(),
            prefix: PrefixCell::default(),
            slots: Slots::default(),
            sender,
            inbox,
            posts: Posts::default(),
            first,
        }
    }

    pub(crate) fn run(&self) -> RunId {
        self.state.run()
    }

    pub(crate) fn updates(&self) -> Updates {
        self.publisher.subscribe(self.state.run(), self.agent.log().clone()).after(self.state.version())
    }

    pub(crate) fn handle(&self) -> RunHandle {
        RunHandle { run: self.state.run(), agent: self.agent.clone(), sender: self.sender.clone() }
    }

    /// Drives the run until it has ended or only somebody from outside can bring it on.
    ///
    /// # Errors
    /// The log failed or the run was taken over; everything up to the last durable event is kept.
    pub(crate) async fn drive(mut self) -> Result<State, Error> {
        if let Some(first) = self.first.take() {
            self.take(first, None).await?.map_err(Error::Refused)?;
        }
        while !self.state.is_finished() {
            self.reconcile();
            if self.parked() {
                self.agent.log().release(self.state.run(), &self.fence).await?;
                break;
            }
            match self.next().await {
                Next::Sent(Sent { what, reply }) => {
                    let taken = self.take(what, None).await?;
                    if let Some(reply) = reply {
                        // An error means that the sender no longer cares.
                        let _uncared = reply.send(taken);
                    }
                }
                Next::Posted(posts) => {
                    for post in posts? {
                        self.posts.after = Some(post.id);
                        // A refused post stays refused: whoever posts looks at the run first.
                        let _refused = self.take(post.what, Some(post.id)).await?;
                    }
                }
                Next::ToolsChanged => {
                    let tools = self.agent.refresh();
                    drop(self.take(What::ToolsChanged { tools }, None).await?);
                }
                // A late end of work that is no longer wanted is a violation of no consequence.
                Next::Ended(what) => drop(self.take(what, None).await?),
            }
        }
        self.wind_up().await;
        Ok(self.state)
    }

    /// One input: which facts follow, durable before visible.
    async fn take(&mut self, what: What, uses: Option<PostId>) -> Result<Result<(), Violation>, Error> {
        let at = self.agent.world().now();
        let events: Arc<[Event]> = match accept(&self.state, Input { at, what }) {
            Ok(events) => events.into(),
            Err(violation) => {
                let shared = Arc::new(violation.clone());
                self.publisher.send(Update::Refused { violation: shared });
                return Ok(Err(violation));
            }
        };
        let next = events.iter().fold(self.state.clone(), evolve);
        let run = next.run();
        let (expected, fence) = (self.state.version(), self.fence.clone());
        let standing = standing(&next);
        self.agent
            .log()
            .append(Append { run, expected, events: events.clone(), fence, uses, standing })
            .await?;
        self.show(expected + 1, &events, &next);
        self.state = next;
        Ok(Ok(()))
    }

    /// Tells subscribers, and the log of the process, what is durable now.
    fn show(&self, first: u64, events: &Arc<[Event]>, after: &State) {
        if self.publisher.heard() || tracing::enabled!(tracing::Level::INFO) {
            let mut state = self.state.clone();
            for event in events.iter() {
                state = evolve(state, event);
                if let Some(line) = narrate(&state, event) {
                    match line.warning {
                        true => tracing::warn!(run = %after.run(), "{}", line.text),
                        false => tracing::info!(run = %after.run(), "{}", line.text),
                    }
                    self.publisher.send(Update::Log(line));
                }
            }
            self.publisher.send(Update::Events(Batch { first, events: events.clone() }));
        }
    }

    /// Starts what is new, stops what is gone.
    fn reconcile(&mut self) {
        let wanted = pending(&self.state);
        self.slots.keep_only(&wanted);
        for action in wanted {
            if !self.slots.has(action.id)
                && let Some(slot) = self.begin(action)
            {
                self.slots.add(slot);
            }
        }
    }

    fn begin(&self, action: Action) -> Option<Slot> {
        let cancel = CancellationToken::new();
        let id = action.id;
        let future: BoxFuture<'static, What> = match &action.work {
            Work::CallModel { .. } => {
                let view = self.state.request()?;
                let request = work::request(&view, &self.prefix, self.publisher.heard());
                let model = self.agent.model(&view.model.name)?.clone();
                let (publisher, world) = (self.publisher.clone(), self.agent.world().clone());
                Box::pin(
                    ModelWork { action: id, model, request, publisher, world, cancel: cancel.clone() }.run(),
                )
            }
            Work::RunTool { call, attempt } => Box::pin(self.tool_work(id, call, *attempt, &cancel)?.run()),
            Work::CheckCall { call } => Box::pin(self.tool_work(id, call, 1, &cancel)?.check()),
            Work::Ask { question } => {
                let question = self.state.questions().iter().find(|open| open.id == *question)?.clone();
                let people = self.people.clone().filter(|people| people.answers(&self.state, &question))?;
                Box::pin(work::ask(people, self.state.clone(), question))
            }
            Work::SetTimer { at } => {
                let sleep = self.agent.world().sleep_until(*at);
                Box::pin(async move {
                    sleep.await;
                    What::TimerFired { action: id }
                })
            }
        };
        Some(Slot { action, future, cancel, stopping: false })
    }

    fn tool_work(
        &self,
        action: windlass_core::ActionId,
        call: &windlass_core::CallId,
        attempt: u32,
        cancel: &CancellationToken,
    ) -> Option<ToolWork> {
        let open = self.state.open_call(call)?;
        let name = &open.call.name;
        let policy = self.state.policy();
        let timeout_ms = self.state.tool(name).and_then(|tool| tool.timeout_ms).unwrap_or(policy.tool_ms);
        Some(ToolWork {
            action,
            tool: self.agent.tool(name),
            context: work::context(self.state.run(), call, attempt, cancel.clone()),
            args: serde_json::from_str(open.args()).unwrap_or_default(),
            timeout_ms,
            grace_ms: policy.grace_ms,
            world: self.agent.world().clone(),
            secrets: self.agent.secrets().to_vec(),
        })
    }

    /// Whether nothing here can bring the run on: it waits for somebody outside.
    fn parked(&self) -> bool {
        let suspended = self.state.standing() == RunStanding::Suspended;
        suspended && !self.slots.busy() && !(self.wait_for_timers && self.slots.timed())
    }

    /// The next input: what people send comes before what work brings.
    async fn next(&mut self) -> Next {
        let (inbox, posts, slots) = (&mut self.inbox, &mut self.posts, &mut self.slots);
        let changes = &mut self.changes;
        let log = self.agent.log();
        let run = self.state.run();
        poll_fn(|context| {
            if let Poll::Ready(Some(sent)) = inbox.poll_recv(context) {
                return Poll::Ready(Next::Sent(sent));
            }
            if let Poll::Ready(posts) = posts.poll(log, run, context) {
                return Poll::Ready(Next::Posted(posts));
            }
            if let Some(Poll::Ready(watches)) = changes.as_mut().map(|change| change.as_mut().poll(context)) {
                *changes = Some(Box::pin(changed(watches)));
                return Poll::Ready(Next::ToolsChanged);
            }
            slots.poll_next(context).map(Next::Ended)
        })
        .await
    }

    /// After the end: work that is still stopping has its grace, then it is dropped with the driver.
    async fn wind_up(&mut self) {
        self.slots.keep_only(&[]);
        while !self.slots.is_empty() {
            let _late = poll_fn(|context| self.slots.poll_next(context)).await;
        }
    }
}

/// How the log lists the run.
fn standing(state: &State) -> Standing {
    match state.standing() {
        RunStanding::Ended(status) => Standing::Ended(status),
        // The hold is given up by `release`, once the driver really parks.
        RunStanding::Running | RunStanding::Suspended => Standing::Running,
    }
}

/// Watches the durable inbox of a run.
#[derive(Default)]
struct Posts {
    after: Option<PostId>,
    waiting: Option<BoxFuture<'static, Result<Vec<Posted>, StoreError>>>,
}

impl Posts {
    fn poll(
        &mut self,
        log: &Arc<dyn EventLog>,
        run: RunId,
        context: &mut Context<'_>,
    ) -> Poll<Result<Vec<Posted>, StoreError>> {
        let after = self.after;
        let waiting = self.waiting.get_or_insert_with(|| {
            let log = log.clone();
            Box::pin(async move {
                log.inbox_changed(run, after).await?;
                log.inbox(run, after).await
            })
        });
        let ready = std::pin::Pin::new(waiting).poll(context);
        if ready.is_ready() {
            self.waiting = None;
        }
        ready
    }
}
