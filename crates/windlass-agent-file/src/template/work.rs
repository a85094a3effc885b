//! Budgets of a rendering: one of bytes and values for filters and operators, and one for the text.

use std::fmt::{self, Write};

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Output, State, Value};

/// The bytes and values that the filters and operators of one rendering may read and make.
pub(super) const MAX_WORK: u64 = 32 * 1024 * 1024;
/// Weight of a value beside its text.
pub(super) const VALUE: u64 = 16;
/// Maximum nesting depth of values.
const MAX_DEPTH: usize = 64;

/// Work done by this rendering.
#[derive(Default)]
struct Done {
    work: u64,
    text: usize,
}

/// The work and the text so far, in bytes.
pub(super) fn done(state: &State<'_, '_>) -> u64 {
    state.get_extension::<Done>().map_or(0, |done| done.work.saturating_add(done.text as u64))
}

pub(super) fn charge(state: &mut State<'_, '_>, work: u64) -> Result<(), Error> {
    let done = state.get_or_insert_extension(Done::default());
    done.work = done.work.saturating_add(work);
    if done.work > MAX_WORK {
        let words = format!("the template reads or makes more than {MAX_WORK} bytes");
        return Err(refused(words));
    }
    Ok(())
}

/// Charges for all that a value holds. It stops where the charge fails, so that a value which holds others many times
/// costs no more than that.
pub(super) fn weigh(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    weigh_at(state, value, 0)
}

fn weigh_at(state: &mut State<'_, '_>, value: &Value, depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(refused(format!("values nest deeper than {MAX_DEPTH}")));
    }
    charge(state, VALUE + length(value))?;
    if !holds_others(value) {
        return Ok(());
    }
    for item in value.try_iter()? {
        weigh_at(state, &item, depth + 1)?;
        if value.kind() == ValueKind::Map {
            weigh_at(state, &value.get_item(&item)?, depth + 1)?;
        }
    }
    Ok(())
}

/// The bytes of a text; 0: it is none.
pub(super) fn length(value: &Value) -> u64 {
    value.as_str().map_or(0, str::len) as u64
}

pub(super) fn holds_others(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::Iterable)
}

/// A list of what is otherwise made anew each time it is looked at.
pub(super) fn made(value: Value) -> Result<Value, Error> {
    if value.kind() != ValueKind::Iterable {
        return Ok(value);
    }
    Ok(value.try_iter()?.take(MAX_WORK as usize / VALUE as usize).collect())
}

pub(super) fn refused(words: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, words)
}

/// Writes a value into the text, which takes so many bytes and no more.
pub(super) fn emit(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
    most: usize,
) -> Result<(), Error> {
    if holds_others(value) {
        weigh(state, value)?;
    }
    let done = state.get_or_insert_extension(Done::default());
    let mut bounded = Bounded { out, left: most.saturating_sub(done.text) };
    let written = match value.as_str() {
        Some(text) => bounded.write_str(text),
        None => write!(bounded, "{value}"),
    };
    done.text = most - bounded.left;
    written.map_err(|_| refused(format!("the text is longer than {most} bytes")))
}

/// A text that takes so many bytes and no more.
struct Bounded<'o, 'w> {
    out: &'o mut Output<'w>,
    left: usize,
}

impl Write for Bounded<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.left = self.left.checked_sub(text.len()).ok_or(fmt::Error)?;
        self.out.write_str(text)
    }
}
