//! Progress of a slow start: at a terminal, a line that says which tool servers are being waited for.

use std::future::Future;

use windlass_core::event::Millis;
use windlass_read::words::{name, span};
use windlass_runtime::{Environment, SystemEnvironment, WaitedFor, Waits};

use crate::out;
use crate::waiting::{QUIET_MS, Wait, Withdrawn, with_progress};

/// Time between two lines about the same servers, on a terminal that cannot take a line back.
const AGAIN_MS: Millis = 10_000;
/// Time between two looks at the servers.
const LOOK_MS: Millis = 250;

/// Awaits the work, and reports what it waits for once that takes more than a second.
pub(crate) async fn watched<T>(work: impl Future<Output = T>, waits: &Waits) -> T {
    let environment = SystemEnvironment;
    if out::can_wait() {
        let since = environment.now();
        let wait = || {
            let servers = waits.now();
            (!servers.is_empty()).then(|| Wait { what: words(&servers), since })
        };
        let _at_last = Withdrawn::default();
        return with_progress(&environment, wait, work).await;
    }
    if out::is_calm() || !out::stderr_is_terminal() {
        return work.await;
    }
    tokio::select! {
        biased;
        done = work => done,
        never = report(&environment, waits) => match never {},
    }
}

/// The servers in words.
fn words(servers: &[WaitedFor]) -> String {
    let each = servers.iter().map(|one| format!("`{}` (limit {})", name(&one.server), span(one.start_ms)));
    let each: Vec<String> = each.collect();
    let noun = if each.len() == 1 { "tool server" } else { "tool servers" };
    format!("{noun} {} to start", each.join(", "))
}

/// The same in lines of their own.
async fn report(environment: &dyn Environment, waits: &Waits) -> std::convert::Infallible {
    let begun = environment.now();
    let (mut reported, mut at) = (Vec::new(), begun);
    environment.sleep_until(begun + QUIET_MS).await;
    loop {
        let (servers, now) = (waits.now(), environment.now());
        if !servers.is_empty() && (servers != reported || now.saturating_sub(at) >= AGAIN_MS) {
            let elapsed = now.saturating_sub(begun) / 1_000;
            out::note(format_args!("waiting for {}: {elapsed} s", words(&servers)));
            (reported, at) = (servers, now);
        }
        environment.sleep_until(now.saturating_add(LOOK_MS)).await;
    }
}
