//! Whole numbers within bounds.

use std::fmt;

use schemars::json_schema;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A whole number from `MIN` to `MAX`, both allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Whole<const MIN: u64 = 0, const MAX: u64 = { u64::MAX }>(u64);

/// A whole number of 32 bits from `MIN`.
pub type Count<const MIN: u64 = 0> = Whole<MIN, 0xffff_ffff>;

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    /// The number, brought within the bounds.
    pub const fn of(number: u64) -> Self {
        if number < MIN {
            Self(MIN)
        } else if number > MAX {
            Self(MAX)
        } else {
            Self(number)
        }
    }

    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl<const MIN: u64> Count<MIN> {
    /// The number.
    pub fn get_u32(self) -> u32 {
        self.0 as u32
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(Bounds::<MIN, MAX>).map(Self)
    }
}

struct Bounds<const MIN: u64, const MAX: u64>;

impl<const MIN: u64, const MAX: u64> Visitor<'_> for Bounds<MIN, MAX> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {MIN}")?;
        // Nobody comes near the bounds of a type.
        if MAX < u64::from(u32::MAX) { write!(f, " to {MAX}") } else { Ok(()) }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        if (MIN..=MAX).contains(&number) {
            Ok(number)
        } else {
            Err(E::invalid_value(Unexpected::Unsigned(number), &self))
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }
}

crate::schema_as!(inline [const MIN: u64, const MAX: u64] Whole<MIN, MAX>, format!("whole_{MIN}_{MAX}"), |_| {
    let mut schema = json_schema!({ "type": "integer", "minimum": MIN });
    if MAX < u64::from(u32::MAX) {
        schema.insert("maximum".to_owned(), MAX.into());
    }
    schema
});
