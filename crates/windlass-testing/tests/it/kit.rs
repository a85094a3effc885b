//! The fault kit, each part with what it does to a run.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use windlass_core::event::QuestionKind;
use windlass_core::policy::LimitKind;
use windlass_core::tool::Effect;
use windlass_core::{Event, Message, RunId, Status};
use windlass_error::Diagnostic as _;
use windlass_runtime::{Agent, DriveOptions, Environment};
use windlass_store::{Index, MemoryLog, Store, conformance};
use windlass_testing::{
    BEGINNING, Fault, FaultLog, FnModel, FnTool, Moment, SimEnvironment, VolatileLog, called, run_and_kill,
    text_reply, yield_now,
};

/// An agent that pays once and then says so; `asked` is what happens at each model call, `during` while it pays.
struct Payer {
    environment: SimEnvironment,
    log: Arc<dyn Store>,
    paid: Arc<AtomicUsize>,
    asked: Arc<dyn Fn() + Send + Sync>,
    during: Arc<dyn Fn() + Send + Sync>,
}

impl Payer {
    fn new(log: Arc<dyn Store>) -> Self {
        let nothing = || Arc::new(|| {});
        Self {
            environment: SimEnvironment::default(),
            log,
            paid: Arc::default(),
            asked: nothing(),
            during: nothing(),
        }
    }

    fn agent(&self) -> Agent {
        let (paid, during, environment) = (self.paid.clone(), self.during.clone(), self.environment.clone());
        let pay = FnTool::new("pay", move |_, _| {
            let (paid, during, environment) = (paid.clone(), during.clone(), environment.clone());
            async move {
                paid.fetch_add(1, Ordering::SeqCst);
                during();
                yield_now().await;
                environment.sleep_until(environment.now() + 10).await;
                Ok("paid".into())
            }
        });
        let asked = self.asked.clone();
        let model = FnModel::new(move |request| {
            asked();
            match request.messages.iter().last().map(|last| &**last) {
                Some(Message::Tool(_)) => text_reply("done"),
                _ => called(&[("pay", "{}")]),
            }
        });
        Agent::builder("payer")
            .model(("function", Arc::new(model)))
            .log(self.log.clone())
            .environment(Arc::new(self.environment.clone()))
            .tool(pay.spec(|spec| spec.effect = Effect::Once))
            .limit(LimitKind::Seconds, 7_200.0)
            .build()
            .unwrap()
    }

    /// To its end: something can always go on.
    fn sim<F: Future>(&self, future: F) -> F::Output {
        self.environment.run(future, || false).unwrap()
    }

    /// Drives a new run until it has paid, and drops it there.
    fn dies_while_paying(&self) -> RunId {
        let prepared = self.sim(self.agent().prepare("Pay.", DriveOptions::default())).unwrap();
        let run = prepared.id();
        let ended = self.environment.run(prepared.drive(), || self.paid.load(Ordering::SeqCst) > 0);
        assert!(ended.is_none(), "it ended before it died");
        run
    }

    fn events(&self, run: RunId) -> Vec<Event> {
        let batches = self.sim(self.log.read(run, 1, usize::MAX)).unwrap();
        batches.iter().flat_map(|batch| batch.events.iter().cloned()).collect()
    }
}

#[test]
fn e31_a_store_that_fails_at_the_nth_append_leaves_a_run_that_goes_on() {
    let log = FaultLog::new(Arc::new(MemoryLog::new()));
    let payer = Payer::new(log.clone());
    log.fail(3, Fault::Failed);
    let prepared = payer.sim(payer.agent().prepare("Pay.", DriveOptions::default())).unwrap();
    let run = prepared.id();
    assert_eq!(payer.sim(prepared.drive()).unwrap_err().code(), "store.failed");
    let resumed = payer.sim(payer.agent().resume(run).prepare()).unwrap();
    let waits = payer.sim(resumed.drive()).unwrap();
    assert_eq!(waits.questions()[0].kind, QuestionKind::Outcome, "the end of the call was the third append");
    assert_eq!(payer.paid.load(Ordering::SeqCst), 1);
}

#[test]
fn e31_a_store_that_fills_up_takes_no_half_append_and_goes_on_when_there_is_room() {
    let log = FaultLog::new(Arc::new(MemoryLog::new()));
    let payer = Payer::new(log.clone());
    for room in (0..).step_by(100) {
        log.room(room);
        let prepared = payer.sim(payer.agent().prepare("Pay.", DriveOptions::default())).unwrap();
        let run = prepared.id();
        match payer.sim(prepared.drive()) {
            Ok(ended) => {
                assert_eq!(ended.status(), Some(Status::Answered));
                assert!(room > 1_000, "{room} bytes are too few for a run");
                return;
            }
            Err(full) => assert_eq!(full.code(), "store.full"),
        }
        log.room(u64::MAX);
        if payer.sim(log.summary(run)).is_ok() {
            let resumed = payer.sim(payer.agent().resume(run).prepare()).unwrap();
            payer.sim(resumed.drive()).unwrap();
        }
    }
}

#[test]
fn e29_a_store_that_syncs_each_append_loses_nothing_when_the_power_goes() {
    let log = VolatileLog::new(1);
    let payer = Payer::new(log.clone());
    let run = payer.dies_while_paying();
    let before = payer.events(run);
    assert_eq!(log.crash(), 0);
    assert_eq!(payer.events(run), before);
    let resumed = payer.sim(payer.agent().resume(run).prepare()).unwrap();
    let waits = payer.sim(resumed.drive()).unwrap();
    assert_eq!(waits.questions()[0].kind, QuestionKind::Outcome, "somebody is asked");
    assert_eq!(payer.paid.load(Ordering::SeqCst), 1);
}

/// What durable appends are for: a store that lies about them lets a run pay twice, and nobody can tell.
#[test]
fn a_store_that_answers_before_it_syncs_makes_a_run_repeat_what_its_log_has_lost() {
    let log = VolatileLog::new(1);
    let mut payer = Payer::new(log.clone());
    let lies = log.clone();
    // What came before the first model call is synced, and nothing after it.
    payer.asked = Arc::new(move || lies.sync_every(0));
    let run = payer.dies_while_paying();
    let before = payer.events(run);
    assert!(log.crash() > 0);
    let after = payer.events(run);
    assert!(after.len() < before.len() && before.starts_with(&after), "what is left is a beginning");
    payer.asked = Arc::new(|| {});
    log.sync_every(1);
    let resumed = payer.sim(payer.agent().resume(run).prepare()).unwrap();
    assert_eq!(payer.sim(resumed.drive()).unwrap().status(), Some(Status::Answered));
    assert_eq!(payer.paid.load(Ordering::SeqCst), 2, "the log had lost that it paid");
}

#[test]
fn the_stores_of_the_kit_keep_every_promise_as_long_as_nothing_is_wrong() {
    let volatile = || VolatileLog::new(3) as Arc<dyn Store>;
    conformance::run(conformance::all(volatile)).unwrap();
    let fault = || FaultLog::new(Arc::new(MemoryLog::new())) as Arc<dyn Store>;
    conformance::run(conformance::all(fault)).unwrap();
}

#[test]
fn e22_a_clock_that_jumps_forward_brings_a_deadline_and_not_an_error() {
    let mut payer = Payer::new(Arc::new(MemoryLog::new()));
    let environment = payer.environment.clone();
    payer.during = Arc::new(move || environment.jump(10_000_000));
    let ended = payer.sim(payer.agent().run("Pay.")).unwrap();
    assert_eq!(ended.status(), Some(Status::Limit(LimitKind::Seconds)));
    assert_eq!(payer.paid.load(Ordering::SeqCst), 1);
}

#[test]
fn a_clock_that_jumps_back_neither_ends_a_run_nor_turns_its_events_round() {
    let mut payer = Payer::new(Arc::new(MemoryLog::new()));
    let environment = payer.environment.clone();
    payer.during = Arc::new(move || environment.jump_back(3_600_000));
    let ended = payer.sim(payer.agent().run("Pay.")).unwrap();
    assert_eq!(ended.status(), Some(Status::Answered));
    assert!(payer.environment.now() < BEGINNING, "the clock was not set back for good");
    let seen = ended.state().clock();
    assert!(seen >= BEGINNING, "the run's own clock went back to {seen}");
}

#[test]
fn a_process_is_killed_after_a_time_at_a_condition_or_not_at_all() {
    let patience = Duration::from_mins(1);
    let sleep = || {
        let mut command = Command::new("sh");
        command.args(["-c", "echo begun; exec sleep 600"]);
        command
    };
    let end = run_and_kill(&mut sleep(), Moment::After(Duration::from_millis(1)), patience).unwrap();
    assert!(end.killed && end.code.is_none(), "{end:?}");
    let asked = AtomicBool::new(false);
    let mut second_look = || asked.swap(true, Ordering::SeqCst);
    let end = run_and_kill(&mut sleep(), Moment::When(&mut second_look), patience).unwrap();
    assert!(end.killed, "{end:?}");
    let mut short = Command::new("sh");
    short.args(["-c", "echo out; echo err >&2; exit 3"]);
    let end = run_and_kill(&mut short, Moment::Never, patience).unwrap();
    assert_eq!((end.killed, end.code), (false, Some(3)));
    assert_eq!((end.stdout.as_str(), end.stderr.as_str()), ("out\n", "err\n"));
    let late = run_and_kill(&mut sleep(), Moment::Never, Duration::from_millis(1)).unwrap_err();
    assert_eq!(late.kind(), std::io::ErrorKind::TimedOut);
}
