//! E29, E36 in process: dropping the driver at any moment is like a crash, and costs nothing that was finished.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;
use windlass_core::{InputKind, Message, RunId, Status};
use windlass_error::Diagnostic as _;
use windlass_runtime::Prepared;
use windlass_testing::FnTool;

use crate::ground::{Ground, assert_sound};
use crate::scenarios::{SCENARIOS, Scenario, calls_then_answers};

/// How a run goes that nobody disturbs.
struct Undisturbed {
    status: Option<Status>,
    text: Option<String>,
    messages: Vec<Message>,
}

fn undisturbed(scenario: &Scenario) -> Undisturbed {
    let ground = Ground::slow();
    let prepared = ground.wait(scenario.agent(&ground).prepare("Go.", scenario.options(&ground))).unwrap();
    let run = ground.drive(prepared, |_| false).unwrap();
    Undisturbed {
        status: run.status(),
        text: run.text().map(str::to_owned),
        messages: run.messages().map(|message| Message::clone(message)).collect(),
    }
}

/// Drives so many polls, then drops everything. `false`: the run had ended before.
fn drop_after(ground: &Ground, prepared: Prepared, polls: u64) -> bool {
    let dropped = ground.drive(prepared, |count| count >= polls).is_none();
    assert_eq!(ground.seen.alive(), 0, "work outlived its driver");
    dropped
}

/// Goes on with a run; nothing that was finished is begun again. `None`: it had not begun yet.
fn resumed(scenario: &Scenario, ground: &Ground, run: RunId) -> Option<Prepared> {
    let agent = scenario.agent(ground);
    match ground.wait(agent.resume(run).options(scenario.options(ground)).prepare()) {
        Ok(prepared) => Some(prepared),
        Err(error) if error.code() == "store.unknown_run" => None,
        Err(error) => panic!("{}: {error:?}", scenario.name),
    }
}

fn assert_same_end(
    scenario: &Scenario,
    ground: &Ground,
    prepared: Prepared,
    expected: &Undisturbed,
    at: &str,
) {
    let finished = ground.finished(prepared.id());
    let begun = ground.seen.begun.lock().unwrap().len();
    let run = ground.drive(prepared, |_| false).expect(at);
    assert_eq!(run.status(), expected.status, "{at}");
    assert_eq!(run.text(), expected.text.as_deref(), "{at}");
    assert_sound(ground, &run);
    for call in &ground.seen.begun.lock().unwrap()[begun..] {
        assert!(!finished.contains(call), "{at}: the finished call {call} was run again");
    }
    // After a deadline it depends on the moment what was still done.
    if !scenario.name.contains("deadline") {
        let messages: Vec<Message> = run.messages().map(|message| Message::clone(message)).collect();
        assert_eq!(messages, expected.messages, "{at}");
    }
}

#[test]
fn e29_e36_a_run_dropped_at_every_poll_goes_on_to_the_same_end() {
    for scenario in SCENARIOS {
        let expected = undisturbed(scenario);
        let mut polls = 1;
        loop {
            let ground = Ground::slow();
            let agent = scenario.agent(&ground);
            let prepared = ground.wait(agent.prepare("Go.", scenario.options(&ground))).unwrap();
            let run = prepared.id();
            if !drop_after(&ground, prepared, polls) {
                break;
            }
            let at = format!("{}, dropped after {polls} polls", scenario.name);
            if let Some(prepared) = unended(scenario, &ground, run) {
                assert_same_end(scenario, &ground, prepared, &expected, &at);
            }
            polls += 1;
        }
        assert!(polls > 3, "{}", scenario.name);
    }
}

/// The run to go on with, if it has begun and its end is not durable yet.
fn unended(scenario: &Scenario, ground: &Ground, run: RunId) -> Option<Prepared> {
    let begun = !ground.memory.is_empty();
    if begun && ground.state(run).is_finished() {
        return None;
    }
    resumed(scenario, ground, run)
}

#[test]
fn e29_e36_a_run_dropped_twice_goes_on_to_the_same_end() {
    for scenario in
        SCENARIOS.iter().filter(|scenario| ["parallel", "effects"].iter().any(|n| scenario.name.contains(n)))
    {
        let expected = undisturbed(scenario);
        for first in (1..).step_by(3) {
            let mut went_on = false;
            for second in 1.. {
                let ground = Ground::slow();
                let prepared =
                    ground.wait(scenario.agent(&ground).prepare("Go.", scenario.options(&ground))).unwrap();
                let run = prepared.id();
                if !drop_after(&ground, prepared, first) {
                    break;
                }
                let Some(prepared) = unended(scenario, &ground, run) else { break };
                went_on = true;
                if !drop_after(&ground, prepared, second) {
                    break;
                }
                let at = format!("{}, dropped after {first} and {second} polls", scenario.name);
                if let Some(prepared) = unended(scenario, &ground, run) {
                    assert_same_end(scenario, &ground, prepared, &expected, &at);
                }
            }
            if !went_on && first > 6 {
                break;
            }
        }
    }
}

#[test]
fn e19_a_run_dropped_while_it_is_being_stopped_ends_cancelled() {
    for scenario in SCENARIOS {
        for cancel in 0.. {
            let stopping = Cell::new(false);
            for more in 1..=4 {
                let ground = Ground::slow();
                let prepared =
                    ground.wait(scenario.agent(&ground).prepare("Go.", scenario.options(&ground))).unwrap();
                let (run, handle) = (prepared.id(), prepared.handle());
                ground.drive(prepared, |count| {
                    if count == cancel {
                        stopping.set(true);
                        handle.send_now(InputKind::Cancel { reason: None });
                    }
                    count >= cancel + more
                });
                assert_eq!(ground.seen.alive(), 0);
                let Some(prepared) = unended(scenario, &ground, run) else { continue };
                let asked = ground.kinds(run).contains(&"CancelRequested");
                let run = ground.drive(prepared, |_| false).unwrap();
                assert_eq!(run.status() == Some(Status::Cancelled), asked, "{}", scenario.name);
                assert_sound(&ground, &run);
            }
            if cancel > 0 && !stopping.get() {
                break;
            }
        }
    }
}

#[test]
fn what_a_tool_has_going_on_elsewhere_learns_that_the_driver_is_gone() {
    let ground = Ground::new();
    let tokens: Arc<Mutex<Vec<CancellationToken>>> = Arc::default();
    let given = tokens.clone();
    let tool = FnTool::new("far", move |context, args| {
        given.lock().unwrap().push(context.cancelled);
        async move {
            if args.get("hang").is_some() {
                std::future::pending::<()>().await;
            }
            Ok("done".into())
        }
    });
    let calls = calls_then_answers(&[("far", "{}"), ("far", r#"{"hang": true}"#)]);
    let agent = ground.agent(calls).tool(tool).build().unwrap();
    let prepared = ground.wait(agent.prepare("Go.", crate::ground::options())).unwrap();
    ground.drive(prepared, |_| tokens.lock().unwrap().len() == 2);
    let told: Vec<bool> = tokens.lock().unwrap().iter().map(CancellationToken::is_cancelled).collect();
    assert_eq!(told, [false, true], "the one that had ended is left alone");
}
