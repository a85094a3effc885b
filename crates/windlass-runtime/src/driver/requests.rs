//! Requests under an idempotency key (E65): what makes two of them the same one.

use serde::Serialize;
use windlass_core::event::RunInput;
use windlass_core::{RunId, SessionId, Text};

use crate::agent::Agent;
use crate::agent::binding::digest;
use crate::driver::options::DriveOptions;

/// The verb of the ids of runs that a message begins, and of the keys under which it is queued.
pub(crate) const START: &str = "start";

/// The parts of a request that make it the same one.
#[derive(Serialize)]
struct Request<'r> {
    agent: &'r Text,
    session: Option<&'r SessionId>,
    only_tools: Option<&'r Vec<Text>>,
    input: &'r RunInput,
}

/// The digest of a request, if it has a key.
pub(crate) fn digest_of(agent: &Agent, input: &RunInput, options: &DriveOptions) -> Option<Text> {
    options.key.as_ref()?;
    let (session, only_tools) = (options.session.as_ref(), options.only_tools.as_ref());
    Some(digest(&Request { agent: agent.name(), session, only_tools, input }))
}

/// The key of a post: each verb has keys of its own.
pub(crate) fn key_under(verb: &str, key: &str) -> Text {
    format!("{verb}/{key}").into()
}

/// The id of the run that a message begins.
pub(crate) fn run_for(agent: &Agent, options: &DriveOptions) -> RunId {
    match &options.key {
        Some(key) => RunId::of_request(&options.owner, START, key),
        None => agent.environment().new_run(),
    }
}
