//! The real binary, as people and scripts use it.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what is shared by tests fails them as they would fail themselves"
)]

mod agents;
mod approving;
mod ask;
mod batches;
mod brain;
mod cassettes;
mod changed;
mod chat;
mod checking;
mod chosen;
mod conversations;
mod costs;
mod crash;
mod delegates;
#[cfg(test)]
mod durable;
mod effects;
mod endurance;
mod errors;
mod exchange;
mod face;
mod forks;
mod from_env;
mod habits;
mod helping;
mod holding;
mod hostile;
mod in_doubt;
mod init;
mod json;
mod kit;
mod limits;
mod listing;
mod manual;
mod meaning;
mod model_failures;
mod money;
mod moved;
mod old_formats;
mod on_a_server;
mod own_agents;
mod pages;
mod patterns;
mod pausing;
mod people;
mod plans;
mod providers;
mod quotas;
mod reach;
mod reading;
mod readme;
mod recorded;
mod recovering;
mod run;
mod scripted;
mod seat;
mod secrets;
mod serve;
mod serve_page;
mod served;
mod server;
mod sessions;
mod signals;
mod skills;
mod streaming;
mod taken_away;
mod talks;
mod telemetry;
mod terminal;
mod tool_server;
mod tools;
mod unread;
mod upkeep;
mod verbs;
mod waiting;
mod watch;
mod wires;
