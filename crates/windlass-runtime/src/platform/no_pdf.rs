//! Without the feature `pdf` no PDF is read as text.

use crate::platform::error::pdf::PdfError;

/// Asks a reader to stop; nothing here reads.
#[derive(Debug, Default)]
pub(crate) struct Stop;

impl Stop {
    #[expect(clippy::unused_self, reason = "it stands in for the reader's")]
    pub(crate) fn set(&self) {}
}

/// Refuses every file.
pub(crate) fn pages(_bytes: Vec<u8>, _stop: &Stop) -> Result<Vec<String>, PdfError> {
    Err(PdfError::NotBuilt)
}
