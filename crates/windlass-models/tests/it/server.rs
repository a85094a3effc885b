//! A scripted HTTP server that sends exactly the bytes it is told, and requests to ask models with.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use windlass_core::Message;
use windlass_core::model::{ModelChoice, ModelFailure, Purpose, Reply, ToolChoice};
use windlass_models::{HttpModel, HttpModelConfig, Model, ModelRequest, PrefixCell, Timeouts, assemble};

/// What the server does with a request.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes again and again until the client goes away.
    Flood(Vec<u8>),
    /// Does nothing until the client goes away.
    Hang,
    /// Closes the connection.
    Close,
}

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub line: String,
    pub head: String,
    pub body: String,
}

impl Seen {
    pub fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }
}

/// A running server; stops when it is dropped.
pub struct Server {
    pub url: String,
    pub connections: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<Seen>>>,
    gone: mpsc::UnboundedReceiver<()>,
    task: JoinHandle<()>,
}

impl Server {
    /// Answers every request on any path with these steps.
    pub async fn start(steps: Vec<Step>) -> Self {
        Self::routes(move |_| steps.clone()).await
    }

    /// Answers by path.
    pub async fn routes(answer: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::answering(move |seen| answer(seen.path())).await
    }

    /// Answers by all of a request.
    pub async fn answering(answer: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (seen, connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let (tell, gone) = mpsc::unbounded_channel();
        let (all, count, answer) = (seen.clone(), connections.clone(), Arc::new(answer));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let (all, tell, answer) = (all.clone(), tell.clone(), answer.clone());
                tokio::spawn(async move {
                    serve(stream, &all, &*answer).await;
                    tell.send(()).ok();
                });
            }
        });
        Self { url, connections, seen, gone, task }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("not poisoned").clone()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits until a connection has ended.
    pub async fn connection_gone(&mut self) {
        self.gone.recv().await.expect("the server runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    seen: &Mutex<Vec<Seen>>,
    answer: &(dyn Fn(&Seen) -> Vec<Step> + Send + Sync),
) {
    stream.set_nodelay(true).ok();
    while let Some(request) = read_request(&mut stream).await {
        let steps = answer(&request);
        seen.lock().expect("not poisoned").push(request);
        for step in steps {
            match step {
                Step::Send(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Step::Flood(bytes) => {
                    while stream.write_all(&bytes).await.is_ok() {}
                    return;
                }
                Step::Hang => {
                    let mut rest = [0; 64];
                    while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
                    return;
                }
                Step::Close => return,
            }
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Seen> {
    let mut data = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&data);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .map_or(0, |(_, value)| value.trim().parse().expect("a length"));
            if body.len() >= length {
                let line = head.lines().next().unwrap_or_default().to_owned();
                return Some(Seen { line, head: head.to_owned(), body: body.to_owned() });
            }
        }
        let read = stream.read(&mut piece).await.ok().filter(|read| *read > 0)?;
        data.extend_from_slice(&piece[..read]);
    }
}

/// A whole response.
pub fn response(status: &str, headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![Step::Send(
        format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}").into_bytes(),
    )]
}

pub fn json(body: &str) -> Vec<Step> {
    response("200 OK", "content-type: application/json\r\n", body)
}

/// The head of a stream of events.
pub fn stream_head() -> Step {
    Step::Send(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(),
    )
}

/// Text as one HTTP chunk.
pub fn chunk(text: &str) -> Step {
    Step::Send(chunk_bytes(text))
}

pub fn chunk_bytes(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

/// The end of a stream.
pub fn stream_end() -> Step {
    Step::Send(b"0\r\n\r\n".to_vec())
}

/// A stream of these events, whole.
pub fn events(events: &[&str]) -> Vec<Step> {
    let chunks = events.iter().map(|event| chunk(&format!("data: {event}\n\n")));
    std::iter::once(stream_head()).chain(chunks).chain([stream_end()]).collect()
}

pub const HELLO: [&str; 4] = [
    r#"{"choices":[{"delta":{"role":"assistant","content":"Hel"}}]}"#,
    r#"{"choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}"#,
    "[DONE]",
];

pub const HELLO_WHOLE: &str = r#"{"choices":[{"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}"#;

/// A request to say something.
pub fn request(stream: bool) -> ModelRequest {
    ModelRequest {
        cache: Vec::new(),
        model: ModelChoice { name: "test/m1".into(), ..ModelChoice::default() },
        purpose: Purpose::Act,
        prompt: Arc::default(),
        messages: std::iter::once(Arc::new(Message::user("Hi"))).collect(),
        tools: Arc::default(),
        choice: ToolChoice::Auto,
        response_schema: None,
        stream,
        prefix: PrefixCell::default(),
    }
}

pub fn config(base_url: &str) -> HttpModelConfig {
    HttpModelConfig { allow_proxy: false, ..HttpModelConfig::openai_chat("test", base_url) }
}

pub fn adapter(base_url: &str) -> HttpModel {
    HttpModel::new(config(base_url)).expect("a good base URL")
}

/// An adapter with its time limits, in milliseconds.
pub fn within(base_url: &str, timeouts: Timeouts) -> HttpModel {
    HttpModel::new(HttpModelConfig { timeouts, ..config(base_url) }).expect("a good base URL")
}

pub async fn ask(model: &dyn Model, stream: bool) -> Result<Reply, ModelFailure> {
    assemble(model.call(request(stream)), "test/m1").await
}
