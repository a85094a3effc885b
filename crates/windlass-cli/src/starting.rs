//! Progress of a slow start: at a terminal, a line that says which tool servers are being waited for.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_runtime::Waits;

use crate::out;
use crate::view::words::{name, span};

/// Time without a word.
const QUIET: Duration = Duration::from_secs(1);
/// Time between two lines about the same servers.
const AGAIN: Duration = Duration::from_secs(10);
/// Time between two looks at the servers.
const LOOK: Duration = Duration::from_millis(250);

/// Awaits the work, and reports what it waits for once that takes more than a second.
pub(crate) async fn watched<T>(work: impl Future<Output = T>, waits: &Waits) -> T {
    if !out::stderr_is_terminal() {
        return work.await;
    }
    tokio::select! {
        biased;
        done = work => done,
        never = report(waits) => match never {},
    }
}

async fn report(waits: &Waits) -> std::convert::Infallible {
    let begun = Instant::now();
    let (mut said, mut at) = (Vec::new(), begun);
    sleep(QUIET).await;
    loop {
        let servers = waits.now();
        if !servers.is_empty() && (servers != said || at.elapsed() >= AGAIN) {
            let each =
                servers.iter().map(|one| format!("`{}` (limit {})", name(&one.server), span(one.start_ms)));
            let each: Vec<String> = each.collect();
            let noun = if each.len() == 1 { "tool server" } else { "tool servers" };
            let elapsed = begun.elapsed().as_secs();
            out::note(format_args!("waiting for {noun} {} to start: {elapsed} s", each.join(", ")));
            (said, at) = (servers, Instant::now());
        }
        sleep(LOOK).await;
    }
}
