//! Single requests, good and bad, and whether their replies are what they have to be.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::http::{Connection, Reply};

/// Interval between two bytes of a slow client.
const DRIP: Duration = Duration::from_millis(100);

/// Whether the server is at fault. 505 is the client's: another version of HTTP.
fn is_fault(status: u16) -> bool {
    status >= 500 && status != 505
}

/// A reply that has to be an error.
pub(super) fn refused(what: &str, reply: Result<Reply, String>) -> Result<u16, String> {
    let reply = reply.map_err(|error| format!("{what}: no reply: {error}"))?;
    if reply.status < 400 {
        return Err(format!("{what}: expected an error, got {}", reply.text()));
    }
    judged(what, &reply)
}

/// A reply that may be an error: then it has the one body.
pub(super) fn judged(what: &str, reply: &Reply) -> Result<u16, String> {
    if is_fault(reply.status) {
        return Err(format!("{what}: {}", reply.text()));
    }
    if reply.status < 400 {
        return Ok(reply.status);
    }
    let body =
        reply.json().map_err(|error| format!("{what}: {} without the error body: {error}", reply.status))?;
    let field =
        |name: &str| body.pointer(&format!("/error/{name}")).and_then(Value::as_str).unwrap_or_default();
    let is_json = reply.header("content-type").is_some_and(|kind| kind.starts_with("application/json"));
    if !is_json || field("kind").is_empty() || field("code").is_empty() || field("message").is_empty() {
        return Err(format!("{what}: an error without kind, code, message or type: {}", reply.text()));
    }
    Ok(reply.status)
}

/// Sends bytes and, where it is asked for, ends the sending. Gives the status of the reply.
pub(super) fn status_of(server: SocketAddr, bytes: &[u8], ends: bool) -> Result<u16, String> {
    let mut connection = Connection::open(server)?;
    connection.send(bytes)?;
    if ends {
        connection.socket.shutdown(std::net::Shutdown::Write).map_err(|error| error.to_string())?;
    }
    let status = connection.head()?.status;
    if is_fault(status) { Err(format!("status {status}")) } else { Ok(status) }
}

/// Sends some bytes at once and the others one after the other, until a reply comes or patience ends.
pub(super) fn dripped(
    server: SocketAddr,
    bytes: &[u8],
    at_once: usize,
    patience: Duration,
) -> Result<Reply, String> {
    let mut connection = Connection::open(server)?;
    let (first, rest) = bytes.split_at_checked(at_once).unwrap_or((bytes, &[]));
    connection.send(first)?;
    let begun = Instant::now();
    let set = connection.socket.set_read_timeout(Some(DRIP));
    set.map_err(|error| error.to_string())?;
    // Behind the head come bytes of a body.
    for byte in rest.iter().copied().chain(std::iter::repeat(b' ')) {
        let mut peeked = [0];
        match connection.socket.peek(&mut peeked) {
            Ok(_) => break,
            Err(_) if begun.elapsed() > patience => break,
            Err(_) => {}
        }
        if connection.send(&[byte]).is_err() {
            break;
        }
    }
    connection.reply()
}
