//! A model whose pieces say when they were sent.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

use crate::log::Outcome;
use crate::wires::server::read_request;

/// How long the model thinks: readers are there by then.
const THINKS: Duration = Duration::from_millis(100);
/// The time between two pieces.
const PAUSE: Duration = Duration::from_millis(3);

/// A clock that both ends of a stream read.
#[derive(Clone, Copy)]
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn new() -> Self {
        Self(Instant::now())
    }

    fn now(self) -> u128 {
        self.0.elapsed().as_nanos()
    }

    /// How long ago each piece of a text was sent, in microseconds.
    pub(super) fn ages(self, text: &str) -> Vec<f64> {
        let now = self.now();
        let sent = text.split_ascii_whitespace().filter_map(|stamp| stamp.parse::<u128>().ok());
        sent.map(|sent| now.saturating_sub(sent) as f64 / 1e3).collect()
    }
}

/// Serves replies of so many pieces in the background. Gives its address.
pub(super) async fn model(clock: Clock, pieces: u64) -> Outcome<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(conversation(stream, clock, pieces));
        }
    });
    Ok(format!("http://{address}/v1"))
}

async fn conversation(mut stream: TcpStream, clock: Clock, pieces: u64) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut data = Vec::new();
    while read_request(&mut stream, &mut data).await.is_some() {
        stream
            .write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
            )
            .await?;
        tokio::time::sleep(THINKS).await;
        for _ in 0..pieces {
            let text = format!("{} ", clock.now());
            chunk(&mut stream, &json!({ "content": text }), None).await?;
            tokio::time::sleep(PAUSE).await;
        }
        chunk(&mut stream, &json!({}), Some("stop")).await?;
        stream.write_all(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n").await?;
    }
    Ok(())
}

async fn chunk(stream: &mut TcpStream, delta: &serde_json::Value, end: Option<&str>) -> std::io::Result<()> {
    let chunk = json!({ "id": "s", "object": "chat.completion.chunk", "model": "stamps",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": end }] });
    let event = format!("data: {chunk}\n\n");
    stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await
}
