//! Bytes on their way out of the process.

use std::io;
use std::os::fd::AsFd as _;

use rustix::event::{PollFd, PollFlags, poll};

/// Output stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// The answer.
    Out,
    /// Everything else.
    Err,
}

/// Writes all of it, however long that takes, past the standard library's buffers.
pub(super) fn write_to(stream: Stream, text: &[u8]) -> io::Result<()> {
    let (out, err) = (io::stdout(), io::stderr());
    let file = match stream {
        Stream::Out => out.as_fd(),
        Stream::Err => err.as_fd(),
    };
    let mut rest = text;
    while !rest.is_empty() {
        match rustix::io::write(file, rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(bytes) => rest = rest.get(bytes..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            // The other writer of a shared file must not wait; this thread may.
            Err(rustix::io::Errno::AGAIN) => {
                let _ready = poll(&mut [PollFd::new(&file, PollFlags::OUT)], None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
