//! Why a PDF is not read as text.

use thiserror::Error;
use windlass_error::Diagnostic;

/// A PDF that a model can be sent neither as it is nor as text.
#[derive(Debug, Error, Diagnostic)]
#[error("{what} cannot be sent as text to {model}, whose API takes no PDF")]
#[diagnostic(transparent = source)]
#[non_exhaustive]
pub struct UnreadPdf {
    /// The model.
    pub model: String,
    /// The file.
    pub what: String,
    /// Why.
    #[source]
    pub source: PdfError,
}

/// Errors of reading a PDF as text.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[non_exhaustive]
pub enum PdfError {
    /// The program was built without the reader.
    #[error("this program was built without the reader of PDFs")]
    #[diagnostic(
        kind = Invalid,
        code = "pdf.not_built",
        help = "build with the feature `pdf`, or ask a model whose API takes PDFs"
    )]
    NotBuilt,
    /// The file is encrypted, with a password or without.
    #[error("it is encrypted")]
    #[diagnostic(kind = Invalid, code = "pdf.encrypted", help = "save it without encryption first")]
    Encrypted,
    /// The file is no PDF, or is damaged beyond repair.
    #[error("it is not a PDF, or is damaged")]
    #[diagnostic(kind = Invalid, code = "pdf.broken", help = "open it in a viewer and save it anew")]
    Broken,
    /// No page has text: they are images, or their fonts do not say which characters they draw.
    #[error("none of its {pages} pages has text that can be read: it may be a scan")]
    #[diagnostic(
        kind = Invalid,
        code = "pdf.no_text",
        help = "recognise its text first (OCR), give its pages as images, or ask a model whose API takes PDFs"
    )]
    NoText {
        /// Number of its pages.
        pages: usize,
    },
    /// The file has too many pages.
    #[error("it has {pages} pages; the limit is {most}")]
    #[diagnostic(kind = Exhausted, code = "pdf.too_many_pages", help = "give the pages that matter as a file of their own")]
    TooManyPages {
        /// Number of its pages.
        pages: usize,
        /// The limit.
        most: usize,
    },
    /// The text is too long.
    #[error("its text is longer than {most} bytes, which is the limit")]
    #[diagnostic(kind = Exhausted, code = "pdf.too_long", help = "give the pages that matter as a file of their own")]
    TooLong {
        /// The limit in bytes.
        most: usize,
    },
    /// Its streams decompress to too much.
    #[error("its content decompresses to more than {most} bytes, which is the limit")]
    #[diagnostic(kind = Exhausted, code = "pdf.expands", help = "give the pages that matter as a file of their own")]
    Expands {
        /// The limit in bytes.
        most: u64,
    },
    /// It takes too long to read.
    #[error("it takes too long to read")]
    #[diagnostic(kind = Exhausted, code = "pdf.too_slow", help = "give the pages that matter as a file of their own")]
    TooSlow,
}
