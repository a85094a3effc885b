//! The request of a recorded model call, made anew from the log by the code that made it for the model.

use windlass_core::{ActionId, Fact, RunId, State};
use windlass_models::{Model as _, PrefixCell, WrittenRequest};
use windlass_read::{RunPages, load_until, numbered};

use super::request;
use super::summing::{stored_texts, with_texts};
use crate::agent::Agent;
use crate::error::Error;

/// A recorded request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The number of the event that began its model call.
    pub seq: u64,
    /// As it goes over HTTP; `None`: the agent has no such model any more, or it is asked in another way.
    pub written: Option<WrittenRequest>,
}

impl Agent {
    /// Makes a request of a run anew, the first one with number 1: the same bytes, as long as the agent's model has the same address
    /// and settings. `followed`: somebody followed the run, so that replies in its own voice were streamed; the log does not say. `None`:
    /// the run has made fewer requests.
    ///
    /// # Errors
    /// The run or one of its bases is not in the log, or the log failed.
    pub async fn recorded_request(
        &self,
        run: RunId,
        number: u64,
        followed: bool,
    ) -> Result<Option<RecordedRequest>, Error> {
        let log = &**self.log();
        let (mut pages, mut count) = (RunPages::new(log, run), 0);
        while let Some(batches) = pages.next().await? {
            for batch in &batches {
                for (seq, event) in numbered(batch) {
                    count += u64::from(matches!(event.fact, Fact::TurnStarted(_) | Fact::TurnHedged(_)));
                    if count == number && number > 0 {
                        // The request is made once the whole append is durable.
                        let state = load_until(log, run, batch.last()).await?;
                        let written = self.written(&state, ActionId { run, seq }, followed).await;
                        return Ok(Some(RecordedRequest { seq, written }));
                    }
                }
            }
        }
        Ok(None)
    }

    async fn written(&self, state: &State, action: ActionId, followed: bool) -> Option<WrittenRequest> {
        let asked = state.request(action)?;
        let model = self.model(&asked.model.name)?;
        let voice = asked.purpose.speaks() && !state.only_probes(action);
        let stream = followed && voice && !state.asks_for_actions(action);
        let texts = stored_texts(state, action, &**self.log()).await;
        let made = request(state, action, &PrefixCell::default(), stream)?;
        model.written(with_texts(made, &texts))
    }
}
