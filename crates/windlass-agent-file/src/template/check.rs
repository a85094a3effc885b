//! Checks of a template before it is rendered.

use minijinja::machinery::Token;
use windlass_core::text::steps;

use super::filters::{FILTERS, TESTS, exists};
use super::operators::PLUS;
use super::tags::{Fault, Tag, tags};
use super::{MAX_TEMPLATE_BYTES, names, operators};

/// Checks a template.
///
/// # Errors
/// The first fault: it is none, or beyond a bound.
pub(crate) fn check(text: &str) -> Result<(), Fault> {
    checked(text).map(drop)
}

/// Checks a template that is given values of these names. Gives the parts of `input` that it needs.
///
/// # Errors
/// As [`check`], or it reads a name that nothing gives a value.
pub(crate) fn check_reading(text: &str, known: &[&str]) -> Result<Vec<String>, Fault> {
    names::read(&checked(text)?, known)
}

fn checked(text: &str) -> Result<Vec<Tag<'_>>, Fault> {
    if text.len() > MAX_TEMPLATE_BYTES {
        let reason = format!("it has {} bytes, at most {MAX_TEMPLATE_BYTES} are taken", text.len());
        return Err(Fault { line: 1, reason });
    }
    let tags = tags(text)?;
    for tag in &tags {
        steps::add(tag.len());
        (0..tag.len()).try_for_each(|at| sign(tag, at))?;
    }
    steps::add(text.len());
    operators::compile(text)?;
    Ok(tags)
}

/// Refuses the signs that let values grow out of themselves, and names of filters and tests as texts that do not exist.
fn sign(tag: &Tag<'_>, at: usize) -> Result<(), Fault> {
    let number =
        |at: usize| matches!(tag.token(at), Some(Token::Int(_) | Token::Int128(_) | Token::Float(_)));
    let refused = |reason: &str| Err(Fault::at(tag.span(at), reason));
    match tag.token(at) {
        Some(Token::Tilde) => {
            refused("templates do not support `~`: write one value after the other, {{ a }}{{ b }}")
        }
        // The compiler multiplies constants, whatever their length.
        Some(Token::Mul | Token::Pow) => {
            let before = at.checked_sub(1).and_then(|at| tag.token(at));
            let argument = matches!(before, Some(Token::ParenOpen | Token::Comma));
            let place = if argument { " before arguments" } else { "" };
            refused(&format!("templates do not support `*` and `**`{place}"))
        }
        Some(Token::Plus) if !number(at + 1) && !at.checked_sub(1).is_some_and(number) => refused(PLUS),
        Some(Token::Pipe) => {
            // The filters that take the name of another filter, or of a test: where it stands.
            let (kind, all, place) = match tag.word(at + 1) {
                Some("map") => ("filter", FILTERS, at + 3),
                Some("select" | "reject") => ("test", TESTS, at + 3),
                Some("selectattr" | "rejectattr") => ("test", TESTS, at + 5),
                _ => return Ok(()),
            };
            match (tag.token(at + 2), tag.token(place)) {
                (Some(Token::ParenOpen), Some(Token::Str(name))) => {
                    exists(kind, name, all).map_err(|reason| Fault::at(tag.span(place), reason))
                }
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
