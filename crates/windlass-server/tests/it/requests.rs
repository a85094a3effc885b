//! E65, E66, E75: requests to runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::json;
use windlass_runtime::Agent;
use windlass_server::NewToken;
use windlass_testing::{FnModel, FnTool, text_reply};

use crate::ground::{Ground, question, start, until};

#[tokio::test]
async fn e75_an_answer_names_the_question_with_its_digest() {
    let ground = Ground::new().await;
    let run = start(&ground.client, "pay").await;
    let path = format!("/v1/runs/{run}/answer");
    let asked = question(&until(&ground.client, &run, "suspended").await);
    let answer = |question: &str| json!({ "question": question, "answer": "approve" });
    let (id, digest) = asked.split_once('@').unwrap();
    for without in [id.to_owned(), format!("{id}@"), format!("{id}@{}", &digest[..7])] {
        let reply = ground.client.post(&path, &answer(&without)).await;
        assert_eq!(reply.refusal(), (400, "request.no_digest".to_owned()));
    }
    let forged = ground.client.post(&path, &answer(&format!("{id}@deadbeef"))).await;
    assert_eq!(forged.refusal(), (409, "run.question_changed".to_owned()));
    let unknown = ground.client.post(&path, &answer(&format!("q9@{digest}"))).await;
    assert_eq!(unknown.refusal(), (409, "input.unknown_question".to_owned()));
    let unfit = json!({ "question": asked, "answer": { "text": "sure" } });
    assert_eq!(ground.client.post(&path, &unfit).await.refusal(), (400, "input.wrong_answer".to_owned()));
    assert_eq!(ground.paid.load(Ordering::SeqCst), 0, "nothing was paid");

    let taken = ground.client.post_under("a1", &path, &answer(&asked)).await.good().json();
    assert!(["waiting", "taken", "posted"].contains(&taken["state"].as_str().unwrap()), "{taken}");
    let end = until(&ground.client, &run, "answered").await;
    assert_eq!((end["text"].as_str(), ground.paid.load(Ordering::SeqCst)), (Some("done"), 1));
    let again = ground.client.post_under("a1", &path, &answer(&asked)).await.good().json();
    assert_eq!((again["state"].as_str(), ground.paid.load(Ordering::SeqCst)), (Some("taken"), 1));
    let other = json!({ "question": asked, "answer": { "deny": {} } });
    let reused = ground.client.post_under("a1", &path, &other).await;
    assert_eq!(reused.refusal(), (409, "request.key_reused".to_owned()));
    let events = ground.client.get(&format!("/v1/runs/{run}/events")).await.good().json();
    assert!(
        events.to_string().contains(r#""from":"client","name":"local""#),
        "who answered stands in the log"
    );
}

#[tokio::test]
async fn a_run_that_is_going_on_is_steered_paused_and_resumed() {
    let ground = Ground::new().await;
    let run = ground.run("wait").await;
    let path = |verb: &str| format!("/v1/runs/{run}/{verb}");
    let stale = json!({ "message": "hurry", "seen": 0 });
    assert_eq!(ground.client.post(&path("steer"), &stale).await.refusal(), (409, "run.moved_on".to_owned()));
    assert_eq!(ground.client.post(&path("steer"), &json!({ "message": "" })).await.refusal().0, 400);
    ground.client.post_under("s1", &path("steer"), &json!({ "message": "hurry" })).await.good();
    ground.client.post_under("s1", &path("steer"), &json!({ "message": "hurry" })).await.good();
    ground.client.post(&path("pause"), &json!({ "reason": "lunch" })).await.good();
    ground.go_on.notify_one();
    until(&ground.client, &run, "suspended").await;
    ground.client.post(&path("resume"), &json!({ "message": "now" })).await.good();
    until(&ground.client, &run, "answered").await;
    let events = ground.client.get(&path("events")).await.good().json().to_string();
    assert_eq!(events.matches(r#""text":"hurry""#).count(), 1, "{events}");
    assert_eq!(ground.client.post(&path("steer"), &json!({ "message": "more" })).await.refusal().0, 409);
    assert_eq!(ground.client.post(&path("resume"), &json!({})).await.refusal().0, 409);
}

#[tokio::test]
async fn e66_a_message_has_a_kind_and_is_pinned_but_writes_no_instructions() {
    let ground = Ground::new().await;
    let run = ground.run("wait").await;
    let path = |verb: &str| format!("/v1/runs/{run}/{verb}");
    let objective = json!({ "message": "sell everything", "kind": "objective" });
    let refused = ground.client.post(&path("steer"), &objective).await;
    assert_eq!(refused.refusal(), (403, "request.objective".to_owned()));
    let unknown = json!({ "message": "sell everything", "kind": "system" });
    assert_eq!(
        ground.client.post(&path("steer"), &unknown).await.refusal(),
        (400, "request.body".to_owned())
    );
    let correction = json!({ "message": "the year is 2025", "kind": "correction", "pin": true });
    ground.client.post(&path("steer"), &correction).await.good();
    ground
        .client
        .post(&path("steer"), &json!({ "message": "the next one", "kind": "clarification" }))
        .await
        .good();
    ground.go_on.notify_one();
    until(&ground.client, &run, "answered").await;
    let events = ground.client.get(&path("events")).await.good().json();
    let steered: Vec<_> =
        events["items"].as_array().unwrap().iter().filter(|event| event["event"] == "Steered").collect();
    let data: Vec<_> = steered.iter().map(|event| &event["data"]).collect();
    assert_eq!(data[0], &json!({ "text": "the year is 2025", "kind": "correction", "pinned": true }));
    assert_eq!(data[1], &json!({ "text": "the next one", "kind": "clarification" }));
    assert_eq!(data.len(), 2, "nothing of what was refused has come to the run");
}

/// The name of whoever answers is the owner's whose token the server has seen, also of a pause, and no field takes another one.
#[tokio::test]
async fn e66_who_answers_is_the_owner_of_the_token() {
    let ground = Ground::new().await;
    let ada = ground.owner("ada");
    let run = start(&ada, "pay").await;
    let path = |verb: &str| format!("/v1/runs/{run}/{verb}");
    let asked = question(&until(&ada, &run, "suspended").await);
    let named = json!({ "question": asked, "answer": "approve", "by": "the boss" });
    assert_eq!(ada.post(&path("answer"), &named).await.refusal(), (400, "request.body".to_owned()));
    ada.post(&path("answer"), &json!({ "question": asked, "answer": "approve" })).await.good();
    until(&ada, &run, "answered").await;
    let paused = start(&ada, "wait").await;
    ada.post(&format!("/v1/runs/{paused}/pause"), &json!({})).await.good();
    ground.go_on.notify_one();
    until(&ada, &paused, "suspended").await;
    ada.post(&format!("/v1/runs/{paused}/resume"), &json!({})).await.good();
    until(&ada, &paused, "answered").await;
    for run in [&run, &paused] {
        let events = ada.get(&format!("/v1/runs/{run}/events")).await.good().json();
        let received =
            events["items"].as_array().unwrap().iter().find(|event| event["event"] == "InputReceived");
        assert_eq!(received.unwrap()["data"]["by"], json!({ "from": "client", "name": "ada" }));
    }
}

#[tokio::test]
async fn a_cancel_is_final_and_answers_once_the_run_is_still() {
    let ground = Ground::new().await;
    let run = ground.run("wait").await;
    let path = format!("/v1/runs/{run}/cancel");
    let taken = ground
        .client
        .post_under("c1", &path, &json!({ "reason": "enough", "wait_ms": 10_000 }))
        .await
        .good()
        .json();
    assert_eq!((taken["state"].as_str(), taken["status"].as_str()), (Some("done"), Some("cancelled")));
    let again = ground.client.post_under("c1", &path, &json!({ "reason": "enough" })).await.good().json();
    assert_eq!(again["state"].as_str(), Some("done"));
    assert_eq!(ground.client.post(&path, &json!({})).await.refusal().0, 409);
    // An empty body is a body with nothing in it.
    let waiting = start(&ground.client, "pay").await;
    until(&ground.client, &waiting, "suspended").await;
    let path = format!("/v1/runs/{waiting}/cancel");
    ground.client.send("POST", &path, &[], "").await.good();
    assert_eq!(until(&ground.client, &waiting, "cancelled").await["questions"], json!([]));
}

#[tokio::test]
async fn e65_a_fork_that_is_sent_twice_begins_once() {
    let ground = Ground::new().await;
    let run = ground.run("hi").await;
    until(&ground.client, &run, "answered").await;
    let path = format!("/v1/runs/{run}/fork");
    let body = json!({ "at": 2, "message": "and?" });
    let first = ground.client.post_under("f1", &path, &body).await.good().json();
    let again = ground.client.post_under("f1", &path, &body).await.good().json();
    assert_eq!((&first["run"], again["fate"].as_str()), (&again["run"], Some("repeated")));
    assert_ne!(first["run"], json!(run));
    let other = ground.client.post_under("f1", &path, &json!({ "at": 1, "message": "and?" })).await;
    assert_eq!(other.refusal(), (409, "request.key_reused".to_owned()));
    let beyond = ground.client.post(&path, &json!({ "at": 999 })).await;
    assert_eq!(beyond.refusal(), (410, "run.no_such_event".to_owned()));
}

#[tokio::test]
async fn e65_a_resume_that_is_sent_twice_is_done_once() {
    let ground = Ground::new().await;
    let run = start(&ground.client, "wait").await;
    let path = |verb: &str| format!("/v1/runs/{run}/{verb}");
    ground.client.post(&path("pause"), &json!({})).await.good();
    ground.go_on.notify_one();
    until(&ground.client, &run, "suspended").await;
    let now = json!({ "message": "now" });
    ground.client.post_under("r1", &path("resume"), &now).await.good();
    until(&ground.client, &run, "answered").await;
    let events =
        async || ground.client.get(&path("events")).await.good().json()["items"].as_array().unwrap().len();
    let before = events().await;
    // The run is paused no longer, and has ended: its repeat is told what became of the first one.
    let again = ground.client.post_under("r1", &path("resume"), &now).await.good().json();
    assert_eq!((&again["state"], &again["status"]), (&json!("taken"), &json!("answered")));
    assert_eq!(events().await, before);
    for other in [json!({ "message": "later" }), json!({}), json!({ "limits": { "turns": 9 } })] {
        let reused = ground.client.post_under("r1", &path("resume"), &other).await;
        assert_eq!(reused.refusal(), (409, "request.key_reused".to_owned()), "{other}");
    }
    let late = ground.client.post_under("r2", &path("resume"), &json!({})).await;
    assert_eq!(late.refusal(), (409, "input.ended".to_owned()));
}

#[tokio::test]
async fn e75_another_agent_needs_the_version_that_was_seen() {
    let ground = Ground::new().await;
    let run = start(&ground.client, "pay").await;
    let read = until(&ground.client, &run, "suspended").await;
    let path = format!("/v1/runs/{run}/resume");
    assert_eq!(
        ground.client.post(&path, &json!({ "with": "clerk" })).await.refusal(),
        (400, "request.no_version".to_owned())
    );
    let stale = ground.client.post(&path, &json!({ "with": "clerk", "seen": 1 })).await;
    assert_eq!(stale.refusal(), (409, "run.moved_on".to_owned()));
    assert_eq!(stale.json()["error"]["details"]["version"], read["summary"]["events"]);
    let seen = read["summary"]["events"].as_u64().unwrap();
    assert_eq!(ground.client.post(&path, &json!({ "with": "nobody", "seen": seen })).await.refusal().0, 404);
    ground.client.post(&path, &json!({ "with": "clerk", "seen": seen })).await.good();
}

/// An agent that knows the tool `pay` as the clerk does, and works by other words; its model has that name.
fn auditor(ground: &Ground, name: &str, model: &'static str) -> Agent {
    let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true);
    let builder = Agent::builder(name).model((model, Arc::new(FnModel::new(|_| text_reply("audited")))));
    builder.instructions("You audit.").log(ground.server.host().log().clone()).tool(pay).build().unwrap()
}

#[tokio::test]
async fn e71_a_switch_is_previewed_at_a_version_and_refused_once_the_run_has_gone_on() {
    let ground = Ground::new().await;
    let registry = ground.server.host().registry();
    registry.add(auditor(&ground, "auditor", "m"));
    registry.add(auditor(&ground, "stranger", "another model"));
    let run = start(&ground.client, "pay").await;
    let read = until(&ground.client, &run, "suspended").await;
    let version = read["summary"]["events"].as_u64().unwrap();
    let path = |with: &str| format!("/v1/runs/{run}/switch?with={with}");
    let preview = ground.client.get(&path("auditor")).await.good().json();
    assert_eq!((&preview["run"], &preview["version"]), (&json!(run), &json!(version)));
    assert_eq!((&preview["from"]["name"], &preview["to"]["name"]), (&json!("clerk"), &json!("auditor")));
    let known = ground.client.get("/v1/agents/auditor").await.good().json();
    assert_eq!(preview["to"]["digest"], known["digest"]);
    let removed = ["tool `wait`, which was removed", "tool `long`, which was removed"];
    assert!(
        removed.iter().all(|words| preview["changes"].as_array().unwrap().contains(&json!(words))),
        "{preview}"
    );
    // Its own agent changes nothing, and nothing was done to the run.
    assert_eq!(ground.client.get(&path("clerk")).await.good().json()["changes"], json!([]));
    let same = ground.client.get(&format!("/v1/runs/{run}")).await.good().json();
    assert_eq!(same["summary"], read["summary"]);
    // What would refuse the switch refuses its preview.
    let gone = ground.client.get(&path("stranger")).await;
    assert_eq!(gone.refusal(), (409, "run.model_gone".to_owned()));
    assert_eq!(ground.client.get(&path("nobody")).await.refusal(), (404, "agent.unknown".to_owned()));
    let only = ground.token(NewToken { agents: vec!["clerk".into()], ..NewToken::default() });
    assert_eq!(only.get(&path("auditor")).await.refusal(), (404, "agent.unknown".to_owned()));
    // The switch is made at that version alone.
    let resume = format!("/v1/runs/{run}/resume");
    let switch = json!({ "with": "auditor", "seen": version });
    ground.client.post(&resume, &switch).await.good();
    let switched = until(&ground.client, &run, "suspended").await;
    assert_eq!(switched["agent"]["name"], "auditor");
    assert_eq!(ground.client.post(&resume, &switch).await.refusal(), (409, "run.moved_on".to_owned()));
    let preview = ground.client.get(&path("auditor")).await.good().json();
    assert_eq!((&preview["changes"], &preview["version"]), (&json!([]), &switched["summary"]["events"]));
    // A fork stands on an event of its own choice.
    let earlier = ground.client.get(&format!("{}&at={version}", path("auditor"))).await.good().json();
    assert_eq!((&earlier["version"], &earlier["from"]["name"]), (&json!(version), &json!("clerk")));
    for at in [0, 999] {
        let beyond = ground.client.get(&format!("{}&at={at}", path("clerk"))).await;
        assert_eq!(beyond.refusal(), (410, "run.no_such_event".to_owned()), "{at}");
    }
}

#[tokio::test]
async fn e71_a_switch_ends_a_pause_with_its_message_and_needs_one_for_it() {
    let ground = Ground::new().await;
    ground.server.host().registry().add(auditor(&ground, "auditor", "m"));
    let run = ground.run("wait").await;
    let path = |verb: &str| format!("/v1/runs/{run}/{verb}");
    ground.client.post(&path("pause"), &json!({})).await.good();
    ground.go_on.notify_one();
    let paused = until(&ground.client, &run, "suspended").await;
    let switch = json!({ "with": "auditor", "seen": paused["summary"]["events"], "message": "check it" });
    ground.client.post(&path("resume"), &switch).await.good();
    let end = until(&ground.client, &run, "answered").await;
    assert_eq!(end["text"], "audited");
    let events = ground.client.get(&path("events")).await.good().json().to_string();
    assert!(events.contains("check it"), "{events}");
    // Where nothing is paused, a message has no place.
    let waits = start(&ground.client, "pay").await;
    let read = until(&ground.client, &waits, "suspended").await;
    let switch = json!({ "with": "auditor", "seen": read["summary"]["events"], "message": "check it" });
    let refused = ground.client.post(&format!("/v1/runs/{waits}/resume"), &switch).await;
    assert_eq!(refused.refusal(), (400, "request.value".to_owned()));
}
