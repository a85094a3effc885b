//! For the code that `#[derive(Partial)]` emits; no part of the public interface.

pub use serde;

use serde::de::{Deserialize, DeserializeOwned, Deserializer};

/// Reads a field of what stands so far: `None` as long as it is no value of its type.
///
/// # Errors
/// The input is no value at all.
pub fn so_far<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<T>, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    Ok(T::deserialize(value).ok())
}
