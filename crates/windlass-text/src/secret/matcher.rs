//! Finds patterns in bytes that are seen through a view, and where one may have begun at the end.

use std::ops::Range;

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::noncontiguous::NFA;
use aho_corasick::{AhoCorasick, AhoCorasickKind, Anchored};

use super::MASK;

/// The most falls of a state, on average, for which all transitions are put into a table.
const MOST_FALLS: u64 = 16;

/// The most states for which all transitions are put into a table: it has 64 bytes and more for each of them.
const MOST_IN_TABLE: usize = 64 * 1024;

/// Patterns as an automaton. Matches may overlap, so all of them are found: of two secrets that share bytes, no rest of
/// either may stay.
pub(super) struct Matcher {
    /// Says fast that there is nothing.
    finder: AhoCorasick,
    /// Walked byte by byte where there is something, or where a text goes on.
    walker: NFA,
    /// For each state of the automaton, the number of pattern bytes matched.
    depths: Vec<u32>,
    /// Of each state of the walker, the longest pattern that ends there.
    ends: Vec<u32>,
    longest: usize,
}

/// Results of a walk.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Ranges of matched patterns, in order and disjoint.
    pub(super) ranges: Vec<Range<usize>>,
    /// Start of a pattern that the end of the text cuts off, or else the text's length.
    pub(super) open: usize,
}

impl Matcher {
    /// `None` without patterns.
    pub(super) fn new(patterns: &[Vec<u8>]) -> Option<Self> {
        let longest = patterns.iter().map(Vec::len).max()?;
        // Both fail for more than 2^31 states only: the bytes of all patterns are bounded.
        let walker = NFA::new(patterns).ok()?;
        let start = walker.start_state(Anchored::No).ok()?;
        let States { depths, ends, falls } = States::of(&walker, start, patterns, longest);
        let all_falls: u64 = falls.iter().map(|fall| u64::from(*fall)).sum();
        // A table of all transitions is the fastest to walk, but each of its entries falls all the way.
        let quick = all_falls <= MOST_FALLS * falls.len() as u64 && falls.len() <= MOST_IN_TABLE;
        #[cfg(test)]
        BUILT.with(|built| built.set(built.get() + if quick { all_falls } else { 0 }));
        let kind = if quick { None } else { Some(AhoCorasickKind::ContiguousNFA) };
        let finder = AhoCorasick::builder().kind(kind).build(patterns).ok()?;
        Some(Self { finder, walker, depths, ends, longest })
    }

    pub(super) fn is_in(&self, bytes: &[u8]) -> bool {
        self.finder.is_match(bytes)
    }

    /// Finds patterns in the bytes themselves, seen through no view.
    pub(super) fn find(&self, bytes: &[u8]) -> Found {
        let Ok(mut state) = self.walker.start_state(Anchored::No) else { return Found::default() };
        let mut ranges = Vec::new();
        for (place, byte) in bytes.iter().enumerate() {
            #[cfg(test)]
            STEPS.with(|steps| steps.set(steps.get() + 1));
            state = self.walker.next_state(Anchored::No, state, *byte);
            let ended = self.ended(state);
            if ended > 0 {
                add(&mut ranges, place + 1 - ended..place + 1);
            }
        }
        Found { ranges, open: bytes.len() - self.depth(state) }
    }

    /// The length of the longest pattern that ends in a state; 0: none does.
    fn ended(&self, state: StateID) -> usize {
        get(&self.ends, state.as_usize()) as usize
    }

    /// The number of pattern bytes matched in a state.
    fn depth(&self, state: StateID) -> usize {
        get(&self.depths, state.as_usize()) as usize
    }

    /// Starts a walk.
    pub(super) fn walk(&self) -> Option<Walk<'_>> {
        let state = self.walker.start_state(Anchored::No).ok()?;
        let starts = vec![0; self.longest];
        Some(Walk { matcher: self, state, starts, taken: 0, ranges: Vec::new() })
    }
}

/// The data of each state of an automaton.
#[derive(Default)]
struct States {
    depths: Vec<u32>,
    ends: Vec<u32>,
    /// The number of shorter matches that a state falls back to, one after another.
    falls: Vec<u32>,
}

/// A pattern that is being followed.
struct Followed<'p> {
    pattern: &'p [u8],
    state: StateID,
    /// The state of the longest match that begins later: the walk falls back to it.
    behind: StateID,
}

impl States {
    /// Follows all patterns at once, byte by byte: what a state falls back to is shorter, and known.
    fn of(walker: &NFA, start: StateID, patterns: &[Vec<u8>], longest: usize) -> Self {
        let mut states = Self::default();
        let mut followed: Vec<Followed<'_>> =
            patterns.iter().map(|pattern| Followed { pattern, state: start, behind: start }).collect();
        followed.sort_by_key(|one| std::cmp::Reverse(one.pattern.len()));
        for at in 0..longest {
            for one in &mut followed {
                let Some(byte) = one.pattern.get(at) else { break };
                #[cfg(test)]
                BUILT.with(|built| built.set(built.get() + 1));
                one.state = walker.next_state(Anchored::No, one.state, *byte);
                if at > 0 {
                    one.behind = walker.next_state(Anchored::No, one.behind, *byte);
                }
                let (state, behind, depth) = (one.state.as_usize(), one.behind.as_usize(), at as u32 + 1);
                let own = if one.pattern.len() == at + 1 { depth } else { get(&states.ends, state) };
                let ended = own.max(get(&states.ends, behind));
                let fall = 1 + get(&states.falls, behind);
                put(&mut states.depths, state, depth);
                put(&mut states.ends, state, ended);
                put(&mut states.falls, state, fall);
            }
        }
        states
    }
}

fn get(table: &[u32], place: usize) -> u32 {
    table.get(place).copied().unwrap_or_default()
}

fn put(table: &mut Vec<u32>, place: usize, value: u32) {
    if table.len() <= place {
        table.resize(place + 1, 0);
    }
    if let Some(slot) = table.get_mut(place) {
        *slot = value;
    }
}

#[cfg(test)]
thread_local! {
    /// Number of bytes walked.
    pub(super) static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    /// Number of steps in which automata were built.
    pub(super) static BUILT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// A walk over bytes of a view, each of which covers a range of the text.
pub(super) struct Walk<'m> {
    matcher: &'m Matcher,
    state: StateID,
    /// Start positions of the last bytes in the text, as a ring buffer.
    starts: Vec<usize>,
    taken: usize,
    ranges: Vec<Range<usize>>,
}

impl Walk<'_> {
    /// Takes the next byte.
    pub(super) fn take(&mut self, byte: u8, from: Range<usize>) {
        #[cfg(test)]
        STEPS.with(|steps| steps.set(steps.get() + 1));
        let ring = self.starts.len();
        if let Some(slot) = self.starts.get_mut(self.taken % ring) {
            *slot = from.start;
        }
        self.taken += 1;
        self.state = self.matcher.walker.next_state(Anchored::No, self.state, byte);
        let ended = self.matcher.ended(self.state);
        if ended > 0 {
            let start = self.start_of(ended);
            add(&mut self.ranges, start..from.end);
        }
    }

    /// Ends the walk over a text of that length.
    pub(super) fn end(self, length: usize) -> Found {
        let depth = self.matcher.depth(self.state);
        let open = if depth > 0 { self.start_of(depth) } else { length };
        Found { ranges: self.ranges, open }
    }

    /// Start position of the byte `back` bytes ago.
    fn start_of(&self, back: usize) -> usize {
        let place = self.taken.saturating_sub(back) % self.starts.len();
        self.starts.get(place).copied().unwrap_or_default()
    }
}

/// Adds a range that ends after all others, and is one with those that it touches within.
fn add(ranges: &mut Vec<Range<usize>>, mut range: Range<usize>) {
    while let Some(last) = ranges.pop_if(|last| last.end > range.start) {
        range.start = range.start.min(last.start);
    }
    ranges.push(range);
}

/// The ranges of both, in order and apart from each other.
pub(super) fn union(one: Vec<Range<usize>>, other: Vec<Range<usize>>) -> Vec<Range<usize>> {
    if one.is_empty() || other.is_empty() {
        return if one.is_empty() { other } else { one };
    }
    let mut all = one;
    all.extend(other);
    all.sort_by_key(|range| range.start);
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(all.len());
    for range in all {
        if let Some(last) = apart.last_mut().filter(|last| last.end > range.start) {
            last.end = last.end.max(range.end);
        } else {
            apart.push(range);
        }
    }
    apart
}

/// The text with the mask in place of these ranges.
pub(super) fn replaced(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for range in ranges {
        out.push_str(text.get(from..range.start).unwrap_or_default());
        out.push_str(MASK);
        from = range.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}
