//! Forks of runs of every kind, at every event: each ends as its base does, and nothing happens twice.

use std::collections::BTreeMap;
use windlass_core::event::{CallFact, ModelFact};

use windlass_core::policy::Preset;
use windlass_core::tool::Effect;
use windlass_core::{CallId, CallOutcome, Fact, Message, RunId, Status};
use windlass_error::Diagnostic as _;
use windlass_runtime::{Agent, DriveOptions, Error, ForkOptions, Run};
use windlass_testing::{FnModel, called, text_reply};

use crate::ground::{Ground, assert_sound, assert_valid};
use crate::scenarios::{SCENARIOS, Scenario, calls_then_answers, slow_tool};

fn base(scenario: &Scenario) -> (Ground, Agent, RunId) {
    let ground = Ground::new();
    let agent = scenario.agent(&ground);
    let prepared = ground.wait(agent.prepare("Go on.", scenario.options(&ground))).unwrap();
    let run = prepared.id();
    ground.drive(prepared, |_| false).unwrap();
    (ground, agent, run)
}

/// How often tools began to work on each call.
fn begun(ground: &Ground) -> BTreeMap<CallId, usize> {
    let mut times = BTreeMap::new();
    for call in ground.seen.begun.lock().unwrap().iter() {
        *times.entry(call.clone()).or_default() += 1;
    }
    times
}

/// The calls that the model had asked for by then and that came to an end of their own: later ones are the fork's own,
/// and what was stopped follows its effect.
fn calls(ground: &Ground, run: RunId, at: u64) -> Vec<CallId> {
    let facts = ground.facts(run);
    let stopped = |call: &CallId| {
        facts.iter().any(|fact| {
            if let Fact::Call(CallFact::Finished(end)) = fact {
                end.call == *call && matches!(end.outcome, CallOutcome::Interrupted | CallOutcome::Abandoned)
            } else {
                false
            }
        })
    };
    let turns = facts.iter().take(at as usize).filter_map(|fact| {
        if let Fact::Model(ModelFact::Completed(turn)) = fact { Some(&turn.calls) } else { None }
    });
    turns.flatten().map(|call| call.id.clone()).filter(|call| !stopped(call)).collect()
}

fn options(at: u64) -> ForkOptions {
    ForkOptions { at, ..ForkOptions::default() }
}

#[test]
fn e36_a_fork_at_any_event_ends_as_its_base_and_repeats_nothing() {
    for scenario in SCENARIOS {
        let (ground, agent, run) = base(scenario);
        let whole = ground.state(run);
        let status = whole.ended().unwrap().status;
        for at in 1..whole.version() {
            let place = format!("{}, forked after event {at}", scenario.name);
            let before = begun(&ground);
            let drive = windlass_runtime::DriveOptions { session: None, ..scenario.options(&ground) };
            let fork = ground.wait(agent.fork(run, options(at), drive)).expect(&place);
            let (id, saved) = (fork.prepared.id(), fork.saved);
            let forked = ground.drive(fork.prepared, |_| false).expect(&place);
            let end = forked.state().ended().unwrap().status;
            assert_eq!(end, status, "{place}");
            assert_valid(forked.state());
            assert_eq!(ground.state(id), *forked.state(), "{place}: the fold of the log is another state");
            // Every result of the base's turn stands in the fork's conversation.
            if status == Status::Answered {
                assert_eq!(results(&whole), results(forked.state()), "{place}");
            }
            let kept = calls(&ground, run, at);
            for (call, times) in begun(&ground).into_iter().filter(|(call, _)| kept.contains(call)) {
                assert!(
                    before.get(&call).is_none_or(|before| times <= *before),
                    "{place}: {call} ran in the base, and again in the fork"
                );
            }
            let turns = ground.kinds(id).iter().filter(|kind| **kind == "TurnCompleted").count() as u64;
            let again = ground.wait(windlass_read::load_until(&*ground.memory, run, at)).unwrap();
            assert_eq!(saved.model_calls, again.counters().model_calls, "{place}");
            assert!(saved.model_calls + turns >= whole.counters().model_calls, "{place}");
            let replayed =
                ground.wait(windlass_read::reports::replay_run(&*ground.memory, id, None)).unwrap();
            assert_eq!(replayed.difference, None, "{place}");
        }
    }
}

/// Each event is a checkpoint, and a fork rewinds to it.
#[test]
fn p36_a_rewind_to_after_each_call_has_all_earlier_results_and_runs_none_twice() {
    let names = ["one", "two", "three", "four"];
    let ground = Ground::new();
    // One call a turn.
    let agent = ground.agent(FnModel::new(move |request| {
        let done = request.messages.iter().filter(|message| matches!(***message, Message::Tool(_))).count();
        names.get(done).map_or_else(|| text_reply("done"), |name| called(&[(name, "{}")]))
    }));
    let agent = names
        .into_iter()
        .fold(agent, |agent, name| {
            agent.tool(slow_tool(&ground, name, 5).spec(|spec| spec.effect = Effect::Once))
        })
        .build()
        .unwrap();
    let prepared = ground.wait(agent.prepare("Go on.", DriveOptions::default())).unwrap();
    let run = prepared.id();
    ground.drive(prepared, |_| false).unwrap();
    let whole = results(&ground.state(run));
    let ends = ground.kinds(run).into_iter().zip(1..).filter(|(kind, _)| *kind == "CallFinished");
    let ends: Vec<u64> = ends.map(|(_, at)| at).collect();
    assert_eq!((ends.len(), whole.len()), (names.len(), names.len()));
    for (done, at) in (1..).zip(ends) {
        let before = begun(&ground);
        let fork = ground.wait(agent.fork(run, options(at), DriveOptions::default())).unwrap();
        let forked = ground.drive(fork.prepared, |_| false).unwrap();
        assert_eq!(forked.status(), Some(Status::Answered));
        assert_eq!(results(forked.state()), whole, "after call {done}: all results are there, in order");
        let after = begun(&ground).values().sum::<usize>() - before.values().sum::<usize>();
        assert_eq!(after, names.len() - done, "after call {done}: only the later calls run");
    }
}

fn results(state: &windlass_core::State) -> Vec<String> {
    let messages = state.history().iter().filter_map(|message| {
        if let windlass_core::Message::Tool(result) = &**message {
            Some(result.content.text().into_owned())
        } else {
            None
        }
    });
    messages.collect()
}

#[test]
fn a_fork_of_a_run_that_had_ended_wants_an_input() {
    let (ground, agent, run) = base(&SCENARIOS[2]);
    let last = ground.state(run).version();
    let refused = ground.wait(agent.fork(run, options(last), DriveOptions::default())).unwrap_err();
    assert_eq!(refused.code(), "input.nothing_to_fork");
    assert!(refused.help().unwrap().contains("give an input"));
    let say = Some("And once more.".into());
    let fork =
        ground.wait(agent.fork(run, ForkOptions { say, ..options(last) }, DriveOptions::default())).unwrap();
    let forked = ground.drive(fork.prepared, |_| false).unwrap();
    assert_eq!(forked.status(), Some(Status::Answered));
    assert_eq!(forked.messages().count(), 2 * ground.state(run).history().len());
    for at in [0, last + 1] {
        let refused = ground.wait(agent.fork(run, options(at), DriveOptions::default())).unwrap_err();
        assert!(matches!(refused, Error::NoSuchEvent { .. }), "{refused:?}");
    }
}

#[test]
fn what_is_said_to_a_fork_enters_once_before_its_first_model_call() {
    let (ground, agent, run) = base(&SCENARIOS[2]);
    let last = ground.state(run).version();
    for at in 1..last {
        let say = Some("Be careful.".into());
        let fork = ground
            .wait(agent.fork(run, ForkOptions { say, ..options(at) }, DriveOptions::default()))
            .unwrap();
        let id = fork.prepared.id();
        let forked = ground.drive(fork.prepared, |_| false).unwrap();
        let said = forked.messages().filter(|message| {
            matches!(&***message, windlass_core::Message::User { content, .. } if content.text() == "Be careful.")
        });
        assert_eq!(said.count(), 1, "after event {at}: {:?}", ground.kinds(id));
        assert_eq!(forked.status(), Some(Status::Answered));
    }
}

/// A call that was lost in the base has the base's key in the fork, whichever run it is tried in.
#[test]
fn e30_a_call_keeps_the_key_of_the_run_that_first_started_it() {
    let keys = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let ground = Ground::new();
    let seen = keys.clone();
    let (environment, first) = (ground.environment.clone(), std::sync::atomic::AtomicBool::new(true));
    let tool = windlass_testing::FnTool::new("put", move |context, _| {
        seen.lock().unwrap().push(context.idempotency_key.to_string());
        let (environment, hangs) =
            (environment.clone(), first.swap(false, std::sync::atomic::Ordering::SeqCst));
        async move {
            use windlass_runtime::Environment as _;
            if hangs {
                environment.sleep_until(environment.now() + 60_000).await;
            }
            Ok("put".into())
        }
    });
    let agent = ground
        .agent(calls_then_answers(&[("put", "{}")]))
        .tool(tool.spec(|spec| spec.effect = Effect::Idempotent))
        .build()
        .unwrap();
    let prepared = ground.wait(agent.prepare("Go on.", DriveOptions::default())).unwrap();
    let run = prepared.id();
    let lost = ground.drive(prepared, |_| !keys.lock().unwrap().is_empty());
    assert!(lost.is_none(), "the process died while the tool ran");
    let version = ground.state(run).version();
    // Forked before the call was started, and again within the fork.
    for at in [version - 1, version] {
        let fork = ground.wait(agent.fork(run, options(at), DriveOptions::default())).unwrap();
        let id = fork.prepared.id();
        ground.drive(fork.prepared, |_| false).unwrap();
        assert_eq!(keys.lock().unwrap().pop().unwrap(), format!("{run}:call_1_1"));
        let fork = ground.wait(agent.fork(id, options(1), DriveOptions::default())).unwrap();
        let ran = keys.lock().unwrap().len();
        ground.drive(fork.prepared, |_| false).unwrap();
        assert_eq!(keys.lock().unwrap().len(), ran, "the fork has ended it");
    }
}

#[test]
fn e24_a_fork_inherits_no_approval_and_an_approved_call_that_ran_is_not_run_again() {
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == "an approval").unwrap();
    let (ground, agent, run) = base(scenario);
    let facts = ground.facts(run);
    let decided =
        facts.iter().position(|fact| matches!(fact, Fact::Call(CallFact::Decided(_)))).unwrap() as u64 + 1;
    let before = begun(&ground);
    // Nobody is at hand: the fork waits.
    let fork = ground.wait(agent.fork(run, options(decided), DriveOptions::default())).unwrap();
    let waiting = ground.drive(fork.prepared, |_| false).unwrap();
    assert_eq!(waiting.run_state(), windlass_core::RunState::Suspended);
    assert_eq!(waiting.questions().len(), 1, "it is asked anew");
    let resumed =
        ground.wait(agent.resume(waiting.id()).options(scenario.options(&ground)).prepare()).unwrap();
    let ended = ground.drive(resumed, |_| false).unwrap();
    assert_eq!(ended.status(), Some(Status::Answered));
    assert_eq!(begun(&ground), before, "its result is that of the base");
    assert!(!ground.kinds(waiting.id()).contains(&"CallStarted"));
}

#[test]
fn a_changed_agent_applies_only_where_it_is_asked_for() {
    let ground = Ground::new();
    let calls = &[("look", "{}")];
    let build = |approve: bool| {
        let tool = slow_tool(&ground, "look", 5).spec(|spec| spec.approve = approve);
        ground.agent(calls_then_answers(calls)).instructions("Look.").tool(tool).build().unwrap()
    };
    let (agent, careful) = (build(false), build(true));
    let prepared = ground.wait(agent.prepare("Go on.", DriveOptions::default())).unwrap();
    let run = prepared.id();
    ground.drive(prepared, |_| false).unwrap();
    let refused = ground.wait(careful.fork(run, options(2), DriveOptions::default())).unwrap_err();
    assert_eq!(refused.code(), "run.agent_changed");
    let how = ForkOptions { changed: true, ..options(2) };
    let fork = ground.wait(careful.fork(run, how, DriveOptions::default())).unwrap();
    let waiting = ground.drive(fork.prepared, |_| false).unwrap();
    assert_eq!(waiting.questions().len(), 1, "the changed agent asks a person first");
}

/// K17: what the caller instructed stands behind the agent's own words, in forks as in the run itself.
#[test]
fn k17_a_fork_keeps_what_the_caller_instructed() {
    let ground = Ground::new();
    let build = |words: &str| {
        let policy = Preset::TEXT.policy();
        ground.agent(calls_then_answers(&[])).instructions(words).policy(policy).build().unwrap()
    };
    let (agent, other) = (build("Look."), build("Look twice."));
    let input = vec![Message::system("Be brief."), Message::user("Go on.")];
    let prepared = ground.wait(agent.prepare(input, DriveOptions::default())).unwrap();
    let run = prepared.id();
    let ended = ground.drive(prepared, |_| false).unwrap();
    let words_of = |message: &Message| {
        if let Message::System { text } = message { text.to_string() } else { panic!("{message:?}") }
    };
    let prompt = |run: &Run| run.state().prompt().iter().map(|said| words_of(said)).collect::<Vec<_>>();
    assert_eq!(prompt(&ended), ["Look.", "Be brief."]);
    for (agent, changed, words) in [(&agent, false, "Look."), (&other, true, "Look twice.")] {
        let how = ForkOptions { changed, ..options(1) };
        let fork = ground.wait(agent.fork(run, how, DriveOptions::default())).unwrap();
        let ended = ground.drive(fork.prepared, |_| false).unwrap();
        assert_eq!(prompt(&ended), [words, "Be brief."]);
        assert_sound(&ground, &ended);
    }
}
