//! Return types of a function, distinguished by trait.
//!
//! The traits of a question are implemented for [`Probe`] behind references of different depths, so that method
//! look-up on a concrete type finds the most special one first. The methods only name the kind; the kind then converts.

use std::convert::Infallible;
use std::error::Error;
use std::fmt::{self, Display, Write};
use std::marker::PhantomData;

use serde::Serialize;
use serde_json::Value;
use windlass_core::message::Content;
use windlass_error::in_full;

use crate::tool::{ToolError, ToolResult};

/// Marker for a value's type. Unlike the value, a reference to the marker implements none of its traits.
#[derive(Debug)]
pub struct Probe<T>(PhantomData<T>);

impl<T> Probe<T> {
    /// A probe of that value's type.
    pub fn of(_: &T) -> Self {
        Self(PhantomData)
    }
}

/// Gives a `Result`.
#[derive(Clone, Copy, Debug)]
pub struct Fallible;

/// Gives anything else.
#[derive(Clone, Copy, Debug)]
pub struct Sure;

/// [`Fallible`] types.
pub trait MayFail {
    #[doc(hidden)]
    fn __windlass_shape(&self) -> Fallible {
        Fallible
    }
}

impl<T, E> MayFail for &Probe<Result<T, E>> {}

/// [`Sure`] types.
pub trait NeverFails {
    #[doc(hidden)]
    fn __windlass_shape(&self) -> Sure {
        Sure
    }
}

impl<T> NeverFails for Probe<T> {}

impl Fallible {
    /// The result as it is.
    pub fn result<T, E>(self, result: Result<T, E>) -> Result<T, E> {
        result
    }
}

impl Sure {
    /// The value as a result.
    pub fn result<T>(self, value: T) -> Result<T, Infallible> {
        Ok(value)
    }
}

/// Content, or what becomes content by itself.
#[derive(Clone, Copy, Debug)]
pub struct AsContent;

/// Nothing.
#[derive(Clone, Copy, Debug)]
pub struct AsNothing;

/// Values rendered as JSON.
#[derive(Clone, Copy, Debug)]
pub struct AsJson;

/// [`AsContent`] types.
pub trait GivesContent {
    #[doc(hidden)]
    fn __windlass_content(&self) -> AsContent {
        AsContent
    }
}

impl<T: Into<Content>> GivesContent for &Probe<T> {}

/// [`AsNothing`] types.
pub trait GivesNothing {
    #[doc(hidden)]
    fn __windlass_content(&self) -> AsNothing {
        AsNothing
    }
}

impl GivesNothing for &Probe<()> {}

/// [`AsJson`] types.
pub trait GivesJson {
    #[doc(hidden)]
    fn __windlass_content(&self) -> AsJson {
        AsJson
    }
}

impl<T: Serialize> GivesJson for Probe<T> {}

impl AsContent {
    /// The content.
    #[expect(clippy::missing_errors_doc, reason = "it never fails; the others of its kind do")]
    pub fn content(self, value: impl Into<Content>) -> ToolResult {
        Ok(value.into())
    }
}

impl AsNothing {
    /// A word instead of nothing: models take an empty result for a failure.
    #[expect(clippy::missing_errors_doc, reason = "it never fails; the others of its kind do")]
    pub fn content(self, _nothing: ()) -> ToolResult {
        Ok("done".into())
    }
}

impl AsJson {
    /// The value as compact JSON; a text is given without quotes.
    ///
    /// # Errors
    /// It cannot be JSON, such as a map whose keys are no texts.
    pub fn content(self, value: impl Serialize) -> ToolResult {
        match serde_json::to_value(value) {
            Ok(Value::String(text)) => Ok(text.into()),
            Ok(value) => Ok(value.to_string().into()),
            Err(error) => Err(ToolError::new(format!("cannot write the tool's result as JSON: {error}"))),
        }
    }
}

/// A [`ToolError`].
#[derive(Clone, Copy, Debug)]
pub struct OwnFailure;

/// A `std::error::Error`.
#[derive(Clone, Copy, Debug)]
pub struct TypedFailure;

/// Errors that only have a text.
#[derive(Clone, Copy, Debug)]
pub struct DisplayFailure;

/// [`OwnFailure`] types.
pub trait FailsWithToolError {
    #[doc(hidden)]
    fn __windlass_failure(&self) -> OwnFailure {
        OwnFailure
    }
}

impl FailsWithToolError for &&Probe<ToolError> {}

/// [`TypedFailure`] types.
pub trait FailsWithError {
    #[doc(hidden)]
    fn __windlass_failure(&self) -> TypedFailure {
        TypedFailure
    }
}

impl<E: Error> FailsWithError for &Probe<E> {}

/// [`DisplayFailure`] types.
pub trait FailsWithDisplay {
    #[doc(hidden)]
    fn __windlass_failure(&self) -> DisplayFailure {
        DisplayFailure
    }
}

impl<E: Display> FailsWithDisplay for Probe<E> {}

impl OwnFailure {
    /// The error as it is.
    pub fn failure(self, error: ToolError) -> ToolError {
        error
    }
}

impl TypedFailure {
    /// The error with its kind and its causes.
    pub fn failure(self, error: impl Error + 'static) -> ToolError {
        ToolError::of_kind(kind(&error), in_full(&error))
    }
}

impl DisplayFailure {
    /// The error's text. The alternate form is the one in which `anyhow::Error` and `eyre::Report` tell the causes.
    pub fn failure(self, error: impl Display) -> ToolError {
        ToolError::new(format!("{error:#}"))
    }
}

/// The variant's name of an enum, the type's name of anything else.
fn kind<E: Error + 'static>(error: &E) -> String {
    if let Some(io) = (error as &dyn std::any::Any).downcast_ref::<std::io::Error>() {
        return format!("{:?}", io.kind());
    }
    let mut word = FirstWord(String::new());
    // Stops with an error after the word: a long Debug text is not written to its end.
    let _ = write!(word, "{error:?}");
    let names_a_kind = word.0 != "Error" && word.0.starts_with(|first: char| first.is_ascii_uppercase());
    if names_a_kind { word.0 } else { type_name::<E>() }
}

/// `Error` alone says nothing: then the crate is named too.
fn type_name<E>() -> String {
    let full = std::any::type_name::<E>();
    let path = full.split('<').next().unwrap_or(full);
    let last = path.rsplit("::").next().unwrap_or(path);
    match path.split("::").next() {
        Some(first) if last == "Error" && first != last => format!("{first}::{last}"),
        _ => last.to_owned(),
    }
}

/// Keeps the identifier that a text begins with.
struct FirstWord(String);

impl Write for FirstWord {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        self.0.push_str(&text[..text.len() - rest.len()]);
        if rest.is_empty() { Ok(()) } else { Err(fmt::Error) }
    }
}
