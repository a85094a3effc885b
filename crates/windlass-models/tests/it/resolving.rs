//! Names that become models, and `auto`.
