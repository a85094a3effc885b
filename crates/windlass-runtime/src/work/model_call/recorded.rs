//! The request of a recorded model call, made anew from the log by the code that made it for the model.

use windlass_core::{ActionId, RunId, State};
use windlass_models::{Model as _, PrefixCell, WrittenRequest};
use windlass_read::{RunPages, load_until, numbered};

use super::request;
use super::summing::{stored_texts, with_texts};
use crate::agent::Agent;
use crate::platform::error::Error;

/// A recorded request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The number of the event that began its model call.
    pub seq: u64,
    /// As it goes over HTTP; `None`: the agent has no such model any more, or it is asked in another way.
    pub written: Option<WrittenRequest>,
}

/// Makes a request of a run anew ([`Agent::recorded_request`]).
pub(crate) async fn recorded_request(
    agent: &Agent,
    run: RunId,
    number: u64,
    followed: bool,
) -> Result<Option<RecordedRequest>, Error> {
    let log = &**agent.log();
    let (mut pages, mut count) = (RunPages::new(log, run), 0);
    while let Some(batches) = pages.next().await? {
        for batch in &batches {
            for (seq, event) in numbered(batch) {
                count += u64::from(event.fact.attempt().is_some());
                if count == number && number > 0 {
                    // The request is made once the whole append is durable.
                    let state = load_until(log, run, batch.last()).await?;
                    let written = written(agent, &state, ActionId { run, seq }, followed).await;
                    return Ok(Some(RecordedRequest { seq, written }));
                }
            }
        }
    }
    Ok(None)
}

async fn written(agent: &Agent, state: &State, action: ActionId, followed: bool) -> Option<WrittenRequest> {
    let call = state.request(action)?;
    let model = agent.model(&call.model.name)?;
    let voice = call.purpose.speaks() && !state.only_probes(action);
    let stream = followed && voice && !state.asks_for_actions(action);
    let texts = stored_texts(state, action, &**agent.log()).await;
    let made = request(state, action, &PrefixCell::default(), stream)?;
    model.written(with_texts(made, &texts))
}
