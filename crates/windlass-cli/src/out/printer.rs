//! Writes text to stdout and stderr from bounded queues with their own threads, so that a reader who does not read blocks only
//! these threads.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::frames::Frames;
pub(crate) use super::sink::Stream;
use super::sink::write_to;

/// Number of queued bytes at which a queue counts as full: 256 KiB.
pub(super) const QUEUE_BYTES: usize = 256 * 1024;
/// The most bytes that go out in one write: 64 KiB.
const WRITE_BYTES: usize = 64 * 1024;
/// Clears the cursor's line and goes to its beginning (ECMA-48: CR, EL).
const CLEAR_LINE: &str = "\r\x1b[K";

/// Handling of text when its queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// It is written anyway. The caller has waited for room before.
    Whole,
    /// It is left out, and a later line says how many were.
    Spare,
}

/// Whether this process must never wait for its readers: it takes signals itself, or drives a run.
static LIVE: AtomicBool = AtomicBool::new(false);
/// Number of texts dropped since the last report of drops.
static LEFT_OUT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this thread prints for the question that stands.
    static IN_FRAME: Cell<bool> = const { Cell::new(false) };
}

fn in_frame() -> bool {
    IN_FRAME.get()
}

/// Prints for the question that stands, while all others are held back.
pub(super) fn framed<T>(print: impl FnOnce() -> T) -> T {
    let before = IN_FRAME.replace(true);
    let done = print();
    IN_FRAME.set(before);
    done
}

/// From here on no print waits for a reader.
pub(crate) fn never_wait() {
    LIVE.store(true, Ordering::Relaxed);
}

/// Whether no print waits for a reader.
pub(super) fn is_live() -> bool {
    LIVE.load(Ordering::Relaxed)
}

/// Counts a text that was dropped because its reader is slow.
pub(crate) fn left_out() {
    LEFT_OUT.fetch_add(1, Ordering::Relaxed);
}

/// Both streams. They share a queue if they are the same file, so that a terminal shows them in order.
#[derive(Debug)]
pub(super) struct Printer {
    out: Arc<Queue>,
    err: Arc<Queue>,
}

/// The printer of this process.
pub(super) fn printer() -> &'static Printer {
    static PRINTER: OnceLock<Printer> = OnceLock::new();
    PRINTER.get_or_init(|| {
        let file = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
        let out = rustix::fs::fstat(io::stdout()).map(file).ok();
        let err = rustix::fs::fstat(io::stderr()).map(file).ok();
        let first = Queue::start(write_to);
        let second = if out.is_some() && out == err { first.clone() } else { Queue::start(write_to) };
        Printer { out: first, err: second }
    })
}

impl Printer {
    fn queue(&self, stream: Stream) -> &Queue {
        match stream {
            Stream::Out => &self.out,
            Stream::Err => &self.err,
        }
    }

    /// Whether both streams are one file.
    pub(super) fn is_shared(&self) -> bool {
        Arc::ptr_eq(&self.out, &self.err)
    }

    /// Queues text.
    ///
    /// # Errors
    /// An earlier write to that stream failed.
    pub(super) fn put(&self, stream: Stream, text: &[u8], weight: Weight) -> io::Result<()> {
        let queue = self.queue(stream);
        if stream == Stream::Err && queue.has_room() {
            self.say_left_out()?;
        }
        queue.put(stream, text, weight, !is_live())
    }

    /// Holds back what others print on terminals, until it is let go: a question has them, which prints through [`framed`].
    pub(super) fn hold(&self, out: bool, err: bool) {
        if out {
            self.out.hold();
        }
        if err {
            self.err.hold();
        }
    }

    /// Prints what was held back, in its order.
    pub(super) fn let_go(&self) {
        self.out.let_go();
        self.err.let_go();
    }

    /// Says on stderr how many texts were left out, if any were.
    ///
    /// # Errors
    /// As of [`Printer::put`].
    pub(super) fn say_left_out(&self) -> io::Result<()> {
        match LEFT_OUT.swap(0, Ordering::Relaxed) {
            0 => Ok(()),
            lines => {
                let notice = format!("[{lines} lines were dropped because they were not read in time]\n");
                self.err.put(Stream::Err, notice.as_bytes(), Weight::Whole, false)
            }
        }
    }

    /// Shows a line of that width on stderr which the next text replaces, unless something is `taken` or still being written.
    pub(super) fn show_waiting(&self, text: &str, width: usize, taken: fn() -> bool) {
        self.err.show_waiting(text, width, taken);
    }

    /// Takes that line back.
    pub(super) fn withdraw(&self) {
        // A stream that is broken shows nothing any more.
        let _gone = self.err.put(Stream::Err, b"", Weight::Whole, false);
    }

    /// A sequence that shows nothing, in its turn.
    pub(super) fn control(&self, sequence: &str) {
        self.err.control(sequence);
    }

    /// Changes the rows that stand below everything on a terminal.
    pub(super) fn frames<T>(&self, change: impl FnOnce(&mut Option<Frames>) -> T) -> T {
        self.err.frames(change)
    }

    /// Writes nothing of what is queued, or goes on with it.
    pub(super) fn pause(&self, paused: bool) {
        self.out.pause(paused);
        self.err.pause(paused);
    }

    /// Whether that stream takes more now.
    pub(super) fn has_room(&self, stream: Stream) -> bool {
        self.queue(stream).has_room()
    }

    /// Ends once that stream takes more, or will never take anything again.
    pub(super) async fn room(&self, stream: Stream) {
        self.queue(stream).until(Waiting::has_room).await;
    }

    /// Ends once everything is written, or never will be.
    pub(super) async fn drained(&self) {
        self.out.until(Waiting::is_drained).await;
        self.err.until(Waiting::is_drained).await;
    }

    /// As [`Printer::drained`], for so long at most; whether it is.
    pub(super) fn drained_within(&self, most: Duration) -> bool {
        self.out.drained_within(most) && self.err.drained_within(most)
    }

    /// Why nothing goes to stdout any more.
    pub(super) fn broken(&self) -> Option<io::Error> {
        self.out.lock().broken(Stream::Out)
    }
}

type Sink = fn(Stream, &[u8]) -> io::Result<()>;

/// The queued text and the thread that writes it.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// Something was queued or written: for threads.
    changed: Condvar,
    /// Something was written: for tasks.
    written: Notify,
    /// Writes in place where there is no thread.
    sink: Sink,
    threaded: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    texts: VecDeque<(Stream, Vec<u8>)>,
    /// All bytes that are not written yet, those included that are being written.
    bytes: usize,
    broken_out: Option<Broken>,
    broken_err: Option<Broken>,
    /// The width of the waiting line that stands at the end of what was queued.
    line: Option<usize>,
    /// Whether nothing is written now.
    paused: bool,
    /// Text that comes after the question that stands; `None`: none stands.
    held: Option<VecDeque<(Stream, Vec<u8>)>>,
    /// All bytes that are held.
    held_bytes: usize,
    /// Whether something is being written now: a frame without new text is no queued byte.
    writing: bool,
    /// Sequences that show nothing, which go out before everything else.
    controls: String,
    /// The rows below everything else, where a conversation has the terminal.
    frames: Option<Frames>,
}

/// An [`io::Error`] that can be told more than once.
#[derive(Clone, Copy, Debug)]
struct Broken(io::ErrorKind, Option<i32>);

impl Waiting {
    fn has_room(&self) -> bool {
        self.bytes + self.held_bytes < QUEUE_BYTES
    }

    fn is_drained(&self) -> bool {
        self.bytes == 0 && !self.writing && !self.frames.as_ref().is_some_and(Frames::is_due)
    }

    /// The bytes to write next, and how many of the queued bytes they stand for.
    fn next(&mut self) -> Option<(Stream, Vec<u8>, usize)> {
        if self.paused {
            return None;
        }
        if !self.controls.is_empty() {
            let controls = std::mem::take(&mut self.controls);
            let bytes = controls.len();
            return Some((Stream::Err, controls.into_bytes(), bytes));
        }
        let Some(frames) = self.frames.as_mut().filter(|frames| !self.texts.is_empty() || frames.is_due())
        else {
            let (stream, text) = self.texts.pop_front()?;
            let bytes = text.len();
            return Some((stream, text, bytes));
        };
        let mut finished = Vec::new();
        while finished.len() < WRITE_BYTES
            && let Some((_, text)) = self.texts.pop_front()
        {
            finished.extend(text);
        }
        let (text, left) = frames.next(&finished);
        if left {
            self.frames = None;
        }
        Some((Stream::Err, text, finished.len()))
    }

    fn broken(&self, stream: Stream) -> Option<io::Error> {
        let broken = match stream {
            Stream::Out => self.broken_out,
            Stream::Err => self.broken_err,
        };
        broken.map(|Broken(kind, raw)| raw.map_or_else(|| kind.into(), io::Error::from_raw_os_error))
    }

    fn breaks(&mut self, stream: Stream, error: &io::Error) {
        let broken = Some(Broken(error.kind(), error.raw_os_error()));
        match stream {
            Stream::Out => self.broken_out = broken,
            Stream::Err => self.broken_err = broken,
        }
        // Nothing that waits for it will be read.
        let sum = |texts: &VecDeque<(Stream, Vec<u8>)>| texts.iter().map(|(_, text)| text.len()).sum();
        self.texts.retain(|(other, _)| *other != stream);
        self.bytes = sum(&self.texts);
        if let Some(held) = &mut self.held {
            held.retain(|(other, _)| *other != stream);
            self.held_bytes = sum(held);
        }
    }

    fn push(&mut self, stream: Stream, text: &[u8]) {
        self.bytes += text.len();
        append(&mut self.texts, stream, text);
    }
}

/// Adds text to the last one of its stream, up to one write.
fn append(texts: &mut VecDeque<(Stream, Vec<u8>)>, stream: Stream, text: &[u8]) {
    match texts.back_mut() {
        Some((last, waiting)) if *last == stream && waiting.len() + text.len() <= WRITE_BYTES => {
            waiting.extend_from_slice(text);
        }
        _ => texts.push_back((stream, text.to_vec())),
    }
}

impl Queue {
    /// A queue and its thread, which ends with the process.
    pub(super) fn start(sink: Sink) -> Arc<Self> {
        let queue = Arc::new(Self {
            waiting: Mutex::default(),
            changed: Condvar::new(),
            written: Notify::new(),
            sink,
            threaded: AtomicBool::new(true),
        });
        let writer = queue.clone();
        let spawned = std::thread::Builder::new().name("printer".into()).spawn(move || writer.write_all());
        // Without a thread there is nothing better than to write in place.
        queue.threaded.store(spawned.is_ok(), Ordering::Relaxed);
        queue
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self) -> bool {
        self.lock().has_room()
    }

    fn put(&self, stream: Stream, text: &[u8], weight: Weight, wait: bool) -> io::Result<()> {
        let mut waiting = self.lock();
        if let Some(error) = waiting.broken(stream) {
            return Err(error);
        }
        if !self.threaded.load(Ordering::Relaxed) {
            let written = (self.sink)(stream, text);
            return written.inspect_err(|error| waiting.breaks(stream, error));
        }
        if !waiting.has_room() && weight == Weight::Spare {
            left_out();
            return Ok(());
        }
        while wait && !waiting.has_room() {
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            if let Some(error) = waiting.broken(stream) {
                return Err(error);
            }
        }
        if let Some(held) = waiting.held.as_mut().filter(|_| !in_frame()) {
            append(held, stream, text);
            waiting.held_bytes += text.len();
            return Ok(());
        }
        if waiting.line.take().is_some() {
            waiting.push(Stream::Err, CLEAR_LINE.as_bytes());
        }
        waiting.push(stream, text);
        drop(waiting);
        self.changed.notify_all();
        Ok(())
    }

    fn hold(&self) {
        self.lock().held.get_or_insert_default();
    }

    fn let_go(&self) {
        let mut waiting = self.lock();
        waiting.held_bytes = 0;
        for (stream, text) in waiting.held.take().unwrap_or_default() {
            waiting.push(stream, &text);
        }
        drop(waiting);
        self.changed.notify_all();
    }

    fn pause(&self, paused: bool) {
        self.lock().paused = paused;
        self.changed.notify_all();
    }

    /// Shows a line that the next text replaces. It is left out while something is being written: it never fills the queue.
    fn show_waiting(&self, text: &str, width: usize, taken: fn() -> bool) {
        let mut waiting = self.lock();
        let idle = waiting.is_drained() && !waiting.paused && waiting.broken(Stream::Err).is_none();
        if !idle || !self.threaded.load(Ordering::Relaxed) || taken() {
            return;
        }
        let rendered = if waiting.line == Some(width) {
            // Keys that were typed after it stay, and so does the cursor (DEC: save and restore).
            format!("\x1b7\r{text}\x1b8")
        } else {
            format!("{CLEAR_LINE}{text}")
        };
        waiting.line = Some(width);
        waiting.push(Stream::Err, rendered.as_bytes());
        drop(waiting);
        self.changed.notify_all();
    }

    fn control(&self, sequence: &str) {
        let mut waiting = self.lock();
        waiting.bytes += sequence.len();
        waiting.controls.push_str(sequence);
        drop(waiting);
        self.changed.notify_all();
    }

    /// Changes what stands below everything else.
    fn frames<T>(&self, change: impl FnOnce(&mut Option<Frames>) -> T) -> T {
        let changed = change(&mut self.lock().frames);
        self.changed.notify_all();
        changed
    }

    /// Writes what is queued, for ever.
    fn write_all(&self) {
        loop {
            let mut waiting = self.lock();
            let (stream, text, bytes) = loop {
                match waiting.next() {
                    Some(next) => break next,
                    None => waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
                }
            };
            waiting.writing = true;
            drop(waiting);
            let written = (self.sink)(stream, &text);
            let mut waiting = self.lock();
            waiting.writing = false;
            waiting.bytes = waiting.bytes.saturating_sub(bytes);
            if let Err(error) = written {
                waiting.breaks(stream, &error);
            }
            drop(waiting);
            self.changed.notify_all();
            self.written.notify_waiters();
        }
    }

    async fn until(&self, holds: fn(&Waiting) -> bool) {
        loop {
            let mut written = pin!(self.written.notified());
            // Before the look, so that no write between both is missed.
            written.as_mut().enable();
            if holds(&self.lock()) {
                return;
            }
            written.await;
        }
    }

    fn drained_within(&self, most: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), most, |waiting| !waiting.is_drained());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_drained()
    }
}

#[cfg(test)]
mod tests;
