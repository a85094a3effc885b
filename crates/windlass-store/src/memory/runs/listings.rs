//! Listings of the runs in memory. A cursor is the number of a page's last line.

use windlass_core::event::Millis;
use windlass_core::{RunId, RunState};

use super::{Run, Runs};
use crate::error::StoreError;
use crate::index::usage::{UsedBy, sums};
use crate::opening::Opening;
use crate::{
    Cursor, DEFAULT_LISTED, DailyUsage, Headline, Page, RunFilter, RunSummary, SessionFilter, SessionSummary,
    UsageFilter,
};

impl Runs {
    pub(in crate::memory) fn list(&self, filter: &RunFilter) -> Result<Page<RunSummary>, StoreError> {
        let runs: Vec<(u64, RunId)> = if filter.queued {
            let heads = self.heads.values().filter_map(|id| Some((id, self.by_id.get(id)?)));
            let ended = |run: &Run| matches!(run.state, RunState::Ended(_));
            let queued = heads.filter(|(_, run)| run.headline.queued && ended(run) && run.fits(filter));
            queued.map(|(id, run)| (run.number, *id)).collect()
        } else {
            let runs = self.by_id.iter().filter(|(_, run)| run.fits(filter));
            runs.map(|(id, run)| (run.number, *id)).collect()
        };
        let (runs, next) = page(runs, filter.after.as_ref(), filter.limit)?;
        let items = runs.into_iter().map(|id| self.summary(id)).collect::<Result<_, _>>()?;
        Ok(Page { items, next })
    }

    pub(in crate::memory) fn sessions(
        &self,
        filter: &SessionFilter,
    ) -> Result<Page<SessionSummary>, StoreError> {
        let fits =
            RunFilter { owner: filter.owner.clone(), agent: filter.agent.clone(), ..RunFilter::default() };
        let heads = self.heads.values().filter_map(|id| Some((self.by_id.get(id)?, *id)));
        let heads = heads.filter(|(run, _)| run.fits(&fits)).map(|(run, id)| (run.number, id));
        let (heads, next) = page(heads.collect(), filter.after.as_ref(), filter.limit)?;
        let items = heads.into_iter().map(|head| self.session(head)).collect::<Result<_, _>>()?;
        Ok(Page { items, next })
    }

    pub(in crate::memory) fn usage(&self, filter: &UsageFilter) -> Vec<DailyUsage> {
        let UsageFilter { owner, agent, since, until, .. } = filter.clone();
        let fits = RunFilter { owner, agent, since, until, ..RunFilter::default() };
        sums(self.by_id.values().filter(|run| run.fits(&fits)).map(Run::used_by), filter)
    }

    fn session(&self, head: RunId) -> Result<SessionSummary, StoreError> {
        let head = self.summary(head)?;
        let session = head.session.clone().unwrap_or_default();
        let own = RunFilter {
            owner: Some(head.owner.clone()),
            session: Some(session.clone()),
            ..RunFilter::default()
        };
        let (mut runs, mut started_at) = (0, head.started_at);
        for run in self.by_id.values().filter(|run| run.fits(&own)) {
            runs += 1;
            started_at = started_at.min(run.started_at());
        }
        Ok(SessionSummary { session, head, runs, started_at })
    }
}

/// The ids of a page, the highest number first, and the cursor of the next one: the number of the page's last line.
fn page(
    mut all: Vec<(u64, RunId)>,
    after: Option<&Cursor>,
    limit: usize,
) -> Result<(Vec<RunId>, Option<Cursor>), StoreError> {
    if let Some(after) = after {
        let bad = || StoreError::BadCursor { cursor: after.as_str().to_owned() };
        let after: u64 = after.as_str().parse().map_err(|_| bad())?;
        all.retain(|(number, _)| *number < after);
    }
    all.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
    let limit = if limit == 0 { DEFAULT_LISTED } else { limit };
    let next =
        if all.len() > limit { all.get(limit - 1).map(|(last, _)| last.to_string().into()) } else { None };
    Ok((all.into_iter().take(limit).map(|(_, id)| id).collect(), next))
}

impl Run {
    pub(super) fn fits(&self, filter: &RunFilter) -> bool {
        let (opening, began) = (Opening::of(self.first()), self.started_at());
        (!filter.asks || self.asks())
            && filter.owner.as_ref().is_none_or(|owner| opening.owner == *owner)
            && filter.session.as_ref().is_none_or(|session| opening.session.as_ref() == Some(session))
            && filter.agent.as_ref().is_none_or(|agent| opening.agent == *agent)
            && filter.status.is_none_or(|status| status == self.state.into())
            && filter.parent.is_none_or(|parent| opening.parent == Some(parent))
            && filter.since.is_none_or(|since| began >= since)
            && filter.until.is_none_or(|until| began < until)
            && filter.due.is_none_or(|due| self.is_due(due))
    }

    fn asks(&self) -> bool {
        self.headline.question.is_some() && !matches!(self.state, RunState::Ended(_))
    }

    fn used_by(&self) -> UsedBy {
        let Opening { owner, agent, .. } = Opening::of(self.first());
        UsedBy { owner, agent, started_at: self.started_at(), spend: self.headline.spend }
    }

    fn started_at(&self) -> Millis {
        self.first().map_or(0, |event| event.at)
    }

    pub(super) fn summary(&self, run: RunId) -> RunSummary {
        let last = self.batches.last().and_then(|batch| batch.events.last());
        let opening = Opening::of(self.first());
        RunSummary {
            run,
            agent: opening.agent,
            owner: opening.owner,
            session: opening.session,
            parent: opening.parent,
            run_state: self.state,
            version: self.version,
            started_at: self.started_at(),
            updated_at: last.map_or(0, |event| event.at),
            ended_at: last.filter(|_| matches!(self.state, RunState::Ended(_))).map(|event| event.at),
            headline: Headline::clone(&self.headline),
            title: opening.title,
            wake_at: self.wake.filter(|_| self.state == RunState::Suspended).map(|wake| wake.at),
            holder: (self.hold.held && !self.hold.dead).then(|| self.hold.fence.holder.clone()),
        }
    }
}
