//! Services of a run: set up before its first step and torn down when its driver stops, whatever the outcome.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use windlass_tools::{ServiceError, ServiceUse};

use crate::agent::Agent;
use crate::platform::error::Error;
use crate::platform::panics::panic_message;

/// Timeout of a service's set-up, in milliseconds.
const SET_UP_MS: u64 = 30_000;
/// Timeout of a service's tear-down, in milliseconds.
const TEAR_DOWN_MS: u64 = 10_000;

/// Sets the agent's services up, in order. If one cannot be, those before it are torn down again.
///
/// # Errors
/// The first service that cannot be set up.
pub(crate) async fn begin(agent: &Agent) -> Result<Vec<ServiceUse>, Error> {
    let mut used = Vec::with_capacity(agent.services().len());
    for service in agent.services() {
        let failed = match within(agent, SET_UP_MS, service.begin()).await {
            Ok(Ok(begun)) => {
                used.push(begun);
                continue;
            }
            Ok(Err(failed)) => failed,
            Err(why) => ServiceError::new(format!("its set-up {why}")),
        };
        end(agent, used).await;
        let (agent, service) = (agent.name().to_string(), service.name().to_owned());
        return Err(Error::Service { agent, service, source: failed });
    }
    Ok(used)
}

/// Ends the use of services, the last one first. What goes wrong is logged, and changes nothing about the run.
pub(crate) async fn end(agent: &Agent, used: Vec<ServiceUse>) {
    for one in used.into_iter().rev() {
        let name = one.service().name().to_owned();
        if let Err(why) = within(agent, TEAR_DOWN_MS, one.end()).await {
            tracing::warn!(service = name, "the service's tear-down {why}");
        }
    }
}

/// Awaits the future and turns a panic or timeout into an error.
async fn within<T>(agent: &Agent, ms: u64, future: impl Future<Output = T>) -> Result<T, String> {
    let environment = agent.environment();
    let late = environment.sleep_until(environment.now().saturating_add(ms));
    let caught = std::pin::pin!(AssertUnwindSafe(future).catch_unwind());
    match select(caught, late).await {
        Either::Left((Ok(given), _)) => Ok(given),
        Either::Left((Err(panic), _)) => {
            Err(format!("panicked: {}", panic_message(&*panic as &(dyn Any + Send))))
        }
        Either::Right(_) => Err(format!("took more than {ms} ms")),
    }
}
