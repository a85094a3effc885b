//! E23, E24, E25, E28: approvals and answers, from here and from elsewhere, right and wrong, at any moment.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::future::{join, join_all};
use windlass_core::event::{CallFact, DeniedBy, PeopleFact, QuestionKind};
use windlass_core::{Answer, CallOutcome, Fact, InputKind, Message, QuestionId, RunId, Status};
use windlass_error::Diagnostic as _;
use windlass_runtime::control::{Delivery, post};
use windlass_runtime::{Agent, AgentBuilder, DriveOptions, Environment, Error, Run};
use windlass_store::{Inbox, Index};
use windlass_testing::{BEGINNING, FnPeople, FnTool};

use crate::ground::{Ground, assert_sound, options};
use crate::scenarios::{calls_then_answers, slow_tool};

/// An agent whose three equal calls must all be allowed.
fn three(ground: &Ground) -> Agent {
    let calls = &[("pay", r#"{"euro":1}"#), ("pay", r#"{"euro":1}"#), ("pay", r#"{"euro":1}"#)];
    // Equal calls in a row are fine here.
    let pay = slow_tool(ground, "pay", 5).spec(|spec| (spec.approve, spec.poll) = (true, true));
    ground.agent(calls_then_answers(calls)).tool(pay).build().unwrap()
}

fn one(ground: &Ground) -> AgentBuilder {
    let pay = slow_tool(ground, "pay", 5).spec(|spec| {
        spec.approve = true;
        spec.description = "Pays.".into();
    });
    ground.agent(calls_then_answers(&[("pay", "{}")])).tool(pay)
}

/// Runs until somebody is needed.
fn suspended(ground: &Ground, agent: &Agent) -> Run {
    let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
    let run = ground.wait(prepared.drive()).unwrap();
    assert_eq!(run.status(), None);
    run
}

fn resumed(ground: &Ground, agent: &Agent, run: RunId) -> Run {
    let prepared = ground.wait(agent.resume(run).prepare()).unwrap();
    ground.wait(prepared.drive()).unwrap()
}

fn answered(question: &str, answer: Answer) -> InputKind {
    InputKind::Answered { question: question.into(), answer, by: None }
}

fn results(run: &Run) -> Vec<String> {
    let tools = run.messages().filter_map(|message| {
        if let Message::Tool(result) = &**message { Some(result.content.text().into_owned()) } else { None }
    });
    tools.collect()
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    result.expect_err("it fits").code()
}

#[test]
fn e23_answers_from_several_tasks_at_once_each_reach_their_own_call() {
    // Every order in which three people may answer.
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let ground = Ground::slow();
        let answers = [
            Answer::Approve,
            Answer::Deny { reason: Some("not that one".into()) },
            Answer::ApproveWith { args: serde_json::json!({ "euro": 2 }) },
        ];
        // The run waits only for people here, so it parks: somebody at hand keeps it going.
        let hold = FnPeople::thinking(|_, _| Some(Box::pin(std::future::pending())));
        let drive = DriveOptions { people: Some(Arc::new(hold)), ..options() };
        let prepared = ground.wait(three(&ground).prepare("Go.", drive)).unwrap();
        let id = prepared.id();
        let people = order.map(|place| {
            let (handle, environment, answer) =
                (prepared.handle(), ground.environment.clone(), answers[place].clone());
            async move {
                environment.sleep_until(BEGINNING + 100).await;
                handle.answer(QuestionId::from(format!("q{}", place + 1)), answer).await
            }
        });
        let (run, told) = ground.wait(join(prepared.drive(), join_all(people)));
        assert!(told.iter().all(Result::is_ok), "{told:?}");
        let run = run.unwrap();
        assert_eq!(
            results(&run),
            ["pay is done", "Error: The call of pay was denied: not that one", "pay is done"]
        );
        let edited = ground.facts(id).into_iter().find_map(|fact| {
            if let Fact::Call(CallFact::Decided(decided)) = fact
                && matches!(decided.decision, windlass_core::event::Decision::Edited { .. })
            {
                Some(decided.call)
            } else {
                None
            }
        });
        assert_eq!(edited, Some("call_1_3".into()));
        assert_sound(&ground, &run);
    }
}

#[test]
fn always_answers_every_waiting_call_and_counts_in_the_sessions_next_run() {
    let ground = Ground::new();
    let trip = || DriveOptions { session: Some("trip".into()), ..DriveOptions::default() };
    let agent = three(&ground);
    let prepared = ground.wait(agent.prepare("Go.", trip())).unwrap();
    let asked = ground.wait(prepared.drive()).unwrap();
    assert_eq!(asked.questions().len(), 3);
    ground.wait(agent.answer(asked.id(), "q2", Answer::Always)).unwrap();
    let run = resumed(&ground, &agent, asked.id());
    assert_eq!(results(&run), ["pay is done"; 3]);
    // Another process: its agent knows of the rule by the log alone.
    let prepared = ground.wait(three(&ground).prepare("Again.", trip())).unwrap();
    let next = ground.wait(prepared.drive()).unwrap();
    assert_eq!(next.status(), Some(Status::Answered), "{:?}", next.questions());
    let asks = |run: RunId| {
        ground
            .facts(run)
            .iter()
            .filter(|fact| matches!(fact, Fact::People(PeopleFact::InputRequested(_))))
            .count()
    };
    assert_eq!((asks(asked.id()), asks(next.id())), (3, 0));
    assert_sound(&ground, &next);
    let elsewhere = ground.wait(three(&ground).prepare("Go.", DriveOptions::default())).unwrap();
    assert_eq!(ground.wait(elsewhere.drive()).unwrap().status(), None);
}

#[test]
fn e23_an_approved_call_runs_while_others_wait() {
    let ground = Ground::new();
    let agent = three(&ground);
    let run = suspended(&ground, &agent);
    ground.wait(agent.post(run.id(), answered("q2", Answer::Approve))).unwrap();
    let run = resumed(&ground, &agent, run.id());
    assert_eq!(run.status(), None);
    assert_eq!(run.questions().len(), 2);
    assert_eq!(*ground.seen.happened.lock().unwrap(), ["call_1_2".into()].into());
}

#[test]
fn a_question_whose_answer_waits_in_the_log_is_not_put_to_people_again() {
    let ground = Ground::new();
    let agent = one(&ground).build().unwrap();
    let run = suspended(&ground, &agent).id();
    ground.wait(agent.post(run, answered("q1", Answer::Approve))).unwrap();
    let asked = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = asked.clone();
    let people = FnPeople::thinking(move |_, _| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Some(Box::pin(std::future::pending()))
    });
    let prepared = ground.wait(agent.resume(run).shared_people(Arc::new(people)).prepare()).unwrap();
    let run = ground.wait(prepared.drive()).unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[test]
fn e24_a_tool_that_changed_over_a_restart_is_asked_about_again() {
    let ground = Ground::new();
    let run = suspended(&ground, &one(&ground).build().unwrap()).id();
    let pay = slow_tool(&ground, "pay", 5).spec(|spec| {
        spec.approve = true;
        spec.description = "Pays ten times as much.".into();
    });
    let changed = ground.agent(calls_then_answers(&[("pay", "{}")])).tool(pay).build().unwrap();
    // Another agent is refused unless it is asked for.
    let refused = ground.wait(changed.resume(run).prepare()).unwrap_err();
    assert_eq!(refused.code(), "run.agent_changed");

    let prepared = ground.wait(changed.resume(run).with_changed_agent().prepare()).unwrap();
    assert_eq!(ground.wait(prepared.drive()).unwrap().status(), None);
    // This allows what the person saw: not what would run now.
    ground.wait(changed.post(run, answered("q1", Answer::Approve))).unwrap();
    let prepared = ground.wait(changed.resume(run).with_changed_agent().prepare()).unwrap();
    let again = ground.wait(prepared.drive()).unwrap();
    assert!(ground.seen.happened.lock().unwrap().is_empty(), "it ran without a fitting approval");
    assert_eq!(again.questions().len(), 1);
    assert_eq!(again.questions()[0].id, "q2".into());

    ground.wait(changed.post(run, answered("q2", Answer::Approve))).unwrap();
    let prepared = ground.wait(changed.resume(run).with_changed_agent().prepare()).unwrap();
    let run = ground.wait(prepared.drive()).unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    assert_sound(&ground, &run);
}

#[test]
fn e24_an_approval_survives_a_restart_and_is_used_once() {
    let ground = Ground::new();
    let agent = one(&ground).build().unwrap();
    let run = suspended(&ground, &agent);
    ground.wait(agent.post(run.id(), answered("q1", Answer::Approve))).unwrap();
    // Dropped after each poll: the approval is neither lost nor used twice (E25).
    let ground_run = run.id();
    for polls in 1.. {
        let prepared = match ground
            .wait(one(&ground).build().unwrap().resume(ground_run).options(options()).prepare())
        {
            Ok(prepared) => prepared,
            Err(error) => {
                assert_eq!(error.code(), "input.ended");
                break;
            }
        };
        ground.drive(prepared, |count| count >= polls);
    }
    let received = ground.kinds(ground_run).iter().filter(|kind| **kind == "InputReceived").count();
    assert_eq!(received, 1);
    assert_eq!(ground.seen.happened.lock().unwrap().len(), 1);
    assert!(ground.wait(ground.memory.inbox(ground_run, None)).unwrap().is_empty());
}

#[test]
fn resuming_with_an_agent_that_lacks_the_run_s_model_is_refused_and_leaves_the_run_free() {
    let ground = Ground::new();
    let run = suspended(&ground, &one(&ground).build().unwrap()).id();
    let model = ground.watched(calls_then_answers(&[]));
    let other = Agent::builder("tested")
        .model(("another", model))
        .log(ground.log.clone())
        .environment(Arc::new(ground.environment.clone()))
        .build()
        .unwrap();
    let refused = ground.wait(other.resume(run).with_changed_agent().prepare()).unwrap_err();
    assert_eq!(refused.code(), "run.model_gone");
    assert!(refused.help().is_some());
    assert_eq!(resumed(&ground, &one(&ground).build().unwrap(), run).status(), None);
}

#[test]
fn e28_wrong_unknown_second_and_late_answers_are_refused_by_the_handle() {
    let ground = Ground::new();
    let hold = FnPeople::thinking(|_, _| Some(Box::pin(std::future::pending())));
    let drive = DriveOptions { people: Some(Arc::new(hold)), ..options() };
    let prepared = ground.wait(one(&ground).build().unwrap().prepare("Go.", drive)).unwrap();
    let handle = prepared.handle();
    let (run, ()) = ground.wait(join(prepared.drive(), async {
        ground.environment.sleep_until(BEGINNING + 10).await;
        let wrong = handle.answer("q1", Answer::Text("yes".into())).await.unwrap_err();
        assert_eq!(wrong.code(), "input.wrong_answer");
        let why = wrong.to_string();
        assert!(why.contains("accepts approve") && why.contains("not a text"), "{why}");
        assert_eq!(code(handle.answer("q7", Answer::Approve).await), "input.unknown_question");
        handle.answer("q1", Answer::Approve).await.unwrap();
        assert_eq!(code(handle.answer("q1", Answer::Approve).await), "input.unknown_question");
    }));
    assert_eq!(run.unwrap().status(), Some(Status::Answered));
    assert_eq!(code(ground.wait(handle.answer("q1", Answer::Approve))), "input.ended");
    assert_eq!(code(ground.wait(handle.steer("too late"))), "input.ended");
    assert_eq!(code(ground.wait(handle.cancel("enough"))), "input.ended");
}

#[test]
fn e28_what_does_not_fit_is_refused_before_it_is_posted() {
    let ground = Ground::new();
    let agent = one(&ground).build().unwrap();
    let run = suspended(&ground, &agent).id();
    let send = |question: &str, answer| code(ground.wait(agent.post(run, answered(question, answer))));
    assert_eq!(send("q1", Answer::RunAgain), "input.wrong_answer");
    assert_eq!(send("q2", Answer::Approve), "input.unknown_question");
    assert_eq!(
        send("q1", Answer::ApproveWith { args: serde_json::json!("no object") }),
        "input.bad_arguments"
    );
    let nowhere = post(&*ground.memory, RunId::from_number(77), BEGINNING, answered("q1", Answer::Approve));
    assert_eq!(code(ground.wait(nowhere)), "store.unknown_run");
    assert!(ground.wait(ground.memory.inbox(run, None)).unwrap().is_empty());
    ground.wait(agent.post(run, answered("q1", Answer::Approve))).unwrap();
    assert_eq!(resumed(&ground, &agent, run).status(), Some(Status::Answered));
    assert_eq!(send("q1", Answer::Approve), "input.ended");
}

#[test]
fn e28_two_that_answer_at_once_from_elsewhere_one_is_taken_and_the_other_changes_nothing() {
    let ground = Ground::new();
    let agent = one(&ground).build().unwrap();
    let run = suspended(&ground, &agent).id();
    ground.wait(agent.post(run, answered("q1", Answer::Deny { reason: None }))).unwrap();
    ground.wait(agent.post(run, answered("q1", Answer::Approve))).unwrap();
    let run = resumed(&ground, &agent, run);
    assert_eq!(run.status(), Some(Status::Answered));
    assert_eq!(results(&run), ["Error: The call of pay was denied."]);
    assert!(ground.seen.happened.lock().unwrap().is_empty());
}

#[test]
fn e25_an_answer_posted_while_nobody_holds_the_run_is_taken_at_the_next_resume() {
    let ground = Ground::new();
    let agent = one(&ground).build().unwrap();
    let run = suspended(&ground, &agent).id();
    let summary = ground.wait(ground.memory.summary(run)).unwrap();
    assert_eq!(summary.holder, None, "a run that waits is held by nobody");
    ground.wait(post(&*ground.memory, run, BEGINNING, answered("q1", Answer::Approve))).unwrap();
    let run = resumed(&ground, &agent, run);
    assert_eq!(run.status(), Some(Status::Answered));
    assert!(ground.wait(ground.memory.inbox(run.id(), None)).unwrap().is_empty());
    assert_sound(&ground, &run);
}

/// What is ready at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it has to wait"),
    }
}

#[test]
fn e25_an_answer_posted_at_any_moment_while_the_run_is_held_is_not_lost() {
    let mut posted = 0;
    for polls in 0.. {
        let ground = Ground::slow();
        let agent = one(&ground).build().unwrap();
        let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
        let (run, count) = (prepared.id(), Cell::new(0));
        let taken = RefCell::new(None);
        // From another process, so to say: through the log alone.
        let step = || {
            count.set(count.get() + 1);
            if count.get() == polls {
                let sent = now(post(&*ground.memory, run, BEGINNING, answered("q1", Answer::Approve)));
                // Who posts is told whether somebody holds the run, and resumes it if not.
                taken.replace(sent.ok().map(|delivery| matches!(delivery, Delivery::Driven(_))));
            }
            false
        };
        let ended = ground.environment.run(prepared.drive(), step).unwrap().unwrap();
        match taken.into_inner() {
            Some(true) => {
                assert_eq!(ended.status(), Some(Status::Answered), "posted after {polls} polls, and lost");
                posted += 1;
            }
            Some(false) if ended.status().is_some() => posted += 1,
            Some(false) => assert_eq!(resumed(&ground, &agent, run).status(), Some(Status::Answered)),
            None => assert_eq!(ended.status(), None),
        }
        if count.get() < polls {
            break;
        }
    }
    assert!(posted > 0, "the question was never open between two polls");
}

#[test]
fn e25_an_answer_given_by_the_handle_at_any_moment_is_not_lost() {
    let (mut taken, mut left) = (0, 0);
    for turns in 0..60 {
        let ground = Ground::slow();
        let agent = one(&ground).build().unwrap();
        let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
        let handle = prepared.handle();
        let answer = async {
            for _ in 0..turns {
                windlass_testing::yield_now().await;
            }
            handle.answer("q1", Answer::Approve).await
        };
        let (run, told) = ground.wait(join(prepared.drive(), answer));
        let run = run.unwrap();
        match (told, run.status()) {
            (Ok(()), Some(Status::Answered)) => taken += 1,
            // The driver had left by then: the answer is in the durable inbox.
            (Ok(()), None) => {
                left += 1;
                assert_eq!(
                    resumed(&ground, &agent, run.id()).status(),
                    Some(Status::Answered),
                    "after {turns} turns"
                );
            }
            (Err(error), None) => {
                assert_eq!(error.code(), "input.unknown_question", "after {turns} turns");
            }
            (told, status) => panic!("after {turns} turns: {told:?}, {status:?}"),
        }
    }
    assert!(taken > 0 && left > 0, "{taken} taken, {left} left");
}

#[test]
fn e25_an_answer_posted_while_another_driver_works_is_used_by_it() {
    let ground = Ground::slow();
    let calls = &[("look", "{}"), ("pay", "{}")];
    let pay = slow_tool(&ground, "pay", 5).spec(|spec| spec.approve = true);
    let agent = ground
        .agent(calls_then_answers(calls))
        .tool(slow_tool(&ground, "look", 1_000))
        .tool(pay)
        .build()
        .unwrap();
    let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
    let id = prepared.id();
    let (run, ()) = ground.wait(join(prepared.drive(), async {
        ground.environment.sleep_until(BEGINNING + 500).await;
        // Somebody else cannot drive it, but can answer.
        let held = agent.resume(id).prepare().await.unwrap_err();
        assert_eq!(held.code(), "store.held");
        assert!(held.help().is_some());
        post(&*ground.memory, id, BEGINNING + 500, answered("q1", Answer::Approve)).await.unwrap();
    }));
    assert_eq!(run.unwrap().status(), Some(Status::Answered));
    assert!(ground.wait(ground.memory.inbox(id, None)).unwrap().is_empty());
    assert_eq!(ground.environment.now(), BEGINNING + 1_000);
}

#[test]
fn a_handle_reaches_a_run_that_waits_through_its_durable_inbox() {
    let ground = Ground::new();
    let agent = one(&ground).build().unwrap();
    let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
    let handle = prepared.handle();
    let run = ground.wait(prepared.drive()).unwrap();
    assert_eq!(run.status(), None);
    ground.wait(handle.answer("q1", Answer::Approve)).unwrap();
    assert_eq!(resumed(&ground, &agent, run.id()).status(), Some(Status::Answered));
}

#[test]
fn a_run_that_waits_can_be_cancelled_from_elsewhere() {
    let ground = Ground::new();
    let agent = one(&ground).build().unwrap();
    let run = suspended(&ground, &agent).id();
    ground.wait(agent.post(run, InputKind::Cancel { reason: Some("changed my mind".into()) })).unwrap();
    let run = resumed(&ground, &agent, run);
    assert_eq!(run.status(), Some(Status::Cancelled));
    assert_sound(&ground, &run);
}

#[test]
fn people_who_keep_giving_answers_that_do_not_fit_are_asked_no_more() {
    let ground = Ground::new();
    let asked = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = asked.clone();
    let people = FnPeople::thinking(move |_, _| {
        let count = count.clone();
        Some(Box::pin(async move {
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Answer::Text("whatever".into())
        }))
    });
    let drive = DriveOptions { people: Some(Arc::new(people)), ..options() };
    let prepared = ground.wait(one(&ground).build().unwrap().prepare("Go.", drive)).unwrap();
    let run = ground.wait(prepared.drive()).unwrap();
    assert_eq!(run.status(), None);
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 10);
}

#[test]
fn people_who_panic_leave_the_question_open() {
    for in_ask in [false, true] {
        let ground = Ground::new();
        let people = FnPeople::thinking(move |_, _| {
            assert!(in_ask, "panic in `answers`");
            Some(Box::pin(async { panic!("panic in `ask`") }))
        });
        let drive = DriveOptions { people: Some(Arc::new(people)), ..options() };
        let agent = one(&ground).build().unwrap();
        let prepared = ground.wait(agent.prepare("Go.", drive)).unwrap();
        let run = ground.wait(prepared.drive()).unwrap();
        assert_eq!(run.status(), None);
        assert_eq!(run.questions().len(), 1);
        // Somebody sane goes on with it.
        let sane = FnPeople::new(|question| {
            if question.kind == QuestionKind::Approval { Answer::Approve } else { Answer::Unknown }
        });
        let drive = DriveOptions { people: Some(Arc::new(sane)), ..options() };
        let prepared = ground.wait(agent.resume(run.id()).options(drive).prepare()).unwrap();
        assert_eq!(ground.wait(prepared.drive()).unwrap().status(), Some(Status::Answered));
    }
}

#[test]
fn a_denied_call_never_reaches_its_tool() {
    let ground = Ground::new();
    let never = FnTool::new("pay", |_, _| async { panic!("it was called") }).spec(|spec| spec.approve = true);
    let agent = ground.agent(calls_then_answers(&[("pay", "{}")])).tool(never).build().unwrap();
    let people = FnPeople::new(|_| Answer::Deny { reason: None });
    let drive = DriveOptions { people: Some(Arc::new(people)), ..options() };
    let prepared = ground.wait(agent.prepare("Go.", drive)).unwrap();
    let id = prepared.id();
    assert_eq!(ground.wait(prepared.drive()).unwrap().status(), Some(Status::Answered));
    let denied = ground.facts(id).into_iter().any(|fact| {
        if let Fact::Call(CallFact::Finished(finished)) = fact {
            matches!(finished.outcome, CallOutcome::Denied { by: DeniedBy::Person, .. })
        } else {
            false
        }
    });
    assert!(denied);
}
