//! The table of what came in which state and what followed, over all scripted conversations: blocking, with a restart
//! with a cancel, with a steering message and with a pause after every event. It is a committed snapshot (`fixtures/snapshots/coverage.snap`), and what no
//! conversation brings stands in it, too: with the reason why it cannot be, or with the reason why none does.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_core::InputKind;
use windlass_core::run::StateKind;
use windlass_testing::{RunnerOptions, Visited, run_case};

use crate::{FILES, cases_of, disturbed};

/// Why no conversation brings what may come. The search in the core's own tests has been through all of it.
fn gap(kind: StateKind, input: &str) -> Option<&'static str> {
    Some(match (kind, input) {
        (_, "ToolsChanged") => "no key of the format changes tools from outside; the runtime's tests do",
        (_, "Queue") => "no key of the format sends a second message; the runtime's tests do",
        (_, "DelegateEnded" | "DelegateAsks" | "DelegateDeferred") => {
            "no scripted peer ends, asks or waits there"
        }
        (_, "CodeCalls" | "CodeEnded") => {
            "code of a conversation takes no time and ends before anything else comes"
        }
        (StateKind::RunningAsked | StateKind::Retrying | StateKind::Asked, "Replied" | "ModelFailed") => {
            "no conversation has a summary or a verdict in the making there"
        }
        (StateKind::Closing | StateKind::Hook | StateKind::Running, "Answered") => {
            "no conversation ends a pause there that has not begun yet"
        }
        (StateKind::Checking, _) | (_, "Checked") => "a scripted check answers at once",
        (StateKind::Hook, "TimerFired") => "a scripted hook answers at once",
        (StateKind::Cancelling | StateKind::Cutting, "CallLost") => {
            "a call that is lost while its run is stopped is recorded as one that has ended"
        }
        (StateKind::Cutting, "Replied") => "a scripted model stops as soon as it is asked to",
        _ => return None,
    })
}

fn visited() -> Visited {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Visited::new()));
    let options = RunnerOptions { streaming: false, crash: true, ..RunnerOptions::default() };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(file) = FILES.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let plain = cases_of(file).into_iter().map(|case| run_case(&case.unwrap(), options));
                    let reports: Vec<_> = plain.chain(disturbed(file).iter().cloned()).collect();
                    let mut all = all.lock().unwrap();
                    for (pair, facts) in reports.into_iter().flat_map(|report| report.visited) {
                        all.entry(pair).or_default().extend(facts);
                    }
                }
            });
        }
    });
    all.into_inner().unwrap()
}

#[test]
fn every_input_in_every_state_is_seen_or_has_its_reason() {
    crate::with_code();
    let visited = visited();
    let mut table = String::from("# What came in which state, and which facts followed\n\n");
    let mut never = String::from("\n# What never comes\n\n");
    let mut open = Vec::new();
    for kind in StateKind::ALL {
        for input in InputKind::KINDS {
            match (visited.get(&(*kind, *input)), kind.refuses(input), gap(*kind, input)) {
                (Some(facts), None, _) => {
                    let facts: Vec<_> = facts.iter().copied().collect();
                    writeln!(table, "{kind} | {input} | {}", facts.join(", ")).unwrap();
                }
                (None, Some(reason), _) => writeln!(never, "{kind} | {input} | {reason}").unwrap(),
                (None, None, Some(reason)) => {
                    writeln!(never, "{kind} | {input} | may be, but {reason}").unwrap();
                }
                (Some(_), Some(reason), _) => open.push(format!("{kind} | {input} came, but {reason}")),
                (None, None, None) => open.push(format!("{kind} | {input} never came")),
            }
        }
    }
    assert!(open.is_empty(), "write a conversation, or a reason:\n{}", open.join("\n"));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new("../../../../fixtures/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("coverage", format!("{table}{never}")));
}
