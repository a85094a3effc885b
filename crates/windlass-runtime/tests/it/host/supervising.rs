//! E25: the host takes up what is due, leaves the rest, and reports each run once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::budget::LOST_ATTEMPTS;
use windlass_core::tool::Effect;
use windlass_core::{Answer, RunId, RunState, Status};
use windlass_error::Diagnostic as _;
use windlass_runtime::host::{Answering, Host, Limits, Outcome, QuestionSeen, Report, Scope, Start};
use windlass_runtime::{Agent, DriveOptions, Environment as _, Error};
use windlass_store::{Claim, Holder, Leases as _, MemoryLog, Store};
use windlass_testing::{FaultLog, FnModel, FnTool};

use super::{TokioClock, ground, started};
use crate::scenarios::calls_then_answers;

type Told = RefCell<Vec<(RunId, String)>>;

fn in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Driven(run) => format!("driven: {:?}", run.run_state()),
        Outcome::GivenUp(lost) => format!("given up after {}", lost.attempts),
        Outcome::Failed(error) => error.code().to_owned(),
    }
}

fn tell(told: &Told) -> impl FnMut(Report) -> Result<(), Error> {
    |report| {
        told.borrow_mut().push((report.run, in_words(&report.outcome)));
        Ok(())
    }
}

/// What is reported of all that is due now, sorted by run.
async fn pass(host: &Host) -> Vec<(RunId, String)> {
    let (told, stop) = (Told::default(), CancellationToken::new());
    host.take_up_due(&stop, tell(&told)).await.unwrap();
    let mut told = told.into_inner();
    told.sort();
    told
}

/// An agent whose call a person must allow.
fn payer(log: &Arc<dyn Store>) -> (Agent, Host) {
    let (builder, host) = ground(log, calls_then_answers(&[("pay", "{}")]));
    let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true);
    let agent = builder.tool(pay).build().unwrap();
    (agent, host)
}

/// A run that waits for a person.
async fn waiting(agent: &Agent) -> RunId {
    agent.run("Go.").await.unwrap().id()
}

/// A run whose process died when it had begun.
async fn interrupted(agent: &Agent) -> RunId {
    let options =
        DriveOptions { session: Some(uuid::Uuid::now_v7().to_string().into()), ..DriveOptions::default() };
    agent.begin_first("Go.", options).await.unwrap().unwrap().id()
}

fn answered() -> String {
    format!("driven: {:?}", RunState::Ended(Status::Answered))
}

#[tokio::test(start_paused = true)]
async fn e25_what_is_due_is_taken_up_and_the_rest_is_left() {
    let memory = Arc::new(MemoryLog::new());
    let log: Arc<dyn Store> = memory.clone();
    let (agent, host) = payer(&log);
    host.registry().add(agent.clone());
    let (ready, idle, held) = (waiting(&agent).await, waiting(&agent).await, waiting(&agent).await);
    let died = interrupted(&agent).await;
    for run in [ready, held] {
        agent.answer(run, "q1", Answer::Approve).await.unwrap();
    }
    let fence = memory.acquire(held, &Holder("elsewhere".into()), Claim(1)).await.unwrap();
    let suspended = format!("driven: {:?}", RunState::Suspended);
    assert_eq!(pass(&host).await, [(ready, answered()), (died, suspended)]);
    assert_eq!(pass(&host).await, [], "nothing has changed");
    memory.release(held, &fence).await.unwrap();
    assert_eq!(pass(&host).await, [(held, answered())]);
    assert_eq!(log.summary(idle).await.unwrap().run_state, RunState::Suspended, "nobody answered it");
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_agent_is_not_here_fails_once_and_is_not_tried_again_as_it_is() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let (agent, host) = payer(&log);
    let run = interrupted(&agent).await;
    let (told, stop) = (Arc::new(Mutex::new(Vec::new())), CancellationToken::new());
    let watch = async {
        let report = |report: Report| {
            told.lock().unwrap().push((report.run, in_words(&report.outcome)));
            Ok::<_, Error>(())
        };
        host.supervise(&stop, report).await.unwrap();
    };
    let rest = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        stop.cancel();
    };
    futures_util::future::join(watch, rest).await;
    assert_eq!(*told.lock().unwrap(), [(run, "run.unknown_agent".to_owned())]);
    assert_eq!(log.summary(run).await.unwrap().holder, None);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_model_call_was_lost_too_often_is_given_up_once() {
    let memory = Arc::new(MemoryLog::new());
    let log: Arc<dyn Store> = memory.clone();
    let hang = FnModel::streaming(|_, _| Box::pin(futures_util::stream::pending()));
    let (builder, _) = ground(&log, hang);
    let agent = builder.build().unwrap();
    let run = interrupted(&agent).await;
    for _ in 0..=LOST_ATTEMPTS {
        memory.forget_holder(agent.holder());
        let prepared = agent.resume(run).prepare().await;
        let Ok(prepared) = prepared else { break };
        drop(tokio::time::timeout(Duration::from_millis(10), prepared.drive()).await);
    }
    let (_, host) = ground(&log, FnModel::new(|_| Vec::new()));
    host.registry().add(agent);
    let reports = pass(&host).await;
    assert_eq!(reports, [(run, format!("given up after {LOST_ATTEMPTS}"))]);
    assert_eq!(log.summary(run).await.unwrap().holder, None);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_due_runs_are_taken_up_within_a_second_though_one_of_them_takes_an_hour() {
    const RUNS: usize = 10_000;
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let clock = TokioClock::new();
    let begun = Arc::new(Mutex::new(BTreeMap::new()));
    let (noted, at) = (begun.clone(), clock.clone());
    let work = FnTool::new("work", move |context, _| {
        let (noted, at) = (noted.clone(), at.clone());
        async move {
            let first = {
                let mut noted = noted.lock().unwrap();
                noted.insert(context.run, at.now());
                noted.len() == 1
            };
            if first {
                tokio::time::sleep(Duration::from_hours(1)).await;
            }
            Ok("worked".into())
        }
    });
    let agent = Agent::builder("hosted")
        .model(("m", Arc::new(calls_then_answers(&[("work", "{}")]))))
        .tool(work.spec(|spec| spec.timeout_ms = Some(7_200_000)))
        .log(log.clone())
        .environment(clock.clone())
        .build()
        .unwrap();
    for _ in 0..RUNS {
        interrupted(&agent).await;
    }
    let due_at = clock.now();
    let limits = Limits { at_once: 256, ..Limits::default() };
    let host = Host::builder(log.clone()).environment(clock.clone()).limits(limits).build();
    host.registry().add(agent);
    let stop = CancellationToken::new();
    let ended = Mutex::new(Vec::new());
    let watch = host.supervise(&stop, |report: Report| {
        assert!(matches!(report.outcome, Outcome::Driven(_)), "{:?}", report.outcome);
        let mut ended = ended.lock().unwrap();
        ended.push(clock.now());
        if ended.len() == RUNS {
            stop.cancel();
        }
        Ok::<_, Error>(())
    });
    watch.await.unwrap();
    let begun = begun.lock().unwrap();
    assert_eq!(begun.len(), RUNS);
    let latest = begun.values().max().unwrap() - due_at;
    assert!(latest <= 1_000, "the last one began {latest} ms after it was due");
    let ended = ended.lock().unwrap();
    assert!(ended[RUNS - 2] - due_at <= 1_000 && ended[RUNS - 1] - due_at >= 3_600_000);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_taken_up_at_once_and_a_timer_within_a_second_of_its_time() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let (agent, host) = payer(&log);
    host.registry().add(agent.clone());
    let run = waiting(&agent).await;
    let stop = CancellationToken::new();
    let told = Told::default();
    let watch = host.supervise(&stop, tell(&told));
    let answer = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let began = tokio::time::Instant::now();
        let question: QuestionSeen = "q1".parse().unwrap();
        let client = host.within(Scope::default());
        client.answer(Answering::new(run, question, Answer::Approve)).await.unwrap();
        windlass_runtime::control::run_end(&*log, run).await.unwrap();
        let took = began.elapsed();
        tokio::task::yield_now().await;
        stop.cancel();
        took
    };
    let (watched, took) = Box::pin(futures_util::future::join(watch, answer)).await;
    watched.unwrap();
    assert!(took < Duration::from_millis(500), "{took:?}");
    assert_eq!(told.into_inner(), [(run, answered())]);
}

/// A full disk takes no append, and no release of the lease either.
#[tokio::test(start_paused = true)]
async fn e73_a_run_whose_log_failed_goes_on_once_that_works_again() {
    let log = FaultLog::new(Arc::new(MemoryLog::new()));
    let store: Arc<dyn Store> = log.clone();
    let (builder, host) = ground(&store, calls_then_answers(&[("fill", "{}")]));
    let (fills, fault) = (Arc::new(AtomicUsize::new(0)), log.clone());
    let fill = FnTool::new("fill", move |_, _| {
        // The first time, there is no room for its result.
        fault.broken(fills.fetch_add(1, Ordering::SeqCst) == 0);
        async { Ok("filled".into()) }
    });
    let agent = builder.tool(fill.effect(Effect::ReadOnly)).build().unwrap();
    host.registry().add(agent.clone());
    let run = started(&host, Start::new(&agent, "Go.")).await;
    let id = run.id();
    run.end().await.unwrap_err();
    tokio::time::sleep(Duration::from_mins(1)).await;
    log.broken(false);
    let stop = CancellationToken::new();
    let mut driven = None;
    let supervised = host.supervise(&stop, |report| {
        driven = Some(report.run);
        stop.cancel();
        Ok::<_, Error>(())
    });
    tokio::time::timeout(Duration::from_secs(10), supervised).await.expect("it is taken up").unwrap();
    assert_eq!(driven, Some(id));
    assert_eq!(store.summary(id).await.unwrap().run_state.to_string(), "answered");
}
