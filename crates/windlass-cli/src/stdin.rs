//! Reads lines from stdin without a blocked thread: a question may be withdrawn before an answer is typed.

use std::io::{self, IsTerminal, Read, Stdin as StdStdin};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::unix::AsyncFd;

use crate::out;

/// The longest line that is taken, in bytes.
const MAX_LINE: usize = 1024 * 1024;
/// The most bytes that an input on stdin may have.
const MAX_INPUT: u64 = 16 * 1024 * 1024;

/// Time without a word until input comes.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Lines from stdin.
#[derive(Debug)]
pub(crate) struct Stdin {
    /// `None`: a file or `/dev/null`, which never makes anybody wait.
    ready: Option<AsyncFd<StdStdin>>,
    read: Vec<u8>,
    ended: bool,
}

impl Stdin {
    #[expect(
        deprecated,
        reason = "its successor is an unsafe function; stdin's descriptor stays open as long as the process"
    )]
    pub(crate) fn new() -> Self {
        Self { ready: AsyncFd::new(io::stdin()).ok(), read: Vec::new(), ended: false }
    }

    /// The next line without its end; `None` at the end of input. Nothing is lost if this is dropped.
    pub(crate) async fn line(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.read.drain(..=end).collect();
                while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
                    line.pop();
                }
                return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
            }
            if self.ended {
                let rest = std::mem::take(&mut self.read);
                return Ok((!rest.is_empty()).then(|| String::from_utf8_lossy(&rest).into_owned()));
            }
            if self.read.len() > MAX_LINE {
                return Err(io::Error::other(format!("a line is longer than {MAX_LINE} bytes")));
            }
            self.wait().await?;
            let mut chunk = [0; 4096];
            // Read past the standard library's buffer: what is left there would not show as ready.
            match rustix::io::read(io::stdin().as_fd(), &mut chunk) {
                // At a terminal Ctrl-D ends one line's reading, not all.
                Ok(0) if io::stdin().is_terminal() => return Ok(None),
                Ok(0) => self.ended = true,
                Ok(bytes) => self.read.extend_from_slice(chunk.get(..bytes).unwrap_or_default()),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Discards input typed before a question was shown: it cannot be the answer.
    pub(crate) fn forget(&mut self) {
        if io::stdin().is_terminal() {
            self.read.clear();
            // A terminal that cannot do that keeps what was typed.
            let _kept = rustix::termios::tcflush(io::stdin().as_fd(), rustix::termios::QueueSelector::IFlush);
        }
    }

    async fn wait(&self) -> io::Result<()> {
        let Some(ready) = &self.ready else { return Ok(()) };
        loop {
            let mut guard = ready.readable().await?;
            if is_ready()? {
                return Ok(());
            }
            guard.clear_ready();
        }
    }
}

fn is_ready() -> io::Result<bool> {
    is_ready_within(&Timespec { tv_sec: 0, tv_nsec: 0 })
}

fn is_ready_within(time: &Timespec) -> io::Result<bool> {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    match poll(&mut fds, Some(time)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Everything on stdin, as text.
pub(crate) fn whole() -> io::Result<String> {
    String::from_utf8(bytes(MAX_INPUT)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}

/// Everything on stdin, of at most so many bytes. Where nothing comes for a while, what is waited for is reported once.
pub(crate) fn bytes(most: u64) -> io::Result<Vec<u8>> {
    let (mut bytes, mut reported) = (Vec::new(), false);
    let mut chunk = [0; 16 * 1024];
    loop {
        if !reported && !is_ready_within(&PATIENCE)? {
            reported = true;
            out::note(
                "waiting for the end of the input on stdin, which is read first (`</dev/null` gives none, Ctrl-D ends it)",
            );
        }
        let read = match io::stdin().lock().read(&mut chunk) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        bytes.extend_from_slice(chunk.get(..read).unwrap_or_default());
        if bytes.len() as u64 > most {
            let words = format!("the input is longer than {most} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
        }
        if read == 0 {
            return Ok(bytes);
        }
    }
}

/// Whether another program or a file gives something on stdin: neither a terminal nor a device such as `/dev/null`, and no socket,
/// which belongs to whoever started this process.
pub(crate) fn is_given() -> bool {
    rustix::fs::fstat(io::stdin()).is_ok_and(|stat| {
        matches!(
            rustix::fs::FileType::from_raw_mode(stat.st_mode),
            rustix::fs::FileType::Fifo | rustix::fs::FileType::RegularFile
        )
    })
}

/// Whether an interactive user can be asked.
pub(crate) fn somebody() -> bool {
    io::stdin().is_terminal() && out::stderr_is_terminal()
}
