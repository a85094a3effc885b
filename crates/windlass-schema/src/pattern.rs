//! Cost of a pattern. Patterns are matched by the `regex` crate, whose time is bounded by the size of the compiled pattern
//! times the length of the text; both are known beforehand.

use std::fmt;

use regex_syntax::hir::{Class, Hir, HirKind, Look};

use windlass_text::steps;

/// The longest pattern that is read, in bytes. Translating one into Rust's syntax is quadratic in its length.
pub(crate) const MAX_PATTERN_BYTES: usize = 2_048;
/// The largest compiled pattern, in states.
pub(crate) const MAX_PATTERN_STATES: u64 = 20_000;
/// Transitions of a pattern's automaton per step.
const MOVES_PER_STEP: u64 = 8;
/// States that a non-ASCII character class adds to its ranges, for multi-byte characters.
const UTF8_STATES: u64 = 8;

/// Why the linear engine does not take a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No regular expression, or one with look-around or back references.
    NotLinear,
    /// Longer than [`MAX_PATTERN_BYTES`].
    TooLong,
    /// More states than [`MAX_PATTERN_STATES`].
    TooLarge,
    /// The patterns before it in the schema have used up what all may have.
    TooMany,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLinear => f.write_str(
                "cannot be matched in linear time: it is not a regular expression, or has look-around or back references",
            ),
            Self::TooLong => write!(f, "is longer than {MAX_PATTERN_BYTES} bytes"),
            Self::TooLarge => write!(f, "repeats too much: it has more than {MAX_PATTERN_STATES} states"),
            Self::TooMany => f.write_str("comes after too many large patterns in this schema"),
        }
    }
}

/// The cost of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PatternCost {
    pub(crate) states: u64,
    /// Beyond so many bytes an anchored match has failed.
    most: Option<u64>,
}

impl PatternCost {
    /// Upper bound for the steps of matching a text.
    pub(crate) fn steps(self, bytes: usize) -> u64 {
        let bytes = bytes as u64;
        let read = self.most.map_or(bytes, |most| bytes.min(most.saturating_add(1)));
        self.states.saturating_mul(read) / MOVES_PER_STEP + 1
    }
}

/// Reads a pattern (ECMA-262, as JSON Schema has them).
///
/// # Errors
/// The linear engine does not take it.
pub(crate) fn cost(pattern: &str) -> Result<PatternCost, Refusal> {
    steps::add(1);
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(Refusal::TooLong);
    }
    steps::add(pattern.len());
    let translated = jsonschema_regex::to_rust_regex(pattern).map_err(|()| Refusal::NotLinear)?;
    steps::add(translated.len());
    let hir = regex_syntax::parse(&translated).map_err(|_| Refusal::NotLinear)?;
    let states = states(&hir);
    if states > MAX_PATTERN_STATES {
        return Err(Refusal::TooLarge);
    }
    let anchored = hir.properties().look_set_prefix().contains(Look::Start);
    let most = hir.properties().maximum_len().filter(|_| anchored).map(|most| most as u64);
    Ok(PatternCost { states, most })
}

/// Upper bound for the states of the compiled pattern. Its depth is bounded by the parser.
fn states(hir: &Hir) -> u64 {
    steps::add(1);
    let all = |parts: &[Hir]| parts.iter().map(states).fold(1, u64::saturating_add);
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(Class::Bytes(class)) => class.ranges().len() as u64 + 1,
        HirKind::Class(Class::Unicode(class)) => {
            let longer = class.ranges().iter().filter(|range| !range.end().is_ascii()).count() as u64;
            let beyond = if longer == 0 { 0 } else { longer + UTF8_STATES };
            class.ranges().len() as u64 + beyond + 1
        }
        HirKind::Capture(capture) => states(&capture.sub).saturating_add(2),
        HirKind::Repetition(repetition) => {
            let times = u64::from(repetition.max.unwrap_or(repetition.min.saturating_add(1)));
            states(&repetition.sub).saturating_add(1).saturating_mul(times).saturating_add(1)
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => all(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_text::steps::{Shape, doubling, taken};

    #[test]
    fn reading_a_pattern_costs_its_length() {
        let shapes: [Shape; 9] = [
            ("letters", |n| "a".repeat(n)),
            ("classes", |n| "[a-z0-9]".repeat(n)),
            ("names of classes", |n| "\\p{L}".repeat(n)),
            ("choices", |n| "a|".repeat(n)),
            ("repetitions", |n| "(a+b?)*".repeat(n)),
            ("counted repetitions", |n| "a{2,9}".repeat(n)),
            ("groups", |n| format!("{}{}", "(".repeat(n), ")".repeat(n))),
            ("open groups", |n| "(".repeat(n)),
            ("escapes", |n| "\\d\\u0041".repeat(n)),
        ];
        for (what, shape) in shapes {
            // Beyond its bound none is read.
            for length in [0, 1, 2, 4, 8].map(|nth: usize| (MAX_PATTERN_BYTES / 16) >> nth.min(4)) {
                let cost = |n: usize| {
                    let pattern = shape(n);
                    let steps = taken(|| super::cost(&pattern));
                    assert!(steps <= 16 * pattern.len() as u64 + 64, "{what}: {steps}");
                    steps
                };
                let (one, two) = (cost(length), cost(2 * length));
                assert!(two <= one * 5 / 2 + 64, "{what}: {length} costs {one}, twice that {two}");
            }
            doubling(|n| {
                let pattern = shape(n);
                taken(|| super::cost(&pattern))
            })
            .unwrap_or_else(|fault| panic!("{what}: {fault}"));
        }
    }
}
