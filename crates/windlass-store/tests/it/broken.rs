//! The suite finds logs that break a promise, and says which.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use futures_util::StreamExt;
use windlass_core::event::Cause;
use windlass_core::{Event, Owner, RunId, RunState, SessionId, Text};
use windlass_store::{
    Answer, Append, Batch, Batches, Claim, DailyUsage, Due, Fence, Head, Headline, Holder, Inbox, Index,
    KeyedPost, Leases, Log, MemoryLog, Millis, Page, Payloads, Post, PostId, Posted, Prunable, Prune,
    Pruning, Reclaimed, RunCounts, RunFilter, RunSummary, SessionFilter, SessionSummary, SqliteLog, Store,
    StoreError, UsageFilter, Wake, conformance,
};

#[derive(Clone, Copy, Debug)]
enum Fault {
    MergesAppends,
    TakesCausesForTheFirst,
    WritesTheFirstEventOfARefusedAppend,
    FollowsFromTheStart,
    NeverEndsFollowing,
    TurnsTheInboxRound,
    UsesNoPosts,
    NeverWaitsForPosts,
    KeepsTheHoldAtTheEnd,
    ForgetsWhereAPageBegan,
    KeepsRefusedPosts,
    EndsWithoutAHearing,
    CutsPayloads,
    GivesPayloadsOfAnyRun,
    TakesAnyReference,
    ForgetsWhenATimerWasSet,
    OrdersRunsByTheirIds,
    ForgetsUsedPosts,
    RenewsLostLeases,
    PrunesNothing,
    LooksAtNoHead,
    MixesOwners,
    TakesSessionsWithTheirHeads,
    ForgetsHeadlines,
    MixesSessionsOfOwners,
    TakesAnyCursor,
    ForgetsKeys,
    ForgetsClaims,
    GivesDueRunsAgain,
    LooksAtAHundredDueRuns,
    ForgetsKeysOnceUsed,
    MixesKeysUp,
    TakesAnyPostForUsed,
    MixesKeysOfOwners,
    ListsAllRunsForQueues,
    ListsEndedRunsThatAsk,
    SumsUpAllDays,
    CountsHeldRunsAsDue,
}

/// A log with one fault.
#[derive(Debug)]
struct Broken(Arc<dyn Store>, Fault);

impl Log for Broken {
    fn append(&self, append: Append) -> Answer<'_, ()> {
        let mut changed = append.clone();
        if matches!(self.1, Fault::UsesNoPosts) {
            changed.uses = None;
        }
        if matches!(self.1, Fault::ForgetsHeadlines) {
            changed.headline = Headline::default();
        }
        if matches!(self.1, Fault::LooksAtNoHead) {
            changed.head = Head::Stays;
        }
        if matches!(self.1, Fault::EndsWithoutAHearing) {
            changed.heard = Some(PostId(u64::MAX));
        }
        if matches!(self.1, Fault::KeepsTheHoldAtTheEnd) && append.run_state == RunState::Suspended {
            changed.run_state = RunState::Running;
        }
        Box::pin(async move {
            let result = self.0.append(changed).await;
            if matches!((self.1, &result), (Fault::TakesAnyReference, Err(StoreError::UnknownPayload { .. })))
            {
                return Ok(());
            }
            let Err(StoreError::Conflict { found, .. }) = &result else { return result };
            if matches!(self.1, Fault::WritesTheFirstEventOfARefusedAppend) {
                let events: Arc<[Event]> = append.events.iter().take(1).cloned().collect();
                self.0.append(Append { expected: *found, events, uses: None, ..append }).await?;
            }
            result
        })
    }

    fn read(&self, run: RunId, from: u64, max: usize) -> Answer<'_, Vec<Batch>> {
        Box::pin(async move {
            let batches = self.0.read(run, from, max).await?;
            if matches!(self.1, Fault::TakesCausesForTheFirst) {
                return Ok(batches.into_iter().map(|batch| Batch { cause: Cause::Start, ..batch }).collect());
            }
            if batches.is_empty() || !matches!(self.1, Fault::MergesAppends) {
                return Ok(batches);
            }
            let events = batches.iter().flat_map(|batch| batch.events.iter().cloned()).collect();
            Ok(vec![Batch { first: batches[0].first, cause: batches[0].cause.clone(), events }])
        })
    }

    fn follow(&self, run: RunId, from: u64) -> Batches {
        let from = if matches!(self.1, Fault::FollowsFromTheStart) { 1 } else { from };
        let batches = self.0.follow(run, from);
        if !matches!(self.1, Fault::NeverEndsFollowing) {
            return batches;
        }
        let once_more = futures_util::stream::once(std::future::ready(Err(StoreError::NoEvents { run })));
        Box::pin(batches.chain(once_more))
    }

    fn used(&self, run: RunId, posts: &[PostId]) -> Answer<'_, Vec<PostId>> {
        let posts = if matches!(self.1, Fault::ForgetsUsedPosts) { &[] } else { posts };
        self.0.used(run, posts)
    }
}

impl Inbox for Broken {
    fn inbox(&self, run: RunId, after: Option<PostId>) -> Answer<'_, Vec<Posted>> {
        Box::pin(async move {
            let mut posted = self.0.inbox(run, after).await?;
            if matches!(self.1, Fault::TurnsTheInboxRound) {
                posted.reverse();
            }
            Ok(posted)
        })
    }

    fn inbox_changed(&self, run: RunId, after: Option<PostId>) -> Answer<'_, ()> {
        if matches!(self.1, Fault::NeverWaitsForPosts) {
            return Box::pin(async move { self.0.summary(run).await.map(drop) });
        }
        self.0.inbox_changed(run, after)
    }

    fn discard(&self, run: RunId, post: PostId, fence: &Fence) -> Answer<'_, ()> {
        if matches!(self.1, Fault::KeepsRefusedPosts) {
            return Box::pin(async { Ok(()) });
        }
        self.0.discard(run, post, fence)
    }

    fn posted(&self, owner: &Owner, keys: &[Text]) -> Answer<'_, Vec<Option<KeyedPost>>> {
        let (owner, keys) = (owner.clone(), keys.to_vec());
        Box::pin(async move {
            let mut all = self.0.posted(&owner, &keys).await?;
            for (found, key) in all.iter_mut().zip(&keys) {
                if found.is_none() && matches!(self.1, Fault::MixesKeysOfOwners) {
                    let others = self.0.posted(&Owner::default(), std::slice::from_ref(key)).await?;
                    *found = others.into_iter().flatten().next();
                }
                if matches!(self.1, Fault::TakesAnyPostForUsed)
                    && let Some(found) = found
                {
                    found.is_used = true;
                }
                found.take_if(|found| found.is_used && matches!(self.1, Fault::ForgetsKeysOnceUsed));
            }
            if matches!(self.1, Fault::MixesKeysUp) {
                all.reverse();
            }
            Ok(all)
        })
    }

    fn post(&self, run: RunId, mut post: Post) -> Answer<'_, PostId> {
        if matches!(self.1, Fault::ForgetsKeys) {
            post.key = None;
        }
        self.0.post(run, post)
    }
}

impl Payloads for Broken {
    fn get(&self, sha256: &str, from: u64, max: usize) -> Answer<'_, Vec<u8>> {
        let max = if matches!(self.1, Fault::CutsPayloads) { max.min(262_144) } else { max };
        self.0.get(sha256, from, max)
    }

    fn size_in(&self, run: RunId, sha256: &str) -> Answer<'_, Option<u64>> {
        if matches!(self.1, Fault::GivesPayloadsOfAnyRun) {
            let bytes = self.0.get(sha256, 0, usize::MAX);
            return Box::pin(async move { Ok(bytes.await.ok().map(|bytes| bytes.len() as u64)) });
        }
        self.0.size_in(run, sha256)
    }

    windlass_store::forward_store!(0: put);
}

impl Leases for Broken {
    fn park(&self, run: RunId, fence: &Fence, wake: Option<Wake>) -> Answer<'_, ()> {
        let forgets = matches!(self.1, Fault::ForgetsWhenATimerWasSet);
        self.0.park(run, fence, wake.map(|wake| Wake { from: if forgets { 0 } else { wake.from }, ..wake }))
    }

    fn renew(&self, run: RunId, fence: &Fence) -> Answer<'_, Option<Millis>> {
        if matches!(self.1, Fault::RenewsLostLeases) {
            return Box::pin(async { Ok(None) });
        }
        self.0.renew(run, fence)
    }

    fn acquire(&self, run: RunId, holder: &Holder, claim: Claim) -> Answer<'_, Fence> {
        static ANEW: AtomicU64 = AtomicU64::new(1 << 32);
        let anew = Claim(ANEW.fetch_add(1, Ordering::Relaxed));
        self.0.acquire(run, holder, if matches!(self.1, Fault::ForgetsClaims) { anew } else { claim })
    }

    fn acquire_due(&self, due: Due) -> Answer<'_, Vec<(RunSummary, Fence)>> {
        Box::pin(async move {
            if matches!(self.1, Fault::LooksAtAHundredDueRuns) {
                let all = RunFilter { due: Some(due.now), limit: 101, ..RunFilter::default() };
                if self.0.list(all).await?.items.len() > 100 {
                    return Ok(Vec::new());
                }
            }
            let leases = self.0.acquire_due(due).await?;
            if matches!(self.1, Fault::GivesDueRunsAgain) {
                for (line, fence) in &leases {
                    self.0.release(line.run, fence).await?;
                }
            }
            Ok(leases)
        })
    }

    windlass_store::forward_store!(0: probe, release);
}

impl Index for Broken {
    fn list(&self, mut filter: RunFilter) -> Answer<'_, Page<RunSummary>> {
        if matches!(self.1, Fault::ForgetsWhereAPageBegan) && filter.limit == 0 {
            filter.after = None;
        }
        let foreign = filter.after.as_ref().is_some_and(|after| after.as_str().parse::<u64>().is_err());
        if matches!(self.1, Fault::TakesAnyCursor) && foreign {
            filter.after = None;
        }
        if matches!(self.1, Fault::MixesOwners) {
            filter.owner = None;
        }
        if matches!(self.1, Fault::ListsAllRunsForQueues) {
            filter.queued = false;
        }
        if matches!(self.1, Fault::ListsEndedRunsThatAsk) && filter.asks {
            filter.asks = false;
            return Box::pin(async move {
                let mut runs = self.0.list(filter).await?;
                runs.items.retain(|summary| summary.headline.question.is_some());
                Ok(runs)
            });
        }
        Box::pin(async move {
            let mut runs = self.0.list(filter).await?;
            if matches!(self.1, Fault::OrdersRunsByTheirIds) {
                runs.items.sort_by_key(|summary| std::cmp::Reverse(summary.run));
            }
            Ok(runs)
        })
    }

    fn sessions(&self, mut filter: SessionFilter) -> Answer<'_, Page<SessionSummary>> {
        if matches!(self.1, Fault::MixesSessionsOfOwners) {
            filter.owner = None;
        }
        self.0.sessions(filter)
    }

    fn head(&self, owner: &Owner, session: &SessionId) -> Answer<'_, Option<RunId>> {
        let (owner, session) = (owner.clone(), session.clone());
        Box::pin(async move {
            let head = self.0.head(&owner, &session).await?;
            let filter = RunFilter { session: Some(session), ..RunFilter::default() };
            let alone = self.0.list(filter).await?.len() < 2;
            Ok(head.filter(|_| !alone || !matches!(self.1, Fault::TakesSessionsWithTheirHeads)))
        })
    }

    fn counts(&self, now: Millis) -> Answer<'_, RunCounts> {
        Box::pin(async move {
            let mut counts = self.0.counts(now).await?;
            if matches!(self.1, Fault::CountsHeldRunsAsDue) {
                counts.due = counts.running;
            }
            Ok(counts)
        })
    }

    fn usage(&self, filter: UsageFilter) -> Answer<'_, Vec<DailyUsage>> {
        let all = UsageFilter { since: None, until: None, ..filter.clone() };
        self.0.usage(if matches!(self.1, Fault::SumsUpAllDays) { all } else { filter })
    }

    fn pruning(&self) -> Option<&dyn Pruning> {
        if matches!(self.1, Fault::PrunesNothing) { Some(self) } else { self.0.pruning() }
    }

    windlass_store::forward_store!(0: summary);
}

impl Pruning for Broken {
    fn prunable(&self, _: Prune) -> Answer<'_, Prunable> {
        Box::pin(async { Ok(Prunable::default()) })
    }

    fn remove(&self, _: &[RunId]) -> Answer<'_, Vec<RunId>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn reclaim(&self, _: usize) -> Answer<'_, Reclaimed> {
        Box::pin(async { Ok(Reclaimed::default()) })
    }
}

#[test]
fn the_suite_finds_broken_logs_and_says_what_they_break() {
    let cases = [
        (Fault::MergesAppends, "appends_keep_their_boundaries"),
        (Fault::TakesCausesForTheFirst, "causes_come_back_as_they_were_written"),
        (Fault::WritesTheFirstEventOfARefusedAppend, "a_refused_append_leaves_nothing_behind"),
        (Fault::FollowsFromTheStart, "following_begins_inside_an_append"),
        (Fault::NeverEndsFollowing, "following_ends_with_the_run"),
        (Fault::TurnsTheInboxRound, "an_inbox_keeps_its_order"),
        (Fault::UsesNoPosts, "a_post_is_used_once"),
        (Fault::NeverWaitsForPosts, "waiting_for_a_post_ends_with_one"),
        (Fault::KeepsTheHoldAtTheEnd, "ends_and_pauses_give_up_the_lease"),
        (Fault::ForgetsWhereAPageBegan, "listings_keep_to_every_filter"),
        (Fault::KeepsRefusedPosts, "a_refused_post_is_taken_out_by_its_holder"),
        (Fault::EndsWithoutAHearing, "an_end_leaves_no_post_unread"),
        (Fault::CutsPayloads, "a_payload_is_kept_once_and_read_by_ranges"),
        (Fault::GivesPayloadsOfAnyRun, "a_payload_has_its_size_in_the_runs_that_name_it"),
        (Fault::ForgetsWhenATimerWasSet, "a_clock_that_is_set_back_stretches_no_wait"),
        (Fault::OrdersRunsByTheirIds, "the_newest_run_is_the_one_that_began_last"),
        (Fault::ForgetsUsedPosts, "a_used_post_is_recognised_by_its_id"),
        (Fault::RenewsLostLeases, "a_lease_is_renewed_while_it_stands"),
        (Fault::PrunesNothing, "pruning_takes_out_what_has_ended"),
        (Fault::ForgetsHeadlines, "a_summary_says_what_a_run_cost_and_asks"),
        (Fault::MixesSessionsOfOwners, "sessions_are_listed_by_their_heads"),
        (Fault::ListsAllRunsForQueues, "an_ended_head_with_a_queue_is_listed_until_the_head_moves"),
        (Fault::ForgetsHeadlines, "an_ended_head_with_a_queue_is_listed_until_the_head_moves"),
        (Fault::ListsEndedRunsThatAsk, "only_runs_that_wait_with_a_question_ask"),
        (Fault::ForgetsHeadlines, "use_is_summed_up_by_day_owner_and_agent"),
        (Fault::CountsHeldRunsAsDue, "due_runs_are_counted_with_the_time_since_when_they_wait"),
        (Fault::SumsUpAllDays, "use_is_summed_up_by_day_owner_and_agent"),
        (Fault::TakesAnyCursor, "a_listing_is_stable_under_its_cursor"),
        (Fault::ForgetsKeys, "a_key_is_posted_once"),
        (Fault::ForgetsKeys, "what_is_sent_again_is_done_once"),
        (Fault::ForgetsClaims, "a_claim_that_is_sent_again_gives_the_same_lease"),
        (Fault::GivesDueRunsAgain, "due_runs_are_acquired"),
        (Fault::LooksAtAHundredDueRuns, "many_held_runs_hide_no_free_one"),
        (Fault::ForgetsKeysOnceUsed, "a_post_is_found_by_its_key"),
        (Fault::MixesKeysUp, "a_post_is_found_by_its_key"),
        (Fault::TakesAnyPostForUsed, "a_post_is_found_by_its_key"),
        (Fault::MixesKeysOfOwners, "a_post_is_found_by_its_key"),
        (Fault::PrunesNothing, "pruning_goes_in_chunks"),
        (Fault::WritesTheFirstEventOfARefusedAppend, "an_append_whose_reply_was_lost_is_found_out"),
        (Fault::LooksAtNoHead, "a_session_has_one_head"),
        (Fault::MixesOwners, "owners_never_meet"),
        (Fault::TakesSessionsWithTheirHeads, "pruning_moves_a_head_to_its_base"),
        (Fault::TakesAnyReference, "an_append_needs_the_payloads_that_it_names"),
    ];
    let (folder, files) = (tempfile::tempdir().unwrap(), AtomicU32::new(0));
    // What only a store that prunes can break is broken in a file.
    let sound = |fault| -> Arc<dyn Store> {
        if !matches!(fault, Fault::TakesSessionsWithTheirHeads) {
            return Arc::new(MemoryLog::new());
        }
        let file = format!("{}.db", files.fetch_add(1, Ordering::Relaxed));
        Arc::new(SqliteLog::open(folder.path().join(file)).unwrap())
    };
    for (fault, promise) in cases {
        let make = || Arc::new(Broken(sound(fault), fault)) as Arc<dyn Store>;
        let broken = conformance::run(conformance::all(make)).unwrap_err();
        assert!(broken.lines().any(|line| line.starts_with(promise)), "{fault:?} went unnoticed: {broken}");
    }
}
