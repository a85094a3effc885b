//! With tokio and in real time: many runs at once, on several threads, in memory and on disk.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::Barrier;
use windlass_core::{Answer, QuestionId, Status};
use windlass_read::load;
use windlass_runtime::{Agent, DriveOptions};
use windlass_store::{MemoryLog, SqliteLog, Store};
use windlass_testing::{FnPeople, FnTool};

use crate::ground::assert_valid;
use crate::scenarios::calls_then_answers;

/// How many runs go on at once.
const RUNS: usize = 200;
/// No test here takes longer than this; it is a bound, not a wait.
const LIMIT: Duration = Duration::from_secs(30);

fn agent(log: Arc<dyn Store>) -> Agent {
    let work = FnTool::new("work", |context, _| async move {
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        Ok(format!("{} worked", context.call).into())
    });
    Agent::builder("busy")
        .model(("m", Arc::new(calls_then_answers(&[("work", "{}"), ("work", "{\"n\": 2}")]))))
        .tool(work)
        .log(log)
        .build()
        .unwrap()
}

async fn many(log: Arc<dyn Store>) {
    let agent = agent(log.clone());
    // All of them are under way before the first one goes on.
    let gate = Arc::new(Barrier::new(RUNS));
    let tasks: Vec<_> = (0..RUNS)
        .map(|number| {
            let (agent, gate) = (agent.clone(), gate.clone());
            tokio::spawn(async move {
                gate.wait().await;
                let options =
                    DriveOptions { session: Some(format!("s{number}").into()), ..DriveOptions::default() };
                agent.prepare(format!("run {number}"), options).await.unwrap().drive().await.unwrap()
            })
        })
        .collect();
    for task in join_all(tasks).await {
        let run = task.unwrap();
        assert_eq!((run.status(), run.text()), (Some(Status::Answered), Some("done")));
        let folded = load(&*log, run.id()).await.unwrap();
        assert!(folded == *run.state(), "the log folds to another state");
        assert_valid(&folded);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_runs_at_once_in_memory() {
    tokio::time::timeout(LIMIT, many(Arc::new(MemoryLog::new()))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_runs_at_once_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let log = SqliteLog::open(folder.path().join("log")).unwrap();
    tokio::time::timeout(LIMIT, many(Arc::new(log))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e23_answers_from_several_threads_at_once_are_each_taken_once() {
    let calls = &[("pay", "{}"), ("pay", "{}"), ("pay", "{}"), ("pay", "{}")];
    let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) });
    let pay = pay.spec(|spec| (spec.approve, spec.poll) = (true, true));
    let agent =
        Agent::builder("paying").model(("m", Arc::new(calls_then_answers(calls)))).tool(pay).build().unwrap();
    let hold = FnPeople::thinking(|_, _| Some(Box::pin(std::future::pending())));
    let options = DriveOptions { people: Some(Arc::new(hold)), ..DriveOptions::default() };
    let prepared = agent.prepare("Go.", options).await.unwrap();
    let (handle, mut updates) = (prepared.handle(), prepared.updates());
    let driven = tokio::spawn(prepared.drive());
    // Until all four questions are asked.
    let mut asked = 0;
    while asked < 4 {
        if let windlass_runtime::Update::Events(batch) = updates.next().await.unwrap() {
            asked += batch.events.iter().filter(|event| event.fact.kind() == "InputRequested").count();
        }
    }
    // Each question is answered twice, by eight tasks at once.
    let tasks = (0..8).map(|number| {
        let handle = handle.clone();
        tokio::spawn(async move {
            handle.answer(QuestionId::from(format!("q{}", number % 4 + 1)), Answer::Approve).await.is_ok()
        })
    });
    let taken = join_all(tasks.collect::<Vec<_>>())
        .await
        .into_iter()
        .filter(|taken| *taken.as_ref().unwrap())
        .count();
    assert_eq!(taken, 4);
    let run = tokio::time::timeout(LIMIT, driven).await.unwrap().unwrap().unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
}

#[tokio::test]
async fn a_driver_that_is_dropped_gives_its_run_free_on_disk_too() {
    let folder = tempfile::tempdir().unwrap();
    let log: Arc<dyn Store> = Arc::new(SqliteLog::open(folder.path().join("log")).unwrap());
    let (begun, mut beginnings) = tokio::sync::mpsc::unbounded_channel();
    let hangs_once = FnTool::new("work", move |context, _| {
        let begun = begun.clone();
        async move {
            begun.send(()).unwrap();
            if context.attempt == 1 {
                std::future::pending::<()>().await;
            }
            Ok("worked".into())
        }
    });
    let agent = Agent::builder("dropped")
        .model(("m", Arc::new(calls_then_answers(&[("work", "{}")]))))
        .tool(hangs_once.effect(windlass_core::tool::Effect::ReadOnly))
        .log(log)
        .build()
        .unwrap();
    let prepared = agent.prepare("Go.", DriveOptions::default()).await.unwrap();
    let run = prepared.id();
    tokio::select! {
        _ = prepared.drive() => panic!("the tool hangs"),
        begun = beginnings.recv() => begun.unwrap(),
    }
    let resumed = agent.resume(run).prepare().await.unwrap();
    let ended = tokio::time::timeout(LIMIT, resumed.drive()).await.unwrap().unwrap();
    assert_eq!(ended.status(), Some(Status::Answered));
}

#[tokio::test]
async fn a_run_whose_work_is_always_ready_leaves_others_their_turn() {
    let tick = FnTool::new("tick", |_, _| async { Ok("tock".into()) }).spec(|spec| spec.poll = true);
    let forever = windlass_testing::FnModel::new(|_| windlass_testing::called(&[("tick", "{}")]));
    let agent = Agent::builder("busy")
        .model(("m", Arc::new(forever)))
        .tool(tick)
        .limit(windlass_core::policy::LimitKind::ModelCalls, 1e9)
        .build()
        .unwrap();
    let prepared = agent.prepare("Go.", DriveOptions::default()).await.unwrap();
    let handle = prepared.handle();
    let driven = tokio::spawn(prepared.drive());
    // On one thread this task would never be heard if the run kept the thread.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    handle.cancel("enough").await.unwrap();
    let run = tokio::time::timeout(LIMIT, driven).await.unwrap().unwrap().unwrap();
    assert_eq!(run.status(), Some(Status::Cancelled));
}
