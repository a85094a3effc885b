//! E74: messages that come to a session at the same moment have one fate each, and the log agrees with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;
use windlass_core::event::{RunFact, RunInput};
use windlass_core::tool::Effect;
use windlass_core::{Fact, Message, RunId, SessionId, State, Status};
use windlass_read::load;
use windlass_runtime::{Admitted, Agent, DriveOptions, Error, Run, Turn};
use windlass_store::{Index as _, Log as _, MemoryLog, RunFilter, Store};
use windlass_testing::{FnModel, FnTool, called, text_reply};

const SENDERS: usize = 12;
const ROUNDS: usize = 10;

/// What a sender was told of its message.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// It has a run of its own.
    Run(RunId),
    /// It entered that run.
    Steered(RunId),
    Refused,
}

/// An agent in a process of its own, which looks once and answers.
fn agent(log: &Arc<MemoryLog>, policy: &str) -> Agent {
    let model = FnModel::new(|request| {
        let looked = request.messages.iter().any(|message| matches!(&**message, Message::Tool(_)));
        if looked { text_reply("done") } else { called(&[("look", "{}")]) }
    });
    let look = FnTool::new("look", |_, _| async {
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        Ok("seen".into())
    });
    let log: Arc<dyn Store> = log.clone();
    Agent::builder("looker")
        .model(("m1", Arc::new(model)))
        .tool(look.spec(|spec| spec.effect = Effect::ReadOnly))
        .settings(&json!({ "while_running": policy }))
        .log(log)
        .build()
        .unwrap()
}

fn options() -> DriveOptions {
    DriveOptions { session: Some(SessionId::from("s")), ..DriveOptions::default() }
}

/// Sends a message, drives what is its own, and tells what became of it.
async fn send(log: Arc<MemoryLog>, policy: &'static str, text: String) -> Fate {
    let sender = agent(&log, policy);
    let prepared = match sender.admit(text, options()).await {
        Ok(Admitted::Started(prepared)) => prepared,
        Ok(Admitted::Steered { run }) => return Fate::Steered(run),
        Ok(Admitted::Queued { behind, run }) => {
            match sender.await_turn(&SessionId::from("s"), behind, run, &options()).await.unwrap() {
                Turn::Ours(prepared) => prepared,
                Turn::Elsewhere => return Fate::Run(run),
            }
        }
        Ok(Admitted::Repeated { run }) => panic!("no two have a key: {run}"),
        Err(Error::SessionBusy { .. }) => return Fate::Refused,
        Err(error) => panic!("{error:?}"),
    };
    let run = prepared.id();
    match prepared.drive().await {
        Ok(_) => Fate::Run(run),
        Err(Error::SessionBusy { .. }) if policy == "refuse" => Fate::Refused,
        Err(error) => panic!("{error:?}"),
    }
}

/// The runs of the session from its head down.
async fn chain(log: &MemoryLog) -> Vec<State> {
    let mut next = log.head(&windlass_core::Owner::default(), &SessionId::from("s")).await.unwrap();
    let mut chain = Vec::new();
    while let Some(run) = next {
        chain.push(load(log, run).await.unwrap());
        let first = log.read(run, 1, 1).await.unwrap().remove(0);
        let Fact::Run(RunFact::Started(start)) = &first.events[0].fact else { panic!("{first:?}") };
        assert!(!matches!(start.input, RunInput::Fork(_)));
        next = start.base.as_ref().map(|base| base.run);
    }
    chain
}

/// How often the conversation of a session's last run has each message of a person.
fn told(state: &State) -> BTreeMap<String, usize> {
    let mut told = BTreeMap::new();
    for message in state.history().iter() {
        if let Message::User { content, .. } = &**message {
            *told.entry(content.text().into_owned()).or_default() += 1;
        }
    }
    told
}

async fn round(policy: &'static str) {
    let log = Arc::new(MemoryLog::new());
    let text = |n: usize| format!("message {n}");
    let senders: Vec<_> = (0..SENDERS).map(|n| tokio::spawn(send(log.clone(), policy, text(n)))).collect();
    let mut fates = Vec::new();
    for sender in senders {
        fates.push(sender.await.unwrap());
    }
    // Steering that a run ended without having heard waits for a run of its own.
    while let Some(next) = agent(&log, policy).next_queued(&SessionId::from("s"), options()).await.unwrap() {
        next.drive().await.unwrap();
    }
    let chain = chain(&log).await;
    let all = log.list(RunFilter { limit: 1_000, ..RunFilter::default() }).await.unwrap();
    let (listed, chained): (BTreeSet<RunId>, BTreeSet<RunId>) =
        (all.iter().map(|run| run.run).collect(), chain.iter().map(State::run).collect());
    assert_eq!(listed, chained, "{policy}: each run of the session is in its one chain");
    let told = told(chain.first().unwrap());
    for (n, fate) in fates.iter().enumerate() {
        let times = told.get(&text(n)).copied().unwrap_or(0);
        match fate {
            Fate::Refused => assert_eq!((policy, times), ("refuse", 0), "a refused message is in no log"),
            Fate::Steered(run) => {
                assert_eq!(policy, "steer");
                assert!(chained.contains(run) && times == 1, "{fate:?}: {times} times");
            }
            Fate::Run(run) => {
                assert!(chained.contains(run) && times == 1, "{policy}: {fate:?}: {times} times");
                let run = Run::load(&*log, *run).await.unwrap();
                let ends: &[Status] = match policy {
                    "interrupt" => &[Status::Answered, Status::Cancelled],
                    _ => &[Status::Answered],
                };
                assert!(ends.contains(&run.status().unwrap()), "{policy}: {run:?}");
            }
        }
    }
    let own: BTreeSet<RunId> =
        fates.iter().filter_map(|fate| if let Fate::Run(run) = fate { Some(*run) } else { None }).collect();
    let runs = fates.iter().filter(|fate| matches!(fate, Fate::Run(_))).count();
    assert_eq!(own.len(), runs, "{policy}: no two messages share a run");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e74_messages_at_the_same_moment_have_one_fate_each_under_every_policy() {
    for policy in ["refuse", "queue", "steer", "interrupt"] {
        for _ in 0..ROUNDS {
            round(policy).await;
        }
    }
}
