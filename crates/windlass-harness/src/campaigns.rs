//! Campaigns of random kills: one run, two supervisors, simultaneous starts, and many senders.

mod chain;
mod kills;
mod moments;
mod sender;
mod senders;
mod starts;
mod supervisors;

pub use kills::{KillPlan, KillReport, kills};
pub use sender::{SenderPlan, send};
pub use senders::{SendersLine, SendersPlan, SendersReport, senders};
