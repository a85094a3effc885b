//! Counts what a reader of foreign text looks at.
//!
//! Replies, tool results, files and requests are untrusted, so a reader's cost must be linear in its input. Each reader says
//! what it does ([`add`]): every byte that it reads and every byte or value that it produces is one step. Tests compare the
//! count ([`taken`]) for an input with the count for one twice as long ([`doubling`]); they count steps instead of time, so they
//! also hold on a busy machine. Without debug assertions nothing is counted.

use std::cell::Cell;

/// Maximum growth of the cost when the input's length doubles.
const MOST_GROWTH: f64 = 2.5;
/// The steps that do not depend on the length: a look at the first byte, an empty list.
const FIXED_STEPS: u64 = 64;

thread_local! {
    /// The steps of this thread.
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts so many steps more.
#[inline]
pub fn add(steps: usize) {
    if cfg!(debug_assertions) {
        STEPS.set(STEPS.get().saturating_add(steps as u64));
    }
}

/// The steps that a reader takes on this thread.
pub fn taken<T>(read: impl FnOnce() -> T) -> u64 {
    let before = STEPS.get();
    drop(read());
    STEPS.get() - before
}

/// A form of input to compare in lengths, with its name.
pub type Shape = (&'static str, fn(usize) -> String);

/// Checks that a reader is linear: `cost(n)` reads an input of the length `n` and gives the steps.
///
/// # Errors
/// An input of 2n costs more than 2.5 times one of n: says which n, and both counts.
pub fn doubling(mut cost: impl FnMut(usize) -> u64) -> Result<(), String> {
    for n in [512, 1024, 4096, 16_384] {
        let (one, two) = (cost(n), cost(2 * n));
        if two as f64 > (one + FIXED_STEPS) as f64 * MOST_GROWTH {
            return Err(format!("{n} costs {one} steps and {} costs {two}", 2 * n));
        }
        if one == 0 {
            return Err(format!("{n} costs no step: nothing is counted"));
        }
    }
    Ok(())
}

/// A text that is read once from its beginning to its end: each operation counts the bytes that it looks at.
#[derive(Debug)]
pub struct Scan<'t> {
    rest: &'t str,
}

impl<'t> Scan<'t> {
    /// From the beginning of a text.
    pub fn new(text: &'t str) -> Self {
        Self { rest: text }
    }

    /// The unread rest.
    pub fn rest(&self) -> &'t str {
        self.rest
    }

    /// The text read since `before` was the rest.
    pub fn since(&self, before: &'t str) -> &'t str {
        before.get(..before.len().saturating_sub(self.rest.len())).unwrap_or_default()
    }

    /// Whether nothing is left to read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next character.
    pub fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Passes over so many bytes; `None`: that is no place between two characters.
    pub fn pass(&mut self, bytes: usize) -> Option<&'t str> {
        let (passed, rest) = self.rest.split_at_checked(bytes)?;
        add(bytes.max(1));
        self.rest = rest;
        Some(passed)
    }

    /// Passes over the characters that fit.
    pub fn pass_while(&mut self, fits: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        self.pass(end).unwrap_or_default()
    }

    /// Passes over white space.
    pub fn skip_space(&mut self) {
        self.pass_while(char::is_whitespace);
    }

    /// Consumes `wanted` if it comes next.
    pub fn take(&mut self, wanted: &str) -> bool {
        add(wanted.len());
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Returns the text before the next `wanted` and consumes both. `None`: `wanted` does not occur, and nothing is consumed.
    pub fn until(&mut self, wanted: &str) -> Option<&'t str> {
        let Some((before, after)) = self.rest.split_once(wanted) else {
            add(self.rest.len());
            return None;
        };
        add(before.len() + wanted.len());
        self.rest = after;
        Some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_begins_anew_at_each_byte_is_found_out() {
        let linear = |n: usize| n as u64;
        let square = |n: usize| (n * n) as u64;
        assert_eq!(doubling(linear), Ok(()));
        assert_eq!(doubling(square).unwrap_err(), "512 costs 262144 steps and 1024 costs 1048576");
        assert!(doubling(|_| 0).is_err());
    }

    #[test]
    fn a_scan_counts_what_it_looks_at() {
        let steps = taken(|| {
            let mut scan = Scan::new("  name(x)");
            scan.skip_space();
            assert_eq!(scan.pass_while(char::is_alphabetic), "name");
            assert!(scan.take("("));
            assert_eq!(scan.until(")"), Some("x"));
            assert!(scan.is_empty());
        });
        assert_eq!(steps, 9);
        assert_eq!(taken(|| assert_eq!(Scan::new("abc").until("z"), None)), 3);
    }
}
