//! E19: a run may be cancelled at any moment.

use std::cell::Cell;

use windlass_core::{InputKind, Status};
use windlass_error::Diagnostic as _;
use windlass_runtime::{Environment, Run};

use crate::ground::{Ground, assert_sound};
use crate::scenarios::{SCENARIOS, Scenario};

/// No scenario takes more polls than this.
const MOST_POLLS: u64 = 2_000;

/// One run that is cancelled after so many polls. Says whether it was before the run's end.
fn cancelled_after(scenario: &Scenario, polls: u64, subscribed: bool) -> (Ground, Run, bool) {
    let ground = Ground::slow();
    let agent = scenario.agent(&ground);
    let prepared = ground.wait(agent.prepare("Go.", scenario.options(&ground))).unwrap();
    let (handle, updates) = (prepared.handle(), subscribed.then(|| prepared.updates()));
    let sent = Cell::new(false);
    let cancel = || {
        sent.set(true);
        handle.send_now(InputKind::Cancel { reason: None });
    };
    if polls == 0 {
        cancel();
    }
    let step = |count| {
        assert!(count < MOST_POLLS, "{} does not end", scenario.name);
        if count == polls {
            cancel();
        }
        false
    };
    let run = ground.drive(prepared, step).expect("it ends");
    drop(updates);
    (ground, run, sent.get())
}

#[test]
fn e19_a_run_can_be_cancelled_at_every_await_point() {
    for scenario in SCENARIOS {
        for subscribed in [false, true] {
            let mut polls = 0;
            let mut cancelled = 0;
            loop {
                let (ground, run, sent) = cancelled_after(scenario, polls, subscribed);
                let at = format!("{}, cancelled after {polls} polls", scenario.name);
                assert_eq!(ground.seen.alive(), 0, "{at}");
                assert_sound(&ground, &run);
                assert_usage(&ground, &run, &at);
                match run.status() {
                    Some(Status::Cancelled) => cancelled += 1,
                    Some(_) => {
                        let kinds = ground.kinds(run.id());
                        assert!(!kinds.contains(&"CancelRequested"), "{at}: {kinds:?}");
                    }
                    None => panic!("{at}: the run has not ended"),
                }
                assert_goes_on(scenario, &ground, &run, &at);
                if !sent {
                    break;
                }
                polls += 1;
            }
            assert!(cancelled >= 3, "{}: cancelled {cancelled} times in {polls} polls", scenario.name);
        }
    }
}

/// What the model counted is counted; where it did not come to that, there is an estimate or nothing (E41).
fn assert_usage(ground: &Ground, run: &Run, at: &str) {
    let paid = ground.seen.paid.load(std::sync::atomic::Ordering::SeqCst);
    let usage = run.usage();
    if usage.estimated {
        assert!(usage.input >= paid, "{at}: {usage:?}, paid {paid}");
    } else {
        assert_eq!(usage.input, paid, "{at}");
    }
}

/// The session takes its next message.
fn assert_goes_on(scenario: &Scenario, ground: &Ground, before: &Run, at: &str) {
    let agent = scenario.agent(ground);
    let prepared = ground.wait(agent.prepare("And now?", scenario.options(ground))).expect(at);
    let run = ground.drive(prepared, |_| false).expect(at);
    let expected = if scenario.name.contains("deadline") { "limit" } else { "answered" };
    assert_eq!(run.status().map(Status::name), Some(expected), "{at}");
    assert!(run.messages().count() > before.messages().count(), "{at}");
    assert!(before.messages().zip(run.messages()).all(|(one, other)| one == other), "{at}");
    assert_sound(ground, &run);
}

#[test]
fn e19_a_second_cancel_is_refused_and_changes_nothing() {
    let ground = Ground::new();
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name.contains("ignores")).unwrap();
    let prepared = ground.wait(scenario.agent(&ground).prepare("Go.", scenario.options(&ground))).unwrap();
    let handle = prepared.handle();
    let (run, (first, second)) = ground.wait(futures_util::future::join(prepared.drive(), async {
        // By then the tool is at work.
        ground.environment.sleep_until(ground.environment.now() + 100).await;
        let first = handle.cancel("enough").await;
        (first, handle.cancel("again").await)
    }));
    assert_eq!(run.unwrap().status(), Some(Status::Cancelled));
    first.unwrap();
    assert_eq!(second.unwrap_err().code(), "input.stopping");
}
