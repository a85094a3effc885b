//! State of a scripted conversation: the progress of each script, and the records.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use serde_json::Value;
use windlass_core::event::{CallFact, ContextFact, Millis, ModelFact, PeopleFact};
use windlass_core::tool::Effect;
use windlass_core::{Answer, CallId, CallOutcome, Event, Fact, InputKind, QuestionId, RunId, Text};
use windlass_models::mock;
use windlass_runtime::{Environment, RunHandle};
use windlass_store::Inbox;
use windlass_tools::SharedService;
use windlass_tools::memory::Memory;

use crate::crash::CrashLog;
use crate::fixture::{
    Cancel, Case, During, HumanAnswer, Interrupt, ModelEntry, Peer, ScriptedTool, SentRequest, Steer,
};
use crate::schedule::Turns;
use crate::sim::SimEnvironment;

/// The shared memory of a pass over a case: it survives simulated crashes.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    inner: Arc<Mutex<Inner>>,
    /// The memory of each agent, by path.
    memories: Arc<Mutex<BTreeMap<String, SharedService>>>,
    /// Decides which ready work goes first.
    pub(crate) turns: Turns,
    /// A name of the pass that no other pass has, on this machine.
    pub(crate) pass: Arc<str>,
    /// Owner of this part: empty for the case's own agent, else the peers' names on the way to it, separated by `/`.
    path: String,
}

/// One agent's model: what it is to say, and what it was sent.
#[derive(Debug, Default)]
pub(crate) struct Scene {
    pub(crate) model: Vec<ModelEntry>,
    /// The entry that answers the next request.
    pub(crate) next_entry: usize,
    pub(crate) requests: Vec<SentRequest>,
    /// Position in each script.
    entries: Vec<usize>,
    /// The places of requests lost in a crash: a request that is sent again counts once.
    lost_requests: BTreeSet<usize>,
    /// The replies came from `DEBUG_MOCK_RESPONSES`: so many.
    pub(crate) mocked: Option<usize>,
}

impl Scene {
    /// Notes what the model was sent, and gives the places of the request and of the entry that answers. What was lost is
    /// sent again here: it stands where it stood the first time.
    pub(crate) fn sent(&mut self, request: SentRequest) -> (usize, usize) {
        if let Some(lost) = self.lost_requests.pop_first()
            && let (Some(sent), Some(place)) = (self.requests.get_mut(lost), self.entries.get(lost))
        {
            *sent = request;
            return (lost, *place);
        }
        let place = self.next_entry;
        self.requests.push(request);
        self.entries.push(place);
        self.next_entry += 1;
        (self.requests.len() - 1, place)
    }

    /// A request was lost in a crash.
    pub(crate) fn lose(&mut self, request: usize) {
        self.lost_requests.insert(request);
    }

    /// The end of the last request to that model was lost in a crash.
    fn lose_end(&mut self, model: &str) {
        let open = |place: &usize| !self.lost_requests.contains(place);
        let to_model = |place: &usize| self.requests.get(*place).is_some_and(|sent| sent.model == model);
        let last = || (0..self.requests.len()).rev().filter(open);
        if let Some(place) = last().find(to_model).or_else(|| last().next()) {
            self.lost_requests.insert(place);
        }
    }
}

/// A task that a peer was given.
#[derive(Clone, Debug)]
pub(crate) struct GivenTask {
    /// The run that does it: a task that is given again after a restart has the same.
    pub(crate) run: RunId,
    pub(crate) sent: SentRequest,
}

/// The durable inbox, for people who are not in the process.
#[derive(Clone, Debug)]
pub(crate) struct PostOffice {
    pub(crate) log: Arc<CrashLog>,
    pub(crate) environment: SimEnvironment,
}

/// Work that takes scripted time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timed {
    /// The entry at that place of an agent's model.
    Model(String, usize),
    /// The tool's execution at that place.
    Tool(String, usize),
    /// The person's answer at that place.
    Person(usize),
}

/// A call that a scripted tool really worked on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Execution {
    pub(crate) run: RunId,
    pub(crate) call: CallId,
    pub(crate) args: Value,
    /// Whether it was lost in a crash: what repeats it takes its place.
    pub(crate) lost: bool,
}

#[derive(Debug)]
pub(crate) struct Inner {
    /// The agents' models, by path.
    scenes: BTreeMap<String, Scene>,
    /// Tasks given to peers, by path.
    pub(crate) tasks: BTreeMap<String, Vec<GivenTask>>,
    /// The agent that does a task, by its run.
    pub(crate) doers: BTreeMap<RunId, String>,
    pub(crate) human: Vec<(HumanAnswer, bool)>,
    pub(crate) steer: Vec<Steer>,
    pub(crate) cancel: Option<Cancel>,
    /// The cancel that was given.
    cancelled: Option<Cancel>,
    pub(crate) tool_calls: u32,
    pub(crate) executed: BTreeMap<String, Vec<Execution>>,
    /// Results of calls that really came to their end: what a person could find out after a crash.
    pub(crate) happened: BTreeMap<(RunId, CallId), String>,
    /// Attempts at calls that ran, and whose answer the case itself lost: its check and its people settle them.
    pub(crate) unanswered: BTreeSet<(RunId, CallId, u32)>,
    /// When work that takes time first began: repeated after a restart, it ends when it would have ended.
    pub(crate) begun: BTreeMap<Timed, Millis>,
    /// Set while everything is dropped: what is in flight then did not happen.
    pub(crate) crashing: bool,
    /// Whether this pass crashes at another place than the script: then no scripted answer can tell what happened.
    pub(crate) oracle: bool,
    /// Whether somebody ends each pause that nothing in the script answers.
    pub(crate) resumes: bool,
    pub(crate) by_oracle: Vec<QuestionId>,
    /// Questions that were given a wrong answer last, with the answer's place.
    pub(crate) wrong_given: Vec<(QuestionId, usize)>,
    /// The first thing that cannot be as the script wants it.
    pub(crate) problem: Option<String>,
    pub(crate) handle: Option<RunHandle>,
    /// Outside inputs of the current run, in order.
    pub(crate) sent: Vec<InputKind>,
    /// The person's answer that a question was given last, in process.
    pub(crate) answered: BTreeMap<QuestionId, usize>,
    /// The place of the answer that an open question will have.
    pub(crate) promised: BTreeMap<QuestionId, usize>,
    /// The post office for people outside the process.
    pub(crate) post: Option<PostOffice>,
    /// The keys of tools of which each run has an effect of its own.
    pub(crate) once: Vec<String>,
}

/// Number of passes of this process so far.
static PASSES: AtomicU64 = AtomicU64::new(0);

impl Script {
    pub(crate) fn of(case: &Case, turns: Turns) -> Self {
        let inner = Inner {
            scenes: scenes(case),
            tasks: BTreeMap::new(),
            doers: BTreeMap::new(),
            human: case.human.iter().map(|answer| (answer.clone(), false)).collect(),
            steer: case.steer.clone(),
            cancel: case.cancel,
            cancelled: None,
            tool_calls: 0,
            executed: BTreeMap::new(),
            happened: BTreeMap::new(),
            unanswered: BTreeSet::new(),
            begun: BTreeMap::new(),
            crashing: false,
            oracle: false,
            resumes: false,
            by_oracle: Vec::new(),
            wrong_given: Vec::new(),
            problem: None,
            handle: None,
            sent: Vec::new(),
            answered: BTreeMap::new(),
            promised: BTreeMap::new(),
            post: None,
            once: once(&case.tools, &case.peers, ""),
        };
        let pass = format!("{}-{}", std::process::id(), PASSES.fetch_add(1, Ordering::Relaxed));
        let inner = Arc::new(Mutex::new(inner));
        Self { inner, memories: Arc::default(), turns, pass: pass.into(), path: String::new() }
    }

    /// The part of a peer of this agent.
    pub(crate) fn of_peer(&self, name: &str) -> Self {
        Self { path: within(&self.path, name), ..self.clone() }
    }

    /// The memory of this part: the same one after a restart.
    pub(crate) fn memory(&self) -> SharedService {
        let mut memories = self.memories.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || SharedService::new(Memory::in_process());
        memories.entry(self.path.clone()).or_insert_with(fresh).clone()
    }

    /// Path of this part's owner.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether this is the part of the case's own agent.
    pub(crate) fn is_root(&self) -> bool {
        self.path.is_empty()
    }

    /// The key of a tool of this part: two agents may have tools of one name.
    pub(crate) fn key(&self, tool: &str) -> String {
        within(&self.path, tool)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn problem(&self, text: String) {
        self.lock().problem.get_or_insert(text);
    }
}

/// The path of what an agent has.
pub(crate) fn within(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}

/// The last step of a path: a tool's or peer's own name.
pub(crate) fn last_step(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// All agents of a case with their models.
fn scenes(case: &Case) -> BTreeMap<String, Scene> {
    let mut scenes = BTreeMap::new();
    let root = Scene { model: case.model.clone(), ..Scene::default() };
    scenes.insert(String::new(), root);
    let mut open: Vec<(String, &Peer)> = case.peers.iter().map(|peer| (String::new(), peer)).collect();
    while let Some((path, peer)) = open.pop() {
        if let Peer::Agent { name, script } = peer {
            let path = within(&path, name);
            open.extend(script.peers.iter().map(|peer| (path.clone(), peer)));
            scenes.insert(path, Scene { model: script.model.clone(), ..Scene::default() });
        }
    }
    scenes
}

/// The keys of all tools of which each run has an effect of its own.
fn once(tools: &[ScriptedTool], peers: &[Peer], path: &str) -> Vec<String> {
    let own = tools.iter().filter(|tool| tool.effect == Effect::Once);
    let mut keys: Vec<String> = own.map(|tool| within(path, &tool.name)).collect();
    for peer in peers {
        if let Peer::Agent { name, script } = peer {
            keys.extend(once(&script.tools, &script.peers, &within(path, name)));
        }
    }
    keys
}

impl Inner {
    /// An agent's model.
    pub(crate) fn scene(&mut self, path: &str) -> &mut Scene {
        self.scenes.entry(path.to_owned()).or_default()
    }

    /// The root's replies come from there, and no longer from the script.
    pub(crate) fn mock(&mut self, value: &str) {
        let scene = self.scene("");
        if scene.mocked.is_none() {
            let entry = |text| ModelEntry { text: Some(text), ..ModelEntry::default() };
            scene.model = mock::replies(value).into_iter().map(entry).collect();
            scene.mocked = Some(scene.model.len());
        }
    }

    /// Requests of the case's own agent.
    pub(crate) fn requests(&self) -> &[SentRequest] {
        self.scenes.get("").map_or(&[], |scene| &scene.requests)
    }

    /// Clears the lost requests: those not sent again by now never will be.
    pub(crate) fn forget_lost(&mut self) {
        self.scenes.values_mut().for_each(|scene| scene.lost_requests.clear());
    }

    /// Notes a task that a peer was given. Says which one it is, from 0; one that is given again keeps its place.
    pub(crate) fn given(&mut self, path: &str, task: GivenTask) -> usize {
        self.doers.insert(task.run, path.to_owned());
        let tasks = self.tasks.entry(path.to_owned()).or_default();
        if let Some(place) = tasks.iter().position(|earlier| earlier.run == task.run) {
            return place;
        }
        tasks.push(task);
        tasks.len() - 1
    }

    /// Whether there is a model for that part.
    pub(crate) fn has_scene(&self, path: &str) -> bool {
        self.scenes.contains_key(path)
    }

    /// Number of tasks given to a peer.
    pub(crate) fn tasks_of(&self, path: &str) -> usize {
        self.tasks.get(path).map_or(0, Vec::len)
    }

    /// Steers or cancels the run. Who does that and hears of no success does it again after a restart.
    fn deliver(&mut self, what: InputKind) {
        self.sent.push(what.clone());
        self.send(what);
    }

    /// Sends again what the log does not have. What was left in the durable inbox is not lost.
    pub(crate) fn resend(&self, logged: impl Fn(&InputKind) -> usize) {
        if self.post.is_some() {
            return;
        }
        for (place, what) in self.sent.iter().enumerate() {
            let before = self.sent.iter().take(place).filter(|other| *other == what).count();
            if before >= logged(what) {
                self.send(what.clone());
            }
        }
    }

    /// Sends something to the run as from outside.
    pub(crate) fn send(&self, what: InputKind) {
        match (&self.handle, &self.post) {
            (Some(handle), Some(office)) => {
                // The log is in memory: a post is done at once. One that comes too late is nobody's loss.
                let post =
                    office.log.post(handle.id(), windlass_store::Post::new(office.environment.now(), what));
                let _late = post.now_or_never();
            }
            (Some(handle), None) => handle.send_now(what),
            (None, _) => {}
        }
    }

    /// Sends something that must be refused. It never goes by post: there it would lie until it fits after all.
    pub(crate) fn send_wrong(&self, what: InputKind) {
        if let Some(handle) = &self.handle {
            handle.send_now(what);
        }
    }

    /// An append was not written: what it would have recorded has to come again.
    pub(crate) fn lost(&mut self, run: RunId, events: &[Event]) {
        let path = self.doers.get(&run).cloned().unwrap_or_default();
        let root = self.handle.as_ref().map_or(path.is_empty(), |handle| handle.id() == run);
        match events.first().map(|event| &event.fact) {
            Some(Fact::Model(ModelFact::ProbeAnswered(probe))) => self.scene(&path).lose_end(&probe.model),
            // The reply that ended a search for what a provider refuses.
            Some(Fact::Context(ContextFact::HistoryEdited(edited))) if edited.refused.is_some() => {
                if let Some(model) = replied(events) {
                    self.scene(&path).lose_end(model);
                }
            }
            Some(Fact::Model(ModelFact::Completed(turn))) => self.scene(&path).lose_end(&turn.model),
            Some(Fact::Model(ModelFact::Failed(failed))) => {
                self.scene(&path).lose_end(&failed.failure.model);
                // Of two attempts at one call, both are made again.
                if let (Some(model), Some(_)) = (replied(events), failed.remaining_model) {
                    self.scene(&path).lose_end(model);
                }
            }
            Some(Fact::Call(CallFact::Retried(retried))) => {
                self.lost_call(run, &retried.call, &retried.outcome);
            }
            Some(Fact::Call(CallFact::Finished(finished))) => {
                self.lost_call(run, &finished.call, &finished.outcome);
            }
            Some(Fact::People(PeopleFact::CancelRequested(_))) if root && self.post.is_none() => {
                // Whoever cancels sees that nothing comes of it, and does it again when the work is repeated.
                self.cancel = self.cancelled.take();
                self.sent.retain(|what| !matches!(what, InputKind::Cancel { .. }));
            }
            Some(Fact::People(PeopleFact::InputReceived(received))) if root => {
                let place = self.answered.get(&received.question).copied();
                if let Some(entry) = place.and_then(|place| self.human.get_mut(place)) {
                    entry.1 = false;
                }
            }
            _ => {}
        }
    }

    /// Records a call whose end was lost. A repeatable tool does the same thing again; the effect of any other has happened and
    /// can be found by its check.
    fn lost_call(&mut self, run: RunId, call: &CallId, outcome: &CallOutcome) {
        for (tool, executed) in &mut self.executed {
            if self.once.contains(tool) && outcome.is_ok() {
                continue;
            }
            let last =
                executed.iter_mut().rev().find(|execution| execution.call == *call && execution.run == run);
            if let Some(execution) = last
                && !std::mem::replace(&mut execution.lost, true)
            {
                self.tool_calls = self.tool_calls.saturating_sub(1);
            }
        }
    }

    /// Notes that a tool works on a call. Says at which place; what a crash lost is given again.
    pub(crate) fn execute(&mut self, key: &str, fresh: Execution) -> usize {
        let executed = self.executed.entry(key.to_owned()).or_default();
        let again =
            |earlier: &Execution| earlier.lost && earlier.call == fresh.call && earlier.run == fresh.run;
        if let Some(place) = executed.iter().position(again) {
            executed.splice(place..=place, [fresh]);
            return place;
        }
        executed.push(fresh);
        executed.len() - 1
    }

    /// When work ends that takes so long.
    pub(crate) fn due(&mut self, work: Timed, now: Millis, takes_ms: u64) -> Millis {
        self.begun.entry(work).or_insert(now).saturating_add(takes_ms)
    }

    /// Whether the run is to be cancelled during this call; asked once for each call.
    pub(crate) fn cancels(&mut self, during: During, call: u32) -> bool {
        let hit = self.cancel.is_some_and(|cancel| cancel.during == during && cancel.call == call);
        if hit {
            self.cancelled = self.cancel.take();
            self.deliver(InputKind::Cancel { reason: None });
        }
        hit
    }

    /// Cancels the run, once.
    pub(crate) fn cancel_now(&mut self) {
        if !self.sent.iter().any(|what| matches!(what, InputKind::Cancel { .. })) {
            self.deliver(InputKind::Cancel { reason: None });
        }
    }

    /// Says something to the run, once.
    pub(crate) fn steer_now(&mut self, text: &str) {
        let what = InputKind::Steer(text.into());
        if !self.sent.contains(&what) {
            self.deliver(what);
        }
    }

    /// Pauses the run, once.
    pub(crate) fn pause_now(&mut self) {
        let what = InputKind::Pause { reason: Some("a pause after an event".into()) };
        if !self.sent.contains(&what) {
            self.deliver(what);
        }
    }

    /// Answers a question, once.
    pub(crate) fn answer_now(&mut self, question: &QuestionId, answer: Answer) {
        let what = InputKind::Answered { question: question.clone(), answer, by: None };
        if !self.sent.contains(&what) {
            self.deliver(what);
        }
    }

    /// Says what is to be said while this call goes on. Gives how much that was, and whether it stops the run.
    pub(crate) fn steers(&mut self, during: During, call: u32) -> (usize, bool) {
        let (now, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.steer).into_iter().partition(|steer| steer.when.is(during, call));
        self.steer = later;
        for steer in &now {
            self.deliver(steer.what.input());
        }
        (now.len(), now.iter().any(|steer| matches!(steer.what, Interrupt::Abort(_))))
    }
}

/// The model whose reply is among these events.
fn replied(events: &[Event]) -> Option<&Text> {
    events.iter().find_map(|event| {
        if let Fact::Model(ModelFact::Completed(turn)) = &event.fact { Some(&turn.model) } else { None }
    })
}
