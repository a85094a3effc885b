//! The driver: the one loop that runs every run, blocking or streaming, from the library, the command line or a server.
//!
//! It reconciles the work that is going on with the work that should be ([`pending`]), waits for one input, asks the
//! core which facts follow, makes them durable, and only then shows them and acts on them.

mod appending;
mod begin;
mod first;
mod inbox;
mod laying_down;
mod paying;
mod racing;
mod showing;
mod waking;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use windlass_core::event::{Millis, ResumedBy};
use windlass_core::policy::Hooks;
use windlass_core::run::Accepted;
use windlass_core::tool::ToolKind;
use windlass_core::{
    Event, Fact, InputKind, InvalidInput, Owner, RunId, RunState, State, ToolSpec, evolve, pending,
};
use windlass_store::{Batch, Fence, Head, PostId, Posted, StoreError};

use crate::account::SharedAccount;
use crate::agent::Agent;
use crate::asking::{ContentClock, Floor, Prefixes};
use crate::clock::RunClock;
use crate::coding::CodeSessions;
use crate::environment::again;
use crate::error::Error;
use crate::lease::{Broken, RunLease};
use crate::masking::masked;
use crate::off_thread::decided;
use crate::people::People;
use crate::posts::Posts;
use crate::run::{DriveOptions, RunHandle, Unpause};
use crate::scope::scoped;
use crate::serving;
use crate::slots::Slots;
use crate::source::changed;
use crate::spill::{self, spill};
use crate::telemetry::RunTrace;
use crate::updates::{Publisher, Update, Updates};
pub(crate) use first::busy;

/// Maximum number of inputs that wait for a driver that is busy appending.
const INBOX: usize = 64;
/// Maximum number of consecutive invalid answers before the driver stops asking.
const WRONG_ANSWERS: u32 = 10;

/// An input sent from this process, with the channel for its result.
pub(crate) struct Sent {
    pub(crate) what: InputKind,
    pub(crate) reply: Option<oneshot::Sender<Result<(), InvalidInput>>>,
}

/// Ends when the tools of a source have changed.
type Changes = BoxFuture<'static, Vec<watch::Receiver<u64>>>;

/// A run that is being driven.
pub(crate) struct Driver {
    agent: Agent,
    state: State,
    lease: RunLease,
    people: Option<Arc<dyn People>>,
    wrong_answers: u32,
    wait_for_timers: bool,
    hold_for_quota: bool,
    clock: RunClock,
    /// Whether a person lets it go on: so do the runs that it handed tasks to.
    pub(crate) resumed_by: ResumedBy,
    /// Set if taking the run over ends its pause.
    unpause: Option<Unpause>,
    publisher: Publisher,
    prefixes: Prefixes,
    floor: Floor,
    /// When content came last.
    content: ContentClock,
    slots: Slots,
    /// The children of code that wait.
    code: CodeSessions,
    // Boxed, because a queue sets aside room for 32 of them with each run.
    sender: mpsc::Sender<Box<Sent>>,
    inbox: mpsc::Receiver<Box<Sent>>,
    posts: Posts,
    changes: Option<Changes>,
    first: Option<InputKind>,
    /// Whether its first events were made durable before it was driven.
    begun: bool,
    /// What its first append does to the head of its session.
    head: Head,
    /// Set when the log failed under a delegate, or a call had no lease.
    broken: Broken,
    /// Ends when the run is to be laid down here, and in the agents that it hands tasks to.
    leave: CancellationToken,
    /// Account for its model calls, if it shares a limit.
    account: Option<Arc<SharedAccount>>,
    /// `None`: tracing is off.
    trace: Option<Box<RunTrace>>,
}

/// The next event for a driver.
enum Next {
    Sent(Box<Sent>),
    Posted(Result<Vec<Posted>, StoreError>),
    ToolsChanged,
    Ended(InputKind),
    /// The interactive user has left.
    Alone,
    /// The run is to be laid down.
    Leave,
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
        first: Option<InputKind>,
        options: DriveOptions,
    ) -> Self {
        let (sender, inbox) = mpsc::channel(INBOX);
        let (log, run) = (agent.log().clone(), state.run());
        let people = options.people.or_else(|| agent.edges().people.clone());
        let starts = matches!(first, Some(InputKind::Start(_)));
        let watches = agent.watches();
        let changes: Option<Changes> =
            if watches.is_empty() { None } else { Some(Box::pin(changed(watches))) };
        Self {
            changes,
            agent,
            state,
            lease: RunLease::new(log.clone(), run, fence, !starts),
            people,
            wrong_answers: 0,
            wait_for_timers: options.wait_for_timers,
            hold_for_quota: options.hold_for_quota,
            clock: RunClock::default(),
            resumed_by: options.resumed_by,
            unpause: options.unpause,
            publisher: Publisher::default(),
            prefixes: Prefixes::default(),
            floor: Floor::default(),
            content: ContentClock::default(),
            slots: Slots::default(),
            code: CodeSessions::default(),
            sender,
            inbox,
            posts: Posts::new(log, run),
            first,
            begun: false,
            head: Head::Stays,
            broken: Broken::default(),
            leave: CancellationToken::new(),
            account: None,
            trace: None,
        }
    }

    pub(crate) fn run(&self) -> RunId {
        self.state.run()
    }

    pub(crate) fn updates(&self) -> Updates {
        // What a run began with is read from the log, if it came before the first subscriber.
        let seen = if self.begun { 0 } else { self.state.version() };
        self.publisher.subscribe(self.state.run(), self.agent.log().clone()).after(seen)
    }

    pub(crate) fn owner(&self) -> &Owner {
        match &self.first {
            Some(InputKind::Start(start)) => &start.owner,
            _ => self.state.owner(),
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.state.version()
    }

    /// For how long the run's lease holds.
    pub(crate) async fn renewed(&mut self) -> Result<Option<Millis>, Error> {
        let (log, fence) = (self.agent.log().clone(), self.lease.fence().clone());
        Ok(again(&**self.agent.environment(), || log.renew(self.state.run(), &fence)).await?)
    }

    /// The run's state; its lease is given up.
    pub(crate) fn left(self: Box<Self>) -> State {
        self.state
    }

    pub(crate) fn publisher(&self) -> Publisher {
        self.publisher.clone()
    }

    pub(crate) fn handle(&self) -> RunHandle {
        let (run, agent) = (self.state.run(), self.agent.clone());
        RunHandle { run, agent, sender: self.sender.clone(), leave: self.leave.clone() }
    }

    /// The run is laid down together with another one.
    pub(crate) fn leave_with(&mut self, leave: &CancellationToken) {
        self.leave = leave.clone();
    }

    /// Drives the run until it has ended, is suspended, or is laid down.
    ///
    /// # Errors
    /// The log failed or the run was taken over; everything up to the last durable event is kept.
    pub(crate) async fn drive(mut self: Box<Self>) -> Result<State, Error> {
        self.open_trace();
        // Boxed: agents without services pay nothing for those with some.
        let used = if self.agent.services().is_empty() {
            Vec::new()
        } else {
            Box::pin(serving::begin(&self.agent)).await?
        };
        let driven = self.go().await;
        if !used.is_empty() {
            // Work that an error of the log left must be gone before what it uses is.
            self.slots = Slots::default();
            Box::pin(serving::end(&self.agent, used)).await;
        }
        driven.map(|()| self.state)
    }

    async fn go(&mut self) -> Result<(), Error> {
        // Boxed: a run must not hold the room of its beginning until its end.
        Box::pin(self.take_first()).await?;
        self.open_account().await?;
        while !self.state.is_finished() {
            // Work that is always ready must not keep others from their turn.
            tokio::task::coop::consume_budget().await;
            self.reconcile();
            if self.parked() {
                if self.leave().await? {
                    break;
                }
                continue;
            }
            match self.next().await {
                Next::Sent(sent) => self.sent(sent).await?,
                Next::Posted(posts) => self.posted(posts?).await?,
                Next::ToolsChanged => self.adjust().await?,
                Next::Ended(what) => self.take_end(what).await?,
                Next::Alone => match self.broken.take() {
                    Some(error) => return Err(Error::Log(error)),
                    None => self.people = None,
                },
                Next::Leave => return self.lay_down().await,
            }
        }
        self.wind_up().await;
        Ok(())
    }

    async fn take_end(&mut self, mut what: InputKind) -> Result<(), Error> {
        self.stop_other(&mut what).await;
        let answer = matches!(what, InputKind::Answered { .. });
        // The work that has ended may have changed the tools, and the next request must offer them.
        self.adjust_now().await?;
        // A late end of work that is no longer wanted is an invalid input of no consequence.
        let taken = self.take(what, None).await?;
        if answer {
            self.wrong_answers = if taken.is_ok() { 0 } else { self.wrong_answers + 1 };
            if self.wrong_answers >= WRONG_ANSWERS {
                let questions: Vec<_> = self.state.questions().iter().map(|open| open.id.as_str()).collect();
                tracing::warn!(run = %self.state.run(), ?questions, "{WRONG_ANSWERS} answers in a row did not fit: the people of this run are asked no more");
                self.people = None;
            }
        }
        Ok(())
    }

    /// Updates the run's tools to those that the agent has now.
    async fn adjust(&mut self) -> Result<(), Error> {
        let known = self.state.own_tools();
        let hooks = self.state.policy().calls.hooks == Hooks::AfterSteps;
        let fresh = scoped(self.agent.refresh(), self.state.only_tools());
        let kept = hooks || fresh.iter().any(|tool| tool.kind == ToolKind::Delegate);
        let tools = if kept { as_offered(&fresh, known, hooks) } else { fresh };
        let binding_digests = self.agent.changed_binding_digests(self.state.binding_digests());
        let differs = !Arc::ptr_eq(&tools, known) && tools != *known;
        if !differs {
            // Those of a run that was loaded are as they were written.
            self.state.tools().iter().zip(tools.iter()).for_each(|(known, own)| known.check_as(own));
        }
        if !self.state.is_finished() && (differs || binding_digests.is_some()) {
            drop(self.take(InputKind::ToolsChanged { tools, binding_digests }, None).await?);
        }
        Ok(())
    }

    /// One input: which facts follow, durable before visible.
    ///
    /// Boxed while it lasts: a run that waits for a model must not hold the room that an append takes.
    fn take(
        &mut self,
        what: InputKind,
        uses: Option<PostId>,
    ) -> BoxFuture<'_, Result<Result<(), InvalidInput>, Error>> {
        Box::pin(self.take_now(what, uses))
    }

    async fn take_now(
        &mut self,
        what: InputKind,
        uses: Option<PostId>,
    ) -> Result<Result<(), InvalidInput>, Error> {
        let mut what = masked(&**self.agent.environment(), what).await;
        // Boxed, as all that few inputs need.
        if matches!(what, InputKind::Steer(_))
            && let Err(invalid) = Box::pin(self.agent.complete_steering(&self.state, &mut what)).await?
        {
            self.publisher.send(Update::Refused { invalid: Arc::new(invalid.clone()) });
            return Ok(Err(invalid));
        }
        let (log, environment) = (&**self.agent.log(), &**self.agent.environment());
        spill(spill::To { log, most: self.spill_bytes(&what), environment }, &mut what).await?;
        let at = self.clock.now(&**self.agent.environment());
        let (replied, decided) = decided(&self.agent, &self.state, at, what).await;
        let Accepted { events, cause, state: next } = match decided {
            Ok(accepted) => accepted,
            Err(invalid) => {
                let shared = Arc::new(invalid.clone());
                self.publisher.send(Update::Refused { invalid: shared });
                return Ok(Err(invalid));
            }
        };
        debug_assert_eq!(
            events.iter().fold(self.state.clone(), evolve),
            next,
            "the state is the fold of its events"
        );
        let batch = Batch { first: self.state.version() + 1, cause, events: events.into() };
        match self.append(&batch, uses, &next).await {
            Err(StoreError::Unheard { .. }) => return self.hear_first(batch, uses).await,
            appended => appended?,
        }
        if next.is_finished() {
            self.lease.ended();
        }
        let output = next.ended().and_then(|end| end.output.as_ref());
        if let (Some(action), Some(output), true) = (replied, output, self.publisher.heard()) {
            self.publisher.send(Update::Partial { action, output: Arc::new(output.clone()) });
        }
        let learnt = |event: &Event| {
            if let Fact::Adjusted(adjusted) = &event.fact { adjusted.models.clone() } else { None }
        };
        batch.events.iter().filter_map(learnt).for_each(|models| self.agent.learn(&models));
        if let Some(trace) = &mut self.trace {
            trace.see(&batch.events, at);
        }
        self.show(batch, &next);
        self.state = next;
        self.code.keep_open(&self.state);
        if let Some(account) = &self.account {
            account.limited_by(&self.state);
        }
        Ok(Ok(()))
    }

    /// Above how many bytes what an input brings is stored apart. What `read_result` gives is bounded already.
    fn spill_bytes(&self, what: &InputKind) -> u64 {
        let reads = |action| {
            let tool = self.state.running_call(action).and_then(|open| self.state.tool(&open.call.name));
            tool.is_some_and(|tool| tool.kind == ToolKind::Read)
        };
        if let InputKind::Start(start) = what {
            start.policy.spill_bytes()
        } else if let InputKind::CallEnded { action, .. } = what
            && reads(*action)
        {
            u64::MAX
        } else {
            self.state.policy().spill_bytes()
        }
    }

    /// Starts what is new, stops what is gone.
    pub(crate) fn reconcile(&mut self) {
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

    /// Whether the run waits only for outside input.
    fn parked(&self) -> bool {
        let suspended = self.state.run_state() == RunState::Suspended;
        // A timer that is already due must not wait for the next check.
        let holds = self.wait_for_timers || self.hold_for_quota && self.state.quota_wait().is_some();
        let until = if holds { u64::MAX } else { self.clock.now(&**self.agent.environment()) };
        suspended && !self.slots.busy() && !self.slots.due(until)
    }

    /// The next input: what people send comes before what work brings.
    async fn next(&mut self) -> Next {
        let (inbox, posts, slots) = (&mut self.inbox, &mut self.posts, &mut self.slots);
        let changes = &mut self.changes;
        let mut leave = pin!(self.leave.cancelled());
        poll_fn(|context| {
            if leave.as_mut().poll(context).is_ready() {
                return Poll::Ready(Next::Leave);
            }
            // All posts come at once; words of this process might come without an end.
            if let Poll::Ready(posts) = posts.poll(context) {
                return Poll::Ready(Next::Posted(posts));
            }
            if let Poll::Ready(Some(sent)) = inbox.poll_recv(context) {
                return Poll::Ready(Next::Sent(sent));
            }
            if poll_changes(changes, context).is_ready() {
                return Poll::Ready(Next::ToolsChanged);
            }
            slots.poll_next(context).map(|ended| ended.map_or(Next::Alone, Next::Ended))
        })
        .await
    }

    /// Takes note of a change of the tools that has come already.
    async fn adjust_now(&mut self) -> Result<(), Error> {
        let changes = &mut self.changes;
        let changed = poll_fn(|context| Poll::Ready(poll_changes(changes, context).is_ready())).await;
        if changed { self.adjust().await } else { Ok(()) }
    }

    /// After the end: work that is still stopping has its grace, then it is dropped with the driver.
    async fn wind_up(&mut self) {
        self.slots.keep_only(&[]);
        while !self.slots.is_empty() {
            let _late = poll_fn(|context| self.slots.poll_next(context)).await;
        }
    }
}

/// Keeps a hook's changes of the offered tools when the tools themselves change, and the list of agents that were available
/// when the run began (KAOS), because the prompt must not change between attempts.
fn as_offered(fresh: &[ToolSpec], known: &Arc<Vec<ToolSpec>>, hooks: bool) -> Arc<Vec<ToolSpec>> {
    let kept = fresh.iter().map(|tool| {
        let mut tool = tool.clone();
        let before = known.iter().find(|other| other.name == tool.name);
        if let Some(before) = before.filter(|_| hooks || tool.kind == ToolKind::Delegate) {
            tool.offer = before.offer;
        }
        tool
    });
    let kept: Vec<ToolSpec> = kept.collect();
    if kept == **known { known.clone() } else { Arc::new(kept) }
}

/// Ready once the tools of a source have changed.
fn poll_changes(changes: &mut Option<Changes>, context: &mut Context<'_>) -> Poll<()> {
    let Some(change) = changes else { return Poll::Pending };
    change.as_mut().poll(context).map(|watches| *changes = Some(Box::pin(changed(watches))))
}
