//! What a pattern costs. Patterns are matched by the `regex` crate, whose time is bounded by the size of the compiled
//! pattern times the length of the text; both are known beforehand.

use std::fmt;

use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// The longest pattern that is read, in bytes. Translating one into Rust's syntax is quadratic in its length.
pub(super) const MAX_PATTERN_BYTES: usize = 2_048;
/// The largest compiled pattern, in states.
pub(super) const MAX_PATTERN_STATES: u64 = 20_000;
/// How many moves of a pattern's machine count as one step.
const MOVES_PER_STEP: u64 = 8;
/// What a class of characters beyond ASCII adds to its ranges: the bytes of longer characters.
const UTF8_STATES: u64 = 8;

/// Why the linear engine does not take a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
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
                "cannot be matched in linear time: it is no regular expression, or has look-around or back references",
            ),
            Self::TooLong => write!(f, "is longer than {MAX_PATTERN_BYTES} bytes"),
            Self::TooLarge => write!(f, "repeats too much: it has more than {MAX_PATTERN_STATES} states"),
            Self::TooMany => f.write_str("comes after too many large patterns in this schema"),
        }
    }
}

/// The cost of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PatternCost {
    pub(super) states: u64,
    /// Beyond so many bytes an anchored match has failed.
    most: Option<u64>,
}

impl PatternCost {
    /// At most how many steps it takes to match a text.
    pub(super) fn steps(self, bytes: usize) -> u64 {
        let bytes = bytes as u64;
        let read = self.most.map_or(bytes, |most| bytes.min(most.saturating_add(1)));
        self.states.saturating_mul(read) / MOVES_PER_STEP + 1
    }

    /// At most how many steps it takes for each byte.
    pub(super) fn steps_per_byte(self) -> u64 {
        self.states / MOVES_PER_STEP + 1
    }
}

/// Reads a pattern (ECMA-262, as JSON Schema has them).
///
/// # Errors
/// The linear engine does not take it.
pub(super) fn cost(pattern: &str) -> Result<PatternCost, Refusal> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(Refusal::TooLong);
    }
    let translated = jsonschema_regex::to_rust_regex(pattern).map_err(|()| Refusal::NotLinear)?;
    let hir = regex_syntax::parse(&translated).map_err(|_| Refusal::NotLinear)?;
    let states = states(&hir);
    if states > MAX_PATTERN_STATES {
        return Err(Refusal::TooLarge);
    }
    let anchored = hir.properties().look_set_prefix().contains(Look::Start);
    let most = hir.properties().maximum_len().filter(|_| anchored).map(|most| most as u64);
    Ok(PatternCost { states, most })
}

/// At most how many states the compiled pattern has. Its depth is bounded by the parser.
fn states(hir: &Hir) -> u64 {
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
