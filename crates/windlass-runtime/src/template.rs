//! Instructions as templates, within bounds: an agent's file may come from a stranger.
//!
//! `minijinja` counts the steps of a template (fuel), but a step may do any amount of work, and a value may double with
//! each. So three things are added: [`check`] bounds how deep and long tags are before the parser sees them and refuses
//! what lets values grow out of themselves; each filter is charged for what it reads and makes ([`filters`]); and the text
//! that comes out has a bound.

mod check;
mod filters;

use std::io;

use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};
use windlass_core::Steps;

pub(crate) use check::{Fault, check};

/// The largest template, in bytes (1 MiB).
const MAX_TEMPLATE_BYTES: usize = 1024 * 1024;
/// The steps that rendering a template may take.
const MAX_STEPS: u64 = 100_000;
/// The bytes and values that the filters of one rendering may read and make.
const MAX_WORK: u64 = 32 * 1024 * 1024;
/// The largest text that a template may make beside what its input brings along, in bytes (4 MiB).
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// How often the input's own bytes may stand in the text.
const MAX_INPUT_COPIES: usize = 4;
/// The name of the instructions among an agent's templates.
const NAME: &str = "instructions";

/// A template that was checked and read.
#[derive(Debug)]
pub(crate) struct Template(Environment<'static>);

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// It is no template, or beyond a bound.
    pub(crate) fn new(text: &str) -> Result<Self, Error> {
        check(text).map_err(|Fault { line, reason }| {
            Error::new(ErrorKind::SyntaxError, format!("{reason} (line {line})"))
        })?;
        let mut environment = Environment::empty();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(MAX_STEPS));
        filters::add(&mut environment);
        environment.add_template_owned(NAME, text.to_owned())?;
        Ok(Self(environment))
    }

    /// The text for an input.
    ///
    /// # Errors
    /// The template fails on it, or a bound is exceeded.
    pub(crate) fn render(&self, input: &serde_json::Value) -> Result<String, Error> {
        self.render_in_steps(input, &Steps::default())
    }

    fn render_in_steps(&self, input: &serde_json::Value, steps: &Steps) -> Result<String, Error> {
        let input_bytes = serde_json::to_string(input).map_or(0, |json| json.len());
        let most = MAX_TEXT_BYTES.saturating_add(input_bytes.saturating_mul(MAX_INPUT_COPIES));
        let mut text = Bounded { text: Vec::new(), most };
        let context = minijinja::context! { input => Value::from(minijinja::value::Serde(input)) };
        let done = self.0.get_template(NAME)?.render_captured_to(context, &mut text);
        steps.add(input_bytes + text.text.len());
        let done = done.map_err(|error| if text.text.len() >= text.most { too_long(most) } else { error })?;
        let fuel = done.state().fuel_levels().map_or(0, |(used, _)| used);
        steps.add(usize::try_from(fuel.saturating_add(filters::work(done.state()))).unwrap_or(usize::MAX));
        drop(done);
        String::from_utf8(text.text).map_err(|_| Error::new(ErrorKind::WriteFailure, "it made no text"))
    }
}

fn too_long(most: usize) -> Error {
    let words = format!("the text is longer than {most} bytes");
    Error::new(ErrorKind::InvalidOperation, words)
}

/// A text that takes so many bytes and no more.
struct Bounded {
    text: Vec<u8>,
    most: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.most - self.text.len();
        self.text.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        if bytes.len() > room { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
