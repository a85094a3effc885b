//! Addresses, whose parts from the environment are not shown.

use std::fmt;

use windlass_core::secret::mask_url_parts;

/// The address of a server. Prints as it is written in the file: parts from the environment stay `${NAME}`.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    text: String,
    written: String,
}

impl Address {
    pub(super) fn new(text: impl Into<String>, written: impl Into<String>) -> Self {
        Self { text: text.into(), written: written.into() }
    }

    /// An address that stands in no file. The secrets in it are masked.
    pub fn given(text: &str) -> Self {
        mask_url_parts(text);
        Self::new(text, text)
    }

    /// The whole address: only for the place that calls it.
    pub fn expose(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.written)
    }
}
