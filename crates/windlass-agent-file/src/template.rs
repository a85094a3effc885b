//! Instructions and prompts as templates, within bounds: an agent's file may come from a stranger.
//!
//! `minijinja` counts the steps of a template (fuel), but a step may do any amount of work, and a value may double with
//! each. So four things are added: `tags` bounds how long tags are before the parser sees them, and `check` refuses
//! the signs that let texts grow out of themselves; each filter is charged for what it reads and makes (`filters`); so is
//! each operator whose cost depends on its values (`operators`); and the text that comes out has a bound.

mod check;
mod filters;
mod names;
mod operators;
mod tags;
mod work;

use minijinja::machinery::{eval, make_string_output};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};
use windlass_error::Diagnostic;

pub(crate) use check::{check, check_reading};
pub(crate) use tags::Fault;

/// A text that is no template, a template that fails on its input, or a bound that is exceeded: in the parser's words, with the
/// line.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error(transparent)]
#[diagnostic(kind = Invalid, code = "template.invalid")]
pub struct TemplateError(#[from] Error);

impl TemplateError {
    /// The line of the template, from 1.
    pub(crate) fn line(&self) -> usize {
        self.0.line().unwrap_or(1)
    }

    /// Whether something that the template reads is not there.
    pub(crate) fn is_undefined(&self) -> bool {
        self.0.kind() == ErrorKind::UndefinedError
    }
}

/// The largest template, in bytes (1 MiB).
const MAX_TEMPLATE_BYTES: usize = 1024 * 1024;
/// The steps that rendering a template may take; to count the work of an operator takes two more.
const MAX_STEPS: u64 = 200_000;
/// The largest text that a template may make beside what its input brings along, in bytes (4 MiB).
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of copies of the input in the rendered text.
const MAX_INPUT_COPIES: usize = 4;
/// The name of every template, for messages.
const NAME: &str = "template";

/// A template that was checked.
#[derive(Debug)]
pub struct Template {
    environment: Environment<'static>,
    text: String,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// It is no template, or beyond a bound.
    pub fn new(text: &str) -> Result<Self, TemplateError> {
        check(text).map_err(not_a_template)?;
        let mut environment = Environment::empty();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(MAX_STEPS));
        filters::add(&mut environment);
        operators::add(&mut environment);
        Ok(Self { environment, text: text.to_owned() })
    }

    /// The text for an input.
    ///
    /// # Errors
    /// The template fails on it, or a bound is exceeded.
    pub fn render(&self, input: &serde_json::Value) -> Result<String, TemplateError> {
        Ok(self.counted(input)?.0)
    }

    /// The text for values by name.
    ///
    /// # Errors
    /// The template fails on them, or a bound is exceeded.
    pub fn render_with(
        &self,
        values: &serde_json::Map<String, serde_json::Value>,
    ) -> Result<String, TemplateError> {
        let bytes = serde_json::to_string(values).map_or(0, |json| json.len());
        Ok(self.evaluated(Value::from(minijinja::value::Serde(values)), bytes)?.0)
    }

    /// As [`Template::render`], with the steps that were taken and the work that was done.
    fn counted(&self, input: &serde_json::Value) -> Result<(String, u64), Error> {
        let bytes = serde_json::to_string(input).map_or(0, |json| json.len());
        let context = minijinja::context! { input => Value::from(minijinja::value::Serde(input)) };
        self.evaluated(context, bytes)
    }

    /// The text for values of so many bytes, with what `counted` counts.
    fn evaluated(&self, context: Value, input_bytes: usize) -> Result<(String, u64), Error> {
        let most = MAX_TEXT_BYTES.saturating_add(input_bytes.saturating_mul(MAX_INPUT_COPIES));
        let mut environment = self.environment.clone();
        environment.set_formatter(move |out, state, value| work::emit(out, state, value, most));
        let instructions = operators::compile(&self.text).map_err(not_a_template)?;
        let (mut text, no_blocks) = (String::new(), std::collections::BTreeMap::new());
        let mut out = make_string_output(&mut text);
        let (_, state) = eval(&environment, &instructions, context, &no_blocks, &mut out, AutoEscape::None)?;
        let fuel = state.fuel_levels().map_or(0, |(used, _)| used);
        let done = work::done(&state).saturating_add(fuel);
        drop(state);
        Ok((text, done))
    }
}

fn not_a_template(Fault { line, reason }: Fault) -> Error {
    Error::new(ErrorKind::SyntaxError, format!("{reason} (line {line})"))
}

#[cfg(test)]
mod tests;
