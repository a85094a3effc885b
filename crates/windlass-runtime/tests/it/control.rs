//! Reaching runs from anywhere: where an input goes, who ends a run that is cancelled, which runs an agent has.

use std::cell::RefCell;
use std::future::IntoFuture;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::join;
use windlass_core::event::{DelegationFact, PeopleFact, SteerKind, Steered};
use windlass_core::tool::ToolKind;
use windlass_core::{Answer, Fact, InputKind, Message, RunId, Status};
use windlass_error::Diagnostic as _;
use windlass_models::ModelRequest;
use windlass_runtime::control::{self, Cancelled, Delivery};
use windlass_runtime::{Agent, AgentDelegate, DriveOptions, Environment, Run};
use windlass_store::conformance::LostRemovals;
use windlass_store::{Inbox as _, Store};
use windlass_testing::{BEGINNING, FnModel, FnTool, called, text_reply};
use windlass_tools::ToolError;

use crate::ground::{Ground, assert_sound};
use crate::scenarios::{calls_then_answers, slow_tool};

/// An agent whose call a person must allow.
fn payer(ground: &Ground) -> Agent {
    let pay = slow_tool(ground, "pay", 5).spec(|spec| spec.approve = true);
    ground.agent(calls_then_answers(&[("pay", "{}")])).tool(pay).build().unwrap()
}

fn driven(ground: &Ground, agent: &Agent) -> Run {
    let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
    ground.wait(prepared.drive()).unwrap()
}

fn ended(cancelled: Cancelled) -> Run {
    match cancelled {
        Cancelled::Ended(run) => *run,
        Cancelled::Asked(holder) => panic!("{} drives the run", holder.0),
    }
}

#[test]
fn e25_an_answer_for_a_run_that_nobody_drives_waits_for_its_resume() {
    let ground = Ground::new();
    let agent = payer(&ground);
    let run = driven(&ground, &agent).id();
    assert_eq!(ground.wait(agent.answer(run, "q1", Answer::Approve)).unwrap(), Delivery::Waiting);
    let run = ground.wait(agent.resume(run).into_future()).unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    let late = ground.wait(agent.answer(run.id(), "q1", Answer::Approve)).unwrap_err();
    assert_eq!(late.code(), "input.ended");
}

#[test]
fn words_for_a_run_that_nobody_drives_wait_for_its_resume() {
    let ground = Ground::new();
    let agent = payer(&ground);
    let run = driven(&ground, &agent).id();
    assert_eq!(ground.wait(agent.steer(run, "Hurry.")).unwrap(), Delivery::Waiting);
    assert!(!ground.kinds(run).contains(&"Steered"));
    ground.wait(agent.resume(run).into_future()).unwrap();
    assert!(ground.kinds(run).contains(&"Steered"));
}

/// However late a message comes, the run hears it, or its sender is told that the run has ended.
#[test]
fn e21_a_message_that_is_posted_while_a_run_ends_is_heard_or_refused() {
    let (mut heard, mut refused) = (0, 0);
    for at in 1.. {
        let ground = Ground::slow();
        let last = |request: &ModelRequest| request.messages.iter().last().cloned();
        let look = slow_tool(&ground, "look", 5);
        let model = FnModel::new(move |request| match last(request).as_deref() {
            Some(Message::Tool(_)) => text_reply("seen"),
            Some(Message::User { content, .. }) if content.text() == "Also in French." => text_reply("vu"),
            _ => called(&[("look", "{}")]),
        });
        let agent = ground.agent(model).tool(look).build().unwrap();
        let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
        let (id, posted) = (prepared.id(), RefCell::new(None));
        let run = ground.drive(prepared, |poll| {
            if poll == at {
                let post = ground
                    .memory
                    .post(id, windlass_store::Post::new(1, InputKind::Steer("Also in French.".into())));
                *posted.borrow_mut() = post.now_or_never();
            }
            false
        });
        let run = run.unwrap();
        assert_sound(&ground, &run);
        match posted.take() {
            // The whole run went by before.
            None => break,
            Some(Ok(_)) => {
                heard += 1;
                assert_eq!(steered(&ground, id), ["Also in French."], "at poll {at}");
                assert_eq!(run.text(), Some("vu"), "at poll {at}");
            }
            Some(Err(error)) => {
                refused += 1;
                assert!(matches!(error.code(), "store.ended" | "store.unknown_run"), "{error}");
                assert_eq!(run.text(), Some("seen"), "at poll {at}");
            }
        }
    }
    assert!(heard > 5 && refused > 0, "{heard} were heard, {refused} refused");
    let ground = Ground::new();
    let agent = ground.agent(FnModel::script([text_reply("done")])).build().unwrap();
    let run = ground.wait(agent.run("Go.").into_future()).unwrap();
    let late = ground.wait(agent.steer(run.id(), "Too late.")).unwrap_err();
    assert_eq!(late.code(), "input.ended");
}

/// An agent as [`payer`], which answers once it has paid, whatever is said then.
fn obedient(ground: &Ground) -> Agent {
    let pay = slow_tool(ground, "pay", 5).spec(|spec| spec.approve = true);
    let paid =
        |request: &ModelRequest| request.messages.iter().any(|message| matches!(**message, Message::Tool(_)));
    let model = FnModel::new(
        move |request| if paid(request) { text_reply("done") } else { called(&[("pay", "{}")]) },
    );
    ground.agent(model).tool(pay).build().unwrap()
}

/// The texts of the steering messages that a run has taken.
fn steered(ground: &Ground, run: RunId) -> Vec<String> {
    let text = |fact| {
        if let Fact::People(PeopleFact::Steered(said)) = fact { Some(said.text.to_string()) } else { None }
    };
    ground.facts(run).into_iter().filter_map(text).collect()
}

#[test]
fn p36_p21_an_abort_in_the_inbox_is_never_behind_a_steering_message() {
    let ground = Ground::new();
    let agent = payer(&ground);
    let run = driven(&ground, &agent).id();
    for n in 0..200 {
        ground.wait(agent.steer(run, format!("hurry {n}"))).unwrap();
    }
    ground.wait(agent.pause(run, None)).unwrap();
    ground.wait(agent.answer(run, "q1", Answer::Approve)).unwrap();
    ground.wait(agent.post(run, InputKind::Cancel { reason: None })).unwrap();
    let run = ground.wait(agent.resume(run).into_future()).unwrap();
    assert_eq!(run.status(), Some(Status::Cancelled));
    assert_eq!(steered(&ground, run.id()), [""; 0], "the abort was taken first");
    let kinds = ground.kinds(run.id());
    assert!(!kinds.contains(&"CallStarted"), "an approval beside it frees nothing: {kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| **kind == "InputRequested").count(), 1, "there is no pause");
    assert_sound(&ground, &run);
}

/// The process dies at any moment, and somebody else's abort lies in the inbox.
#[test]
fn e19_p36_an_abort_in_the_inbox_of_a_run_that_died_ends_it() {
    let mut begun_again = 0;
    let finished = (1..200).any(|polls| {
        let ground = Ground::new();
        let look = slow_tool(&ground, "look", 5);
        let agent = ground.agent(calls_then_answers(&[("look", "{}")])).tool(look).build().unwrap();
        let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
        let run = prepared.id();
        if ground.drive(prepared, |poll| poll >= polls).is_some() {
            return true;
        }
        ground.memory.forget_holder(agent.holder());
        // Before its first event there is no run.
        if ground.wait(agent.post(run, InputKind::Cancel { reason: None })).is_ok() {
            let ended = ground.wait(agent.resume(run).into_future()).unwrap();
            assert_eq!(ended.status(), Some(Status::Cancelled), "after {polls} polls");
            assert_sound(&ground, &ended);
            begun_again += ground.kinds(run).iter().filter(|kind| **kind == "CallStarted").count() / 2;
        }
        false
    });
    assert!(finished && begun_again > 0, "it never died during a call");
}

#[test]
fn p36_p21_an_abort_in_this_process_is_never_behind_a_steering_message() {
    let ground = Ground::new();
    let agent = payer(&ground);
    let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
    let (run, handle) = (prepared.id(), prepared.handle());
    let words = futures_util::future::join_all((0..40).map(|n| handle.steer(format!("hurry {n}"))));
    let both = async { join(words, handle.cancel("enough")).await };
    // They are all there before the driver looks.
    let ((refused, cancelled), ended) = ground.wait(join(both, prepared.drive()));
    cancelled.unwrap();
    assert_eq!(ended.unwrap().status(), Some(Status::Cancelled));
    assert!(refused.iter().all(Result::is_err), "{refused:?}");
    assert_eq!(steered(&ground, run), [""; 0]);
}

#[test]
fn p36_e21_messages_keep_their_order_whatever_their_kind() {
    let ground = Ground::new();
    let agent = obedient(&ground);
    let run = driven(&ground, &agent).id();
    let mut words = Vec::new();
    for n in 0..20 {
        let kind = SteerKind::ALL[n % SteerKind::ALL.len()];
        ground.wait(agent.steer(run, Steered::new(kind, format!("word {n}")))).unwrap();
        words.push(format!("word {n}"));
    }
    ground.wait(agent.answer(run, "q1", Answer::Approve)).unwrap();
    let run = ground.wait(agent.resume(run).into_future()).unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    assert_eq!(steered(&ground, run.id()), words);
}

#[test]
fn p21_a_pause_of_a_run_that_nobody_drives_ends_as_a_person_resumes_it() {
    let ground = Ground::new();
    let agent = obedient(&ground);
    let pauses = |run| ground.kinds(run).iter().filter(|kind| **kind == "RunPaused").count();
    let begun = || {
        let run = driven(&ground, &agent).id();
        assert_eq!(ground.wait(agent.pause(run, Some("lunch".into()))).unwrap(), Delivery::Waiting);
        assert!(ground.wait(control::pause_waits(&*ground.log, run)).unwrap());
        ground.wait(agent.answer(run, "q1", Answer::Approve)).unwrap();
        run
    };
    // Nobody says that it is over.
    let run = begun();
    let paused = ground.wait(agent.resume(run).into_future()).unwrap();
    assert_eq!((paused.status(), pauses(run)), (None, 1));
    assert!(!ground.wait(control::pause_waits(&*ground.log, run)).unwrap());
    let done = ground.wait(agent.resume(run).unpaused(None).into_future()).unwrap();
    assert_eq!((done.status(), pauses(run)), (Some(Status::Answered), 1));
    // Somebody says so as it is resumed.
    let run = begun();
    let done = ground.wait(agent.resume(run).unpaused(Some("in French".into())).into_future()).unwrap();
    assert_eq!((done.status(), pauses(run)), (Some(Status::Answered), 0));
    assert_eq!(steered(&ground, run), ["in French"]);
    // Without a pause it says nothing.
    let run = driven(&ground, &agent).id();
    let waits = ground.wait(agent.resume(run).unpaused(Some("in French".into())).into_future()).unwrap();
    assert_eq!((waits.status(), steered(&ground, run).len()), (None, 0));
}

/// A process dies at any moment, and its store loses each removal that should follow an append.
#[test]
fn e28_a_post_whose_removal_was_lost_is_not_used_twice() {
    let mut lost = 0;
    let finished = (1..200).any(|polls| {
        let ground = Ground::new();
        let log = LostRemovals::new(ground.memory.clone());
        let pay = slow_tool(&ground, "pay", 5).spec(|spec| spec.approve = true);
        let agent = ground.agent(calls_then_answers(&[("pay", "{}")])).tool(pay).log(log.clone());
        let agent = agent.build().unwrap();
        let run = driven(&ground, &agent).id();
        ground.wait(agent.steer(run, "Hurry.")).unwrap();
        ground.wait(agent.answer(run, "q1", Answer::Approve)).unwrap();
        let prepared = ground.wait(agent.resume(run).prepare()).unwrap();
        let finished = ground.drive(prepared, |poll| poll >= polls).is_some();
        if !finished {
            ground.memory.forget_holder(agent.holder());
            lost = lost.max(log.left());
            let again = ground.wait(agent.resume(run).into_future()).unwrap();
            assert!(again.status().is_some() || log.left() == 0, "the next holder removes them");
        }
        for kind in ["Steered", "InputReceived"] {
            let used = ground.kinds(run).iter().filter(|other| **other == kind).count();
            assert_eq!(used, 1, "{kind} after {polls} polls: {:?}", ground.kinds(run));
        }
        finished
    });
    assert!(finished && lost == 2, "it never died with both posts used: {lost}");
}

#[test]
fn an_input_for_a_run_that_is_driven_names_its_holder() {
    let ground = Ground::new();
    let look = slow_tool(&ground, "look", 1_000);
    let agent = ground.agent(calls_then_answers(&[("look", "{}")])).tool(look).build().unwrap();
    let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
    let run = prepared.id();
    let (driven, delivery) = ground.wait(join(prepared.drive(), async {
        ground.environment.sleep_until(BEGINNING + 500).await;
        control::steer(&*ground.memory, run, BEGINNING + 500, "Hurry.".into()).await.unwrap()
    }));
    assert_eq!(delivery, Delivery::Driven(agent.holder().clone()));
    assert_sound(&ground, &driven.unwrap());
}

#[test]
fn a_run_that_nobody_drives_is_ended_by_who_cancels_it() {
    for with_its_agent in [true, false] {
        let ground = Ground::new();
        let agent = payer(&ground);
        let run = driven(&ground, &agent).id();
        let log: Arc<dyn Store> = ground.memory.clone();
        let cancelled = if with_its_agent {
            ground.wait(agent.cancel(run, "enough"))
        } else {
            ground.wait(control::cancel(&log, run, BEGINNING, "enough".into()))
        };
        let run = ended(cancelled.unwrap());
        assert_eq!(run.status(), Some(Status::Cancelled));
        assert!(ground.seen.begun.lock().unwrap().is_empty(), "the call that waited was begun");
        assert!(ground.facts(run.id()).iter().any(|fact| matches!(fact,
            Fact::People(PeopleFact::CancelRequested(asked)) if asked.reason.as_deref() == Some("enough"))));
        assert_eq!(ground.wait(log.summary(run.id())).unwrap().holder, None);
        assert_sound(&ground, &run);
        let again = ground.wait(agent.cancel(run.id(), "again")).unwrap_err();
        assert_eq!(again.code(), "input.ended");
    }
}

#[test]
fn another_agent_cancels_a_run_without_touching_its_tools() {
    let ground = Ground::new();
    let run = driven(&ground, &payer(&ground)).id();
    let other = ground.agent(calls_then_answers(&[])).instructions("Be brief.").build().unwrap();
    let run = ended(ground.wait(other.cancel(run, "enough")).unwrap());
    assert_eq!(run.status(), Some(Status::Cancelled));
    assert_sound(&ground, &run);
}

#[test]
fn who_drives_a_run_is_asked_to_cancel_it() {
    let ground = Ground::new();
    let look = slow_tool(&ground, "look", 1_000);
    let agent = ground.agent(calls_then_answers(&[("look", "{}")])).tool(look).build().unwrap();
    let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
    let (run, log): (RunId, Arc<dyn Store>) = (prepared.id(), ground.memory.clone());
    let (driven, end) = ground.wait(join(prepared.drive(), async {
        ground.environment.sleep_until(BEGINNING + 500).await;
        let cancelled = control::cancel(&log, run, BEGINNING + 500, "enough".into()).await.unwrap();
        assert!(matches!(cancelled, Cancelled::Asked(holder) if holder == *agent.holder()));
        control::run_end(&*log, run).await.unwrap()
    }));
    assert_eq!(end.status, Status::Cancelled);
    assert_eq!(driven.unwrap().status(), Some(Status::Cancelled));
    assert!(ground.environment.now() < BEGINNING + 1_000, "the tool was waited for");
}

/// A root whose delegate asks a person, and the delegate's agent.
fn family(ground: &Ground) -> (Agent, Agent) {
    let ask = FnTool::new("ask", |_, _| async { Err(ToolError::new("people answer this")) });
    let named = |name: &str, calls| {
        let model = ground.watched(calls_then_answers(calls));
        Agent::builder(name)
            .model(("m", model))
            .log(ground.log.clone())
            .environment(Arc::new(ground.environment.clone()))
    };
    let worker = named("worker", &[("ask", r#"{"question": "Which?"}"#)])
        .tool(ask.spec(|spec| spec.kind = ToolKind::Ask));
    let worker = worker.build().unwrap();
    let delegate = Arc::new(AgentDelegate::new(worker.clone()));
    let root = named("root", &[("worker", r#"{"task": "ask"}"#)]).delegate(delegate).build().unwrap();
    (root, worker)
}

/// The run that does the task of this one.
fn child_of(ground: &Ground, run: &Run) -> RunId {
    let facts = ground.facts(run.id());
    let started = facts.iter().find_map(|fact| {
        if let Fact::Delegation(DelegationFact::Started(started)) = fact { Some(started.run) } else { None }
    });
    started.unwrap()
}

#[test]
fn e41_an_agent_that_cancels_its_run_ends_the_child_runs_too() {
    let ground = Ground::new();
    let (root, _) = family(&ground);
    let run = driven(&ground, &root);
    assert_eq!(run.status(), None, "the child waits for somebody");
    let child = child_of(&ground, &run);
    let run = ended(ground.wait(root.cancel(run.id(), "enough")).unwrap());
    assert_eq!(run.status(), Some(Status::Cancelled));
    assert_eq!(ground.state(child).ended().map(|end| end.status), Some(Status::Cancelled));
}

#[test]
fn e59_a_root_whose_child_has_ended_goes_on_when_it_is_resumed() {
    let ground = Ground::new();
    let (root, worker) = family(&ground);
    let run = driven(&ground, &root);
    let child = child_of(&ground, &run);
    // Past the root, as a process did that died before it told the root.
    let answer =
        InputKind::Answered { question: "q1".into(), answer: Answer::Text("The blue one.".into()), by: None };
    ground.wait(worker.post(child, answer)).unwrap();
    let done = ground.wait(worker.resume(child).into_future()).unwrap();
    assert_eq!(done.status(), Some(Status::Answered));
    let run = ground.wait(root.resume(run.id()).into_future()).unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    let received = |run| {
        ground
            .facts(run)
            .into_iter()
            .filter(|fact| matches!(fact, Fact::People(PeopleFact::InputReceived(_))))
            .count()
    };
    assert_eq!((received(run.id()), received(child)), (1, 1), "the answer is delivered once");
}

#[test]
fn an_agent_lists_its_own_runs_by_status_session_and_page() {
    let ground = Ground::new();
    let payer = payer(&ground);
    let session = DriveOptions { session: Some("trip".into()), ..DriveOptions::default() };
    let waits = driven(&ground, &payer).id();
    let prepared = ground.wait(payer.prepare("Go.", session)).unwrap();
    let trip = ground.wait(prepared.drive()).unwrap().id();
    let brief = Agent::builder("brief")
        .model(("function", ground.watched(calls_then_answers(&[]))))
        .log(ground.log.clone())
        .environment(Arc::new(ground.environment.clone()))
        .build()
        .unwrap();
    let answered = driven(&ground, &brief).id();
    let ids = |listing: windlass_runtime::Listing<'_>| -> Vec<RunId> {
        let runs = ground.wait(listing.into_future()).unwrap();
        runs.iter().map(|summary| summary.run).collect()
    };
    assert_eq!(ids(payer.runs()), [trip, waits]);
    assert_eq!(ids(payer.runs().session("trip")), [trip]);
    assert_eq!(ids(payer.runs().status(Status::Answered)), []);
    assert_eq!(ids(brief.runs().status(Status::Answered)), [answered]);
    let first = ground.wait(payer.runs().limit(1).into_future()).unwrap();
    assert_eq!(first.len(), 1);
    assert_eq!(ids(payer.runs().limit(1).after(first.next.clone().unwrap())), [waits]);
    let summary = |run| ground.wait(windlass_store::Index::summary(&*ground.memory, run)).unwrap();
    let asked = summary(waits).headline.question.unwrap();
    assert!(asked.contains("pay"), "a listing says what a run waits for: {asked}");
    let over = summary(answered);
    assert_eq!((over.headline.question, over.ended_at), (None, Some(over.updated_at)));
}
