//! The driver: the one loop that runs every run, blocking or streaming, from the library, the command line or a server.
//!
//! It reconciles the work that is going on with the work that should be ([`pending`]), waits for one input, asks the
//! core which facts follow, makes them durable, and only then shows them and acts on them.

mod adjusting;
mod appending;
pub(crate) mod content;
pub(crate) mod control;
pub(crate) mod deciding;
mod detaching;
pub(crate) mod first;
pub(crate) mod forks;
pub(crate) mod handle;
pub(crate) mod inbox;
mod inputs;
pub(crate) mod lease;
pub(crate) mod local_inbox;
pub(crate) mod lost;
pub(crate) mod masking;
pub(crate) mod options;
pub(crate) mod parents;
pub(crate) mod partial;
mod paying;
mod racing;
pub(crate) mod requests;
pub(crate) mod run;
pub(crate) mod services;
pub(crate) mod settings;
mod showing;
pub(crate) mod slots;
pub(crate) mod spill;
pub(crate) mod starting;
mod steering;
pub(crate) mod taking_over;
#[cfg(feature = "otel")]
pub(crate) mod telemetry;
#[cfg(not(feature = "otel"))]
#[path = "driver/no_telemetry.rs"]
pub(crate) mod telemetry;
pub(crate) mod updates;
mod waking;
pub(crate) mod work;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_core::future::BoxFuture;
use futures_util::FutureExt;
use futures_util::future::OptionFuture;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use windlass_core::event::{Millis, ResumedBy};
use windlass_core::run::{Advance, Refusal};
use windlass_core::tool::ToolKind;
use windlass_core::{Action, ActionKind, InputKind, InvalidInput, Owner, RunId, RunState, State, pending};
use windlass_store::{Batch, Fence, Head, PostId, Posted, StoreError};

use crate::agent::Agent;
use crate::agent::documents::with_result_text;
use crate::agent::people::People;
use crate::agent::source::changed;
use crate::platform::account::SharedAccount;
use crate::platform::clock::RunClock;
use crate::platform::error::Error;
use crate::platform::retry::again;
use adjusting::{Changes, poll_changes};
use content::ContentClock;
use deciding::{decided, decided_here};
use handle::RunHandle;
use inbox::InboxReader;
use lease::{Broken, RunLease};
use local_inbox::{Detach, LocalInbox};
use masking::{mask_input, masked};
use options::{DriveOptions, Unpause};
use slots::{Slot, Slots};
use spill::{may_spill, spill};
use steering::complete_steering;
use telemetry::RunTrace;
use updates::{Publisher, Update, Updates};
use work::{Running, Work};

/// Maximum number of consecutive invalid answers before the driver stops asking.
const WRONG_ANSWERS: u32 = 10;

/// An input sent from this process, with the channel for its result.
pub(crate) struct Sent {
    pub(crate) what: InputKind,
    pub(crate) reply: Option<oneshot::Sender<Result<(), InvalidInput>>>,
}

/// A run that is being driven.
pub(crate) struct Driver<W> {
    agent: Agent,
    /// Shared with the work that reads it, which is over when the next input comes: then it changes in place.
    state: Arc<State>,
    lease: RunLease,
    people: Option<Arc<dyn People>>,
    wrong_answers: u32,
    wait_for_timers: bool,
    hold_for_quota: bool,
    clock: RunClock,
    /// Whether a person lets it go on: so do the runs that it handed tasks to.
    resumed_by: ResumedBy,
    /// Set if taking the run over ends its pause.
    unpause: Option<Unpause>,
    publisher: Publisher,
    /// Carries out the actions.
    work: W,
    /// When content came last.
    content: ContentClock,
    slots: Slots,
    inbox: LocalInbox,
    durable_inbox: InboxReader,
    changes: Option<Changes>,
    first: Option<InputKind>,
    /// The post of the request that takes the run over: its first append uses it.
    first_uses: Option<PostId>,
    /// Whether its first events were made durable before it was driven.
    begun: bool,
    /// The effect of its first append on the head of its session.
    head: Head,
    /// Set when the log failed under a delegate, or a call had no lease.
    broken: Broken,
    /// Cancelled when this process is to detach from the run, and from those that it hands tasks to.
    detach: Detach,
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
    /// This process is to detach from the run.
    Detach,
}

impl<W> std::fmt::Debug for Driver<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("run", &self.state.run()).finish_non_exhaustive()
    }
}

impl<W: Work> Driver<W> {
    pub(crate) fn new(
        agent: Agent,
        state: State,
        fence: Fence,
        first: Option<InputKind>,
        options: DriveOptions,
    ) -> Self {
        let (log, run) = (agent.log().clone(), state.run());
        let people = options.people.or_else(|| agent.edges().people.clone());
        let starts = matches!(first, Some(InputKind::Start(_)));
        let watches = agent.watches();
        let changes: Option<Changes> =
            if watches.is_empty() { None } else { Some(Box::pin(changed(watches))) };
        Self {
            changes,
            agent,
            state: Arc::new(state),
            lease: RunLease::new(log.clone(), run, fence, !starts),
            people,
            wrong_answers: 0,
            wait_for_timers: options.wait_for_timers,
            hold_for_quota: options.hold_for_quota,
            clock: RunClock::default(),
            resumed_by: options.resumed_by,
            unpause: options.unpause,
            publisher: Publisher::default(),
            work: W::default(),
            content: ContentClock::default(),
            slots: Slots::default(),
            inbox: LocalInbox::default(),
            durable_inbox: InboxReader::new(log, run),
            first,
            first_uses: None,
            begun: false,
            head: Head::Stays,
            broken: Broken::default(),
            detach: Detach::default(),
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

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// For how long the run's lease holds.
    pub(crate) async fn renewed(&mut self) -> Result<Option<Millis>, Error> {
        let (log, fence) = (self.agent.log().clone(), self.lease.fence().clone());
        Ok(again(&**self.agent.environment(), || log.renew(self.state.run(), &fence)).await?)
    }

    /// The run's state; its lease is given up.
    pub(crate) fn released(self) -> Arc<State> {
        self.state
    }

    pub(crate) fn publisher(&self) -> Publisher {
        self.publisher.clone()
    }

    pub(crate) fn handle(&self) -> RunHandle {
        let (run, agent) = (self.state.run(), self.agent.clone());
        RunHandle { run, agent, sender: self.inbox.sender(), detach: self.detach.token().clone() }
    }

    /// Detaches from the run together with another one.
    pub(crate) fn detach_with(&mut self, detach: &CancellationToken) {
        self.detach = detach.clone().into();
    }

    /// Drives the run until it has ended or is suspended, or the process detaches from it.
    ///
    /// # Errors
    /// The log failed or the run was taken over; everything up to the last durable event is kept.
    pub(crate) async fn drive(mut self: Box<Self>) -> Result<Arc<State>, Error> {
        self.open_trace();
        // Boxed: agents without services pay nothing for those with some.
        let used = if self.agent.services().is_empty() {
            Vec::new()
        } else {
            Box::pin(services::begin(&self.agent)).await?
        };
        let driven = self.go().await;
        if !used.is_empty() {
            // Work that an error of the log left must be gone before what it uses is.
            self.slots = Slots::default();
            Box::pin(services::end(&self.agent, used)).await;
        }
        if driven.is_err() {
            // Who hears of the error may try again at once.
            Box::pin(self.lease.give_up()).await;
        }
        driven.map(|()| self.state)
    }

    async fn go(&mut self) -> Result<(), Error> {
        // All that few runs need is boxed, here and there: a run must not hold the room for it until its end.
        self.take_first().await?;
        self.open_account().await?;
        while !self.state.is_finished() {
            // Work that is always ready must not keep others from their turn.
            tokio::task::coop::consume_budget().await;
            self.reconcile();
            if self.parked() {
                if Box::pin(self.park()).await? {
                    break;
                }
                continue;
            }
            match self.next().await {
                Next::Sent(sent) => self.sent(sent).await?,
                Next::Posted(posts) => Box::pin(self.posted(posts?)).await?,
                Next::ToolsChanged => self.adjust().await?,
                Next::Ended(what) => self.take_end(what).await?,
                Next::Alone => match self.broken.take() {
                    Some(error) => return Err(Error::Log(error)),
                    None => self.people = None,
                },
                Next::Detach => return Box::pin(self.detach()).await,
            }
        }
        self.drain().await;
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

    /// One input: which facts follow, durable before visible.
    ///
    /// Boxed while it lasts: a run that waits for a model must not hold the room that an append takes.
    fn take(
        &mut self,
        mut what: InputKind,
        uses: Option<PostId>,
    ) -> BoxFuture<'_, Result<Result<(), InvalidInput>, Error>> {
        settings::name_refused(&self.agent, &self.state, &mut what);
        Box::pin(self.take_now(what, uses))
    }

    async fn take_now(
        &mut self,
        mut what: InputKind,
        uses: Option<PostId>,
    ) -> Result<Result<(), InvalidInput>, Error> {
        let most = self.spill_bytes(&what);
        // Boxed, as all that few inputs need.
        OptionFuture::from(with_result_text(&self.agent, &mut what, most)).await;
        if masking::is_long(&what) {
            what = Box::pin(masked(&**self.agent.environment(), what)).await;
        } else {
            mask_input(&mut what);
        }
        if matches!(what, InputKind::Steer(_))
            && let Err(invalid) = Box::pin(complete_steering(&self.agent, &self.state, &mut what)).await?
        {
            self.publisher.send(Update::Refused { invalid: Arc::new(invalid.clone()) });
            return Ok(Err(invalid));
        }
        let (log, environment) = (&**self.agent.log(), &**self.agent.environment());
        if may_spill(&what, most) {
            Box::pin(spill(spill::To { log, most, environment }, &mut what)).await?;
        }
        let at = self.clock.now(&**self.agent.environment());
        let (version, before) = (self.state.version(), self.before());
        let (replied, decided) = if deciding::is_long(&self.agent, &self.state, &what) {
            Box::pin(decided(&self.agent, &mut self.state, at, what)).await
        } else {
            decided_here(&mut self.state, self.agent.checks(), at, what)
        };
        let Advance { events, cause } = match decided {
            Ok(advance) => advance,
            Err(Refusal { invalid, is_clean }) => {
                if !is_clean {
                    self.state = self.read_state(version).await?;
                }
                let shared = Arc::new(invalid.clone());
                self.publisher.send(Update::Refused { invalid: shared });
                return Ok(Err(invalid));
            }
        };
        let batch = Batch { first: version + 1, cause, events: events.into() };
        match self.append(&batch, uses).await {
            Err(StoreError::Unheard { .. }) => {
                self.state = match before.state {
                    Some(state) => state,
                    None => self.read_state(version).await?,
                };
                return self.hear_first(batch, uses).await;
            }
            appended => appended?,
        }
        if self.state.is_finished() {
            self.lease.ended();
        }
        let output = self.state.ended().and_then(|end| end.output.as_ref());
        if let (Some(action), Some(output), true) = (replied, output, self.publisher.heard()) {
            self.publisher.send(Update::Partial { action, output: Arc::new(output.clone()) });
        }
        self.learn_models(&batch.events);
        if let Some(trace) = &mut self.trace {
            trace.see(&batch.events, at);
        }
        self.show(batch, before).await?;
        self.work.keep_open(&self.state);
        if let Some(account) = &self.account {
            account.limited_by(&self.state);
        }
        Ok(Ok(()))
    }

    /// Above how many bytes the content of an input is stored as a payload. What `read_result` gives is bounded already.
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

    /// Starts the work of an action; `None`: it cannot be done here.
    fn begin(&self, action: Action) -> Option<Slot> {
        let cancel = CancellationToken::new();
        let future = if let ActionKind::SetTimer { at } = action.work {
            let id = action.id;
            Box::pin(self.timer(at).map(move |()| Some(InputKind::TimerFired { action: id })))
        } else {
            self.work.begin(&self.running(), &action, &cancel)?
        };
        let future = match &self.trace {
            Some(trace) => trace.work(&action, &self.state, self.agent.environment(), future),
            None => future,
        };
        Some(Slot { action, future, cancel, stopping: false, ended: false })
    }

    fn running(&self) -> Running<'_> {
        Running {
            agent: &self.agent,
            state: &self.state,
            people: self.people.as_ref(),
            publisher: &self.publisher,
            content: &self.content,
            lease: &self.lease,
            broken: &self.broken,
            resumed_by: self.resumed_by,
            detach: &self.detach,
            account: self.account.as_ref(),
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
        let (inbox, durable_inbox, slots) = (&mut self.inbox, &mut self.durable_inbox, &mut self.slots);
        let changes = &mut self.changes;
        let mut detach = pin!(self.detach.made().map(CancellationToken::cancelled));
        poll_fn(|context| {
            if detach.as_mut().as_pin_mut().is_some_and(|detach| detach.poll(context).is_ready()) {
                return Poll::Ready(Next::Detach);
            }
            // All posts come at once; inputs of this process might come without an end.
            if let Poll::Ready(posts) = durable_inbox.poll(context) {
                return Poll::Ready(Next::Posted(posts));
            }
            if let Poll::Ready(sent) = inbox.poll(context) {
                return Poll::Ready(Next::Sent(sent));
            }
            if poll_changes(changes, context).is_ready() {
                return Poll::Ready(Next::ToolsChanged);
            }
            slots.poll_next(context).map(|ended| ended.map_or(Next::Alone, Next::Ended))
        })
        .await
    }

    /// After the end: work that is still stopping has its grace, then it is dropped with the driver.
    async fn drain(&mut self) {
        self.slots.keep_only(&[]);
        while !self.slots.is_empty() {
            let _late = poll_fn(|context| self.slots.poll_next(context)).await;
        }
    }
}
