//! Stores around other stores.

/// Hands methods on to the store in a field, so that a store around another one holds only what it does itself.
///
/// Within the `impl` of a part, it writes single methods: `forward_store!(inner: read, follow);`. Outside, it implements
/// whole parts: `forward_store!(Inbox, Leases for Wrapper => inner);`.
///
/// ```
/// use std::sync::Arc;
///
/// use windlass_store::{Answer, Append, Log, MemoryLog, Store, forward_store};
///
/// /// A store that says what it appends.
/// #[derive(Debug)]
/// struct Loud {
///     inner: MemoryLog,
/// }
///
/// impl Log for Loud {
///     fn append(&self, append: Append) -> Answer<'_, ()> {
///         eprintln!("{} events for run {}", append.events.len(), append.run);
///         self.inner.append(append)
///     }
///
///     forward_store!(inner: used, read, follow);
/// }
///
/// forward_store!(Inbox, Leases, Payloads, Index for Loud => inner);
///
/// // It keeps every promise of a store.
/// let make = || Arc::new(Loud { inner: MemoryLog::new() }) as Arc<dyn Store>;
/// windlass_store::conformance::run(windlass_store::conformance::all(make)).unwrap();
/// ```
#[macro_export]
macro_rules! forward_store {
    ($($part:ident),+ for $store:ty => $log:tt) => { $($crate::forward_store! { part $part, $store, $log })+ };
    (part Log, $store:ty, $log:tt) => { $crate::forward_store! { impl Log, $store, $log, append, used, read, follow } };
    (part Inbox, $store:ty, $log:tt) => {
        $crate::forward_store! { impl Inbox, $store, $log, post, posted, inbox, inbox_changed, discard }
    };
    (part Leases, $store:ty, $log:tt) => {
        $crate::forward_store! { impl Leases, $store, $log, acquire, acquire_due, renew, probe, release, park }
    };
    (part Payloads, $store:ty, $log:tt) => { $crate::forward_store! { impl Payloads, $store, $log, put, get, size_in } };
    (part Index, $store:ty, $log:tt) => {
        $crate::forward_store! { impl Index, $store, $log, list, sessions, summary, head, usage, counts, pruning }
    };
    (impl $part:ident, $store:ty, $log:tt, $($method:ident),+) => {
        const _: () = {
            #[allow(unused_imports, reason = "the field may be a trait object, whose methods need no import")]
            use $crate::$part as _;
            impl $crate::$part for $store { $($crate::forward_store! { $method $log })+ }
        };
    };
    ($log:tt: $($method:ident),+ $(,)?) => { $($crate::forward_store! { $method $log })+ };
    (append $log:tt) => {
        fn append(&self, append: $crate::Append) -> $crate::Answer<'_, ()> { self.$log.append(append) }
    };
    (read $log:tt) => {
        fn read(&self, run: $crate::RunId, from: u64, max: usize) -> $crate::Answer<'_, Vec<$crate::Batch>> {
            self.$log.read(run, from, max)
        }
    };
    (used $log:tt) => {
        fn used(&self, run: $crate::RunId, posts: &[$crate::PostId]) -> $crate::Answer<'_, Vec<$crate::PostId>> {
            self.$log.used(run, posts)
        }
    };
    (follow $log:tt) => {
        fn follow(&self, run: $crate::RunId, from: u64) -> $crate::Batches { self.$log.follow(run, from) }
    };
    (post $log:tt) => {
        fn post(&self, run: $crate::RunId, post: $crate::Post) -> $crate::Answer<'_, $crate::PostId> {
            self.$log.post(run, post)
        }
    };
    (posted $log:tt) => {
        fn posted(&self, owner: &$crate::Owner, keys: &[$crate::Text]) -> $crate::Answer<'_, Vec<Option<$crate::KeyedPost>>> {
            self.$log.posted(owner, keys)
        }
    };
    (inbox $log:tt) => {
        fn inbox(&self, run: $crate::RunId, after: Option<$crate::PostId>) -> $crate::Answer<'_, Vec<$crate::Posted>> {
            self.$log.inbox(run, after)
        }
    };
    (inbox_changed $log:tt) => {
        fn inbox_changed(&self, run: $crate::RunId, after: Option<$crate::PostId>) -> $crate::Answer<'_, ()> {
            self.$log.inbox_changed(run, after)
        }
    };
    (discard $log:tt) => {
        fn discard(&self, run: $crate::RunId, post: $crate::PostId, fence: &$crate::Fence) -> $crate::Answer<'_, ()> {
            self.$log.discard(run, post, fence)
        }
    };
    (put $log:tt) => {
        fn put(&self, bytes: ::std::sync::Arc<[u8]>) -> $crate::Answer<'_, $crate::Text> { self.$log.put(bytes) }
    };
    (get $log:tt) => {
        fn get(&self, sha256: &str, from: u64, max: usize) -> $crate::Answer<'_, Vec<u8>> {
            self.$log.get(sha256, from, max)
        }
    };
    (size_in $log:tt) => {
        fn size_in(&self, run: $crate::RunId, sha256: &str) -> $crate::Answer<'_, Option<u64>> {
            self.$log.size_in(run, sha256)
        }
    };
    (acquire $log:tt) => {
        fn acquire(
            &self,
            run: $crate::RunId,
            holder: &$crate::Holder,
            claim: $crate::Claim,
        ) -> $crate::Answer<'_, $crate::Fence> {
            self.$log.acquire(run, holder, claim)
        }
    };
    (acquire_due $log:tt) => {
        fn acquire_due(&self, due: $crate::Due) -> $crate::Answer<'_, Vec<($crate::RunSummary, $crate::Fence)>> {
            self.$log.acquire_due(due)
        }
    };
    (renew $log:tt) => {
        fn renew(&self, run: $crate::RunId, fence: &$crate::Fence) -> $crate::Answer<'_, Option<$crate::Millis>> {
            self.$log.renew(run, fence)
        }
    };
    (probe $log:tt) => {
        fn probe(&self) -> $crate::Answer<'_, ()> { self.$log.probe() }
    };
    (release $log:tt) => {
        fn release(&self, run: $crate::RunId, fence: &$crate::Fence) -> $crate::Answer<'_, ()> {
            self.$log.release(run, fence)
        }
    };
    (park $log:tt) => {
        fn park(&self, run: $crate::RunId, fence: &$crate::Fence, wake: Option<$crate::Wake>) -> $crate::Answer<'_, ()> {
            self.$log.park(run, fence, wake)
        }
    };
    (list $log:tt) => {
        fn list(&self, filter: $crate::RunFilter) -> $crate::Answer<'_, $crate::Page<$crate::RunSummary>> {
            self.$log.list(filter)
        }
    };
    (sessions $log:tt) => {
        fn sessions(
            &self,
            filter: $crate::SessionFilter,
        ) -> $crate::Answer<'_, $crate::Page<$crate::SessionSummary>> {
            self.$log.sessions(filter)
        }
    };
    (summary $log:tt) => {
        fn summary(&self, run: $crate::RunId) -> $crate::Answer<'_, $crate::RunSummary> { self.$log.summary(run) }
    };
    (head $log:tt) => {
        fn head(
            &self,
            owner: &$crate::Owner,
            session: &$crate::SessionId,
        ) -> $crate::Answer<'_, Option<$crate::RunId>> {
            self.$log.head(owner, session)
        }
    };
    (usage $log:tt) => {
        fn usage(&self, filter: $crate::UsageFilter) -> $crate::Answer<'_, Vec<$crate::DailyUsage>> {
            self.$log.usage(filter)
        }
    };
    (counts $log:tt) => {
        fn counts(&self, now: $crate::Millis) -> $crate::Answer<'_, $crate::RunCounts> { self.$log.counts(now) }
    };
    (pruning $log:tt) => {
        fn pruning(&self) -> Option<&dyn $crate::Pruning> { self.$log.pruning() }
    };
}
