//! Owns the end of printing: the process ends once everything was read, a reader is gone, or a signal says so.

use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::printer::printer;
use crate::failure::Exit;
use crate::interrupts::Interrupts;
use crate::limits::check_descriptors;

/// Time that a terminated process waits for its readers: two seconds.
pub(crate) const UNREAD: Duration = Duration::from_secs(2);
/// Time that the end waits before it starts a runtime to listen for signals: a tenth of a second.
const GRACE: Duration = Duration::from_millis(100);

/// Whether this process was told to stop.
static HURRIED: AtomicBool = AtomicBool::new(false);

/// Why not everything was written.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// Stdout cannot be written.
    Broken(io::Error),
    /// A signal came first, with this exit code.
    Signal(Exit),
}

/// The process was told to stop: it waits no longer than [`UNREAD`] for its readers.
pub(crate) fn hurry() {
    HURRIED.store(true, Ordering::Relaxed);
}

/// Waits until everything is written.
///
/// # Errors
/// Something will not be written. A reader that went away is no error.
pub(crate) fn close() -> Result<(), Unwritten> {
    let printer = printer();
    // No question stands any more.
    printer.let_go();
    // If stderr is closed, the message is dropped.
    let _unread = printer.say_left_out();
    if !printer.drained_within(GRACE) {
        match runtime() {
            Some(runtime) => runtime.block_on(waited())?,
            // Without a runtime a signal has its usual effect, or none.
            None => drop(printer.drained_within(UNREAD)),
        }
    }
    match printer.broken() {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Unwritten::Broken(error)),
        _ => Ok(()),
    }
}

/// A runtime that listens for signals, where there are descriptors for it.
fn runtime() -> Option<tokio::runtime::Runtime> {
    check_descriptors().ok()?;
    tokio::runtime::Builder::new_current_thread().enable_all().build().ok()
}

async fn waited() -> Result<(), Unwritten> {
    let most = async {
        if HURRIED.load(Ordering::Relaxed) {
            tokio::time::sleep(UNREAD).await;
        } else {
            pending::<()>().await;
        }
    };
    tokio::select! {
        () = printer().drained() => Ok(()),
        () = most => Ok(()),
        exit = signalled() => Err(Unwritten::Signal(exit)),
    }
}

/// The exit code of the next signal that asks this process to end.
async fn signalled() -> Exit {
    match Interrupts::listen() {
        Ok(mut interrupts) => interrupts.next().await.exit(),
        Err(_) => pending::<Exit>().await,
    }
}
