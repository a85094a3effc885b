//! E73: an append whose reply was lost is neither success nor failure. The driver finds out once, and goes on.

use windlass_core::CallId;
use windlass_runtime::{Environment, Run};
use windlass_store::StoreError;
use windlass_testing::{BEGINNING, Fault};

use crate::ground::{Ground, assert_sound};
use crate::scenarios::{SCENARIOS, Scenario};

/// The ways in which the reply to an append is lost, by the faults of it and of those that follow it.
const WAYS: [&[Fault]; 5] = [
    &[Fault::RequestLost],
    &[Fault::ReplyLost],
    &[Fault::RequestLost, Fault::RequestLost, Fault::ReplyLost],
    &[Fault::Late],
    &[Fault::RequestLost, Fault::Late],
];

fn driven(ground: &Ground, scenario: &Scenario) -> Result<Run, windlass_runtime::Error> {
    let prepared = ground.wait(scenario.agent(ground).prepare("Go.", scenario.options(ground))).unwrap();
    ground.wait(prepared.drive())
}

/// The calls that tools have begun to work on.
fn begun(ground: &Ground) -> Vec<CallId> {
    ground.seen.begun.lock().unwrap().clone()
}

#[test]
fn e73_a_lost_reply_changes_nothing_wherever_it_is_lost() {
    for scenario in SCENARIOS {
        let sound = Ground::new();
        let run = driven(&sound, scenario).unwrap();
        let (expected, calls) = (sound.kinds(run.id()), begun(&sound));
        for way in WAYS {
            for nth in 1.. {
                let ground = Ground::new();
                for (place, fault) in (nth..).zip(way) {
                    ground.log.fail(place, *fault);
                }
                let at = format!("{}, {way:?} from append {nth} on", scenario.name);
                let run = driven(&ground, scenario).expect(&at);
                assert_eq!(ground.kinds(run.id()), expected, "{at}");
                assert_eq!(begun(&ground), calls, "{at}");
                assert_sound(&ground, &run);
                if ground.log.appends() < nth {
                    break;
                }
            }
        }
    }
}

#[test]
fn e73_a_driver_that_never_finds_out_stops_and_begins_nothing() {
    let scenario = &SCENARIOS[2];
    let ground = Ground::new();
    for place in 2..200 {
        ground.log.fail(place, Fault::RequestLost);
    }
    let error = driven(&ground, scenario).unwrap_err();
    assert!(matches!(error, windlass_runtime::Error::Log(StoreError::Unknown { .. })), "{error:?}");
    assert_eq!(begun(&ground), [], "nothing was begun");
    let waited = ground.environment.now() - BEGINNING;
    assert!((1..=11_000).contains(&waited), "it waited {waited} ms");
}
