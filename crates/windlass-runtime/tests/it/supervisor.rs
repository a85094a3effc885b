//! E25: the supervisor resumes what is due, passes the rest over, and reports each run once.

use std::cell::RefCell;

use futures_util::future::join;
use futures_util::stream;
use tokio_util::sync::CancellationToken;
use windlass_core::budget::LOST_ATTEMPTS;
use windlass_core::{Answer, RunId, RunState, Status};
use windlass_error::Diagnostic as _;
use windlass_runtime::supervisor::{Outcome, Report, Supervisor};
use windlass_runtime::{Agent, DriveOptions, Environment, Error};
use windlass_store::{Holder, Index, Leases};
use windlass_testing::{BEGINNING, FnModel};

use crate::ground::Ground;
use crate::scenarios::{calls_then_answers, slow_tool};

type Told = RefCell<Vec<(RunId, String)>>;

fn in_words(outcome: &Outcome<Error>) -> String {
    match outcome {
        Outcome::Driven(run) => format!("driven: {:?}", run.run_state()),
        Outcome::Held { holder } => format!("held by {holder}"),
        Outcome::Child { .. } => "child".to_owned(),
        Outcome::GivenUp(lost) => format!("given up after {}", lost.attempts),
        Outcome::Failed(error) => error.code().to_owned(),
    }
}

fn tell(told: &Told) -> impl FnMut(Report<Error>) -> Result<(), Error> {
    |report| {
        told.borrow_mut().push((report.run, in_words(&report.outcome)));
        Ok(())
    }
}

/// What one pass reports, sorted by run.
fn pass(ground: &Ground, supervisor: &mut Supervisor<Vec<Agent>>) -> Vec<(RunId, String)> {
    let (told, stop) = (Told::default(), CancellationToken::new());
    ground.wait(supervisor.pass(&stop, tell(&told))).unwrap();
    let mut told = told.into_inner();
    told.sort();
    told
}

fn supervisor(ground: &Ground, agents: Vec<Agent>) -> Supervisor<Vec<Agent>> {
    Supervisor::new(ground.log.clone(), agents).environment(std::sync::Arc::new(ground.environment.clone()))
}

/// An agent whose call a person must allow.
fn payer(ground: &Ground) -> Agent {
    let pay = slow_tool(ground, "pay", 5).spec(|spec| spec.approve = true);
    ground.agent(calls_then_answers(&[("pay", "{}")])).tool(pay).build().unwrap()
}

/// A run that waits for a person.
fn waiting(ground: &Ground, agent: &Agent) -> RunId {
    let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
    ground.wait(prepared.drive()).unwrap().id()
}

/// A run whose process died after so many polls.
fn interrupted(ground: &Ground, agent: &Agent, polls: u64) -> RunId {
    let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
    let run = prepared.id();
    assert!(ground.drive(prepared, |poll| poll == polls).is_none(), "the run ended before it died");
    run
}

#[test]
fn e25_what_is_due_is_resumed_and_the_rest_is_reported_once() {
    let ground = Ground::new();
    let agent = payer(&ground);
    let (answered, idle, held) =
        (waiting(&ground, &agent), waiting(&ground, &agent), waiting(&ground, &agent));
    let died = interrupted(&ground, &agent, 2);
    for run in [answered, held] {
        ground.wait(agent.answer(run, "q1", Answer::Approve)).unwrap();
    }
    let fence = ground
        .wait(ground.memory.acquire(held, &Holder("elsewhere".into()), windlass_store::Claim(1)))
        .unwrap();
    let mut supervisor = supervisor(&ground, vec![agent.clone()]);
    let first = pass(&ground, &mut supervisor);
    assert_eq!(
        first,
        [
            (answered, format!("driven: {:?}", RunState::Ended(Status::Answered))),
            (held, "held by elsewhere".to_owned()),
            (died, format!("driven: {:?}", RunState::Suspended)),
        ]
    );
    assert_eq!(pass(&ground, &mut supervisor), [], "nothing has changed");
    ground.wait(ground.memory.release(held, &fence)).unwrap();
    let driven = format!("driven: {:?}", RunState::Ended(Status::Answered));
    assert_eq!(pass(&ground, &mut supervisor), [(held, driven)]);
    assert_eq!(ground.state(idle).run_state(), RunState::Suspended, "nobody answered it");
}

#[test]
fn a_run_whose_agent_is_not_here_fails_once_and_is_not_tried_again() {
    let ground = Ground::new();
    let agent = payer(&ground);
    let run = interrupted(&ground, &agent, 2);
    let mut supervisor = supervisor(&ground, Vec::new());
    assert_eq!(pass(&ground, &mut supervisor), [(run, "run.unknown_agent".to_owned())]);
    assert_eq!(pass(&ground, &mut supervisor), []);
    assert_eq!(ground.wait(ground.memory.summary(run)).unwrap().holder, None);
}

#[test]
fn e30_a_run_that_lost_its_model_call_too_often_is_passed_over_until_a_person_resumes_it() {
    let ground = Ground::new();
    let agent = ground.agent(FnModel::streaming(|_, _| Box::pin(stream::pending()))).build().unwrap();
    let run = interrupted(&ground, &agent, 2);
    for _ in 1..LOST_ATTEMPTS {
        let prepared = ground.wait(agent.resume(run).prepare()).unwrap();
        assert!(ground.drive(prepared, |poll| poll == 2).is_none());
    }
    let mut supervisor = supervisor(&ground, vec![agent.clone()]);
    let given_up = format!("given up after {LOST_ATTEMPTS}");
    assert_eq!(pass(&ground, &mut supervisor), [(run, given_up.clone())]);
    assert_eq!(pass(&ground, &mut supervisor), []);
    assert_eq!(ground.wait(agent.resume(run).prepare()).unwrap_err().code(), "run.lost_attempts");
    // A person lets it go on, and it dies as often again.
    for attempt in 0..LOST_ATTEMPTS {
        let resume = agent.resume(run);
        let resume = if attempt == 0 { resume.by_hand() } else { resume };
        let prepared = ground.wait(resume.prepare()).unwrap();
        assert!(ground.drive(prepared, |poll| poll == 2).is_none());
    }
    assert_eq!(pass(&ground, &mut supervisor), [], "what was reported is not said again");
}

#[test]
fn a_supervisor_that_is_stopped_lays_its_runs_down() {
    let ground = Ground::new();
    let look = slow_tool(&ground, "look", 5_000);
    let agent = ground.agent(calls_then_answers(&[("look", "{}")])).tool(look).build().unwrap();
    let run = interrupted(&ground, &agent, 2);
    let (told, stop) = (Told::default(), CancellationToken::new());
    let mut watching = supervisor(&ground, vec![agent.clone()]);
    let (watched, ()) = ground.wait(join(watching.watch(&stop, tell(&told)), async {
        ground.environment.sleep_until(BEGINNING + 1_000).await;
        stop.cancel();
    }));
    watched.unwrap();
    assert_eq!(told.into_inner(), [(run, format!("driven: {:?}", RunState::Running))]);
    assert!(ground.environment.now() < BEGINNING + 5_000, "the tool was waited for");
    assert_eq!(ground.wait(ground.memory.summary(run)).unwrap().holder, None);
    let driven = format!("driven: {:?}", RunState::Ended(Status::Answered));
    assert_eq!(pass(&ground, &mut supervisor(&ground, vec![agent.clone()])), [(run, driven)]);
}

#[test]
fn a_supervisor_that_watches_resumes_what_becomes_due_later() {
    let ground = Ground::new();
    let agent = payer(&ground);
    let run = waiting(&ground, &agent);
    let (told, stop) = (Told::default(), CancellationToken::new());
    let mut watching = supervisor(&ground, vec![agent.clone()]);
    let (watched, ()) = ground.wait(join(watching.watch(&stop, tell(&told)), async {
        ground.environment.sleep_until(BEGINNING + 3_500).await;
        agent.answer(run, "q1", Answer::Approve).await.unwrap();
        ground.environment.sleep_until(BEGINNING + 9_000).await;
        stop.cancel();
    }));
    watched.unwrap();
    let driven = format!("driven: {:?}", RunState::Ended(Status::Answered));
    assert_eq!(told.into_inner(), [(run, driven)]);
}

#[test]
fn an_error_of_the_report_ends_the_pass() {
    let ground = Ground::new();
    let agent = payer(&ground);
    let run = interrupted(&ground, &agent, 2);
    let stop = CancellationToken::new();
    let mut supervisor = supervisor(&ground, vec![agent]);
    let error = ground.wait(supervisor.pass(&stop, |_| Err(Error::NotEnded { run })));
    assert_eq!(error.unwrap_err().code(), "run.not_ended");
}
