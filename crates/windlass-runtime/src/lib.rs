//! The driver of Windlass, agents and agent files, and the edges around the loop.

pub mod yaml;
