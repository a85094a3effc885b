//! Values of limits as Rust programs write them.

use std::time::Duration;

use serde_json::Value;

use crate::vocabulary::limit::LimitKind;

/// The value of a limit: a number in the unit that people write (counts, seconds, dollars), or a duration for
/// [`LimitKind::Seconds`] and [`LimitKind::StallSeconds`].
///
/// ```
/// use std::time::Duration;
/// use windlass_core::policy::{LimitKind, LimitValue};
///
/// let kept = |kind: LimitKind, value: LimitValue| value.kept(kind);
/// assert_eq!(kept(LimitKind::ModelCalls, 10.into()), Some(10));
/// assert_eq!(kept(LimitKind::CostUsd, 0.5.into()), Some(500_000_000_000));
/// assert_eq!(kept(LimitKind::Seconds, 90.into()), Some(90_000));
/// assert_eq!(kept(LimitKind::Seconds, Duration::from_secs(90).into()), Some(90_000));
/// // Half a call, less than nothing, or a time of calls is no limit.
/// assert_eq!(kept(LimitKind::ModelCalls, 0.5.into()), None);
/// assert_eq!(kept(LimitKind::ModelCalls, (-1).into()), None);
/// assert_eq!(kept(LimitKind::ModelCalls, Duration::from_secs(90).into()), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitValue(Written);

/// The largest count, as in agent files.
const MOST: u64 = 9_000_000_000_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Written {
    Number(f64),
    Whole(u64),
    Time(Duration),
}

impl LimitValue {
    /// The value in the limit's kept unit ([`LimitKind::unit`]); `None` if a limit of that kind cannot have it.
    pub fn kept(self, kind: LimitKind) -> Option<u64> {
        match self.0 {
            Written::Number(number) => kind.keep(number),
            // Counts are exact, however large.
            Written::Whole(number) if matches!(kind.unit(), "" | "tokens") => {
                (number <= MOST).then_some(number)
            }
            Written::Whole(number) => kind.keep(number as f64),
            Written::Time(time) if kind.unit() == "ms" => u64::try_from(time.as_millis()).ok(),
            Written::Time(_) => None,
        }
    }
}

/// As an agent file writes it; a duration is a text there, which no limit is.
impl From<LimitValue> for Value {
    fn from(value: LimitValue) -> Self {
        match value.0 {
            Written::Number(number) => number.into(),
            Written::Whole(number) => number.into(),
            Written::Time(time) => format!("{time:?}").into(),
        }
    }
}

impl From<f64> for LimitValue {
    fn from(number: f64) -> Self {
        Self(Written::Number(number))
    }
}

impl From<Duration> for LimitValue {
    fn from(time: Duration) -> Self {
        Self(Written::Time(time))
    }
}

impl From<u64> for LimitValue {
    fn from(number: u64) -> Self {
        Self(Written::Whole(number))
    }
}

impl From<u32> for LimitValue {
    fn from(number: u32) -> Self {
        Self(Written::Whole(number.into()))
    }
}

impl From<usize> for LimitValue {
    fn from(number: usize) -> Self {
        Self(Written::Whole(number as u64))
    }
}

/// The type of a number in a program that says no other.
impl From<i32> for LimitValue {
    fn from(number: i32) -> Self {
        Self(Written::Number(number.into()))
    }
}
