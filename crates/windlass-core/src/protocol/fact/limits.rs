//! Facts about limits.

use serde::{Deserialize, Serialize};

use crate::policy::limits::AtLimit;
use crate::vocabulary::ids::Text;
use crate::vocabulary::limit::LimitKind;

/// See [`LimitFact::Reached`](super::LimitFact::Reached).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitReached {
    /// The limit.
    pub limit: LimitKind,
    /// Its value, in the limit's unit ([`LimitKind::unit`]).
    pub max: u64,
    /// The value reached, in the same unit: of tokens and cost what was used, and what is reserved.
    pub reached: u64,
    /// Part of it that is reserved for model calls lost with their process; it is no usage.
    #[serde(default, skip_serializing_if = "is_none")]
    pub reserved: u64,
    /// Amount that the next model call would have reserved, if too little was left for it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub needed: u64,
    /// Outcome under the policy.
    pub at_limit: AtLimit,
    /// Note to the model before its closing call, if it gets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Text>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
pub(crate) fn is_none(number: &u64) -> bool {
    *number == 0
}

/// See [`LimitFact::Raised`](super::LimitFact::Raised).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitRaised {
    /// The limit.
    pub limit: LimitKind,
    /// Its new value, in the limit's unit.
    pub max: u64,
}
