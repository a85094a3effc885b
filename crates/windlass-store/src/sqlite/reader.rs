//! The readers: a few threads with a read connection each, started when they are needed.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::rows::Fault;
use super::{Place, closed, file};
use crate::error::StoreError;

/// The KiB of pages that a reader keeps. What another connection writes empties its cache, so that a larger one is of little use; it
/// would fill while the log grows, and so would the process (E69).
const CACHE_KIB: i32 = 512;

/// Does a query and sends its answer. Gets an error instead of a connection if the log cannot be opened any more.
type Query = Box<dyn FnOnce(Result<&Connection, StoreError>) + Send>;

pub(super) struct Readers {
    shared: Arc<Shared>,
    places: Arc<Semaphore>,
    max_threads: usize,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    place: Place,
    queue: Mutex<Queue>,
    filled: Condvar,
}

#[derive(Default)]
struct Queue {
    queries: VecDeque<(Query, OwnedSemaphorePermit)>,
    idle: usize,
    threads: usize,
    closed: bool,
}

impl Readers {
    pub(super) fn new(place: Place) -> Self {
        let (places, max_threads) = (place.options.queue.max(1), place.options.readers.max(1));
        let shared = Shared { place, queue: Mutex::default(), filled: Condvar::new() };
        Self {
            shared: Arc::new(shared),
            places: Arc::new(Semaphore::new(places)),
            max_threads,
            threads: Mutex::default(),
        }
    }

    pub(super) async fn read<T, Q>(&self, query: Q) -> Result<T, StoreError>
    where
        T: Send + 'static,
        Q: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| closed())?;
        let (answer, answered) = oneshot::channel();
        let path = self.shared.place.path.clone();
        let query: Query = Box::new(move |connection| {
            let found = connection.and_then(|connection| {
                query(connection).map_err(|fault| match fault {
                    Fault::Store(error) => error,
                    Fault::Database(error) => file::failure(&path, error),
                })
            });
            drop(answer.send(found));
        });
        self.queue(query, place)?;
        answered.await.unwrap_or_else(|_| Err(closed()))
    }

    fn queue(&self, query: Query, place: OwnedSemaphorePermit) -> Result<(), StoreError> {
        let mut queue = self.shared.lock();
        if queue.closed {
            return Err(closed());
        }
        if queue.idle <= queue.queries.len() && queue.threads < self.max_threads {
            self.start()?;
            queue.threads += 1;
        }
        queue.queries.push_back((query, place));
        drop(queue);
        self.shared.filled.notify_one();
        Ok(())
    }

    fn start(&self) -> Result<(), StoreError> {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new()
            .name("windlass-log-read".to_owned())
            .spawn(move || shared.run())
            .map_err(|error| StoreError::Failed(Box::new(error)))?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// Answers what is queued and ends the threads.
    pub(super) fn close(&self) {
        self.places.close();
        self.shared.lock().closed = true;
        self.shared.filled.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!(log = %self.shared.place.path.display(), "a reader thread of the log panicked");
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut connection = None;
        while let Some((query, place)) = self.next() {
            if connection.is_none() {
                match self.connect() {
                    Ok(opened) => connection = Some(opened),
                    Err(error) => {
                        query(Err(error));
                        continue;
                    }
                }
            }
            let answer = AssertUnwindSafe(|| query(connection.as_ref().ok_or_else(closed)));
            if catch_unwind(answer).is_err() {
                // Its caller gets an error; the thread continues with a new connection.
                connection = None;
            }
            drop(place);
        }
    }

    fn connect(&self) -> Result<Connection, StoreError> {
        let connection = self.place.connect()?;
        // A size below zero is one in KiB (SQLite, "PRAGMA cache_size").
        let bounded = connection.pragma_update(None, "cache_size", -CACHE_KIB);
        bounded.map_err(|error| file::failure(&self.place.path, error))?;
        Ok(connection)
    }

    fn next(&self) -> Option<(Query, OwnedSemaphorePermit)> {
        let mut queue = self.lock();
        loop {
            if let Some(next) = queue.queries.pop_front() {
                return Some(next);
            }
            if queue.closed {
                return None;
            }
            queue.idle += 1;
            queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CACHE_KIB;
    use crate::SqliteLog;

    #[tokio::test]
    async fn e69_a_reader_keeps_few_pages_however_large_the_log_is() {
        let folder = tempfile::tempdir().unwrap();
        let log = SqliteLog::open(folder.path().join("log.db")).unwrap();
        let size = |connection: &rusqlite::Connection| {
            Ok(connection.pragma_query_value(None, "cache_size", |row| row.get::<_, i32>(0))?)
        };
        assert_eq!(log.inner.readers.read(size).await.unwrap(), -CACHE_KIB);
    }
}
