//! The child process: it takes its resources away from itself, and then serves its parent over stdin and stdout.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::de::DeserializeOwned;

use crate::interpreter::{Interpreter, Turn, memory};
use crate::protocol::{self, HEADER_BYTES, Reply, Request, VERSION};
use crate::{CodeError, Limits};

/// The stack of the interpreter's thread. Source may be nested as deeply as the parser allows, whatever `ulimit -s` says; only
/// what is used takes memory.
const STACK_BYTES: usize = 64 << 20;
/// Memory of a process that cannot be asked for its size.
const USUAL_BYTES: u64 = 256 << 20;

/// Exit codes.
const MISUNDERSTOOD: i32 = 2;
const ABANDONED: i32 = 3;
const BROKEN: i32 = 101;

/// Whether this process's program starts with [`child`].
static SERVES: AtomicBool = AtomicBool::new(false);
/// Whether the interpreter runs code, and whether the parent has gone.
static RUNNING: AtomicBool = AtomicBool::new(false);
static PARENT_GONE: AtomicBool = AtomicBool::new(false);

/// Serves as the child of a [`Session`](crate::Session), if this process was started as one; else returns at once.
///
/// A program calls it as main's first line, before it starts threads, opens files or reads settings:
///
/// ```no_run
/// windlass_code::child();
/// // The program's own work.
/// ```
pub fn child() {
    SERVES.store(true, Ordering::Relaxed);
    if protocol::is_child() {
        process::exit(serve());
    }
}

/// Whether this process's program can be a child: its main has called [`child`].
///
/// # Errors
/// It has not.
pub(crate) fn can_serve() -> Result<(), CodeError> {
    if SERVES.load(Ordering::Relaxed) { Ok(()) } else { Err(CodeError::NoProgram) }
}

/// The interpreter has a thread with a stack of its own; this one watches the parent, which may die while code runs.
fn serve() -> i32 {
    // Opened while files can be.
    let sizes = File::open("/proc/self/statm").ok();
    if renounce().is_err() {
        return MISUNDERSTOOD;
    }
    let interpreter = thread::Builder::new().name("code".to_owned()).stack_size(STACK_BYTES).spawn(|| {
        let mut sizes = sizes;
        let bound = |limits: &Limits| bound(limits, sizes.take());
        let exit = converse(&mut BufReader::new(io::stdin().lock()), &mut io::stdout().lock(), bound);
        process::exit(exit);
    });
    let Ok(interpreter) = interpreter else { return BROKEN };
    let stdin = rustix::stdio::stdin();
    // No event is asked for: it returns when the other end of the pipe is closed.
    while poll(&mut [PollFd::new(&stdin, PollFlags::empty())], None) == Err(Errno::INTR) {}
    PARENT_GONE.store(true, Ordering::SeqCst);
    if RUNNING.load(Ordering::SeqCst) {
        return ABANDONED;
    }
    // It reads the end by itself. It returns only by a panic, which the parent finds on stderr.
    interpreter.join().ok();
    BROKEN
}

/// Gives up what code never needs: files and sockets, and core dumps.
fn renounce() -> rustix::io::Result<()> {
    let none = |most| Rlimit { current: Some(most), maximum: Some(most) };
    // stdin, stdout and stderr are open. `poll` needs a limit that is not below the number of what it waits for.
    setrlimit(Resource::Nofile, none(3))?;
    setrlimit(Resource::Fsize, none(0))?;
    setrlimit(Resource::Core, none(0))
}

/// Bounds memory and time of this process. Memory that it has already does not count.
fn bound(limits: &Limits, sizes: Option<File>) -> io::Result<()> {
    let (whole, data) = sizes.and_then(size).unwrap_or((USUAL_BYTES, USUAL_BYTES));
    let memory = memory(limits);
    let at_most = |most: u64| Rlimit { current: Some(most), maximum: Some(most) };
    // Writable memory counts. The address space is bounded, too, for systems that do not count the former; allocators
    // reserve more of it than they use.
    setrlimit(Resource::Data, at_most(data.saturating_add(memory)))?;
    setrlimit(
        Resource::As,
        at_most(whole.saturating_add(memory.saturating_mul(2)).saturating_add(USUAL_BYTES)),
    )?;
    // The interpreter's own limit comes first; this one holds if it hangs.
    let seconds = limits.running().as_secs() + 2;
    setrlimit(Resource::Cpu, Rlimit { current: Some(seconds), maximum: Some(seconds + 1) })?;
    Ok(())
}

/// The size of the address space and of its writable part, in bytes.
fn size(mut sizes: File) -> Option<(u64, u64)> {
    let mut text = String::new();
    sizes.read_to_string(&mut text).ok()?;
    let mut pages = text.split_ascii_whitespace().map(|field| field.parse::<u64>().ok());
    let (whole, data) = (pages.next()??, pages.nth(4)??);
    let page = rustix::param::page_size() as u64;
    Some((whole.saturating_mul(page), data.saturating_mul(page)))
}

/// Serves one step of code; the exit code.
fn converse(from: &mut impl Read, to: &mut impl Write, bound: impl FnMut(&Limits) -> io::Result<()>) -> i32 {
    match serve_step(from, to, bound) {
        Ok(exit) => exit,
        Err(error) => {
            // The parent may have gone; then nobody is told.
            let _sent = protocol::write(to, &Reply::Refused { reason: error.to_string() });
            MISUNDERSTOOD
        }
    }
}

fn serve_step(
    from: &mut impl Read,
    to: &mut impl Write,
    mut bound: impl FnMut(&Limits) -> io::Result<()>,
) -> io::Result<i32> {
    protocol::write(to, &Reply::Hello { version: VERSION })?;
    let (limits, program) = match read(from)? {
        None => return Ok(ABANDONED),
        Some(Request::Start { version: VERSION, limits, program }) => (limits, program),
        Some(Request::Start { version, .. }) => {
            return Err(io::Error::other(format!("protocol version {version}, expected {VERSION}")));
        }
        Some(Request::Results(_)) => return Err(io::Error::other("results before a start")),
    };
    bound(&limits)?;
    let (mut interpreter, mut turn) = running(|| Interpreter::start(&limits, program));
    loop {
        let output = interpreter.take_output();
        let asked = match turn {
            Turn::Calls(calls) => {
                let asked = calls.len();
                protocol::write(to, &Reply::Calls { calls, output })?;
                asked
            }
            Turn::Done(value) => {
                protocol::write(to, &Reply::Done { value, output })?;
                return Ok(0);
            }
            Turn::Failed(failure) => {
                protocol::write(to, &Reply::Failed { failure, output })?;
                return Ok(0);
            }
        };
        turn = match read(from)? {
            None => return Ok(ABANDONED),
            Some(Request::Results(results)) if results.len() == asked => {
                running(|| interpreter.resume(results))
            }
            Some(Request::Results(results)) => {
                return Err(io::Error::other(format!("{} results, expected {asked}", results.len())));
            }
            Some(Request::Start { .. }) => return Err(io::Error::other("a second start")),
        };
    }
}

/// Reads the next message; none at the end of the stream.
///
/// # Errors
/// The stream ends within a frame, or the frame is no message.
fn read<M: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<M>> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    from.take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    let Some(length) = protocol::length(&header)? else { return Ok(None) };
    // Grown as bytes come: a header alone takes no memory.
    let mut body = Vec::new();
    from.take(length as u64).read_to_end(&mut body)?;
    protocol::message(&body, length).map(Some)
}

/// Runs code, which ends with this process if the parent goes meanwhile.
fn running<T>(run: impl FnOnce() -> T) -> T {
    RUNNING.store(true, Ordering::SeqCst);
    if PARENT_GONE.load(Ordering::SeqCst) {
        process::exit(ABANDONED);
    }
    let done = run();
    RUNNING.store(false, Ordering::SeqCst);
    done
}

#[cfg(test)]
mod tests;
