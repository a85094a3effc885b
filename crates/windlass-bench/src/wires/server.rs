//! The server of `windlass-bench wires`: HTTP/1.1 on 127.0.0.1, replies by the request's path and the script in the model's name.

use std::io::Write as _;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::script::Script;
use super::shapes::{Shape, reply};
use crate::log::Outcome;

/// The most bytes of a request.
const MAX_REQUEST: usize = 16 * 1024 * 1024;

/// Serves until it is stopped; the first line of its output is its port.
pub(crate) fn serve() -> Outcome<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?.port());
        std::io::stdout().flush()?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(conversation(stream));
        }
    })
}

/// One connection: requests and replies until the client goes away.
async fn conversation(mut stream: TcpStream) {
    let mut data = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut data).await {
        let answer = answer(&request.path, &request.body);
        if stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

pub(crate) struct Request {
    path: String,
    body: Vec<u8>,
}

/// The next request of a connection. `data` holds what was read beyond the one before.
pub(crate) async fn read_request(stream: &mut TcpStream, data: &mut Vec<u8>) -> Option<Request> {
    loop {
        if let Some(end) = memchr::memmem::find(data, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(data.get(..end)?).into_owned();
            let path = head.split(' ').nth(1)?.to_owned();
            let length = head.lines().filter_map(|line| line.split_once(':'));
            let length = length
                .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .find_map(|(_, value)| value.trim().parse::<usize>().ok())?;
            let whole = end + 4 + length;
            if data.len() >= whole {
                let rest = data.split_off(whole);
                let body = std::mem::replace(data, rest).split_off(end + 4);
                return Some(Request { path, body });
            }
        }
        if data.len() > MAX_REQUEST {
            return None;
        }
        let read = stream.read_buf(data).await.ok()?;
        if read == 0 {
            return None;
        }
    }
}

fn answer(path: &str, body: &[u8]) -> Vec<u8> {
    let bad = |why: &str| {
        let body = format!("{{\"error\":{{\"message\":\"{why}\",\"type\":\"invalid_request_error\"}}}}");
        let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json";
        format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    };
    let Some(shape) = Shape::of(path) else { return bad("the path is unknown") };
    let Some(script) = Script::of(path, body) else { return bad("the model's name is no script") };
    let streams = shape.streams(path, body);
    let events = reply(shape, &script, streams, shape.results(body));
    let mut out = Vec::new();
    if streams {
        let kind = shape.content_type();
        out.extend_from_slice(
            format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n")
                .as_bytes(),
        );
        for event in events {
            out.extend_from_slice(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
        }
        out.extend_from_slice(b"0\r\n\r\n");
    } else {
        let body = events.concat();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json";
        out.extend_from_slice(format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }
    out
}
