//! Owns reading of fields that a reply can be understood without: where a server gives one another type than its API promises, it
//! counts as absent, and the reply that was paid for stays.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A value of one token.
pub(crate) trait Scalar: Sized {
    fn of_text(text: &str) -> Option<Self>;

    fn of_number(_: u64) -> Option<Self> {
        None
    }

    fn of_flag(_: bool) -> Option<Self> {
        None
    }
}

impl Scalar for String {
    fn of_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl Scalar for Box<str> {
    fn of_text(text: &str) -> Option<Self> {
        Some(text.into())
    }
}

impl Scalar for u64 {
    fn of_text(text: &str) -> Option<Self> {
        text.trim().parse().ok()
    }

    fn of_number(number: u64) -> Option<Self> {
        Some(number)
    }
}

impl Scalar for u32 {
    fn of_text(text: &str) -> Option<Self> {
        text.trim().parse().ok()
    }

    fn of_number(number: u64) -> Option<Self> {
        number.try_into().ok()
    }
}

impl Scalar for bool {
    fn of_text(text: &str) -> Option<Self> {
        text.trim().parse().ok()
    }

    fn of_flag(flag: bool) -> Option<Self> {
        Some(flag)
    }
}

struct Reader<T>(PhantomData<T>);

impl<'de, T: Scalar> Visitor<'de> for Reader<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_str<E>(self, text: &str) -> Result<Option<T>, E> {
        Ok(T::of_text(text))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Option<T>, E> {
        Ok(T::of_number(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Option<T>, E> {
        Ok(u64::try_from(number).ok().and_then(T::of_number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Option<T>, E> {
        Ok(if number >= 0.0 { T::of_number(number as u64) } else { None })
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Option<T>, E> {
        Ok(T::of_flag(flag))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Option<T>, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<T>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// A text, a number or a flag. A number may stand in a text.
pub(crate) fn scalar<'de, D: Deserializer<'de>, T: Scalar>(deserializer: D) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_any(Reader(PhantomData))
}

/// An object or a list.
pub(crate) fn nested<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let raw = <&RawValue>::deserialize(deserializer)?.get();
    Ok(if raw.starts_with(['{', '[']) { serde_json::from_str(raw).ok() } else { None })
}
