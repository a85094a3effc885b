//! E31, E32: a log that fails, and a run that somebody else takes over.

use std::sync::Arc;
use windlass_core::event::RunFact;

use futures_util::future::join;
use windlass_core::{Fact, RunId, Status};
use windlass_error::Diagnostic as _;
use windlass_runtime::{DriveOptions, Environment};
use windlass_store::{Holder, Leases, MemoryLog, SqliteLog, SqliteOptions, Store};
use windlass_testing::{BEGINNING, Fault, FaultLog};

use crate::ground::{Ground, assert_sound, options};
use crate::scenarios::{SCENARIOS, Scenario, calls_then_answers, slow_tool};

/// Drives a run to the fault. Gives the error, if it came to that.
fn until_fault(ground: &Ground, scenario: &Scenario) -> (RunId, Option<windlass_runtime::Error>) {
    let prepared = ground.wait(scenario.agent(ground).prepare("Go.", scenario.options(ground))).unwrap();
    let run = prepared.id();
    let ended = ground.wait(async {
        let ended = prepared.drive().await;
        assert_eq!(ground.seen.alive(), 0, "work is alive after the log failed");
        ended
    });
    (run, ended.err())
}

#[test]
fn e31_a_failed_append_is_a_clear_error_and_the_run_goes_on_later() {
    let kinds =
        [(Fault::Failed, "store.failed"), (Fault::Full, "store.full"), (Fault::Conflict, "store.conflict")];
    for scenario in SCENARIOS {
        for (fault, code) in kinds {
            for nth in 1.. {
                let ground = Ground::slow();
                ground.log.fail(nth, fault);
                let (run, error) = until_fault(&ground, scenario);
                let Some(error) = error else { break };
                let at = format!("{}, {fault:?} at append {nth}", scenario.name);
                assert_eq!(error.code(), code, "{at}");
                assert_ne!(windlass_runtime::in_full(&error), "the log failed", "{at}");
                if nth == 1 {
                    assert!(ground.memory.is_empty(), "{at}: something was written");
                    continue;
                }
                // What the log holds is what was durable before: whole batches, and nothing of the failed one.
                let before = ground.state(run);
                assert!(!before.is_finished(), "{at}");
                let prepared = ground
                    .wait(scenario.agent(&ground).resume(run).options(scenario.options(&ground)).prepare())
                    .expect(&at);
                let ended = ground.drive(prepared, |_| false).expect(&at);
                assert!(ended.status().is_some(), "{at}");
                assert_sound(&ground, &ended);
            }
        }
    }
}

#[test]
fn e31_a_log_that_cannot_even_be_read_is_a_clear_error() {
    let scenario = &SCENARIOS[2];
    let ground = Ground::new();
    ground.log.broken(true);
    let refused = ground.wait(scenario.agent(&ground).prepare("Go.", options())).unwrap_err();
    assert_eq!(refused.code(), "store.failed");
    ground.log.broken(false);
    let (run, error) = until_fault(&ground, scenario);
    assert!(error.is_none());
    ground.log.broken(true);
    assert_eq!(
        ground.wait(scenario.agent(&ground).resume(run).options(options()).prepare()).unwrap_err().code(),
        "store.failed"
    );
}

#[tokio::test]
async fn e31_a_log_that_is_really_full_keeps_the_run_for_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log");
    let ground = Ground::new();
    let big = windlass_testing::FnTool::new("big", |_, _| async { Ok("x".repeat(10 << 20).into()) })
        .effect(windlass_core::tool::Effect::ReadOnly);
    let build = |log: Arc<dyn Store>| {
        ground.agent(calls_then_answers(&[("big", "{}")])).tool(big.clone()).log(log).build().unwrap()
    };
    let small = SqliteOptions { max_bytes: Some(1 << 20), ..SqliteOptions::default() };
    let log: Arc<dyn Store> = Arc::new(SqliteLog::open_with(&file, small).unwrap());
    let agent = build(log.clone());
    let prepared = agent.prepare("Go.", DriveOptions::default()).await.unwrap();
    let run = prepared.id();
    let error = prepared.drive().await.unwrap_err();
    assert_eq!(error.code(), "store.full");
    // The hold was given up: here, too, somebody may try again.
    let again = agent.resume(run).prepare().await.unwrap().drive().await.unwrap_err();
    assert_eq!(again.code(), "store.full");
    drop((agent, log));
    let log: Arc<dyn Store> = Arc::new(SqliteLog::open(&file).unwrap());
    let ended = build(log).resume(run).prepare().await.unwrap().drive().await.unwrap();
    assert_eq!(ended.status(), Some(Status::Answered));
}

#[test]
fn e32_a_second_driver_is_told_who_holds_the_run() {
    let ground = Ground::slow();
    let agent = SCENARIOS[2].agent(&ground);
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let id = prepared.id();
    let (run, refused) = ground.wait(join(prepared.drive(), async {
        ground.environment.sleep_until(BEGINNING + 5).await;
        agent.resume(id).options(options()).prepare().await
    }));
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), "store.held");
    let why = refused.to_string();
    assert!(why.contains(agent.holder().0.as_ref()), "{why}");
    assert_eq!(run.unwrap().status(), Some(Status::Answered));
}

#[test]
fn e32_a_driver_that_was_taken_over_cannot_append_and_stops_its_tools() {
    let ground = Ground::slow();
    let agent = ground
        .agent(calls_then_answers(&[("short", "{}"), ("long", "{}")]))
        .tool(slow_tool(&ground, "short", 100))
        .tool(slow_tool(&ground, "long", 10_000))
        .build()
        .unwrap();
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let id = prepared.id();
    let (ended, fence) = ground.wait(join(
        async {
            let ended = prepared.drive().await;
            assert_eq!(ground.seen.alive(), 0, "its tools are alive");
            (ended, ground.environment.now() - BEGINNING)
        },
        async {
            ground.environment.sleep_until(BEGINNING + 50).await;
            assert_eq!(ground.seen.alive(), 2);
            ground.memory.forget_holder(agent.holder());
            ground
                .memory
                .acquire(id, &Holder("another process".into()), windlass_store::Claim(1))
                .await
                .unwrap()
        },
    ));
    let (ended, when) = ended;
    // It finds out at its next append: when the short tool ends.
    assert_eq!(when, 100);
    let error = ended.unwrap_err();
    assert_eq!(error.code(), "store.fenced");
    assert!(error.to_string().contains("another process"), "{error}");
    let state = ground.state(id);
    assert!(!ground.kinds(id).contains(&"CallFinished"), "a fenced append was written");
    // The new holder still holds: the loser's end has not given its hold away.
    let held = ground.wait(agent.resume(id).options(options()).prepare()).unwrap_err();
    assert_eq!(held.code(), "store.held");
    ground.wait(ground.memory.release(id, &fence)).unwrap();
    let prepared = ground.wait(agent.resume(id).options(options()).prepare()).unwrap();
    let run = ground.drive(prepared, |_| false).unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    assert!(run.state().version() > state.version());
    assert_sound(&ground, &run);
}

#[test]
fn e32_of_several_that_resume_at_once_exactly_one_goes_on() {
    let ground = Ground::slow();
    let agent = SCENARIOS[2].agent(&ground);
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let id = prepared.id();
    ground.drive(prepared, |_| !ground.seen.begun.lock().unwrap().is_empty());
    let tries = (0..5).map(|_| async {
        match agent.resume(id).options(options()).prepare().await {
            Ok(prepared) => Some(prepared.drive().await.unwrap()),
            Err(error) => {
                assert_eq!(error.code(), "store.held");
                None
            }
        }
    });
    let ends = ground.wait(futures_util::future::join_all(tries));
    assert_eq!(ends.iter().flatten().count(), 1);
    let resumed =
        ground.facts(id).iter().filter(|fact| matches!(fact, Fact::Run(RunFact::Resumed(_)))).count();
    assert_eq!(resumed, 1);
}

#[test]
fn a_prepared_run_that_is_never_driven_is_not_held() {
    let ground = Ground::new();
    let agent = SCENARIOS[4].agent(&ground);
    let run = ground.wait(agent.run("Go.")).unwrap().id();
    drop(ground.wait(agent.resume(run).options(options()).prepare()).unwrap());
    drop(ground.wait(agent.resume(run).options(options()).prepare()).unwrap());
}

#[test]
fn the_log_that_fails_says_what_it_did() {
    let log = FaultLog::new(Arc::new(MemoryLog::new()));
    assert_eq!(log.appends(), 0);
    let ground = Ground { log: log.clone(), ..Ground::new() };
    ground.wait(SCENARIOS[0].agent(&ground).run("Go.")).unwrap();
    assert_eq!(log.appends(), 2);
}
