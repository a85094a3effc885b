//! Signals that ask the process to end: Ctrl-C cancels, the others only leave.

use std::fs;
use std::future::{Future, poll_fn};
use std::task::{Context, Poll};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Exit, Failure};
use crate::out;

/// Request of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// Ctrl-C (SIGINT): the run is cancelled.
    Cancel,
    /// SIGTERM, SIGHUP, SIGQUIT: the process ends, and the run can be resumed.
    Leave(Exit),
}

impl Interrupt {
    /// Exit code of a process that it stops.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Self::Cancel => Exit::Cancelled,
            Self::Leave(exit) => exit,
        }
    }

    /// Failure of a command that is interrupted without a run.
    pub(crate) fn failure(self) -> Failure {
        match self {
            Self::Cancel => Failure::note(Exit::Cancelled, "cancelled"),
            Self::Leave(exit) => Failure::note(exit, format!("ended by {}", exit.signal())),
        }
    }
}

/// Listens for these signals, from here on to the end of the process.
#[derive(Debug)]
pub(crate) struct Interrupts {
    listening: Vec<(Interrupt, Signal)>,
    /// One that came and was not acted on.
    kept: Option<Interrupt>,
}

impl Interrupts {
    pub(crate) fn listen() -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(Exit::Internal, "cannot listen for Ctrl-C").cause(error.to_string())
        };
        // Who takes the signal must be there to act on it: no reader may keep this process waiting.
        out::never_wait();
        let ignored = ignored();
        let ends = [
            (Interrupt::Cancel, SignalKind::interrupt(), false),
            (Interrupt::Leave(Exit::Terminated), SignalKind::terminate(), false),
            // `nohup` and shells that start something in the background say that these are not meant for it.
            (Interrupt::Leave(Exit::HungUp), SignalKind::hangup(), true),
            (Interrupt::Leave(Exit::Quit), SignalKind::quit(), true),
        ];
        let wanted = ends.into_iter().filter(|(_, kind, optional)| {
            !optional || ignored & 1_u64.wrapping_shl(kind.as_raw_value().cast_unsigned() - 1) == 0
        });
        let listening = wanted.map(|(interrupt, kind, _)| Ok((interrupt, signal(kind).map_err(failed)?)));
        listening.collect::<Result<_, _>>().map(|listening| Self { listening, kept: None })
    }

    /// The same without SIGHUP, which a service takes for something else.
    pub(crate) fn listen_to_ends() -> Result<Self, Failure> {
        let mut all = Self::listen()?;
        all.listening.retain(|(interrupt, _)| *interrupt != Interrupt::Leave(Exit::HungUp));
        Ok(all)
    }

    /// Ends at the next signal.
    pub(crate) async fn next(&mut self) -> Interrupt {
        if let Some(kept) = self.kept.take() {
            return kept;
        }
        poll_fn(|context| self.poll(context)).await
    }

    /// Queues a signal again that was not acted on.
    pub(crate) fn put_back(&mut self, interrupt: Interrupt) {
        self.kept = Some(interrupt);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Interrupt> {
        for (interrupt, signal) in &mut self.listening {
            // `None` would mean that no signal can come any more.
            if let Poll::Ready(Some(())) = signal.poll_recv(context) {
                return Poll::Ready(*interrupt);
            }
        }
        Poll::Pending
    }

    /// Does this unless a signal comes first: for what is done before there is a run.
    pub(crate) async fn or<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            done = work => Ok(done),
            interrupt = self.next() => Err(interrupt.failure()),
        }
    }
}

/// The signals that this process was started to ignore, one bit each (proc(5): `SigIgn`). Zero where that is unknown.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn a_signal_that_is_put_back_ends_what_comes_next_once() {
        let mut interrupts = Interrupts { listening: Vec::new(), kept: None };
        interrupts.put_back(Interrupt::Leave(Exit::Terminated));
        let failure = interrupts.or(pending::<()>()).await.unwrap_err();
        assert_eq!(failure.exit, Exit::Terminated);
        assert_eq!(interrupts.or(async { 7 }).await.unwrap(), 7);
    }
}
