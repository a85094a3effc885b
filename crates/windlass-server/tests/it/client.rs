//! A client that says exactly what a test wants.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use windlass_api::Update;

/// How long a test waits for what has to come.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A reply.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    /// The status and the code of an error, whose body is the one of the API.
    pub(crate) fn refusal(&self) -> (u16, String) {
        let body: windlass_api::ErrorBody = serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{error}: {} {:?}", self.status, String::from_utf8_lossy(&self.body))
        });
        assert!(!body.error.message.is_empty());
        (self.status.as_u16(), body.error.code)
    }

    /// The reply, which has to be good.
    pub(crate) fn good(self) -> Self {
        assert!(self.status.is_success(), "{} {}", self.status, String::from_utf8_lossy(&self.body));
        self
    }
}

/// Somebody with a token, or without.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<String>,
}

impl Client {
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("content-type", "application/json")], &body.to_string()).await
    }

    /// The same under an idempotency key.
    pub(crate) async fn post_under(&self, key: &str, path: &str, body: &Value) -> Answer {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        self.send("POST", path, &headers, &body.to_string()).await
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let reply = self.open(method, path, headers, body).await;
        let (parts, body) = reply.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// The head of a reply, with its body still to come.
    pub(crate) async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> http::Response<Incoming> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", self.address.to_string());
        }
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
        tokio::time::timeout(SOON, sender.send_request(request)).await.expect("a reply comes").unwrap()
    }

    /// Sends bytes as they are, and reads until the server closes.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // A server that has refused the beginning may have closed already.
        let _sent = stream.write_all(bytes).await;
        let mut reply = Vec::new();
        let read = tokio::time::timeout(SOON, stream.read_to_end(&mut reply)).await;
        read.expect("the server closes").ok();
        String::from_utf8_lossy(&reply).into_owned()
    }

    /// Follows a run from a position on.
    pub(crate) async fn follow(&self, run: &str, from: Option<&str>) -> Events {
        let headers: Vec<_> = from.map(|from| ("last-event-id", from)).into_iter().collect();
        let reply = self.open("GET", &format!("/v1/runs/{run}/stream"), &headers, "").await;
        assert_eq!(reply.status(), StatusCode::OK);
        Events { body: reply.into_body(), text: String::new(), heartbeats: 0 }
    }
}

/// An event stream.
#[derive(Debug)]
pub(crate) struct Events {
    body: Incoming,
    text: String,
    pub(crate) heartbeats: usize,
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: String,
}

impl Event {
    pub(crate) fn update(&self) -> Update {
        serde_json::from_str(&self.data).unwrap()
    }
}

impl Events {
    /// The next event; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                if block.starts_with(':') {
                    self.heartbeats += 1;
                    continue;
                }
                let field = |name: &str| {
                    let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                    line.unwrap_or_default().to_owned()
                };
                return Some(Event { id: field("id"), name: field("event"), data: field("data") });
            }
            let frame = tokio::time::timeout(SOON, self.body.frame()).await.expect("something comes")?;
            let Ok(frame) = frame else { return None };
            self.text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    }

    /// All events to the end.
    pub(crate) async fn rest(mut self) -> Vec<Event> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event);
        }
        all
    }

    /// Waits for a sign of life.
    pub(crate) async fn heartbeat(&mut self) {
        while !self.text.contains(":\n\n") {
            let frame =
                tokio::time::timeout(SOON, self.body.frame()).await.expect("something comes").unwrap();
            self.text.push_str(std::str::from_utf8(frame.unwrap().data_ref().unwrap()).unwrap());
        }
    }
}
