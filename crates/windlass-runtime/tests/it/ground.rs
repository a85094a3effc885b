//! What the tests stand on: a simulated world, a log that makes appends wait, and counts of what is alive.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::future::Future;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use windlass_core::event::{CallFact, ModelFact};

use futures_util::StreamExt;
use windlass_core::{CallId, Fact, Message, RunId, State};
use windlass_models::{Delta, Model};
use windlass_read::load;
use windlass_runtime::{Agent, AgentBuilder, DriveOptions, Prepared, Run};
use windlass_store::{Log, MemoryLog};
use windlass_testing::{FaultLog, FnModel, SimEnvironment};

/// A world of its own for one run of a test.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) environment: SimEnvironment,
    pub(crate) memory: Arc<MemoryLog>,
    pub(crate) log: Arc<FaultLog>,
    pub(crate) seen: Arc<Seen>,
}

/// What tools and models did.
#[derive(Default)]
pub(crate) struct Seen {
    alive: Arc<AtomicUsize>,
    /// Calls in the order in which tools began to work on them.
    pub(crate) begun: Mutex<Vec<CallId>>,
    /// Calls that tools brought to an end.
    pub(crate) happened: Mutex<BTreeSet<CallId>>,
    /// Input tokens that the model has counted.
    pub(crate) paid: Arc<AtomicU64>,
}

/// Something that must be gone when a run is.
pub(crate) struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Seen {
    pub(crate) fn guard(&self) -> Guard {
        self.alive.fetch_add(1, Ordering::SeqCst);
        Guard(self.alive.clone())
    }

    /// How many tools and model streams are alive.
    pub(crate) fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }

    pub(crate) fn begin(&self, call: &CallId) -> Guard {
        self.begun.lock().unwrap().push(call.clone());
        self.guard()
    }

    pub(crate) fn end(&self, call: &CallId) {
        self.happened.lock().unwrap().insert(call.clone());
    }
}

impl Ground {
    pub(crate) fn new() -> Self {
        let memory = Arc::new(MemoryLog::new());
        let log = FaultLog::new(memory.clone());
        Self { environment: SimEnvironment::default(), log, memory, seen: Arc::default() }
    }

    /// A ground whose appends take their time.
    pub(crate) fn slow() -> Self {
        let ground = Self::new();
        ground.log.slow(1);
        ground
    }

    pub(crate) fn agent(&self, model: FnModel) -> AgentBuilder {
        let model = self.watched(model);
        Agent::builder("tested")
            .model(("function", model))
            .log(self.log.clone())
            .environment(Arc::new(self.environment.clone()))
    }

    /// A model whose streams are counted as long as they live, and whose counts of tokens are noted.
    pub(crate) fn watched(&self, model: FnModel) -> Arc<FnModel> {
        let seen = self.seen.clone();
        Arc::new(FnModel::streaming(move |_, request| {
            let (guard, paid) = (seen.guard(), seen.paid.clone());
            Box::pin(model.call(request).map(move |delta| {
                let _alive = &guard;
                if let Ok(Delta::Usage(usage)) = &delta {
                    paid.fetch_add(usage.input, Ordering::SeqCst);
                }
                delta
            }))
        }))
    }

    /// Runs anything to its end in the simulated world.
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.environment.run(future, || false).expect("nothing can go on, and no timer is set")
    }

    pub(crate) fn state(&self, run: RunId) -> State {
        self.wait(load(&*self.memory, run)).unwrap()
    }

    pub(crate) fn facts(&self, run: RunId) -> Vec<Fact> {
        let batches = self.wait(self.memory.read(run, 1, usize::MAX)).unwrap();
        batches.iter().flat_map(|batch| batch.events.iter()).map(|event| event.fact.clone()).collect()
    }

    pub(crate) fn kinds(&self, run: RunId) -> Vec<&'static str> {
        self.facts(run).iter().map(Fact::kind).collect()
    }

    /// Calls whose end is durable.
    pub(crate) fn finished(&self, run: RunId) -> BTreeSet<CallId> {
        let facts = self.facts(run);
        let ended = facts.into_iter().filter_map(|fact| {
            if let Fact::Call(CallFact::Finished(finished)) = fact { Some(finished.call) } else { None }
        });
        ended.collect()
    }

    /// Drives a run to its end; `step` is told how many polls there were and may do something in between, or stop all.
    /// `None`: it was stopped.
    pub(crate) fn drive(&self, prepared: Prepared, step: impl Fn(u64) -> bool) -> Option<Run> {
        let polls = Cell::new(0);
        let seen = self.seen.clone();
        self.environment.run(
            async {
                let run = prepared.drive().await.expect("the log is sound");
                assert_eq!(seen.alive(), 0, "drive returned while work was alive");
                run
            },
            || {
                polls.set(polls.get() + 1);
                step(polls.get())
            },
        )
    }
}

pub(crate) fn options() -> DriveOptions {
    DriveOptions { session: Some("session".into()), wait_for_timers: true, ..DriveOptions::default() }
}

/// Each call of an assistant message is followed by its one result, in call order, and nothing else stands between.
pub(crate) fn assert_valid(state: &State) {
    let messages: Vec<_> = state.history().iter().cloned().collect();
    let mut known = BTreeSet::new();
    let mut rest = messages.iter();
    while let Some(message) = rest.next() {
        match &**message {
            Message::Tool(result) => panic!("a result of no open call: {}", result.call),
            Message::Assistant(said) => {
                for call in &said.calls {
                    assert!(known.insert(call.id.clone()), "the id {} is used twice", call.id);
                    match rest.next().map(|next| &**next) {
                        Some(Message::Tool(result)) => assert_eq!(result.call, call.id),
                        other => panic!("the call {} is followed by {other:?}", call.id),
                    }
                }
            }
            Message::System { .. } | Message::User { .. } | Message::TaskDelegation { .. } => {}
        }
    }
}

/// The fold of the log is the state, every call has its result, and what was paid is counted.
pub(crate) fn assert_sound(ground: &Ground, run: &Run) {
    let state = run.state();
    assert!(ground.state(run.id()) == *state, "the fold of the log is another state");
    assert_valid(state);
    let kinds = ground.kinds(run.id());
    let ends = kinds.iter().filter(|kind| **kind == "RunEnded").count();
    assert_eq!(ends, 1, "{kinds:?}");
    let facts = ground.facts(run.id());
    let asked = facts.iter().filter_map(|fact| {
        if let Fact::Model(ModelFact::Completed(turn)) = fact { Some(turn.calls.len()) } else { None }
    });
    let results = ["CallFinished", "DelegationFinished"];
    assert_eq!(asked.sum::<usize>(), facts.iter().filter(|fact| results.contains(&fact.kind())).count());
}
