//! E59: the end of a child run and the wake-up of its parent are one step for whoever looks at the server, wherever it dies.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use windlass_core::event::{CallFact, DelegationFact, RunFact};
use windlass_core::tool::Effect;
use windlass_core::{Fact, Message, RunId};
use windlass_read::numbered;
use windlass_runtime::host::Host;
use windlass_runtime::{Agent, AgentDelegate};
use windlass_server::{NewToken, Server, Tokens};
use windlass_store::{Index as _, Log as _, RunFilter, Store};
use windlass_testing::{CrashLog, FnModel, FnTool, called, text_reply};

use crate::client::Client;
use crate::ground::{question, settings};

/// The result of the task, as the parent's model has to be told it.
const RESULT: &str = "The blue one.";

/// The results of calls among the messages of a request.
fn results<'m>(messages: impl Iterator<Item = &'m Arc<Message>>) -> Vec<String> {
    let text = |message: &'m Arc<Message>| match &**message {
        Message::Tool(result) => Some(result.content.text().into_owned()),
        _ => None,
    };
    messages.filter_map(text).collect()
}

/// The agent `boss`, who hands one task to `worker` and says what came of it. The worker's tool must be allowed by a person.
fn boss(host: &Host) -> Agent {
    let worker = FnModel::new(|request| match results(request.messages.iter()).as_slice() {
        [] => called(&[("look", "{}")]),
        _ => text_reply(RESULT),
    });
    let boss = FnModel::new(|request| match results(request.messages.iter()).as_slice() {
        [] => called(&[("worker", r#"{"task": "Which one?"}"#)]),
        results => text_reply(&results.join(" and ")),
    });
    let look = FnTool::new("look", |_, _| async { Ok("blue".into()) });
    let look = look.effect(Effect::ReadOnly).spec(|spec| spec.approve = true);
    let named = |name: &str, model| {
        let builder = Agent::builder(name).description("Works.").model(("m", Arc::new(model)));
        builder.log(host.log().clone()).environment(host.environment().clone())
    };
    let worker = named("worker", worker).tool(look).build().unwrap();
    host.registry().add(worker.clone());
    named("boss", boss).delegate(Arc::new(AgentDelegate::new(worker))).build().unwrap()
}

/// What a client does until the run has ended, however often it begins anew: each request has its key.
async fn asks(client: Client) -> Value {
    let start = json!({ "agent": "boss", "input": "Go." });
    let started = client.post_under("start", "/v1/runs", &start).await.good().json();
    let run = started["run"].as_str().unwrap();
    let mut from = "0".to_owned();
    loop {
        let read = client.get(&format!("/v1/runs/{run}")).await.good().json();
        if read["status"] == "answered" {
            return read;
        }
        if read["questions"].as_array().is_some_and(|open| !open.is_empty()) {
            let answer = json!({ "question": question(&read), "answer": "approve" });
            client.post_under("answer", &format!("/v1/runs/{run}/answer"), &answer).await.good();
        }
        let updates = format!("/v1/runs/{run}/updates?from={from}&wait_ms=100");
        from = client.get(&updates).await.good().json()["position"].as_str().unwrap().to_owned();
    }
}

/// A process with a server and its client, which is killed as soon as the log crashes. The run, if it has ended before.
fn process(log: &Arc<CrashLog>) -> Option<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ended = runtime.block_on(async {
        let tokens = Tokens::of_file(folder.path().join("tokens.json"));
        let (_, token) = tokens.make(NewToken::default()).unwrap();
        let server = Server::new(log.clone() as Arc<dyn Store>, tokens, settings());
        server.host().registry().add(boss(server.host()));
        let listening = server.listen().await.unwrap();
        let client = Client { address: listening.addresses()[0], token: Some(token) };
        tokio::spawn(listening.run(CancellationToken::new()));
        let crashed = async {
            while !log.crashed() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = crashed => None,
            ended = asks(client) => Some(ended),
        }
    });
    // All of its tasks are dropped where they stand.
    drop(runtime);
    ended
}

/// The facts of a run.
async fn facts(log: &CrashLog, run: RunId) -> Vec<Fact> {
    let batches = log.read(run, 1, usize::MAX).await.unwrap();
    batches.iter().flat_map(numbered).map(|(_, event)| event.fact.clone()).collect()
}

#[test]
fn e59_a_parent_has_the_result_of_its_child_once_wherever_the_server_dies() {
    let whole = CrashLog::new(0);
    process(&whole).unwrap();
    let events = whole.written();
    assert!(events > 15, "{events}");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut between = 0;
    for crash in 1..=events {
        let log = CrashLog::new(crash);
        let died = process(&log).is_none();
        assert!(log.take_crash() || !died, "after event {crash}");
        runtime.block_on(async {
            // The child has ended, and its parent does not know it yet.
            let runs = log.list(RunFilter::default()).await.unwrap().items;
            let ended = |name: &str| runs.iter().any(|run| *run.agent == *name && run.ended_at.is_some());
            let parent = runs.iter().find(|run| &*run.agent == "boss");
            let told = match parent {
                Some(parent) => facts(&log, parent.run)
                    .await
                    .iter()
                    .any(|fact| matches!(fact, Fact::Delegation(DelegationFact::Finished(_)))),
                None => false,
            };
            between += usize::from(ended("worker") && !told);
        });
        let end = process(&log).unwrap();
        assert_eq!(end["text"], RESULT, "after event {crash}");
        runtime.block_on(async {
            let runs = log.list(RunFilter::default()).await.unwrap().items;
            assert_eq!(runs.len(), 2, "after event {crash}: one parent, one child");
            for run in runs {
                let facts = facts(&log, run.run).await;
                let count = |is: fn(&Fact) -> bool| facts.iter().filter(|fact| is(fact)).count();
                let ends = count(|fact| matches!(fact, Fact::Run(RunFact::Ended(_))));
                let results = count(|fact| {
                    matches!(
                        fact,
                        Fact::Delegation(DelegationFact::Finished(_)) | Fact::Call(CallFact::Finished(_))
                    )
                });
                assert_eq!((ends, results), (1, 1), "after event {crash}: {}", run.agent);
            }
        });
    }
    assert!(between > 0, "the server has died between both");
}
