//! The loop of Windlass as a pure state machine over an append-only log.
mod action;
mod event;
mod history;
mod ids;
mod message;
mod nearest;
mod outcome;
mod policy;
mod question;
mod reply;
mod state;
mod tool;

pub use action::*;
pub use event::*;
pub use history::*;
pub use ids::*;
pub use message::*;
pub use nearest::nearest;
pub use outcome::*;
pub use policy::*;
pub use question::*;
pub use reply::*;
pub use state::*;
pub use tool::*;
