//! Frames between a session and its child: four bytes of length, big-endian, then JSON.

use std::env;
use std::io::{self, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Failure, HostCall, HostResult, Limits, Output, Program};

/// The version of the protocol. Both sides are the same program or the same release; another version is refused.
pub(crate) const VERSION: u32 = 1;
/// The private first argument of a child.
pub(crate) const ARGUMENT: &str = "__windlass-code-child";
/// The variable that a child must have in addition, so that no person starts one by mistake.
pub(crate) const MARKER: &str = "WINDLASS_CODE_CHILD";
/// Size of a frame's header, in bytes.
pub(crate) const HEADER_BYTES: usize = 4;
/// Maximum size of a frame, in bytes.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// A request of a session.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Run this. The first request, once.
    Start { version: u32, limits: Limits, program: Program },
    /// Results of all calls of the last `Calls`, in its order.
    Results(Vec<HostResult>),
}

/// A reply of a child.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// The first reply: this is a child.
    Hello { version: u32 },
    /// The code waits for these calls; output since the last reply.
    Calls { calls: Vec<HostCall>, output: Output },
    /// The end; output since the last reply.
    Done { value: serde_json::Value, output: Output },
    /// The end by a failure; output since the last reply.
    Failed { failure: Failure, output: Output },
    /// The child did not understand a request, and ends.
    Refused { reason: String },
}

/// Whether this process was started as a child.
pub(crate) fn is_child() -> bool {
    env::args_os().nth(1).is_some_and(|first| first == ARGUMENT) && env::var_os(MARKER).is_some()
}

/// The bytes of a message.
///
/// # Errors
/// It is larger than a frame may be.
pub(crate) fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; HEADER_BYTES];
    serde_json::to_writer(&mut bytes, message)?;
    let length = bytes.len() - HEADER_BYTES;
    if length > MOST_BYTES {
        return Err(too_large(length));
    }
    let header = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    for (byte, header) in bytes.iter_mut().zip(header) {
        *byte = header;
    }
    Ok(bytes)
}

/// The length of the frame whose header came. `None`: the stream has ended before it.
///
/// # Errors
/// The stream ended within the header, or the frame is larger than it may be.
pub(crate) fn length(header: &[u8]) -> io::Result<Option<usize>> {
    if header.is_empty() {
        return Ok(None);
    }
    let bytes = <[u8; HEADER_BYTES]>::try_from(header).map_err(|_| cut(header.len(), HEADER_BYTES))?;
    let length = u32::from_be_bytes(bytes) as usize;
    if length > MOST_BYTES { Err(too_large(length)) } else { Ok(Some(length)) }
}

/// The message of a frame of that length.
///
/// # Errors
/// The stream ended within the frame, or the bytes are no such message.
pub(crate) fn message<M: DeserializeOwned>(body: &[u8], length: usize) -> io::Result<M> {
    if body.len() < length {
        return Err(cut(body.len(), length));
    }
    serde_json::from_slice(body).map_err(|error| invalid(format!("a frame of {length} bytes: {error}")))
}

/// Writes a message.
///
/// # Errors
/// It is too large, or the stream is broken.
pub(crate) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&frame(message)?)?;
    to.flush()
}

/// The error of a stream that ended within a frame.
fn cut(found: usize, expected: usize) -> io::Error {
    let text = format!("the stream ended within a frame, after {found} of {expected} bytes");
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}

fn too_large(length: usize) -> io::Error {
    invalid(format!("a frame of {length} bytes: at most {MOST_BYTES} are allowed"))
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}
