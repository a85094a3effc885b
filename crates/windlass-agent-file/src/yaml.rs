//! YAML with positions: agent files, scripted conversations and settings are read with this.
//!
//! A document becomes a tree of [`Node`]s, each with its line and column. Decoders read it with [`Field`] and [`MapReader`]; an
//! invalid value gives a [`YamlError`] with its position. Scalars follow the core schema of YAML 1.2.2 (10.3): `on`, `off`,
//! `yes` and `no` are texts. Values that JSON cannot hold (`.inf`, maps with non-text keys, custom tags) and repeated keys are
//! refused. Everything is bounded: see [`MAX_BYTES`], [`MAX_NODES`], [`MAX_DEPTH`] and [`MAX_TEXT_BYTES`].

mod access;
mod at;
mod de;
mod error;
mod faults;
mod load;
mod node;
mod read;
mod scalar;
mod words;

pub use at::{At, Entries, Hidden, Kind, OfKind, OneOrMany, Valued, of_kind};
pub use error::{Problem, YamlError};
pub use faults::{all_faults, first_fault, is_unknown_key};
pub use load::{MAX_BYTES, MAX_DEPTH, MAX_NODES, MAX_TEXT_BYTES, parse, parse_with_faults};
pub use node::{Key, Node, NodeValue, Place};
pub use read::{Field, MapReader};

#[cfg(test)]
mod tests;
