//! Reading runs and listings of a log, one page at a time: nothing is held in memory that the caller does not keep.

use windlass_core::event::RunFact;
use windlass_core::{Event, Fact, RunId, State};
use windlass_store::{Batch, HEADLINE_BYTES, Headline, Index, Log, Page, RunFilter, RunSummary, StoreError};

/// Events per page of a run.
const EVENTS: usize = 1_000;
/// Runs per page of a listing.
const RUNS: usize = 1_000;
/// The longest chain of bases that is followed: the runs of a session form such a chain.
pub(crate) const DEEPEST_BASE: usize = 100_000;

/// Reads the appends of one run in order.
///
/// ```
/// use windlass_read::RunPages;
/// # use windlass_core::RunId;
/// # use windlass_store::{Log, StoreError};
///
/// async fn count_events(log: &dyn Log, run: RunId) -> Result<usize, StoreError> {
///     let mut pages = RunPages::new(log, run);
///     let mut count = 0;
///     while let Some(batches) = pages.next().await? {
///         count += batches.iter().map(|batch| batch.events.len()).sum::<usize>();
///     }
///     Ok(count)
/// }
/// ```
#[derive(Debug)]
pub struct RunPages<'l> {
    log: &'l dyn Log,
    run: RunId,
    next: u64,
}

impl<'l> RunPages<'l> {
    /// Reads a run from its first event.
    pub fn new(log: &'l dyn Log, run: RunId) -> Self {
        Self::starting_at(log, run, 1)
    }

    /// Reads a run from the event with that number.
    pub fn starting_at(log: &'l dyn Log, run: RunId, seq: u64) -> Self {
        Self { log, run, next: seq }
    }

    /// The next appends, at least one; `None` after the last append that is durable now.
    ///
    /// # Errors
    /// The log failed.
    pub async fn next(&mut self) -> Result<Option<Vec<Batch>>, StoreError> {
        let batches = self.log.read(self.run, self.next, EVENTS).await?;
        let Some(last) = batches.last() else { return Ok(None) };
        self.next = last.last() + 1;
        Ok(Some(batches))
    }
}

/// Lists runs, newest first, without a bound on their number.
#[derive(Debug)]
pub struct ListPages<'l> {
    log: &'l dyn Index,
    filter: RunFilter,
    ended: bool,
}

impl<'l> ListPages<'l> {
    /// Lists the runs that a filter lets through. The filter's `limit` is the size of a page; 0 means 1,000 runs.
    pub fn new(log: &'l dyn Index, filter: RunFilter) -> Self {
        let limit = if filter.limit == 0 { RUNS } else { filter.limit };
        Self { log, filter: RunFilter { limit, ..filter }, ended: false }
    }

    /// The next runs, at least one; `None` after the last run.
    ///
    /// # Errors
    /// The log failed.
    pub async fn next(&mut self) -> Result<Option<Vec<RunSummary>>, StoreError> {
        if self.ended {
            return Ok(None);
        }
        let Page { items, next } = self.log.list(self.filter.clone()).await?;
        self.ended = next.is_none();
        self.filter.after = next;
        Ok((!items.is_empty()).then_some(items))
    }
}

/// The runs that a run is based on, oldest first, and then the run itself.
///
/// # Errors
/// The log failed.
pub async fn with_bases(log: &dyn Log, run: RunId) -> Result<Vec<RunId>, StoreError> {
    let mut chain = vec![run];
    let mut next = Some(run);
    while let Some(run) = next.filter(|_| chain.len() < DEEPEST_BASE) {
        let first = log.read(run, 1, 1).await?;
        next = match first.first().and_then(|batch| batch.events.first()).map(|event| &event.fact) {
            Some(Fact::Run(RunFact::Started(start))) => start.base.as_ref().map(|base| base.run),
            _ => None,
        };
        chain.extend(next);
    }
    chain.reverse();
    Ok(chain)
}

/// The events of a batch with their numbers.
pub fn numbered(batch: &Batch) -> impl Iterator<Item = (u64, &Event)> {
    (batch.first..).zip(batch.events.iter())
}

/// The headline of a run in that state, for listings.
pub fn headline(state: &State) -> Headline {
    let question = state.questions().first().map(|open| &open.text);
    let question = question.map(|text| match text.get(..text.floor_char_boundary(HEADLINE_BYTES)) {
        Some(beginning) if beginning.len() < text.len() => beginning.into(),
        _ => text.clone(),
    });
    Headline {
        cost: state.cost(),
        spend: Some(state.spend()),
        question,
        queued: state.queued().next().is_some(),
    }
}
