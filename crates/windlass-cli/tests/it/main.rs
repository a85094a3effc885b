//! The real binary, as people and scripts use it.

mod agents;
mod chat;
mod crash;
mod errors;
mod json;
mod kit;
mod people;
mod reach;
mod run;
mod scripted;
mod signals;
mod terminal;
mod tools;
