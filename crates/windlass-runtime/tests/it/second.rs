//! E61: the fate of a second message to a session whose run has not ended, with restarts in between.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use tokio::sync::Notify;
use windlass_core::event::{PeopleFact, Steered};
use windlass_core::model::Purpose;
use windlass_core::run::RunStatus;
use windlass_core::tool::Effect;
use windlass_core::{Answer, Fact, Message, RunId, RunState, SessionId, Status};
use windlass_read::RunPages;
use windlass_runtime::control::Cancelled;
use windlass_runtime::{Admitted, Agent, DriveOptions, Error, Run, Turn, holding_messages};
use windlass_store::{Index as _, MemoryLog, RunFilter, Store};
use windlass_testing::{FnModel, FnTool, called, text_reply};

/// An agent that pays after an approval, then says what it was told last. A new one on the same log is a restarted process.
fn agent(log: &Arc<MemoryLog>, fate: &str) -> Agent {
    agent_of(log, &json!({ "while_running": fate }))
}

fn agent_of(log: &Arc<MemoryLog>, settings: &serde_json::Value) -> Agent {
    let model = FnModel::new(|request| {
        let last = request.messages.iter().last().map(|message| match &**message {
            Message::User { content, .. } => content.text().into_owned(),
            other => other.role().to_string(),
        });
        let paid = request.messages.iter().any(|message| matches!(&**message, Message::Tool(_)));
        if paid {
            text_reply(&format!("after {}", last.unwrap_or_default()))
        } else {
            called(&[("pay", "{}")])
        }
    });
    let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true);
    let log: Arc<dyn Store> = log.clone();
    Agent::builder("payer")
        .model(("m1", Arc::new(model)))
        .instructions("Pay, then say what you heard.")
        .tool(pay)
        .settings(settings)
        .log(log)
        .build()
        .unwrap()
}

fn in_session() -> DriveOptions {
    DriveOptions { session: Some(SessionId::from("s")), ..DriveOptions::default() }
}

/// A run of the session that waits for an approval.
async fn waiting(agent: &Agent) -> Run {
    let run = agent.run_with("Pay.", in_session()).await.unwrap();
    assert_eq!(run.run_state(), RunState::Suspended);
    run
}

/// A restarted process answers the question, and drives the run to its end.
async fn finish(agent: &Agent, run: &Run) -> Run {
    agent.answer(run.id(), "q1", Answer::Approve).await.unwrap();
    agent.resume(run.id()).prepare().await.unwrap().drive().await.unwrap()
}

async fn facts(agent: &Agent, run: &Run) -> Vec<&'static str> {
    let (mut pages, mut kinds) = (RunPages::new(&**agent.log(), run.id()), Vec::new());
    while let Some(batches) = pages.next().await.unwrap() {
        kinds.extend(batches.iter().flat_map(|batch| batch.events.iter()).map(|event| event.fact.kind()));
    }
    kinds
}

#[tokio::test]
async fn e61_refuse_names_the_run_and_is_the_default() {
    let log = Arc::new(MemoryLog::new());
    let first = waiting(&agent(&log, "refuse")).await;
    let refused = agent(&log, "refuse").run_with("And now?", in_session()).await.unwrap_err();
    assert!(matches!(refused, Error::SessionBusy { run, .. } if run == first.id()), "{refused}");
    let usual = Agent::builder("a").model(("m1", FnModel::script([]))).build().unwrap();
    assert_eq!(usual.policy().past.while_running, windlass_core::policy::WhileRunning::Refuse);
}

#[tokio::test]
async fn e61_queue_keeps_messages_in_the_log_and_answers_them_in_order_after_a_restart() {
    let log = Arc::new(MemoryLog::new());
    let first = waiting(&agent(&log, "queue")).await;
    let mut queued = Vec::new();
    for text in ["one", "two"] {
        // Each message comes from a process of its own, which dies at once.
        let admitted = agent(&log, "queue").admit(text, in_session()).await.unwrap();
        let Admitted::Queued { behind, run } = admitted else { panic!("{admitted:?}") };
        assert_eq!(behind, first.id());
        queued.push(run);
    }
    let other = agent(&log, "queue");
    let ended = finish(&other, &first).await;
    assert_eq!(ended.status(), Some(Status::Answered));
    assert_eq!(facts(&other, &ended).await.iter().filter(|kind| **kind == "MessageQueued").count(), 2);
    for (run, text) in queued.iter().zip(["after one", "after two"]) {
        let restarted = agent(&log, "queue");
        let next = restarted.next_queued(&SessionId::from("s"), in_session()).await.unwrap().unwrap();
        assert_eq!(next.id(), *run, "under the id that the log has");
        let next = next.drive().await.unwrap();
        assert_eq!(next.text(), Some(text));
    }
    assert!(
        other.next_queued(&SessionId::from("s"), in_session()).await.unwrap().is_none(),
        "each runs once"
    );
}

#[tokio::test]
async fn e61_a_later_message_runs_what_waits_before_it() {
    let log = Arc::new(MemoryLog::new());
    let first = waiting(&agent(&log, "queue")).await;
    drop(agent(&log, "queue").admit("one", in_session()).await.unwrap());
    finish(&agent(&log, "queue"), &first).await;
    let last = agent(&log, "queue").run_with("two", in_session()).await.unwrap();
    assert_eq!(last.text(), Some("after two"));
    let texts: Vec<String> = last
        .messages()
        .filter_map(|message| match &**message {
            Message::User { content, .. } => Some(content.text().into_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["Pay.", "one", "two"]);
}

#[tokio::test]
async fn e61_steer_enters_the_running_run() {
    let log = Arc::new(MemoryLog::new());
    let first = waiting(&agent(&log, "steer")).await;
    let admitted = agent(&log, "steer").admit("hurry", in_session()).await.unwrap();
    assert!(matches!(admitted, Admitted::Steered { run } if run == first.id()), "{admitted:?}");
    let other = agent(&log, "steer");
    let ended = finish(&other, &first).await;
    assert_eq!(ended.text(), Some("after hurry"));
    assert!(facts(&other, &ended).await.contains(&"Steered"));
}

/// Sends a message from a process of its own and waits for its answer; the answering run, and whether it ran here.
async fn sent(log: Arc<MemoryLog>, text: String) -> (RunId, bool) {
    let sender = agent(&log, "queue");
    let session = SessionId::from("s");
    let (behind, run) = match sender.admit(text, in_session()).await.unwrap() {
        Admitted::Started(prepared) => return (prepared.drive().await.unwrap().id(), true),
        Admitted::Queued { behind, run } => (behind, run),
        other @ (Admitted::Steered { .. } | Admitted::Repeated { .. }) => panic!("{other:?}"),
    };
    match sender.await_turn(&session, behind, run, &in_session()).await.unwrap() {
        Turn::Ours(prepared) => (prepared.drive().await.unwrap().id(), true),
        Turn::Elsewhere => (run, false),
    }
}

/// The user messages of the session's last run, in order.
async fn said_in_session(log: &Arc<MemoryLog>) -> Vec<String> {
    let filter = RunFilter { session: Some(SessionId::from("s")), limit: 1, ..RunFilter::default() };
    let last = log.list(filter).await.unwrap().items.remove(0).run;
    let last = Run::load(&**log, last).await.unwrap();
    last.messages().map(|message| said_in(message)).filter(|text| !text.is_empty()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e61_e74_senders_at_the_same_moment_are_answered_once_each_in_the_order_of_the_queue() {
    for round in 0..5 {
        let log = Arc::new(MemoryLog::new());
        // In every second session there is no run yet that they could wait for.
        let first = if round % 2 == 0 { Some(waiting(&agent(&log, "queue")).await) } else { None };
        let senders: Vec<_> =
            (0..6).map(|n| tokio::spawn(sent(log.clone(), format!("message {n}")))).collect();
        let mut answered = Vec::new();
        let ended = tokio::spawn({
            let log = log.clone();
            async move {
                loop {
                    let filter = RunFilter { status: Some(RunStatus::Suspended), ..RunFilter::default() };
                    for run in log.list(filter).await.unwrap() {
                        let run = Run::load(&*log, run.run).await.unwrap();
                        if !run.questions().is_empty() {
                            finish(&agent(&log, "queue"), &run).await;
                        }
                    }
                    tokio::task::yield_now().await;
                }
            }
        });
        for sender in senders {
            answered.push(sender.await.unwrap());
        }
        ended.abort();
        let ids: BTreeSet<RunId> = answered.iter().map(|(run, _)| *run).collect();
        assert_eq!(ids.len(), 6, "each has a run of its own");
        assert!(answered.iter().all(|(_, here)| *here), "nobody takes what somebody waits for: {answered:?}");
        let all = log.list(RunFilter::default()).await.unwrap();
        assert_eq!(all.len(), 6 + usize::from(first.is_some()));
        let mut queued = Vec::new();
        for run in all.iter().rev() {
            let state = Run::load(&*log, run.run).await.unwrap();
            queued.extend(state.state().queued().map(|queued| queued.run));
        }
        let mut seen = BTreeSet::new();
        queued.retain(|run| seen.insert(*run));
        let began: Vec<RunId> =
            all.iter().rev().map(|run| run.run).filter(|run| seen.contains(run)).collect();
        assert_eq!(began, queued, "in the order of the queue");
        let texts = said_in_session(&log).await;
        let once: BTreeSet<&String> = texts.iter().collect();
        assert_eq!(texts.len(), once.len(), "the conversation has each message once: {texts:?}");
        assert_eq!(texts.len(), all.len(), "and all of them: {texts:?}");
    }
}

/// A sender goes on with the run that it waits for when its process has died.
#[tokio::test]
async fn e61_who_waits_for_a_run_whose_process_has_died_takes_it_up() {
    let log = Arc::new(MemoryLog::new());
    let begun = Arc::new(Notify::new());
    let make = |hangs: bool| {
        let begun = begun.clone();
        let look = FnTool::new("look", move |_, _| {
            let begun = begun.clone();
            async move {
                begun.notify_one();
                if hangs {
                    std::future::pending::<()>().await;
                }
                Ok("seen".into())
            }
        });
        let model = FnModel::new(|request| {
            let seen = request.messages.iter().any(|message| matches!(&**message, Message::Tool(_)));
            if seen { text_reply("done") } else { called(&[("look", "{}")]) }
        });
        let log: Arc<dyn Store> = log.clone();
        Agent::builder("looker")
            .model(("m1", Arc::new(model)))
            .tool(look.spec(|spec| spec.effect = Effect::ReadOnly))
            .settings(&json!({ "while_running": "queue" }))
            .log(log)
            .build()
            .unwrap()
    };
    let first = make(true).prepare("Look.", in_session()).await.unwrap();
    let first_id = first.id();
    tokio::select! {
        run = first.drive() => panic!("{run:?}"),
        () = begun.notified() => {}
    }
    let sender = make(false);
    let admitted = sender.admit("And then?", in_session()).await.unwrap();
    let Admitted::Queued { behind, run } = admitted else { panic!("{admitted:?}") };
    assert_eq!(behind, first_id);
    assert_eq!(holding_messages(&*log, &[first_id]).await.unwrap(), [], "nobody has taken it in yet");
    let turn = sender.await_turn(&SessionId::from("s"), behind, run, &in_session()).await.unwrap();
    let Turn::Ours(prepared) = turn else { panic!("{turn:?}") };
    assert_eq!(prepared.drive().await.unwrap().text(), Some("done"));
    let first = Run::load(&*log, first_id).await.unwrap();
    assert_eq!(first.status(), Some(Status::Answered));
}

#[tokio::test]
async fn e61_a_run_that_holds_a_message_is_needed_until_that_is_answered() {
    let log = Arc::new(MemoryLog::new());
    let first = waiting(&agent(&log, "queue")).await;
    drop(agent(&log, "queue").admit("one", in_session()).await.unwrap());
    let ended = finish(&agent(&log, "queue"), &first).await.id();
    assert_eq!(holding_messages(&*log, &[ended]).await.unwrap(), [ended]);
    let next = agent(&log, "queue").next_queued(&SessionId::from("s"), in_session()).await.unwrap().unwrap();
    let next = next.drive().await.unwrap().id();
    assert_eq!(holding_messages(&*log, &[ended, next]).await.unwrap(), []);
}

/// What the run can no longer hear is not lost with it, whatever ends the run.
#[tokio::test]
async fn e21_e61_a_message_that_the_run_did_not_hear_has_a_run_of_its_own() {
    for (fate, kept) in [("steer", true), ("queue", true), ("refuse", false), ("interrupt", false)] {
        for limit in [false, true] {
            let log = Arc::new(MemoryLog::new());
            let calls = if limit { 1 } else { 100 };
            let settings = json!({ "while_running": fate, "limits": { "model_calls": calls } });
            let make = || agent_of(&log, &settings);
            let first = waiting(&make()).await;
            make().steer(first.id(), Steered::from("hurry").pinned()).await.unwrap();
            let other = make();
            let ended = if limit {
                finish(&other, &first).await
            } else {
                let Cancelled::Ended(run) = other.cancel(first.id(), "enough").await.unwrap() else {
                    panic!()
                };
                *run
            };
            assert_ne!(ended.status(), Some(Status::Answered));
            assert!(facts(&other, &ended).await.contains(&"Steered"));
            let next = other.next_queued(&SessionId::from("s"), in_session()).await.unwrap();
            assert_eq!(next.is_some(), kept, "{fate}, at a limit: {limit}");
            let Some(next) = next else { continue };
            let next = next.drive().await.unwrap();
            let heard = next.messages().filter(|message| said_in(message) == "hurry").count();
            assert_eq!(heard, 1, "{fate}, at a limit: {limit}");
            let left = make().next_queued(&SessionId::from("s"), in_session()).await.unwrap();
            assert!(left.is_none(), "it is answered once");
        }
    }
}

#[tokio::test]
async fn e61_interrupt_cancels_the_run_and_begins_another() {
    let log = Arc::new(MemoryLog::new());
    let first = waiting(&agent(&log, "interrupt")).await;
    let other = agent(&log, "interrupt");
    let second = other.run_with("Something else.", in_session()).await.unwrap();
    assert_ne!(second.id(), first.id());
    let cancelled = Run::load(&**other.log(), first.id()).await.unwrap();
    assert_eq!(cancelled.status(), Some(Status::Cancelled));
    let mut pages = RunPages::new(&**other.log(), first.id());
    let mut reasons = Vec::new();
    while let Some(batches) = pages.next().await.unwrap() {
        for event in batches.iter().flat_map(|batch| batch.events.iter()) {
            if let Fact::People(PeopleFact::CancelRequested(request)) = &event.fact {
                reasons.extend(request.reason.clone());
            }
        }
    }
    assert_eq!(reasons, ["interrupted by a new message".into()]);
}

/// As [`agent_of`], with an output that its finish call gives.
fn typed(log: &Arc<MemoryLog>, fate: &str) -> Agent {
    let model = FnModel::new(|request| {
        let told: Vec<String> = request.messages.iter().map(|message| said_in(message)).collect();
        let paid = request.messages.iter().any(|message| matches!(&**message, Message::Tool(_)));
        let finish = json!({ "told": told.join(" ") }).to_string();
        if paid { called(&[("__finish__", &finish)]) } else { called(&[("pay", "{}")]) }
    });
    let log: Arc<dyn Store> = log.clone();
    Agent::builder("payer")
        .model(("m1", Arc::new(model)))
        .tool(FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true))
        .output_schema(json!({ "type": "object" }))
        .settings(&json!({ "preset": "typed", "limits": { "model_calls": 5 }, "while_running": fate }))
        .log(log)
        .build()
        .unwrap()
}

fn texting(log: &Arc<MemoryLog>, fate: &str) -> Agent {
    agent_of(log, &json!({ "preset": "text", "while_running": fate }))
}

fn refining(log: &Arc<MemoryLog>, fate: &str) -> Agent {
    agent_of(log, &json!({ "preset": "refine", "while_running": fate }))
}

/// A planner that asks a person at once, because it may take no step; then it concludes with all that it was told.
fn planning(log: &Arc<MemoryLog>, fate: &str) -> Agent {
    let model = FnModel::new(|request| match request.purpose {
        Purpose::Decide => {
            let told: Vec<String> = request.messages.iter().map(|message| said_in(message)).collect();
            let step = json!({ "plan_text": ["conclude"], "type": "CONCLUDE", "description": "conclude", "conclusion": told.join(" ") });
            text_reply(&step.to_string())
        }
        _ => text_reply(&json!({ "original_goal_achieved": false }).to_string()),
    });
    let log: Arc<dyn Store> = log.clone();
    Agent::builder("planner")
        .model(("m1", Arc::new(model)))
        .code_program("/bin/true")
        .settings(&json!({ "preset": "plan", "limits": { "plan_steps": 0 }, "while_running": fate }))
        .log(log)
        .build()
        .unwrap()
}

fn said_in(message: &Message) -> String {
    if let Message::User { content, .. } = message { content.text().into_owned() } else { String::new() }
}

type Make = fn(&Arc<MemoryLog>, &str) -> Agent;

/// Answers the run's question, and drives it to its end in a restarted process.
async fn brought_to_its_end(agent: &Agent, run: &Run, answer: &Answer) -> Run {
    agent.answer(run.id(), "q1", answer.clone()).await.unwrap();
    agent.resume(run.id()).prepare().await.unwrap().drive().await.unwrap()
}

/// Each fate of a second message, under another preset.
async fn each_fate(make: Make, answer: Answer) {
    let log = Arc::new(MemoryLog::new());
    let first = waiting(&make(&log, "refuse")).await;
    let refused = make(&log, "refuse").run_with("And now?", in_session()).await.unwrap_err();
    assert!(matches!(refused, Error::SessionBusy { run, .. } if run == first.id()), "{refused}");

    let log = Arc::new(MemoryLog::new());
    let steered = waiting(&make(&log, "steer")).await;
    let admitted = make(&log, "steer").admit("hurry up", in_session()).await.unwrap();
    assert!(matches!(admitted, Admitted::Steered { run } if run == steered.id()), "{admitted:?}");
    let other = make(&log, "steer");
    let ended = brought_to_its_end(&other, &steered, &answer).await;
    let told = ended.output().map_or_else(|| ended.text().unwrap().to_owned(), ToString::to_string);
    assert!(told.contains("hurry up"), "{told}");
    assert_eq!(facts(&other, &ended).await.iter().filter(|kind| **kind == "Steered").count(), 1);

    let log = Arc::new(MemoryLog::new());
    let before = waiting(&make(&log, "queue")).await;
    let admitted = make(&log, "queue").admit("one", in_session()).await.unwrap();
    let Admitted::Queued { behind, run: queued } = admitted else { panic!("{admitted:?}") };
    assert_eq!(behind, before.id());
    brought_to_its_end(&make(&log, "queue"), &before, &answer).await;
    let next = make(&log, "queue").next_queued(&SessionId::from("s"), in_session()).await.unwrap().unwrap();
    assert_eq!(next.id(), queued, "under the id that the log has");

    let log = Arc::new(MemoryLog::new());
    let interrupted = waiting(&make(&log, "interrupt")).await;
    let other = make(&log, "interrupt");
    let second = other.run_with("Something else.", in_session()).await.unwrap();
    assert_ne!(second.id(), interrupted.id());
    let cancelled = Run::load(&**other.log(), interrupted.id()).await.unwrap();
    assert_eq!(cancelled.status(), Some(Status::Cancelled));
}

#[tokio::test]
async fn e61_under_typed_a_second_message_has_one_fate() {
    Box::pin(each_fate(typed, Answer::Approve)).await;
}

#[tokio::test]
async fn e61_under_text_a_second_message_has_one_fate() {
    Box::pin(each_fate(texting, Answer::Approve)).await;
}

#[tokio::test]
async fn e61_under_refine_a_second_message_has_one_fate() {
    Box::pin(each_fate(refining, Answer::Approve)).await;
}

#[tokio::test]
async fn e61_under_plan_a_second_message_has_one_fate() {
    Box::pin(each_fate(planning, Answer::Raise(2.0))).await;
}
