//! E22, E30: clocks that are set back between two processes stretch no wait and no limit, are on record, and change nothing
//! about which run is the last one.

use windlass_core::event::RunFact;
use windlass_core::policy::LimitKind;
use windlass_core::{Event, Fact, RunId, State, Status, replay};
use windlass_runtime::{Agent, DriveOptions, Environment, Run};
use windlass_store::{Index, Log, RunFilter};
use windlass_testing::{BEGINNING, FnModel, SimEnvironment, text_reply};

use crate::ground::{Ground, assert_sound, options};
use crate::scenarios::{calls_then_answers, slow_tool};

const HOUR: u64 = 3_600_000;
const LIMIT: u64 = 100_000;

/// An agent that asks whether its tool may run, and has 100 s in all.
fn asking(ground: &Ground) -> Agent {
    let tool = slow_tool(ground, "t", 1).spec(|spec| spec.approve = true);
    let agent = ground.agent(calls_then_answers(&[("t", "{}")])).tool(tool);
    let settings = serde_json::json!({ "at_limit": "none", "limits": { "seconds": LIMIT / 1_000 } });
    agent.settings(&settings).build().unwrap()
}

fn resumed(ground: &Ground, agent: &Agent, run: RunId, options: DriveOptions) -> Run {
    let prepared = ground.wait(agent.resume(run).options(options).prepare()).unwrap();
    ground.wait(prepared.drive()).unwrap()
}

fn due(ground: &Ground) -> bool {
    let filter = RunFilter { due: Some(ground.environment.now()), ..RunFilter::default() };
    !ground.wait(ground.log.list(filter)).unwrap().is_empty()
}

fn events(ground: &Ground, run: RunId) -> Vec<Event> {
    let batches = ground.wait(ground.log.read(run, 1, usize::MAX)).unwrap();
    batches.iter().flat_map(|batch| batch.events.iter().cloned()).collect()
}

/// What each take-over says of the clock.
fn jumps(events: &[Event]) -> Vec<Option<u64>> {
    let jump = |event: &Event| {
        if let Fact::Run(RunFact::Resumed(resumed)) = &event.fact {
            Some(resumed.clock_behind_ms)
        } else {
            None
        }
    };
    events.iter().filter_map(jump).collect()
}

#[test]
fn e22_a_clock_that_is_set_back_an_hour_makes_no_deadline_an_hour_later() {
    let ground = Ground::new();
    let agent = asking(&ground);
    let run = ground.wait(agent.run("Go.")).unwrap();
    assert_eq!((run.status(), due(&ground)), (None, false));
    ground.environment.jump(10_000);
    ground.environment.jump_back(HOUR);
    assert!(due(&ground), "whoever looks for runs takes it up, and sets its timer anew");
    let before = ground.environment.now();
    let run = resumed(&ground, &agent, run.id(), options());
    assert_eq!(run.status(), Some(Status::Limit(LimitKind::Seconds)));
    // Nobody can say how much of the wait was over: all of it is waited once more, and no more.
    assert_eq!(ground.environment.now() - before, LIMIT);
    let events = events(&ground, run.id());
    assert_eq!(jumps(&events), [Some(HOUR - 10_000)]);
    assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at), "the run's time went back: {events:?}");
    assert_eq!(events.last().unwrap().at, BEGINNING + LIMIT);
    assert_sound(&ground, &run);
    let batches = ground.wait(ground.log.read(run.id(), 1, usize::MAX)).unwrap();
    let mut state = State::new(run.id());
    for batch in batches {
        state = replay(&state, &batch.cause, &batch.events).unwrap();
    }
}

#[test]
fn e22_a_run_that_is_taken_up_with_a_clock_set_back_waits_by_that_clock_from_there() {
    let ground = Ground::new();
    let agent = asking(&ground);
    let run = ground.wait(agent.run("Go.")).unwrap().id();
    ground.environment.jump_back(HOUR);
    let taken = ground.environment.now();
    assert_eq!(resumed(&ground, &agent, run, DriveOptions::default()).status(), None);
    assert!(!due(&ground), "it would be taken up again and again");
    let wakes = ground.wait(ground.log.summary(run)).unwrap().wake_at;
    assert_eq!(wakes, Some(taken + LIMIT));
    ground.environment.jump(LIMIT);
    assert!(due(&ground));
    let run = resumed(&ground, &agent, run, DriveOptions::default());
    assert_eq!(run.status(), Some(Status::Limit(LimitKind::Seconds)));
    let events = events(&ground, run.id());
    assert_eq!(jumps(&events), [Some(HOUR), Some(HOUR)], "what passed between the two counts");
    assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at), "the run's time went back: {events:?}");
}

#[test]
fn clocks_that_differ_a_little_are_no_jump() {
    let ground = Ground::new();
    let agent = asking(&ground);
    let run = ground.wait(agent.run("Go.")).unwrap().id();
    ground.environment.jump_back(900);
    resumed(&ground, &agent, run, DriveOptions::default());
    assert_eq!(jumps(&events(&ground, run)), [None]);
}

#[test]
fn the_next_run_of_a_session_stands_on_the_last_one_also_where_its_id_is_smaller() {
    let later = Ground::new();
    // The ids of this world come after all of the next one, as those of a clock that was ahead.
    for _ in 0..10 {
        later.environment.new_run();
    }
    let now = Ground { environment: SimEnvironment::default(), ..later.clone() };
    let talk = |ground: &Ground| {
        let agent = ground.agent(FnModel::new(|_| text_reply("Yes."))).build().unwrap();
        let options = DriveOptions { session: Some("talk".into()), ..options() };
        let prepared = ground.wait(agent.prepare("Are you there?", options)).unwrap();
        ground.wait(prepared.drive()).unwrap()
    };
    let runs = [&later, &now, &now].map(talk);
    assert!(runs[1].id() < runs[0].id() && runs[2].id() < runs[0].id());
    assert_eq!(runs.each_ref().map(|run| run.state().history().len()), [2, 4, 6]);
    let listed = now.wait(now.log.list(RunFilter { limit: 1, ..RunFilter::default() })).unwrap();
    assert_eq!(listed[0].run, runs[2].id());
}
