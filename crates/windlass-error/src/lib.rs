//! The parts of every error of Windlass: its [`Kind`], a stable code, and the remedy.
//!
//! An error type derives [`Diagnostic`], and each variant carries its kind, code and help:
//!
//! ```
//! use windlass_error::{Diagnostic, Kind};
//!
//! #[derive(Debug, thiserror::Error, Diagnostic)]
//! enum ShelfError {
//!     #[error("no book {title}")]
//!     #[diagnostic(kind = NotFound, code = "shelf.no_book", help = "order {title} first")]
//!     NoBook { title: String },
//!     #[error("the shelf is full")]
//!     #[diagnostic(kind = Exhausted, code = "shelf.full")]
//!     Full,
//! }
//!
//! let error = ShelfError::NoBook { title: "Emma".to_owned() };
//! assert_eq!((error.kind(), error.code()), (Kind::NotFound, "shelf.no_book"));
//! assert_eq!(error.help().as_deref(), Some("order Emma first"));
//! assert_eq!(ShelfError::Full.help(), None);
//! ```
//!
//! The help speaks about the thing itself. The command line adds its own hints by code, so no help names a command.

use std::borrow::Cow;
use std::error::Error;
use std::{fmt, io};

use windlass_macros::Named;

/// Implements [`Diagnostic`](trait@Diagnostic) for an error type.
///
/// An enum has the attribute at each variant, a struct at the type:
///
/// | argument | meaning |
/// |---|---|
/// | `kind = NotFound` | a variant of [`Kind`], or an expression that gives one |
/// | `code = "shelf.no_book"` | the stable code: a text, or an expression that gives one |
/// | `help = "order {title} first"` | what to do: a text with the fields in braces, or an expression that gives a text or an option of one |
/// | `transparent` | kind, code and help of the field `source`, or of the only field; an argument beside it replaces its part |
/// | `transparent = field` | the same of another field |
///
/// Fields are in scope under their names, and those of a tuple as `_0`, `_1`. Without `transparent`, kind and code are required.
pub use windlass_macros::Diagnostic;

/// The kind of an error: who can do something about it, and whether trying again may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Named)]
#[named(all)]
pub enum Kind {
    /// The request, file or setting is wrong. It fails again until it is changed.
    Invalid,
    /// Something that was named does not exist.
    NotFound,
    /// The request does not fit the present state: something else came first, is in progress, or has ended.
    Conflict,
    /// Credentials, consent or a rule forbid it.
    Forbidden,
    /// A limit, a budget or the disk is used up.
    Exhausted,
    /// Something outside cannot be used now: a network, a provider, a program, a locked file.
    Unavailable,
    /// A fault of Windlass, or stored data that is damaged.
    Internal,
}

impl Kind {
    /// The kind of a failure of the operating system.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
    pub fn of_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            io::ErrorKind::AlreadyExists => Self::Conflict,
            io::ErrorKind::PermissionDenied => Self::Forbidden,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::OutOfMemory => {
                Self::Exhausted
            }
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::IsADirectory => {
                Self::Invalid
            }
            _ => Self::Unavailable,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An error with a kind, a stable code and a remedy.
pub trait Diagnostic: Error {
    /// The kind.
    fn kind(&self) -> Kind;

    /// A stable code, such as `store.unknown_run`.
    fn code(&self) -> &'static str;

    /// The remedy, in words.
    fn help(&self) -> Option<Cow<'_, str>>;
}

impl<D: Diagnostic> Diagnostic for Box<D> {
    fn kind(&self) -> Kind {
        (**self).kind()
    }

    fn code(&self) -> &'static str {
        (**self).code()
    }

    fn help(&self) -> Option<Cow<'_, str>> {
        (**self).help()
    }
}

/// An error of a crate that this one does not know.
#[derive(Debug)]
pub struct AnyDiagnostic(Box<dyn Diagnostic + Send + Sync>);

impl AnyDiagnostic {
    /// An error, without its type.
    pub fn new(error: impl Diagnostic + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Display for AnyDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for AnyDiagnostic {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

impl Diagnostic for AnyDiagnostic {
    fn kind(&self) -> Kind {
        self.0.kind()
    }

    fn code(&self) -> &'static str {
        self.0.code()
    }

    fn help(&self) -> Option<Cow<'_, str>> {
        self.0.help()
    }
}

/// An error with its causes, in one line. A cause that its wrapper has already told is left out.
///
/// ```
/// let error = std::io::Error::other("the disk is full");
/// assert_eq!(windlass_error::in_full(&error), "the disk is full");
/// ```
pub fn in_full(error: &dyn Error) -> String {
    let mut text = error.to_string();
    for cause in causes(error) {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
    }
    text
}

/// The causes of an error, the nearest first. The error itself is none of them.
pub fn causes<'e>(error: &'e (dyn Error + 'e)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

/// The items that derived code refers to. No part of the API.
#[doc(hidden)]
pub mod __private {
    use std::borrow::Cow;

    /// The forms in which an attribute may give a help.
    #[derive(Debug)]
    pub struct Help<'h>(Option<Cow<'h, str>>);

    macro_rules! forms {
        ($($form:ty),*) => {$(
            impl<'h> From<$form> for Help<'h> {
                fn from(help: $form) -> Self {
                    Self(Some(help.into()))
                }
            }

            impl<'h> From<Option<$form>> for Help<'h> {
                fn from(help: Option<$form>) -> Self {
                    Self(help.map(Into::into))
                }
            }
        )*};
    }
    forms!(&'h str, String, Cow<'h, str>);

    /// The help that an attribute gives.
    pub fn help<'h>(help: impl Into<Help<'h>>) -> Option<Cow<'h, str>> {
        help.into().0
    }
}
