use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;

use super::of;
use crate::{FailureKind, Limit, Limits};

fn kind(signal: Signal, told: &str) -> FailureKind {
    of(Some(ExitStatus::from_raw(signal.as_raw())), told, &Limits::default()).kind
}

#[test]
fn the_limit_is_told_from_the_end() {
    let (cpu, abort) = (Signal::XCPU, Signal::ABORT);
    assert_eq!(kind(cpu, ""), FailureKind::Limit(Limit::Seconds));
    assert_eq!(kind(abort, "memory allocation of 9 bytes failed\n"), FailureKind::Limit(Limit::Memory));
    let overflow = "\nthread 'code' (7) has overflowed its stack\nfatal runtime error: stack overflow";
    assert_eq!(kind(abort, overflow), FailureKind::Limit(Limit::Depth));
}

#[test]
fn other_ends_are_crashes_with_the_first_words_that_were_said() {
    let panicked = "\nthread 'code' (7) panicked at x.rs:1:2:\nbroken\n";
    let failure = of(Some(ExitStatus::from_raw(101 << 8)), panicked, &Limits::default());
    assert_eq!(failure.kind, FailureKind::Crashed);
    assert_eq!(
        failure.message,
        "the process that ran the code ended: exit status: 101: thread 'code' (7) panicked at x.rs:1:2:\n\
         hint: write the code another way"
    );
    assert_eq!(of(None, "", &Limits::default()).kind, FailureKind::Crashed);
}
