//! Positions: how far a subscriber has read a run.

use std::fmt;
use std::str::FromStr;

use windlass_core::ActionId;
use windlass_core::event::TurnCompleted;
use windlass_core::message::ToolCall;

use crate::driver::updates::Update;

/// How far a subscriber has read a run: the facts up to a version, and so many bytes of the reply that is being written.
///
/// Its text (`41`, or `41.40.0.12.340.0` within a reply) is opaque to clients. It stays valid over restarts and in other processes, and
/// a later position of a run is greater than an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Number of the last event that was read; 0: none.
    pub version: u64,
    /// The reply of which a part was read.
    pub attempt: Option<AttemptPosition>,
}

/// How far a reply that is being written was read: the bytes of each kind, because a stored reply has them separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptPosition {
    /// The model call, by the number of the event that freed it.
    pub action: u64,
    /// How often the pieces of this call became void before.
    pub round: u32,
    /// Bytes of reasoning.
    pub reasoning: u64,
    /// Bytes of text.
    pub text: u64,
    /// Bytes of the names and arguments of calls.
    pub calls: u64,
}

impl AttemptPosition {
    /// The beginning of a reply.
    pub(super) fn start(action: u64, round: u32) -> Self {
        Self { action, round, ..Self::default() }
    }

    /// Whether anything of it was read.
    pub(super) fn has_any(&self) -> bool {
        self.reasoning + self.text + self.calls > 0
    }

    /// Counts a piece.
    pub(super) fn add(&mut self, piece: &Update) {
        match piece {
            Update::Reasoning { text, .. } => self.reasoning += text.len() as u64,
            Update::Text { text, .. } => self.text += text.len() as u64,
            Update::Call { name, args, .. } => self.calls += call_bytes(name.as_deref(), args),
            Update::Partial { .. }
            | Update::Void { .. }
            | Update::Events(_)
            | Update::Log(_)
            | Update::Refused { .. } => {}
        }
    }
}

/// The bytes of a call's piece.
pub(super) fn call_bytes(name: Option<&str>, args: &str) -> u64 {
    (name.map_or(0, str::len) + args.len()) as u64
}

impl Position {
    /// All facts up to this event.
    pub fn after(version: u64) -> Self {
        Self { version, attempt: None }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.version)?;
        match &self.attempt {
            Some(AttemptPosition { action, round, reasoning, text, calls }) => {
                write!(f, ".{action}.{round}.{reasoning}.{text}.{calls}")
            }
            None => Ok(()),
        }
    }
}

/// A text that is no position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, windlass_error::Diagnostic)]
#[error("it is no position of a run")]
#[diagnostic(kind = Invalid, code = "run.no_position", help = "begin without one, or give one that came with an update")]
pub struct NoPosition;

impl FromStr for Position {
    type Err = NoPosition;

    fn from_str(text: &str) -> Result<Self, NoPosition> {
        let parts: Result<Vec<u64>, _> = text.split('.').map(str::parse).collect();
        match *parts.map_err(|_| NoPosition)? {
            [version] => Ok(Self::after(version)),
            [version, action, round, reasoning, text, calls] => {
                let round = u32::try_from(round).map_err(|_| NoPosition)?;
                let attempt = Some(AttemptPosition { action, round, reasoning, text, calls });
                Ok(Self { version, attempt })
            }
            _ => Err(NoPosition),
        }
    }
}

/// The most bytes of a piece that is cut from a stored reply: a reader holds one of them, however long the reply is (E69).
const PIECE_BYTES: usize = 16 * 1024;

fn reasoning_of(reply: &TurnCompleted) -> &str {
    reply.reasoning.as_ref().map_or("", |reasoning| &reasoning.text)
}

/// The calls that have pieces of their own; the others are written in the text.
fn calls_of(reply: &TurnCompleted) -> impl Iterator<Item = (usize, &ToolCall)> {
    reply.calls.iter().filter(|call| call.place.is_none()).enumerate()
}

/// Whether a reply that has completed begins with what was read of it.
pub(super) fn begins_with(reply: &TurnCompleted, read: &AttemptPosition) -> bool {
    let is_within = |text: &str, bytes: u64| rest(text, bytes).is_some();
    let mut left = read.calls;
    for (_, call) in calls_of(reply) {
        let (name, all) = (call.name.len() as u64, call_bytes(Some(&call.name), &call.args));
        if left < all {
            let in_args = left.checked_sub(name).map_or(left == 0, |args| is_within(&call.args, args));
            return in_args
                && is_within(reasoning_of(reply), read.reasoning)
                && is_within(reply.text.as_deref().unwrap_or_default(), read.text);
        }
        left -= all;
    }
    left == 0
        && is_within(reasoning_of(reply), read.reasoning)
        && is_within(reply.text.as_deref().unwrap_or_default(), read.text)
}

/// The next piece of a reply that has completed, behind what was read of it; `None`: all of it was read.
pub(super) fn next_piece(reply: &TurnCompleted, action: ActionId, read: &AttemptPosition) -> Option<Update> {
    if let Some(text) = piece_of(reasoning_of(reply), read.reasoning) {
        return Some(Update::Reasoning { action, text: text.into() });
    }
    if let Some(text) = piece_of(reply.text.as_deref().unwrap_or_default(), read.text) {
        return Some(Update::Text { action, text: text.into() });
    }
    let mut left = read.calls;
    for (index, call) in calls_of(reply) {
        let all = call_bytes(Some(&call.name), &call.args);
        if left >= all {
            left -= all;
            continue;
        }
        let args = left.checked_sub(call.name.len() as u64);
        let name = if args.is_none() { Some((&*call.name).into()) } else { None };
        let args = piece_of(&call.args, args.unwrap_or_default()).unwrap_or_default();
        return Some(Update::Call { action, index: u32::try_from(index).ok(), name, args: args.into() });
    }
    None
}

fn rest(text: &str, from: u64) -> Option<&str> {
    text.get(usize::try_from(from).ok()?..)
}

/// The next bytes of a text, up to the end of a character; `None`: there are none.
fn piece_of(text: &str, from: u64) -> Option<&str> {
    let rest = rest(text, from).filter(|rest| !rest.is_empty())?;
    rest.get(..rest.floor_char_boundary(PIECE_BYTES))
}

#[cfg(test)]
mod tests;
