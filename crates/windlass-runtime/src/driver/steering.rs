//! Messages that steer a run, as its driver completes them.
//!
//! Their images and files go the way of an input's: a PDF becomes text where the model takes none, and what its API has no place for is refused.

use windlass_core::event::{SteerKind, Steered};
use windlass_core::run::offered;
use windlass_core::{InputKind, InvalidInput, State};
use windlass_read::start_of;

use crate::agent::Agent;
use crate::agent::documents::with_text;
use crate::agent::input::are_taken;
use crate::agent::prompt::generated;
use crate::driver::starting::{context_of, origin};
use crate::platform::error::Error;

/// Makes the images and files of a message ready to be sent to the agent's first model.
async fn ready(agent: &Agent, message: &mut Steered) -> Result<(), Error> {
    are_taken(agent, message.parts.iter())?;
    with_text(agent, &mut message.parts).await
}

/// Adds to a message the run that answers it if this one cannot, and the system message that the prompt builder makes of a new
/// objective. Other inputs stay as they are. The inner error goes to the sender.
pub(crate) async fn complete_steering(
    agent: &Agent,
    state: &State,
    what: &mut InputKind,
) -> Result<Result<(), InvalidInput>, Error> {
    let InputKind::Steer(message) = what else { return Ok(Ok(())) };
    if !message.parts.is_empty() {
        match ready(agent, message).await {
            Ok(()) => {}
            Err(error @ (Error::MediaNotTaken { .. } | Error::Pdf(_))) => {
                let (run, reason) = (state.run(), windlass_error::in_full(&error));
                // A sender that did not know the agent may be gone.
                tracing::warn!(%run, "a message is not heard: {reason}");
                return Ok(Err(InvalidInput::BadAttachment { run, reason }));
            }
            // The log has failed: the next driver reads the message again.
            Err(error) => return Err(error),
        }
    }
    // No sender may choose the system message by itself.
    message.prompt = None;
    let keeps = message.kind != SteerKind::Objective && state.keeps_unheard();
    message.run = keeps.then(|| agent.environment().new_run());
    let Some(builder) = &agent.spec().prompting.builder else { return Ok(Ok(())) };
    if message.kind != SteerKind::Objective || state.is_finished() || state.version() == 0 {
        return Ok(Ok(()));
    }
    let log = &**agent.log();
    let start = origin(log, &start_of(log, state.run()).await?).await?;
    let context = context_of(agent, log, &start).await?;
    let tools = offered(state.policy(), state.own_tools());
    Ok(match generated(agent.name(), &**builder, &message.text, &tools, &context) {
        Ok(system) => {
            *message = Steered { prompt: Some(system.into()), ..message.clone() };
            Ok(())
        }
        Err(error) => Err(InvalidInput::BadObjective { run: state.run(), reason: error.to_string() }),
    })
}
