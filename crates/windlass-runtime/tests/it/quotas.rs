//! E55, E62: runs that wait for a quota or for a renewed key hold nothing, and go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt as _;
use futures_util::stream;
use windlass_core::event::QuestionKind;
use windlass_core::model::{FailureKind, ModelChoice, ModelFailure};
use windlass_core::run::QuotaWait;
use windlass_core::{Answer, RunId, RunState, Status};
use windlass_models::Deltas;
use windlass_runtime::{Agent, AgentDelegate, DriveOptions, Environment};
use windlass_store::{Index, RunFilter, RunSummary};
use windlass_testing::{BEGINNING, FnModel, called, model_failure, text_reply};

use crate::ground::{Ground, assert_sound};

const HOUR: u64 = 3_600_000;

/// How often a model was asked.
type Asked = Arc<AtomicUsize>;

/// A model that fails so often, and answers then.
fn failing(
    times: usize,
    failure: impl Fn(ModelFailure) -> ModelFailure + Send + Sync + 'static,
) -> (FnModel, Asked) {
    let asked = Asked::default();
    let count = asked.clone();
    let model = FnModel::streaming(move |_, request| -> Deltas {
        if count.fetch_add(1, Ordering::SeqCst) < times {
            let failed = failure(model_failure(&request, FailureKind::RateLimited, "used up"));
            return stream::iter([Err(failed)]).boxed();
        }
        stream::iter(text_reply("Hi.").into_iter().map(Ok)).boxed()
    });
    (model, asked)
}

fn without_quota(times: usize) -> (FnModel, Asked) {
    failing(times, |failure| ModelFailure { retry_after_ms: Some(HOUR), ..failure })
}

fn waits() -> serde_json::Value {
    serde_json::json!({ "wait_for_quota": true })
}

/// An agent that waits for the quota of its model, which opens an hour after each of so many failures.
fn waiting(ground: &Ground, times: usize) -> (Agent, Asked) {
    let (model, asked) = without_quota(times);
    (ground.agent(model).settings(&waits()).build().unwrap(), asked)
}

/// An agent that hands its task to one that waits.
fn family(ground: &Ground, settings: &serde_json::Value) -> (Agent, Asked) {
    let (model, asked) = without_quota(1);
    let writer = Agent::builder("writer")
        .model(("function", ground.watched(model)))
        .log(ground.log.clone())
        .environment(Arc::new(ground.environment.clone()))
        .settings(&waits())
        .build()
        .unwrap();
    let lead = FnModel::script([called(&[("writer", r#"{"task": "write"}"#)]), text_reply("done")]);
    let lead = ground.agent(lead).delegate(Arc::new(AgentDelegate::new(writer)));
    (lead.settings(settings).build().unwrap(), asked)
}

fn summary(ground: &Ground, run: RunId) -> RunSummary {
    ground.wait(ground.log.summary(run)).unwrap()
}

/// The state of a parked run, and when it goes on.
fn parked(ground: &Ground, run: RunId) -> (RunState, Option<u64>, bool) {
    let found = summary(ground, run);
    (found.run_state, found.wake_at, found.holder.is_some())
}

/// The runs that are due now, which are resumed.
fn driven(ground: &Ground, agent: &Agent) -> Vec<RunId> {
    let due = RunFilter { due: Some(ground.environment.now()), ..RunFilter::default() };
    let due = ground.wait(ground.log.list(due)).unwrap();
    let runs: Vec<RunId> = due
        .iter()
        .filter(|line| line.holder.is_none() && line.parent.is_none())
        .map(|line| line.run)
        .collect();
    for run in &runs {
        ground.wait(agent.resume(*run).into_future()).unwrap();
    }
    runs
}

fn until(at: u64) -> (RunState, Option<u64>, bool) {
    (RunState::Suspended, Some(at), false)
}

#[test]
fn e55_a_run_without_quota_is_parked_with_its_time_and_driven_when_that_has_come() {
    let ground = Ground::new();
    let (agent, asked) = waiting(&ground, 2);
    let run = ground.wait(agent.run("Go.")).unwrap();
    let wait = QuotaWait { model: "function".into(), until: BEGINNING + HOUR };
    assert_eq!(run.state().quota_wait(), Some(wait));
    assert_eq!(parked(&ground, run.id()), until(BEGINNING + HOUR));
    assert_eq!(driven(&ground, &agent), [], "it is not due");
    ground.environment.jump(HOUR);
    assert_eq!(driven(&ground, &agent), [run.id()]);
    assert_eq!(parked(&ground, run.id()), until(BEGINNING + 2 * HOUR), "there was none yet");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    ground.environment.jump(HOUR);
    assert_eq!(driven(&ground, &agent), [run.id()]);
    assert_eq!(ground.state(run.id()).run_state(), RunState::Ended(Status::Answered));
    assert_eq!((asked.load(Ordering::SeqCst), driven(&ground, &agent)), (3, Vec::new()));
}

#[test]
fn e55_a_person_who_resumes_a_waiting_run_tries_at_once_and_others_do_not() {
    let ground = Ground::new();
    let (agent, asked) = waiting(&ground, 1);
    let run = ground.wait(agent.run("Go.")).unwrap().id();
    ground.environment.jump(HOUR / 2);
    let again = ground.wait(async { agent.resume(run).await }).unwrap();
    assert_eq!(again.run_state(), RunState::Suspended);
    assert_eq!((asked.load(Ordering::SeqCst), parked(&ground, run)), (1, until(BEGINNING + HOUR)));
    let again = ground.wait(async { agent.resume(run).by_hand().await }).unwrap();
    assert_eq!(again.status(), Some(Status::Answered));
    assert_eq!(ground.environment.now(), BEGINNING + HOUR / 2);
    assert_sound(&ground, &again);
}

#[test]
fn e55_who_holds_a_waiting_run_drives_it_on_and_leaves_it_parked() {
    let ground = Ground::new();
    let (agent, _) = waiting(&ground, 1);
    let held = || DriveOptions { hold_for_quota: true, ..DriveOptions::default() };
    let prepared = ground.wait(agent.prepare("Go.", held())).unwrap();
    let run = ground.wait(prepared.drive()).unwrap();
    assert_eq!((run.status(), ground.environment.now()), (Some(Status::Answered), BEGINNING + HOUR));

    let ground = Ground::new();
    let (agent, asked) = waiting(&ground, 1);
    let prepared = ground.wait(agent.prepare("Go.", held())).unwrap();
    let handle = prepared.handle();
    let leave = async {
        ground.environment.sleep_until(BEGINNING + HOUR / 2).await;
        let wait = handle.quota_wait().await.unwrap();
        handle.detach();
        wait
    };
    let (run, wait) = ground.wait(futures_util::future::join(prepared.drive(), leave));
    assert_eq!(wait.map(|wait| wait.until), Some(BEGINNING + HOUR));
    let run = run.unwrap().id();
    assert_eq!((parked(&ground, run), asked.load(Ordering::SeqCst)), (until(BEGINNING + HOUR), 1));
    ground.environment.jump(HOUR);
    assert_eq!(driven(&ground, &agent), [run]);
    assert_eq!(ground.state(run).run_state(), RunState::Ended(Status::Answered));
}

#[test]
fn e55_a_holder_that_dies_in_a_wait_leaves_a_run_that_waits_on() {
    let ground = Ground::new();
    let (agent, asked) = waiting(&ground, 1);
    let held = DriveOptions { hold_for_quota: true, ..DriveOptions::default() };
    let prepared = ground.wait(agent.prepare("Go.", held)).unwrap();
    let run = prepared.id();
    let environment = ground.environment.clone();
    let died = ground.drive(prepared, |_| environment.now() > BEGINNING || asked.load(Ordering::SeqCst) > 1);
    assert!(died.is_none() || ground.environment.now() == BEGINNING + HOUR);
    if died.is_none() {
        assert_eq!(driven(&ground, &agent), [run], "it is interrupted");
    }
    assert!(ground.kinds(run).iter().filter(|kind| **kind == "TurnFailed").count() == 1);
}

#[test]
fn e55_a_waiting_run_is_cancelled_and_paused_like_any_other() {
    let ground = Ground::new();
    let (agent, asked) = waiting(&ground, 1);
    let run = ground.wait(agent.run("Go.")).unwrap().id();
    ground.wait(agent.cancel(run, "enough")).unwrap();
    assert_eq!(ground.state(run).run_state(), RunState::Ended(Status::Cancelled));
    assert_eq!(asked.load(Ordering::SeqCst), 1, "nobody was asked for it");

    let run = ground.wait(waiting(&ground, 1).0.run("Go.")).unwrap().id();
    ground.wait(agent.pause(run, None)).unwrap();
    assert_eq!(driven(&ground, &agent), [run]);
    let state = ground.state(run);
    assert_eq!((state.run_state(), state.quota_wait()), (RunState::Suspended, None));
    assert_eq!(parked(&ground, run), (RunState::Suspended, None, false), "a pause has no time");
    ground.wait(agent.unpause(run, None)).unwrap();
    assert_eq!(driven(&ground, &agent), [run]);
    assert_eq!(ground.state(run).run_state(), RunState::Ended(Status::Answered));
}

#[test]
fn e55_a_family_whose_task_waits_holds_nothing() {
    let ground = Ground::new();
    let (agent, asked) = family(&ground, &serde_json::json!({}));
    let run = ground.wait(agent.run("Go.")).unwrap();
    let child = run.state().delegated_runs().next().unwrap();
    assert_eq!(run.questions(), [], "nobody is asked");
    assert_eq!(parked(&ground, run.id()), until(BEGINNING + HOUR));
    assert_eq!(parked(&ground, child), until(BEGINNING + HOUR));
    assert_eq!(driven(&ground, &agent), []);
    ground.environment.jump(HOUR);
    assert!(driven(&ground, &agent).contains(&run.id()));
    let state = ground.state(run.id());
    assert_eq!(state.run_state(), RunState::Ended(Status::Answered));
    assert_eq!((ground.state(child).run_state(), asked.load(Ordering::SeqCst)), (state.run_state(), 2));
}

#[test]
fn e55_a_family_whose_task_waits_is_woken_and_cancelled_as_one() {
    let ground = Ground::new();
    let (agent, asked) = family(&ground, &serde_json::json!({}));
    let run = ground.wait(agent.run("Go.")).unwrap().id();
    let run = ground.wait(async { agent.resume(run).by_hand().await }).unwrap();
    assert_eq!((run.status(), ground.environment.now()), (Some(Status::Answered), BEGINNING));
    assert_eq!(asked.load(Ordering::SeqCst), 2);

    let (agent, asked) = family(&ground, &serde_json::json!({}));
    let run = ground.wait(agent.run("Go.")).unwrap();
    let child = run.state().delegated_runs().next().unwrap();
    ground.wait(agent.cancel(run.id(), "enough")).unwrap();
    for ended in [run.id(), child] {
        assert_eq!(ground.state(ended).run_state(), RunState::Ended(Status::Cancelled));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn e55_a_task_that_waits_beyond_its_parents_time_is_ended() {
    let ground = Ground::new();
    let (agent, _) = family(&ground, &serde_json::json!({ "limits": { "seconds": 60 } }));
    let run = ground.wait(agent.run("Go.")).unwrap();
    assert_eq!((run.status(), ground.environment.now()), (Some(Status::Answered), BEGINNING));
    let filter = RunFilter { parent: Some(run.id()), ..RunFilter::default() };
    let children = ground.wait(ground.log.list(filter)).unwrap();
    assert_eq!(children[0].run_state, RunState::Ended(Status::Cancelled));
    assert_sound(&ground, &run);
}

#[test]
fn e62_a_refused_key_that_can_be_renewed_waits_for_a_person_across_processes() {
    let ground = Ground::new();
    let (model, asked) = failing(1, |failure| ModelFailure {
        kind: FailureKind::Auth,
        status: Some(401),
        message: "token expired".into(),
        ..failure
    });
    let choice =
        ModelChoice { name: "a/b".into(), key_command: Some("gcloud".into()), ..ModelChoice::default() };
    let agent = Agent::builder("tested")
        .model_with(choice, Arc::new(model))
        .log(ground.log.clone())
        .environment(Arc::new(ground.environment.clone()))
        .build()
        .unwrap();
    let run = ground.wait(agent.run("Go.")).unwrap();
    let question = &run.questions()[0];
    assert_eq!((question.kind, run.state().quota_wait()), (QuestionKind::Auth, None));
    let words = "The key of model a/b, which `gcloud` prints, has to be renewed (HTTP 401): token expired";
    assert_eq!(&*question.text, words);
    assert_eq!(parked(&ground, run.id()), (RunState::Suspended, None, false));
    ground.wait(agent.answer(run.id(), question.id.clone(), Answer::Approve)).unwrap_err();
    ground.wait(agent.answer(run.id(), question.id.clone(), Answer::Retry)).unwrap();
    assert_eq!(driven(&ground, &agent), [run.id()]);
    assert_eq!(ground.state(run.id()).run_state(), RunState::Ended(Status::Answered));
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}
