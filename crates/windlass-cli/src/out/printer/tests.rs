use std::sync::atomic::AtomicUsize;

use super::*;

/// Whether sinks of these tests write, or wait.
static OPEN: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
static SEEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static WRITES: AtomicUsize = AtomicUsize::new(0);

#[expect(clippy::unnecessary_wraps, reason = "a sink may fail")]
fn gated(_: Stream, text: &[u8]) -> io::Result<()> {
    let open = OPEN.1.wait_while(OPEN.0.lock().unwrap(), |open| !*open).unwrap();
    drop(open);
    WRITES.fetch_add(1, Ordering::SeqCst);
    SEEN.lock().unwrap().extend_from_slice(text);
    Ok(())
}

fn broken(_: Stream, _: &[u8]) -> io::Result<()> {
    Err(io::ErrorKind::BrokenPipe.into())
}

#[test]
fn a_full_queue_keeps_whole_text_in_order_leaves_spare_text_out_and_holds_up_who_may_wait() {
    let queue = Queue::start(gated);
    let line = vec![b'.'; 1024];
    let full = QUEUE_BYTES / line.len();
    for _ in 0..full {
        queue.put(Stream::Out, &line, Weight::Spare, false).unwrap();
    }
    assert!(!queue.has_room());
    for _ in 0..full {
        queue.put(Stream::Out, &line, Weight::Spare, false).unwrap();
    }
    assert_eq!(queue.lock().bytes, full * line.len(), "nothing beyond the bound is kept");
    queue.put(Stream::Out, b"the answer", Weight::Whole, false).unwrap();
    let waiting = queue.clone();
    let patient = std::thread::spawn(move || waiting.put(Stream::Out, b", and more", Weight::Whole, true));
    assert!(!queue.drained_within(Duration::from_millis(1)));
    *OPEN.0.lock().unwrap() = true;
    OPEN.1.notify_all();
    patient.join().unwrap().unwrap();
    assert!(queue.drained_within(Duration::from_mins(1)));
    let seen = SEEN.lock().unwrap();
    assert!(seen.ends_with(b".the answer, and more"));
    assert_eq!(seen.len(), full * line.len() + "the answer, and more".len());
    let most = QUEUE_BYTES / WRITE_BYTES + 4;
    assert!(WRITES.load(Ordering::SeqCst) <= most, "pieces are merged");
}

#[tokio::test]
async fn a_stream_that_breaks_says_so_and_keeps_nobody_waiting() {
    let queue = Queue::start(broken);
    queue.put(Stream::Out, b"lost", Weight::Whole, false).unwrap();
    queue.until(Waiting::is_drained).await;
    for weight in [Weight::Whole, Weight::Spare] {
        let error = queue.put(Stream::Out, b"x", weight, true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
    assert!(queue.has_room() && queue.lock().broken(Stream::Err).is_none());
}
