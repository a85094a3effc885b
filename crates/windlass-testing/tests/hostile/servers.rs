//! Servers that attack their client, for tests of any wire: what they do is data, so that a new wire or protocol meets
//! all of it by running over [`Attack::all`], [`Sample::hostile_chats`] and [`ToolAttack::all`].
//!
//! What a client owes under each of them: an end within its limits, a clear error or a valid reply, bounded memory, no
//! panic, and none of its secrets in what it says. The servers listen on loopback, and end with their handles.

mod attack;
mod gzip;
mod json;
mod listen;
mod sample;
mod server;
mod tool_attack;
mod tools;

pub(crate) use attack::Attack;
pub(crate) use sample::Sample;
pub(crate) use server::HostileServer;
pub(crate) use tool_attack::ToolAttack;
pub(crate) use tools::HostileTools;

/// Maximum number of bytes that an endless attack sends on one connection: 1 GiB.
pub(crate) const ENDLESS_BYTES: u64 = 1024 * 1024 * 1024;
/// Terminal escapes, a bell, and controls that turn the direction of text: in names and texts of attacks.
pub(crate) const ESCAPES: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}txt.exe\u{2066}\u{9b}31m";
