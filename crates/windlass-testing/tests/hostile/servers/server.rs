//! The hostile HTTP server.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;

use super::attack::{Attack, LengthLie};
use super::gzip::bomb;
use super::json::{deep, replaced};
use super::listen::{Connection, Listener};
use super::sample::Sample;

/// The most bytes of a request's head and body that are read.
const MAX_REQUEST: u64 = 256 * 1024 * 1024;

/// A server on loopback that does the same with each request.
#[derive(Debug)]
pub(crate) struct HostileServer {
    listener: Listener,
    /// Target of redirects.
    away: Option<Listener>,
}

impl HostileServer {
    /// Starts it.
    ///
    /// # Errors
    /// There is no port or no thread for it.
    pub(crate) fn start(attack: Attack, sample: Sample) -> io::Result<Self> {
        let away = if matches!(attack, Attack::RedirectAway(_)) {
            Some(Listener::start(|client| {
                let request = Request::read(&client)?;
                client.counts.requests.fetch_add(request.secrets(), Ordering::Relaxed);
                client.send(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            })?)
        } else {
            None
        };
        let port = away.as_ref().map_or(0, |away| away.address.port());
        let what = Arc::new((attack, sample));
        let listener = Listener::start(move |client| serve(&client, &what.0, &what.1, port))?;
        Ok(Self { listener, away })
    }

    /// Its address, without a path.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.listener.address)
    }

    /// Number of bytes sent: taken by the client before it hung up, or buffered by the system.
    pub(crate) fn sent(&self) -> u64 {
        self.listener.counts.sent.load(Ordering::Relaxed)
    }

    /// Number of requests with an `Authorization` at the other origin, the target of redirects.
    pub(crate) fn leaked(&self) -> u64 {
        self.away.as_ref().map_or(0, |away| away.counts.requests.load(Ordering::Relaxed))
    }
}

/// Facts about a request.
#[derive(Debug, Default)]
struct Request {
    head: String,
    id: Value,
}

impl Request {
    fn read(client: &Connection) -> io::Result<Self> {
        let mut reader = BufReader::new((&client.stream).take(MAX_REQUEST));
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
            head.push_str(&line);
        }
        let mut body = Vec::new();
        reader.take(length).read_to_end(&mut body)?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let id = body.get("id").cloned().unwrap_or_default();
        Ok(Self { head, id })
    }

    /// 1 if it names a secret.
    fn secrets(&self) -> u64 {
        u64::from(self.head.to_ascii_lowercase().contains("authorization"))
    }
}

fn serve(client: &Connection, attack: &Attack, sample: &Sample, away: u16) -> io::Result<()> {
    loop {
        let request = Request::read(client)?;
        client.counts.requests.fetch_add(1, Ordering::Relaxed);
        let sample = sample.for_id(&request.id);
        match attack {
            Attack::Plain => client.send(&sample.response())?,
            Attack::Echo(status) => client.send(&echo(*status, &request.head))?,
            Attack::RedirectAway(status) => {
                let to = format!("http://127.0.0.1:{away}/v1/chat/completions");
                client.send(&redirect(*status, &to))?;
            }
            Attack::RedirectLoop => client.send(&redirect(307, "/v1/chat/completions"))?,
            Attack::RedirectToFile => client.send(&redirect(302, "file:///etc/passwd"))?,
            other @ (Attack::Silence
            | Attack::Close
            | Attack::SlowHead(_)
            | Attack::EndlessHead
            | Attack::ManyHeaders(_)
            | Attack::HugeHeader(_)
            | Attack::SlowBody(_)
            | Attack::EndlessLine
            | Attack::EndlessComments
            | Attack::EndlessBlanks
            | Attack::EndlessEvents
            | Attack::GiantEvent(_)
            | Attack::NoHttp(_)
            | Attack::Noise(_)
            | Attack::Cut(_)
            | Attack::Length(_)
            | Attack::BadChunks
            | Attack::GzipBomb(_)
            | Attack::DeepJson(_)
            | Attack::WrongType { .. }
            | Attack::EndlessRetryAfter) => return strike(client, other, &sample),
        }
    }
}

/// Attacks after which the connection is of no more use.
fn strike(client: &Connection, attack: &Attack, sample: &Sample) -> io::Result<()> {
    let open = sample.head("");
    match attack {
        Attack::Silence => client.hang(),
        Attack::SlowHead(ms) => {
            client.send(b"HTTP/1.1 200 OK\r\n")?;
            client.trickle(b"x-more: and more\r\n", *ms, true)
        }
        Attack::EndlessHead => {
            client.send(b"HTTP/1.1 200 OK\r\n")?;
            client.flood(b"x-more: and more\r\n")
        }
        Attack::ManyHeaders(count) => {
            let mut more = String::new();
            for number in 0..*count {
                // Writing to a string cannot fail.
                let _ = write!(more, "x-{number}: y\r\n");
            }
            with_head(client, sample, &more)
        }
        Attack::HugeHeader(bytes) => with_head(client, sample, &format!("x: {}\r\n", "y".repeat(*bytes))),
        Attack::SlowBody(ms) => {
            client.send(open.as_bytes())?;
            client.trickle(sample.text.as_bytes(), *ms, false)
        }
        Attack::EndlessLine => endless(client, &open, "data: ", b"x"),
        Attack::EndlessComments => endless(client, &open, "", b": keep-alive\n\n"),
        Attack::EndlessBlanks => endless(client, &open, "", b"\n"),
        Attack::EndlessEvents => {
            let first = sample.text.split_inclusive("\n\n").next().unwrap_or_default();
            endless(client, &open, "", first.as_bytes())
        }
        Attack::GiantEvent(bytes) => {
            endless(client, &open, &format!("data: \"{}\"\n\n", "x".repeat(*bytes)), b"")
        }
        Attack::NoHttp(bytes) => client.send(&noise(*bytes)),
        Attack::Noise(bytes) => {
            client.send(open.as_bytes())?;
            client.send(&noise(*bytes))
        }
        Attack::Cut(at) => client.send(sample.response().get(..*at).unwrap_or_default()),
        Attack::Length(lie) => client.send(&lie_about(*lie, sample)),
        Attack::BadChunks => {
            client.send(sample.head("transfer-encoding: chunked\r\n").as_bytes())?;
            client.send(b"5\r\ndata:\r\nffffffffffffffff\r\nzz\r\n")
        }
        Attack::GzipBomb(bytes) => {
            client.send(sample.head("content-encoding: gzip\r\n").as_bytes())?;
            client.send(&bomb(*bytes))
        }
        Attack::DeepJson(levels) => {
            let deep = deep(*levels);
            with_body(client, sample, &format!("data: {{\"choices\":{deep}}}\n\n{{\"a\":{deep}}}"))
        }
        Attack::WrongType { nth, with } => with_body(client, sample, &replaced(&sample.text, *nth, with)),
        Attack::EndlessRetryAfter => {
            client.send(b"HTTP/1.1 429 Too Many\r\nretry-after: 9999999999\r\ncontent-length: 0\r\n\r\n")
        }
        Attack::Plain
        | Attack::Close
        | Attack::RedirectAway(_)
        | Attack::RedirectLoop
        | Attack::RedirectToFile
        | Attack::Echo(_) => Ok(()),
    }
}

fn endless(client: &Connection, head: &str, first: &str, again: &[u8]) -> io::Result<()> {
    client.send(head.as_bytes())?;
    client.send(first.as_bytes())?;
    if again.is_empty() { client.hang() } else { client.flood(again) }
}

fn with_head(client: &Connection, sample: &Sample, more: &str) -> io::Result<()> {
    client.send(sample.head(more).as_bytes())?;
    client.send(sample.text.as_bytes())
}

fn with_body(client: &Connection, sample: &Sample, text: &str) -> io::Result<()> {
    client.send(&Sample { kind: sample.kind.clone(), text: text.to_owned() }.response())
}

fn redirect(status: u16, to: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} Elsewhere\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n").into_bytes()
}

/// Repeats what the client said of itself, in every form that a masker must know.
fn echo(status: u16, head: &str) -> Vec<u8> {
    let echo = head.replace("\r\n", " ");
    let error = serde_json::json!({ "error": { "message": echo, "type": echo, "code": echo } }).to_string();
    let challenge = echo.replace('"', "'");
    format!(
        "HTTP/1.1 {status} {challenge}\r\nwww-authenticate: Bearer realm=\"{challenge}\"\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{error}",
        error.len()
    )
    .into_bytes()
}

fn lie_about(lie: LengthLie, sample: &Sample) -> Vec<u8> {
    let right = sample.text.len();
    let header = match lie {
        LengthLie::TooLong => format!("content-length: {}\r\n", right + 100),
        LengthLie::TooShort => format!("content-length: {}\r\n", right / 2),
        LengthLie::Absurd => "content-length: 99999999999999999999999\r\n".to_owned(),
        LengthLie::Two => format!("content-length: {right}\r\ncontent-length: 3\r\n"),
        LengthLie::Word => "content-length: many\r\n".to_owned(),
    };
    format!("{}{}", sample.head(&header), sample.text).into_bytes()
}

/// Bytes without a meaning, the same each time (xorshift).
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    std::iter::repeat_with(next).take(bytes).collect()
}
