//! Everything that the conversation has: reasoning and attempts that were in vain, too.

use crate::view::{Maker, full};

pub(crate) const MAKER: Maker = full::MAKER;
