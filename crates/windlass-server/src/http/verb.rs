//! Verbs: what a token allows.

use windlass_macros::Named;

/// An action that a token allows its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Named)]
#[named(all)]
pub enum Verb {
    /// Reads runs, sessions, questions and usage, and follows runs.
    Read,
    /// Starts runs, and gives messages to sessions.
    Start,
    /// Answers questions.
    Answer,
    /// Says something to a run that is going on, and pauses it.
    Steer,
    /// Stops runs for good.
    Cancel,
    /// Takes runs up, and gives them other limits or another agent.
    Resume,
    /// Starts runs that continue from an event of another one.
    Fork,
    /// Reads the metrics of the server.
    Metrics,
    /// Reloads the agents.
    Admin,
}
