//! Ctrl-Z: the terminal is given back before the process stops, and taken again once it goes on.

use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};

use super::Face;

/// Listens for it, as long as the runtime lives.
pub(super) fn listen(face: &Face) {
    let kind = |signal: Signal| SignalKind::from_raw(signal.as_raw());
    // Without these the process stops as it is, and the shell sets the terminal.
    let (Ok(mut stop), Ok(mut go_on)) = (signal(kind(Signal::TSTP)), signal(kind(Signal::CONT))) else {
        return;
    };
    let face = face.clone();
    let _listening = tokio::spawn(async move {
        loop {
            if stop.recv().await.is_none() {
                return;
            }
            // An editor that has the terminal stops as well, and finds it as it left it.
            let away = if face.is_away() { None } else { Some(face.away().await) };
            if kill_process(getpid(), Signal::STOP).is_ok() {
                // It is delivered before the call returns; this waits for the end of the stop.
                let _went_on = go_on.recv().await;
            }
            drop(away);
        }
    });
}
