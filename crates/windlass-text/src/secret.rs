//! Owns [`Secret`]: a key or password that never appears in logs, events, errors or the model's context, and
//! [`mask`], which keeps texts of others free of them.

use std::fmt;
use std::sync::Arc;

mod masker;
mod matcher;
mod patterns;
mod stream;
mod url;
mod views;

pub use masker::{Masker, SECRET_MARGIN, mask, mask_and_cut, mask_first, mask_json};
pub use stream::StreamMask;
pub use url::{looks_like_a_key, mask_url_parts};

/// Replacement for a secret.
const MASK: &str = "***";

/// A key or password. It cannot be serialised, and its `Debug` and `Display` forms print `***`.
///
/// The process's [`Masker`] knows every secret from its creation on and masks it in all output of tools, models and servers
/// before that is stored or shown. A new source of credentials only has to create a `Secret`.
///
/// ```
/// use windlass_text::secret::{Secret, mask};
///
/// let _key = Secret::new("sk-0123456789abcdef");
/// assert_eq!(mask("the key is sk-0123456789abcdef"), "the key is ***");
/// assert_eq!(mask("c2stMDEyMzQ1Njc4OWFiY2RlZg== in base64"), "*** in base64");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// The least number of bytes of a secret that is masked: a shorter one would blot out ordinary words.
    pub const MIN_MASKED_BYTES: usize = 6;

    /// Takes a secret, and has it masked from now on.
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        let secret = Self(value.into());
        Masker::of_process().add(&secret);
        secret
    }

    /// Takes a value that prints as `***` like a secret, but is not masked in texts: a setting that stands where secrets
    /// may stand, such as `production`.
    pub fn unmasked(value: impl Into<Arc<str>>) -> Self {
        Self(value.into())
    }

    /// The secret itself: only for the place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it is long enough to be masked.
    pub fn is_masked(&self) -> bool {
        self.0.trim().len() >= Self::MIN_MASKED_BYTES
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
