//! Owns [`Secret`]: a key or password that never appears in logs, events, errors or the model's context (E53).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What stands where a secret stood.
const MASK: &str = "***";

/// A secret shorter than this many bytes is not masked in texts: it would blot out ordinary words.
const MIN_MASKED_BYTES: usize = 4;

/// A key or password. It cannot be serialised, and its `Debug` and `Display` forms print `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Takes a secret.
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        Self(value.into())
    }

    /// The secret itself: only for the place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The text with each exact occurrence of the secret replaced by `***`. A secret of less than four bytes is left
    /// in place.
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.0.len() < MIN_MASKED_BYTES || !text.contains(&*self.0) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.replace(&*self.0, MASK))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self::new(value)
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self::new(value)
    }
}

#[cfg(test)]
mod tests;
