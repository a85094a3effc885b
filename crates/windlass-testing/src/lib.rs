//! Testing agents without network, keys or real time: scripted conversations and what they are run with.

pub mod fixture;
