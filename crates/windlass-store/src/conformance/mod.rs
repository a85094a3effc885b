//! The contract of every [`Store`], as checks for any implementation.
//!
//! Each promise is a function that takes a fresh, empty log and says what is wrong with it in words. [`all`] checks
//! every promise and collects what was broken; [`store_conformance!`](crate::store_conformance) makes a `#[test]` of each.

mod appends;
mod follows;
mod heads;
mod inboxes;
mod leases;
mod listings;
mod lost;
mod payloads;
mod pruning;
mod races;
mod sample;
mod usage;

use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

pub use appends::*;
pub use follows::*;
pub use heads::*;
pub use inboxes::*;
pub use leases::*;
pub use listings::*;
pub use lost::*;
pub use payloads::*;
pub use pruning::*;
pub use races::*;
pub use usage::*;
use windlass_error::Diagnostic as _;

use crate::Store;
use crate::error::StoreError;

/// Result of a check: success, or the promise and the finding.
pub type Verdict = Result<(), String>;

/// Time for one check, after which the log counts as stuck.
const PATIENCE: Duration = Duration::from_mins(1);

/// Hands the names of all promises to another macro, after its own arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! each_store_promise {
    ($then:path { $($more:tt)* }) => {
        $then! { { $($more)* }
            events_come_back_as_they_were_written,
            an_append_expects_a_version,
            an_append_needs_an_event,
            appends_keep_their_boundaries,
            causes_come_back_as_they_were_written,
            a_refused_append_leaves_nothing_behind,
            an_append_whose_reply_was_lost_is_found_out,
            what_is_sent_again_is_done_once,
            reads_begin_anywhere_and_are_bounded,
            unknown_runs_are_named,
            following_catches_up_and_goes_on_live,
            following_begins_inside_an_append,
            following_ends_with_the_run,
            following_misses_and_repeats_nothing,
            an_inbox_keeps_its_order,
            a_post_is_used_once,
            a_used_post_is_recognised_by_its_id,
            waiting_for_a_post_ends_with_one,
            a_refused_post_is_taken_out_by_its_holder,
            an_end_leaves_no_post_unread,
            a_key_is_posted_once,
            a_post_is_found_by_its_key,
            a_payload_is_kept_once_and_read_by_ranges,
            an_append_needs_the_payloads_that_it_names,
            a_payload_has_its_size_in_the_runs_that_name_it,
            a_new_run_is_leased_to_its_maker,
            a_lease_passes_on_with_a_higher_epoch,
            a_lost_lease_cannot_write_or_release,
            a_lease_is_renewed_while_it_stands,
            a_parked_run_is_listed_as_suspended,
            due_runs_are_listed,
            due_runs_are_acquired,
            due_runs_are_counted_with_the_time_since_when_they_wait,
            many_held_runs_hide_no_free_one,
            a_claim_that_is_sent_again_gives_the_same_lease,
            a_probe_changes_nothing,
            a_clock_that_is_set_back_stretches_no_wait,
            ends_and_pauses_give_up_the_lease,
            a_summary_says_how_a_run_stands,
            a_session_has_one_head,
            owners_never_meet,
            listings_are_newest_first_and_paged,
            the_newest_run_is_the_one_that_began_last,
            listings_keep_to_every_filter,
            a_listing_is_stable_under_its_cursor,
            a_summary_says_what_a_run_cost_and_asks,
            only_runs_that_wait_with_a_question_ask,
            use_is_summed_up_by_day_owner_and_agent,
            an_ended_head_with_a_queue_is_listed_until_the_head_moves,
            sessions_are_listed_by_their_heads,
            pruning_takes_out_what_has_ended,
            pruning_keeps_to_every_condition,
            pruning_keeps_bases_parents_and_held_runs,
            pruning_moves_a_head_to_its_base,
            pruning_goes_in_chunks,
            many_runs_at_once_do_not_mix,
            one_of_many_appends_at_a_version_wins,
            one_of_many_successors_in_a_session_wins,
            one_of_many_holders_wins,
            many_holders_share_the_due_runs,
        }
    };
}

/// Makes a module with one `#[test]` per promise: `store_conformance!(memory, || Arc::new(MemoryLog::new()))`.
///
/// The expression is evaluated in each test and gives a function that makes a fresh, empty log.
#[macro_export]
macro_rules! store_conformance {
    ($module:ident, $make:expr) => {
        $crate::each_store_promise! { $crate::store_conformance { tests $module, $make } }
    };
    ({ tests $module:ident, $make:expr } $($promise:ident,)+) => {
        mod $module {
            use super::*;
            $(#[test]
            fn $promise() {
                let make = $make;
                let log: ::std::sync::Arc<dyn $crate::Store> = make();
                let verdict = $crate::conformance::run($crate::conformance::$promise(log));
                assert_eq!(verdict, Ok(()));
            })+
        }
    };
}

macro_rules! check_each {
    ({ $make:ident, $broken:ident } $($promise:ident,)+) => {
        $(if let Err(what) = $promise($make()).await {
            $broken.push(format!("{}: {what}", stringify!($promise)));
        })+
    };
}

/// Checks every promise, each with a log of its own. `make` gives fresh, empty logs.
///
/// # Errors
/// One line for each promise that is not kept.
pub async fn all(make: impl Fn() -> Arc<dyn Store>) -> Verdict {
    let mut broken: Vec<String> = Vec::new();
    each_store_promise! { check_each { make, broken } }
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n")) }
}

/// Runs a check on this thread, without any async runtime, for at most a minute.
///
/// # Errors
/// The fault that the check found, or that it did not end.
pub fn run(check: impl Future<Output = Verdict>) -> Verdict {
    let until = Instant::now() + PATIENCE;
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut check = pin!(check);
    loop {
        if let Poll::Ready(verdict) = check.as_mut().poll(&mut context) {
            return verdict;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(format!("the log did not answer within {} s", PATIENCE.as_secs()));
        }
        std::thread::park_timeout(left);
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Whether a future is still waiting when it is asked once.
async fn waits<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|context| Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_pending()))
        .await
}

fn same<T: PartialEq + Debug>(what: &str, found: &T, promised: &T) -> Verdict {
    if found == promised { Ok(()) } else { Err(format!("{what}: found {found:?}, promised {promised:?}")) }
}

fn holds(what: &str, true_that: bool) -> Verdict {
    if true_that { Ok(()) } else { Err(what.to_owned()) }
}

/// The operation must succeed.
fn works<T>(what: &str, result: Result<T, StoreError>) -> Result<T, String> {
    result.map_err(|error| format!("{what} failed: {error} ({})", error.code()))
}

/// The operation must be refused with that code.
fn refused<T: Debug>(what: &str, result: Result<T, StoreError>, code: &str) -> Result<StoreError, String> {
    match result {
        Err(error) if error.code() == code => Ok(error),
        other => Err(format!("{what}: found {other:?}, promised an error {code}")),
    }
}
