//! Logs around other logs.

/// Writes methods of an [`EventLog`](crate::EventLog) that hand everything on to the log in a field, so that a log around
/// another one holds only what it does itself: `forward_log!(inner: read, follow, list);` within its `impl`.
#[macro_export]
macro_rules! forward_log {
    ($log:tt: $($method:ident),+ $(,)?) => { $($crate::forward_log! { $method $log })+ };
    (append $log:tt) => {
        fn append(&self, append: $crate::Append) -> $crate::Answer<'_, ()> { self.$log.append(append) }
    };
    (read $log:tt) => {
        fn read(&self, run: $crate::RunId, from: u64, max: usize) -> $crate::Answer<'_, Vec<$crate::Batch>> {
            self.$log.read(run, from, max)
        }
    };
    (follow $log:tt) => {
        fn follow(&self, run: $crate::RunId, from: u64) -> $crate::Batches { self.$log.follow(run, from) }
    };
    (post $log:tt) => {
        fn post(&self, run: $crate::RunId, at: $crate::Millis, what: $crate::InputKind) -> $crate::Answer<'_, $crate::PostId> {
            self.$log.post(run, at, what)
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
    (payload $log:tt) => {
        fn payload(&self, sha256: &str, from: u64, max: usize) -> $crate::Answer<'_, Vec<u8>> {
            self.$log.payload(sha256, from, max)
        }
    };
    (hold $log:tt) => {
        fn hold(&self, run: $crate::RunId, holder: &$crate::Holder) -> $crate::Answer<'_, $crate::Fence> {
            self.$log.hold(run, holder)
        }
    };
    (confirm $log:tt) => {
        fn confirm(&self, run: $crate::RunId, fence: &$crate::Fence) -> $crate::Answer<'_, ()> {
            self.$log.confirm(run, fence)
        }
    };
    (release $log:tt) => {
        fn release(&self, run: $crate::RunId, fence: &$crate::Fence) -> $crate::Answer<'_, ()> {
            self.$log.release(run, fence)
        }
    };
    (park_until $log:tt) => {
        fn park_until(&self, run: $crate::RunId, fence: &$crate::Fence, wake: Option<$crate::Wake>) -> $crate::Answer<'_, ()> {
            self.$log.park_until(run, fence, wake)
        }
    };
    (list $log:tt) => {
        fn list(&self, filter: $crate::RunFilter) -> $crate::Answer<'_, Vec<$crate::RunSummary>> {
            self.$log.list(filter)
        }
    };
    (summary $log:tt) => {
        fn summary(&self, run: $crate::RunId) -> $crate::Answer<'_, $crate::RunSummary> { self.$log.summary(run) }
    };
}
