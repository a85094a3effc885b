//! Everything that the conversation has: reasoning and attempts that were in vain, too.

use super::{Maker, full};

pub(super) const MAKER: Maker = full::MAKER;
