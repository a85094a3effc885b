//! State: the fold of a run's events, and what the edge may ask of it.

pub(crate) mod approval;
pub(crate) mod blackboard;
pub(crate) mod candidates;
pub(crate) mod clock;
pub(crate) mod context;
pub(crate) mod conversation;
pub(crate) mod demands;
pub(crate) mod ending;
pub(crate) mod hedging;
pub(crate) mod ledger;
pub(crate) mod model_calls;
pub(crate) mod offer;
pub(crate) mod open_call;
pub(crate) mod output;
pub(crate) mod payloads;
pub(crate) mod plan;
pub(crate) mod progress;
pub(crate) mod proof;
pub(crate) mod questions;
pub(crate) mod reach;
pub(crate) mod remedies;
pub(crate) mod results;
pub(crate) mod routing;
pub(crate) mod rules;
pub(crate) mod search;
pub(crate) mod setup;
pub(crate) mod size;
pub(crate) mod stalls;
pub(crate) mod status;
pub(crate) mod transcript;
pub(crate) mod turn;

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::policy::Policy;
use crate::policy::values::{Memory, Stop};
use crate::protocol::fact::interrupts::Steered;
use crate::protocol::fact::run::{AgentRef, Recalled, ToolRecord};
use crate::protocol::fact::{MessageQueued, RunEnded};
use crate::state::clock::Clock;
use crate::state::conversation::Conversation;
use crate::state::ending::Ending;
use crate::state::ledger::Ledger;
use crate::state::model_calls::{ModelCall, ModelCalls};
use crate::state::open_call::{Asked, OpenCall, Stage};
use crate::state::progress::Progress;
use crate::state::questions::{OpenQuestion, Questions};
use crate::state::setup::{Setup, Toolbox};
use crate::state::status::RunStatus;
use crate::state::turn::{Branched, Turn};
use crate::vocabulary::amount::Counters;
use crate::vocabulary::binding::hex;
use crate::vocabulary::history::History;
use crate::vocabulary::ids::{ActionId, CallId, Millis, Owner, RunId, SessionId, Text};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::message::Message;
use crate::vocabulary::model::{Carried, ModelChoice, Wire};
use crate::vocabulary::outcome::Status;
use crate::vocabulary::payload::Ref;
use crate::vocabulary::purpose::Purpose;
use crate::vocabulary::reply::Usage;
use crate::vocabulary::tool::{OutputForm, ToolKind, ToolSpec};

/// Everything that is known of a run. Cloning costs O(1): the conversation is shared.
///
/// Each part has one owner file in `state/`, which says what it holds and how it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub(crate) run: RunId,
    pub(crate) version: u64,
    pub(crate) clock: Clock,
    pub(crate) setup: Setup,
    pub(crate) toolbox: Toolbox,
    pub(crate) conversation: Conversation,
    pub(crate) phase: Phase,
    /// The open model calls.
    pub(crate) model_calls: ModelCalls,
    pub(crate) turn: Turn,
    pub(crate) ledger: Ledger,
    pub(crate) questions: Questions,
    pub(crate) ending: Ending,
    /// How far a loop beyond the tool loop has come.
    pub(crate) progress: Box<Progress>,
    /// The base, until the start selects the parts that continue.
    pub(crate) base: Option<Arc<State>>,
}

/// The parts of a run before its first event: an empty list or map has memory of its own, which each run would make and drop.
#[derive(Default)]
struct Empty {
    setup: Setup,
    toolbox: Toolbox,
    conversation: Conversation,
    turn: Turn,
    ledger: Ledger,
    questions: Questions,
    ending: Ending,
    progress: Box<Progress>,
}

/// Phase of the loop.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    /// Nothing has happened yet.
    New,
    /// Between two steps: what comes next is decided within the same append.
    Between,
    /// The loop waits for a model call, which is going on or is tried again later.
    Asking,
    /// The calls of a turn are going on.
    Acting(Vec<OpenCall>),
    /// A step's calls have ended, and its hook is asked.
    Stepping { seq: u64 },
    /// The end.
    Ended(Box<RunEnded>),
}

/// The state of a run as a whole, as listings show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// Work is left, whether or not the run has a driver.
    Running,
    /// It waits for a person, a peer or a timer.
    Suspended,
    /// It has ended.
    Ended(Status),
}

impl RunState {
    /// The name by which runs are filtered: `running`, `suspended`, or the name of the status.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => RunStatus::Running.name(),
            Self::Suspended => RunStatus::Suspended.name(),
            Self::Ended(status) => status.name(),
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(status) => status.fmt(f),
            Self::Running | Self::Suspended => f.write_str(self.name()),
        }
    }
}

impl State {
    /// A run before its first event. Its parts are shared with those of all others until they change.
    pub fn new(run: RunId) -> Self {
        static EMPTY: LazyLock<Empty> = LazyLock::new(Empty::default);
        let Empty { setup, toolbox, conversation, turn, ledger, questions, ending, progress } = &*EMPTY;
        Self {
            run,
            version: 0,
            clock: Clock::default(),
            setup: setup.clone(),
            toolbox: toolbox.clone(),
            conversation: conversation.clone(),
            phase: Phase::New,
            model_calls: ModelCalls::default(),
            turn: turn.clone(),
            ledger: ledger.clone(),
            questions: questions.clone(),
            ending: ending.clone(),
            progress: progress.clone(),
            base: None,
        }
    }

    /// A run before its first event that begins where another run stands: with its conversation, which is shared, not
    /// copied. A fork ([`RunInput::Fork`](crate::event::RunInput::Fork)) goes on with everything else, too.
    pub fn on_base(run: RunId, base: &Self) -> Self {
        Self {
            conversation: base.conversation.as_base(),
            base: Some(Arc::new(base.clone())),
            ..Self::new(run)
        }
    }

    /// The number of events of its base, before its first event.
    pub fn base_version(&self) -> Option<u64> {
        self.base.as_ref().map(|base| base.version)
    }

    /// The run's id.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// The number of events.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The latest time seen.
    pub fn clock(&self) -> Millis {
        self.clock.now()
    }

    /// The agent, once the run has started.
    pub fn agent(&self) -> Option<&AgentRef> {
        self.setup.agent()
    }

    /// The files that the agent was made of, where it came from files ([`RunStarted::agent_files`](crate::event::RunStarted::agent_files)).
    pub fn agent_files(&self) -> Option<&Ref> {
        self.setup.agent_files().map(|files| &**files)
    }

    /// The owner.
    pub fn owner(&self) -> &Owner {
        self.setup.owner()
    }

    /// The session, one of its owner's.
    pub fn session(&self) -> Option<&SessionId> {
        self.setup.session()
    }

    /// Patterns of the tools that the run was given; `None`: all of its agent's.
    pub fn only_tools(&self) -> Option<&Arc<Vec<Text>>> {
        self.setup.only_tools()
    }

    /// Earlier runs of the agent that the run was reminded of when it began, the most similar first.
    pub fn recalled(&self) -> &[Recalled] {
        self.setup.recalled()
    }

    /// How the agent's tools did in earlier runs, where plans are made with it.
    pub fn tool_records(&self) -> &[ToolRecord] {
        self.setup.tool_records()
    }

    /// Messages to the session that runs of their own answer after this one, in order.
    pub fn queued(&self) -> impl Iterator<Item = &Arc<MessageQueued>> {
        self.questions.queued().iter()
    }

    /// Messages to the run that it ended without having heard, and that wait for no run of their own; empty while it goes on.
    pub fn unheard(&self) -> &[Steered] {
        if self.is_finished() { self.conversation.steering() } else { &[] }
    }

    /// Whether a message that the run has not heard when it ends waits for a run of its own.
    pub fn keeps_unheard(&self) -> bool {
        let past = &self.setup.policy().past;
        past.while_running.keeps_unheard() && self.session().is_some() && past.memory != Memory::Off
    }

    /// The span that tells of the run (`traceparent`), where one does.
    pub fn trace(&self) -> Option<&Text> {
        self.setup.trace()
    }

    /// The policy.
    pub fn policy(&self) -> &Arc<Policy> {
        self.setup.policy()
    }

    /// The tools, offered or only known, and those of Windlass itself: what reads stored payloads once there is one, and
    /// what finds tools where they are not shown.
    pub fn tools(&self) -> &Arc<Vec<ToolSpec>> {
        self.toolbox.all()
    }

    /// The models that it may ask, in order of fallback.
    pub fn models(&self) -> &Arc<Vec<ModelChoice>> {
        self.setup.models()
    }

    /// The agent's own tools, as the last event that named them did.
    pub fn own_tools(&self) -> &Arc<Vec<ToolSpec>> {
        self.toolbox.own()
    }

    /// The messages before the conversation.
    pub fn prompt(&self) -> &Arc<Vec<Arc<Message>>> {
        self.setup.prompt()
    }

    /// The objective that a prompt builder made the system message of. `None`: the system message is the objective.
    pub fn objective(&self) -> Option<&Text> {
        self.setup.objective()
    }

    /// JSON Schema of the typed output, if there is one.
    pub fn output_schema(&self) -> Option<&Arc<Value>> {
        self.setup.output()
    }

    /// The tool whose call ends the run, where there is one with an output.
    pub fn finish_tool(&self) -> Option<&ToolSpec> {
        if self.setup.policy().replies.stop != Stop::FinishTool {
            return None;
        }
        self.toolbox.all().iter().rev().find(|tool| {
            tool.is_offered() && matches!(tool.kind, ToolKind::Finish(OutputForm::Object | OutputForm::Value))
        })
    }

    /// The conversation.
    pub fn history(&self) -> &History {
        self.conversation.history()
    }

    /// Tokens used by this run.
    pub fn usage(&self) -> &Usage {
        self.ledger.usage()
    }

    /// Cost of this run in pico-dollars; `None` where a price is unknown.
    pub fn cost(&self) -> Option<u64> {
        self.ledger.cost()
    }

    /// The counters that limits look at.
    pub fn counters(&self) -> &Counters {
        self.ledger.counters()
    }

    /// The run's end.
    pub fn ended(&self) -> Option<&RunEnded> {
        if let Phase::Ended(end) = &self.phase { Some(end) } else { None }
    }

    /// Whether the run has ended.
    pub fn is_finished(&self) -> bool {
        self.ended().is_some()
    }

    /// The questions that wait for an answer.
    pub fn questions(&self) -> &[OpenQuestion] {
        self.questions.open()
    }

    /// The question of a pause that is not over.
    pub fn pause(&self) -> Option<&OpenQuestion> {
        self.questions.pause()
    }

    /// The state of the run as a whole: running, suspended or ended.
    pub fn run_state(&self) -> RunState {
        if let Some(end) = self.ended() {
            return RunState::Ended(end.status);
        }
        let waits = match &self.phase {
            Phase::New | Phase::Stepping { .. } | Phase::Ended(_) => false,
            Phase::Between => true,
            Phase::Asking => self.turns_model_call().is_some_and(ModelCall::waits_for_quota),
            Phase::Acting(calls) => calls.iter().all(|call| match call.stage() {
                Stage::Running { .. }
                | Stage::Coding { .. }
                | Stage::Delegated { .. }
                | Stage::Retrying { .. } => false,
                Stage::Verifying => {
                    let asked = self.model_calls.get(Purpose::Verify, Some(&call.call.id));
                    asked.is_some_and(ModelCall::waits_for_quota)
                }
                Stage::Doubted { asked, .. } => *asked == Asked::Person,
                Stage::Queued
                | Stage::Held { .. }
                | Stage::Asking
                | Stage::CodeWaits
                | Stage::DelegateAsks { .. }
                | Stage::DelegateDeferred { .. }
                | Stage::Done(_) => true,
            }),
        };
        let waits = waits && self.model_calls.in_progress().next().is_none();
        let waits = waits && (self.questions.are_put() || self.only_quotas_wait());
        if waits { RunState::Suspended } else { RunState::Running }
    }

    /// The call of that id, while its turn is going on.
    pub fn open_call(&self, id: &CallId) -> Option<&OpenCall> {
        let Phase::Acting(calls) = &self.phase else { return None };
        calls.iter().find(|call| call.call.id == *id)
    }

    /// The tool of that name, if the run has it.
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.toolbox.all().iter().find(|tool| *tool.name == *name)
    }

    /// The model call that an action is, while a try of it is going on.
    pub fn request(&self, action: ActionId) -> Option<Request<'_>> {
        let model_call = self.model_call(action)?;
        let model = self.setup.models().get(model_call.model() as usize)?;
        Some(Request { model, purpose: model_call.purpose(), turn: model_call.turn() })
    }

    /// The wire of the current or next model.
    pub fn wire(&self) -> Wire {
        let asked = self
            .turns_model_call()
            .filter(|model_call| model_call.retry_at().is_none())
            .map(ModelCall::model);
        let asked = asked.unwrap_or_else(|| self.next_model());
        self.setup
            .models()
            .get(asked as usize)
            .map_or(self.setup.policy().request.wire, |model| self.setup.policy().wire_of(model))
    }

    /// The number of the step whose hook is asked now, from 1: the model calls so far (acorn's counter).
    pub fn step(&self) -> Option<u64> {
        matches!(self.phase, Phase::Stepping { .. }).then_some(self.ledger.counters().model_calls)
    }

    /// The branches that the hook has asked for after the current step, as they ended, in the order in which it asked.
    pub fn branched(&self) -> &[Branched] {
        self.turn.branched()
    }

    /// A digest of the conversation: SHA-256 over its messages, prompt not included.
    pub fn digest(&self) -> Text {
        let mut hash = Sha256::new();
        for message in self.conversation.history().iter() {
            if let Ok(json) = serde_json::to_vec(&**message) {
                hash.update(json);
                hash.update(b"\n");
            }
        }
        hex(&hash.finalize())
    }

    /// Usage that a run carries over when it continues this one after a limit.
    pub fn carried(&self) -> Carried {
        let (usage, cost, reserved) = self.ledger.carried_on();
        Carried {
            counters: *self.ledger.counters(),
            usage,
            cost,
            reserved,
            elapsed_ms: self.clock.elapsed(self.clock.now()),
        }
    }

    pub(crate) fn action(&self, seq: u64) -> ActionId {
        ActionId { run: self.run, seq }
    }

    /// When the limit on seconds is reached.
    pub(crate) fn deadline(&self) -> Option<Millis> {
        self.setup.policy().limit(LimitKind::Seconds).map(|limit| self.clock.after(limit))
    }

    /// When the run is to be woken: at its deadline, for a second attempt at a model call, or because it is stalled.
    pub(crate) fn alarm(&self) -> Option<Millis> {
        [self.wakes_at(), self.stalls_at()].into_iter().flatten().min()
    }

    /// Whether nothing new may begin: work that is going on is being stopped.
    pub(crate) fn stopping(&self) -> bool {
        self.ending.stops()
    }

    /// Whether an action of the edge is going on whose end must still come in.
    pub(crate) fn in_flight(&self) -> bool {
        if self.model_calls.in_progress().next().is_some() {
            return true;
        }
        match &self.phase {
            Phase::Acting(calls) => calls.iter().any(OpenCall::in_flight),
            Phase::New | Phase::Between | Phase::Asking | Phase::Stepping { .. } | Phase::Ended(_) => false,
        }
    }
}

/// A model call that is going on: which model is asked, and what for. What is sent is its [view](State::view).
#[derive(Clone, Copy, Debug)]
pub struct Request<'s> {
    /// The model and its settings.
    pub model: &'s ModelChoice,
    /// Purpose of the call.
    pub purpose: Purpose,
    /// The turn's number.
    pub turn: u32,
}
