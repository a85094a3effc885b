//! Halving: finds the items that a provider refuses, by requests without some of them (E58).
//!
//! The search knows nothing but numbers. It first asks whether all items together are to blame, then halves: it looks for the
//! shortest run of items from the first one whose absence makes the request accepted, and the last of that run is to blame.
//! With that one left out it begins again with the items before it, until the items found are enough by themselves.

/// Maximum number of requests of one search. With them, one of 256 items is found in 10, three of them in 28.
pub(crate) const MAX_PROBES: u32 = 32;

/// Maximum number of items of one search: the newest ones.
pub(crate) const MAX_CANDIDATES: usize = 256;

/// A search among so many items. One item at least.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Halving {
    count: usize,
    /// The items that are to blame, as they were found.
    found: Vec<usize>,
    /// Without those found and so many of the first ones, the request is refused.
    low: usize,
    /// Without those found and so many of the first ones, the request is accepted.
    high: usize,
    stage: Stage,
    probes: u32,
    /// Whether the requests ran out: items are left out that nobody has found to be bad.
    ran_out: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Whether the items are to blame at all.
    All,
    /// Which one is the last that is to blame.
    Narrow,
    /// Whether those found are enough.
    Check,
    Found,
    Blameless,
}

/// The next step of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A request without these items.
    Probe(Vec<usize>),
    /// These items are to blame. If the last request was accepted, it was the one without exactly these.
    Found(Vec<usize>),
    /// The request is refused whatever is left out.
    Blameless,
}

impl Halving {
    pub(crate) fn over(count: usize) -> Self {
        Self { count, found: Vec::new(), low: 0, high: count, stage: Stage::All, probes: 0, ran_out: false }
    }

    pub(crate) fn step(&self) -> Step {
        match self.stage {
            Stage::All => Step::Probe((0..self.count).collect()),
            Stage::Narrow => Step::Probe(self.with_first(usize::midpoint(self.low, self.high))),
            Stage::Check => Step::Probe(self.with_first(0)),
            Stage::Found => Step::Found(self.with_first(0)),
            Stage::Blameless => Step::Blameless,
        }
    }

    /// Whether the requests ran out before each item was told from the others: good ones may be among those found.
    pub(crate) fn ran_out(&self) -> bool {
        self.ran_out
    }

    /// Whether an answer to the request that is going on would end the search.
    pub(crate) fn is_last(&self) -> bool {
        matches!(self.after(true).step(), Step::Found(_))
    }

    /// The search after the request that is going on was accepted, or refused.
    pub(crate) fn after(&self, accepted: bool) -> Self {
        let mut next = Self { probes: self.probes.saturating_add(1), ..self.clone() };
        match (self.stage, accepted) {
            (Stage::All, false) => next.stage = Stage::Blameless,
            (Stage::All, true) | (Stage::Check, false) => next.narrow(0, self.high),
            (Stage::Narrow, true) => next.narrow(self.low, usize::midpoint(self.low, self.high)),
            (Stage::Narrow, false) => next.narrow(usize::midpoint(self.low, self.high), self.high),
            (Stage::Check, true) => next.stage = Stage::Found,
            (Stage::Found | Stage::Blameless, _) => {}
        }
        if next.probes >= MAX_PROBES && matches!(next.stage, Stage::Narrow | Stage::Check) {
            // The fewest items that are known to be enough.
            next.found.extend(0..next.high);
            next.ran_out = true;
            next.stage = Stage::Found;
        }
        next
    }

    fn narrow(&mut self, low: usize, high: usize) {
        (self.low, self.high, self.stage) = (low, high, Stage::Narrow);
        if high.saturating_sub(low) > 1 {
            return;
        }
        self.found.push(high.saturating_sub(1));
        // Those before it have been left out with it so far.
        (self.low, self.high) = (0, low);
        self.stage = if low == 0 { Stage::Found } else { Stage::Check };
    }

    /// The items found, and so many of the first ones.
    fn with_first(&self, first: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..first).chain(self.found.iter().copied()).collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests;
