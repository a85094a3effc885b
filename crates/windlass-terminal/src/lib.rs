//! A terminal as a conversation needs it: finished text belongs to the terminal's own scrollback, and only a *tail* of a few rows
//! is drawn again.
//!
//! [`rows`] cuts styled text into rows, [`markdown`] renders what a model writes while it comes, [`input`] edits the person's
//! message, [`screen`] turns finished text and the tail into the bytes of one frame. Nothing here writes, waits or knows of
//! runs.

pub mod input;
pub mod markdown;
pub mod rows;
pub mod screen;

pub use crossterm;
pub use ratatui_core::style::{Color, Modifier, Style};
pub use ratatui_core::text::{Line, Span};
