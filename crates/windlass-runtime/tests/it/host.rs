//! The host: runs that live in a process, and all who come to them.

mod following;
mod keys;
mod limits;
mod queues;
mod registry;
mod scopes;
mod supervising;
mod verbs;

use std::sync::Arc;

use futures_core::future::BoxFuture;
use tokio::time::{Duration, Instant};
use windlass_core::event::Millis;
use windlass_core::{RunId, Text};
use windlass_runtime::host::{Host, LiveRun, Start};
use windlass_runtime::{Admitted, Agent, AgentBuilder, Environment};
use windlass_store::Store;
use windlass_testing::FnModel;

/// Tokio's clock, which stands still while anything can go on and jumps while nothing can.
#[derive(Debug)]
pub(crate) struct TokioClock(Instant);

impl TokioClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Instant::now()))
    }
}

impl Environment for TokioClock {
    fn now(&self) -> Millis {
        1_700_000_000_000 + u64::try_from(self.0.elapsed().as_millis()).unwrap()
    }

    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()> {
        let ms = at.saturating_sub(self.now());
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }

    fn new_run(&self) -> RunId {
        RunId(uuid::Uuid::now_v7())
    }

    fn salt(&self) -> Text {
        "5a17".into()
    }

    fn chance(&self) -> u16 {
        0
    }
}

/// An agent in the making, and a host for its runs.
fn ground(log: &Arc<dyn Store>, model: FnModel) -> (AgentBuilder, Host) {
    let clock = TokioClock::new();
    let builder =
        Agent::builder("hosted").model(("m", Arc::new(model))).log(log.clone()).environment(clock.clone());
    (builder, Host::builder(log.clone()).environment(clock).build())
}

async fn started(host: &Host, start: Start) -> LiveRun {
    match host.start(start).await.unwrap() {
        Admitted::Started(run) => run,
        other => panic!("no run of its own: {other:?}"),
    }
}
