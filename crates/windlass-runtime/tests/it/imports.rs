//! E24: what a run from elsewhere says of approvals, of its agent or of its tasks counts for nothing here.

use std::sync::Arc;

use windlass_core::event::{
    Adjusted, Cause, DelegationFact, InputReceived, ModelFact, QuestionKind, ResumedBy, RunResumed, TaskOrder,
};
use windlass_core::policy::Preset;
use windlass_core::run::Accepted;
use windlass_core::tool::Effect;
use windlass_core::{Answer, Event, Fact, Input, InputKind, Owner, RunId, Status, decide};
use windlass_error::Diagnostic as _;
use windlass_read::exchange::import_run;
use windlass_runtime::{Agent, AgentDelegate, DriveOptions, Error, ForkOptions, Run};
use windlass_store::{Batch, Holder, Log};

use crate::ground::Ground;
use crate::scenarios::{calls_then_answers, slow_tool};

/// An agent whose tool a person must allow.
fn payer(ground: &Ground, effect: Effect) -> Agent {
    let pay = slow_tool(ground, "pay", 5).spec(|spec| {
        spec.approve = true;
        spec.effect = effect;
    });
    let model = ground.watched(calls_then_answers(&[("pay", r#"{"euro":1}"#)]));
    Agent::builder("payer")
        .model(("function", model))
        .tool(pay)
        .log(ground.log.clone())
        .environment(Arc::new(ground.environment.clone()))
        .build()
        .unwrap()
}

/// A ground whose runs have other numbers than those of another one.
fn elsewhere() -> Ground {
    use windlass_runtime::Environment as _;
    let ground = Ground::new();
    for _ in 0..10 {
        ground.environment.new_run();
    }
    ground
}

fn driven(ground: &Ground, agent: &Agent) -> Run {
    let prepared = ground.wait(agent.prepare("Go.", DriveOptions::default())).unwrap();
    ground.wait(prepared.drive()).unwrap()
}

fn batches(ground: &Ground, run: RunId) -> Vec<Batch> {
    ground.wait(ground.memory.read(run, 1, usize::MAX)).unwrap()
}

/// The appends of a run whose call was allowed over there, and had begun when its process died.
fn allowed(effect: Effect) -> (RunId, Vec<Batch>) {
    let ground = elsewhere();
    let run = driven(&ground, &payer(&ground, effect));
    let mut all = batches(&ground, run.id());
    let what = InputKind::Answered { question: "q1".into(), answer: Answer::Approve, by: None };
    let Accepted { events, cause, .. } =
        decide(run.state(), Input { at: run.state().clock(), what }).unwrap();
    assert!(events.iter().any(|event| event.fact.kind() == "CallStarted"));
    all.push(Batch { first: run.state().version() + 1, cause, events: events.into() });
    (run.id(), all)
}

/// The appends with other arguments.
fn forged(mut batches: Vec<Batch>) -> Vec<Batch> {
    for batch in &mut batches {
        let mut events = batch.events.to_vec();
        for event in &mut events {
            if let Fact::Model(ModelFact::Completed(turn)) = &mut event.fact {
                turn.calls.iter_mut().for_each(|call| call.args = r#"{"euro":1000000}"#.into());
            }
        }
        batch.events = events.into();
    }
    batches
}

fn import(ground: &Ground, run: RunId, batches: Vec<Batch>) {
    ground
        .wait(import_run(&*ground.memory, &Holder("import".into()), &Owner::default(), run, batches))
        .unwrap();
}

fn resumed(ground: &Ground, agent: &Agent, run: RunId, changed: bool) -> Result<Run, Error> {
    let prepared = ground.wait(async {
        let resume = agent.resume(run);
        if changed { resume.with_changed_agent().prepare().await } else { resume.prepare().await }
    })?;
    ground.wait(prepared.drive())
}

/// The run waits with the question whether the call may run, and shows what would.
fn asks(ground: &Ground, run: &Run) {
    let kinds: Vec<_> = run.questions().iter().map(|question| question.kind).collect();
    assert_eq!(kinds, [QuestionKind::Approval], "{:?}", run.questions());
    assert!(run.questions()[0].text.contains("1000000"), "{:?}", run.questions());
    assert!(ground.seen.begun.lock().unwrap().is_empty(), "nothing has run");
}

#[test]
fn e24_a_call_that_was_allowed_elsewhere_is_asked_about_anew() {
    for effect in [Effect::ReadOnly, Effect::Idempotent, Effect::Once] {
        let (run, batches) = allowed(effect);
        let ground = Ground::new();
        let agent = payer(&ground, effect);
        import(&ground, run, forged(batches));
        let waits = resumed(&ground, &agent, run, true).unwrap();
        asks(&ground, &waits);
        let version = waits.state().version();
        let again = resumed(&ground, &agent, run, false).unwrap();
        asks(&ground, &again);
        assert!(again.state().version() > version);
        assert!(again.questions().len() == 1);
        // A person here may still allow it. Of a call with an effect they are then asked whether it has happened.
        let question = again.questions()[0].id.clone();
        ground
            .wait(agent.post(run, InputKind::Answered { question, answer: Answer::Approve, by: None }))
            .unwrap();
        let end = resumed(&ground, &agent, run, false).unwrap();
        if effect == Effect::Once {
            assert_eq!(end.questions()[0].kind, QuestionKind::Outcome);
            assert!(ground.seen.begun.lock().unwrap().is_empty());
        } else {
            assert_eq!(end.status(), Some(Status::Answered));
            assert_eq!(ground.seen.begun.lock().unwrap().len(), 1);
        }
    }
}

#[test]
fn e24_a_fork_of_an_imported_run_asks_anew_too() {
    for effect in [Effect::ReadOnly, Effect::Once] {
        let (run, batches) = allowed(effect);
        let at = batches.last().unwrap().last();
        let ground = Ground::new();
        let agent = payer(&ground, effect);
        import(&ground, run, forged(batches));
        let options = ForkOptions { at, changed: true, say: None };
        let fork = ground.wait(agent.fork(run, options, DriveOptions::default())).unwrap();
        asks(&ground, &ground.wait(fork.prepared.drive()).unwrap());
    }
}

#[test]
fn e24_an_import_that_names_an_agent_of_ours_is_foreign_all_the_same() {
    let (run, mut batches) = allowed(Effect::ReadOnly);
    let ground = Ground::new();
    let agent = payer(&ground, Effect::ReadOnly);
    // As if this very agent had gone on with it, under a policy and with tools that ask nobody.
    let mut tools = agent.tools().to_vec();
    for tool in &mut tools {
        tool.approve = false;
    }
    let adjusted = Adjusted {
        agent: Some(agent.agent_ref().clone()),
        policy: Some(Arc::new(Preset::CHAT.policy())),
        tools: Some(Arc::new(tools)),
        ..Adjusted::default()
    };
    let at = batches[0].events[0].at;
    let facts = [
        Fact::from(RunResumed {
            holder: "x".into(),
            epoch: 9,
            clock_behind_ms: None,
            by: ResumedBy::Runtime,
        }),
        adjusted.into(),
    ];
    let events: Vec<Event> = facts.map(|fact| Event { at, fact }).into();
    let (first, cause) = (batches.last().unwrap().last() + 1, Cause::Resumed);
    batches.push(Batch { first, cause, events: events.into() });
    import(&ground, run, forged(batches));
    let refused = resumed(&ground, &agent, run, false).expect_err("it is no run of this agent");
    assert_eq!(refused.code(), "run.agent_changed");
    asks(&ground, &resumed(&ground, &agent, run, true).unwrap());
}

#[test]
fn e24_a_task_that_an_import_claims_to_have_handed_over_leads_into_no_run_of_ours() {
    let boss = |ground: &Ground| {
        let payer = AgentDelegate::new(payer(ground, Effect::ReadOnly));
        let model = calls_then_answers(&[("payer", r#"{"task":"Pay."}"#)]);
        ground.agent(model).delegate(Arc::new(payer)).build().unwrap()
    };
    // Here a run waits for somebody to allow a payment.
    let ground = Ground::new();
    let waiting = driven(&ground, &payer(&ground, Effect::ReadOnly));
    // Elsewhere one is made whose task, it says, is done there; and its question is answered.
    let other = elsewhere();
    let run = driven(&other, &boss(&other));
    let mut batches = batches(&other, run.id());
    let handed = |fact: &Fact| matches!(fact, Fact::Delegation(DelegationFact::Started(_)));
    let last = batches.iter().position(|batch| batch.events.iter().any(|event| handed(&event.fact))).unwrap();
    batches.truncate(last + 1);
    let mut events = batches[last].events.to_vec();
    for event in &mut events {
        if let Fact::Delegation(DelegationFact::Started(started)) = &mut event.fact {
            started.run = waiting.id();
            started.order = TaskOrder::Answer(Box::new(InputReceived {
                question: "q1".into(),
                answer: Answer::Approve,
                by: None,
            }));
        }
    }
    batches[last].events = events.into();
    import(&ground, run.id(), batches);
    let end = resumed(&ground, &boss(&ground), run.id(), true).unwrap();
    assert!(ground.seen.begun.lock().unwrap().is_empty(), "nothing was paid");
    assert_eq!(ground.state(waiting.id()).version(), waiting.state().version(), "that run is as it was");
    assert_eq!(end.status(), Some(Status::Answered), "its model was told why");
    let told = end
        .messages()
        .any(|message| message.content().is_some_and(|text| text.text().contains("is not a child of")));
    assert!(told, "{:?}", end.messages().collect::<Vec<_>>());
}

#[test]
fn an_imported_run_enters_no_session_by_itself() {
    let told = |session: &str| DriveOptions { session: Some(session.into()), ..DriveOptions::default() };
    let says = |ground: &Ground| {
        let model = ground.watched(calls_then_answers(&[]));
        let log = (ground.log.clone(), Arc::new(ground.environment.clone()));
        Agent::builder("talker").model(("function", model)).log(log.0).environment(log.1).build().unwrap()
    };
    let run_in = |ground: &Ground, said: &str| {
        let prepared = ground.wait(says(ground).prepare(said, told("talk"))).unwrap();
        ground.wait(prepared.drive()).unwrap()
    };
    let foreign = elsewhere();
    let imported = run_in(&foreign, "Words from elsewhere.").id();
    let ground = Ground::new();
    run_in(&ground, "Our first words.");
    import(&ground, imported, batches(&foreign, imported));
    let next = run_in(&ground, "Our next words.");
    let said: Vec<String> = next
        .state()
        .history()
        .iter()
        .filter_map(|message| Some(message.content()?.text().into_owned()))
        .collect();
    assert_eq!(said, ["Our first words.", "Our next words."]);
}
