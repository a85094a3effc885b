//! The text of PDF files, page by page, for models whose API takes no PDF (ISO 32000-1).
//!
//! Files come from strangers: the number of pages, of operators and of decompressed bytes is bounded before and while a file is read, and
//! a panic of the parser is an error.

mod encodings;
mod expansion;
mod font;
mod interpreter;
mod lines;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use hayro_syntax::{LoadPdfError, Pdf};

use crate::platform::error::pdf::PdfError;
use interpreter::Interpreter;

/// Maximum number of pages of a file.
pub(crate) const MAX_PAGES: usize = 2_000;
/// Maximum length of a file's text, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;

/// Asks a reader on another thread to stop, for example after a timeout.
#[derive(Debug, Default)]
pub(crate) struct Stop(AtomicBool);

impl Stop {
    /// Makes the reader return [`PdfError::TooSlow`] at its next check.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn check(&self) -> Result<(), PdfError> {
        if self.0.load(Ordering::Relaxed) { Err(PdfError::TooSlow) } else { Ok(()) }
    }
}

/// The text of each page. At least one page has text.
///
/// # Errors
/// The file is encrypted, broken, without text, or exceeds a bound.
pub(crate) fn pages(bytes: Vec<u8>, stop: &Stop) -> Result<Vec<String>, PdfError> {
    // The parser indexes and computes with numbers of the file; what a panic leaves behind is dropped here.
    catch_unwind(AssertUnwindSafe(|| read(bytes, stop))).unwrap_or(Err(PdfError::Broken))
}

fn read(bytes: Vec<u8>, stop: &Stop) -> Result<Vec<String>, PdfError> {
    expansion::check(&bytes, stop)?;
    let pdf = Pdf::new(bytes).map_err(|error| match error {
        LoadPdfError::Decryption(_) => PdfError::Encrypted,
        LoadPdfError::Invalid => PdfError::Broken,
    })?;
    let pages = pdf.pages();
    if pages.is_empty() {
        return Err(PdfError::Broken);
    }
    if pages.len() > MAX_PAGES {
        return Err(PdfError::TooManyPages { pages: pages.len(), most: MAX_PAGES });
    }
    let mut interpreter = Interpreter::new(stop);
    let mut texts = Vec::with_capacity(pages.len());
    let mut left = MAX_TEXT_BYTES;
    for page in pages.iter() {
        let text = interpreter.page(page, left)?;
        left = left.checked_sub(text.len()).ok_or(PdfError::TooLong { most: MAX_TEXT_BYTES })?;
        texts.push(text);
    }
    let is_read = |text: &String| text.chars().any(|c| !c.is_whitespace() && c != font::UNKNOWN);
    if texts.iter().any(is_read) { Ok(texts) } else { Err(PdfError::NoText { pages: texts.len() }) }
}

#[cfg(test)]
mod tests;
