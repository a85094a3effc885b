//! What both stores promise, and what the one on disk promises beyond that.

mod conformance;
