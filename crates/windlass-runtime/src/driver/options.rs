//! Options for driving a run.

use std::sync::Arc;

use windlass_core::event::ResumedBy;
use windlass_core::{Owner, SessionId, Text};

use crate::agent::people::People;

/// Options for driving a run.
#[derive(Clone, Debug, Default)]
pub struct DriveOptions {
    /// The people who answer questions at once, instead of [the agent's](crate::AgentBuilder::people). Without any a run with an
    /// open question is suspended.
    pub people: Option<Arc<dyn People>>,
    /// Whether a suspended run is held as long as a timer of its own may still bring it on.
    pub wait_for_timers: bool,
    /// Whether a run that waits for a quota is held until it opens ([`State::quota_wait`](windlass_core::State::quota_wait)). Without it, the run is given up then,
    /// and is due at that time (`Host::supervise`).
    pub hold_for_quota: bool,
    /// The owner of the run. A resumed run keeps its own.
    pub owner: Owner,
    /// The idempotency key of the request: sent twice under one, it begins one run ([`Admitted::Repeated`](crate::Admitted::Repeated)). `None`: each
    /// request is one of its own.
    pub key: Option<Text>,
    /// The session that the run belongs to and continues: one of its owner's.
    pub session: Option<SessionId>,
    /// Patterns (`*`, `?`) of the tools that the run is given; `None`: all of the agent's, empty: none. A resumed run keeps them.
    pub only_tools: Option<Vec<Text>>,
    /// Whether a person lets the run go on, however often its model call was lost ([`given_up`](crate::given_up)).
    pub resumed_by: ResumedBy,
    /// Whether the run's pause ends when it is resumed; `None`: it stays paused.
    pub unpause: Option<Unpause>,
}

/// The end of a pause that comes with resuming the run ([`Resume::unpaused`](crate::Resume::unpaused)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unpause {
    /// A message to the agent, as steering.
    pub text: Option<Text>,
}
