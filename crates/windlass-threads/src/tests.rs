use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};

use super::*;

async fn where_it_runs(bytes: u64) -> ThreadId {
    off_thread(bytes, || thread::current().id()).await
}

#[tokio::test(flavor = "current_thread")]
async fn large_input_leaves_the_thread_and_small_input_stays() {
    let own = thread::current().id();
    assert_eq!(where_it_runs(0).await, own);
    assert_eq!(where_it_runs(LARGE_BYTES - 1).await, own);
    assert_ne!(where_it_runs(LARGE_BYTES).await, own);
}

#[test]
fn without_a_runtime_it_is_done_on_the_spot() {
    let mut done = pin!(where_it_runs(u64::MAX));
    let own = Poll::Ready(thread::current().id());
    assert_eq!(done.as_mut().poll(&mut Context::from_waker(Waker::noop())), own);
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_spawned_beside_runs_on_another_thread() {
    let handle = background_runtime().unwrap();
    assert_eq!(background_runtime().unwrap().id(), handle.id());
    let spawned = {
        let _context = handle.enter();
        tokio::spawn(async { thread::current().id() })
    };
    assert_ne!(spawned.await.unwrap(), thread::current().id());
}

#[tokio::test(flavor = "current_thread")]
async fn a_panic_comes_back() {
    let work = tokio::spawn(off_thread(LARGE_BYTES, || panic!("as it was")));
    let panic = work.await.unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"as it was"));
}

/// The other task gets its turns while the work goes on, however long that takes: it is the one that ends the work.
#[tokio::test(flavor = "current_thread")]
async fn other_tasks_of_the_thread_go_on_meanwhile() {
    let (end, ended) = mpsc::channel::<()>();
    let work = off_thread(LARGE_BYTES, move || ended.recv().is_ok());
    let other = async {
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        end.send(()).unwrap();
    };
    let (done, ()) = tokio::join!(work, other);
    assert!(done);
}

#[tokio::test(flavor = "current_thread")]
async fn no_more_goes_on_at_once_than_there_are_processors_and_dropped_work_is_not_begun() {
    let busy = available_parallelism().map_or(1, std::num::NonZero::get);
    let (end, ended) = mpsc::channel::<()>();
    let ended = Arc::new(Mutex::new(ended));
    let holds = |_| {
        let ended = ended.clone();
        tokio::spawn(off_thread(LARGE_BYTES, move || ended.lock().unwrap().recv().unwrap()))
    };
    let holders: Vec<_> = (0..busy).map(holds).collect();
    while places().available_permits() > 0 {
        tokio::task::yield_now().await;
    }
    let (begun, seen) = mpsc::channel::<()>();
    let mut late = Box::pin(off_thread(LARGE_BYTES, move || begun.send(())));
    assert!(late.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(late);
    // What may wait for such work waits for no place of its own.
    assert_ne!(off_thread_freely(LARGE_BYTES, || thread::current().id()).await, thread::current().id());
    (0..busy).for_each(|_| end.send(()).unwrap());
    for holder in holders {
        holder.await.unwrap();
    }
    // The sender went with the work.
    assert_eq!(seen.recv(), Err(mpsc::RecvError));
    assert_ne!(where_it_runs(LARGE_BYTES).await, thread::current().id());
}

#[test]
fn work_that_waits_for_a_thread_goes_with_its_future() {
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let (end, ended) = mpsc::channel::<()>();
        let busy = runtime.spawn_blocking(move || ended.recv());
        let (begun, seen) = mpsc::channel::<()>();
        let mut late = Box::pin(off_thread(LARGE_BYTES, move || begun.send(())));
        assert!(late.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(late);
        assert_eq!(seen.try_recv(), Err(mpsc::TryRecvError::Disconnected), "it is gone at once");
        end.send(()).unwrap();
        busy.await.unwrap().unwrap();
    });
}
