//! E58 and E43/E44 over HTTP: a server that refuses one image, and reasoning that goes along with fallbacks.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use windlass_core::event::ContextFact;

use serde_json::{Value, json};
use windlass_core::message::{Content, Media, MediaSource, Part};
use windlass_core::{Fact, Message, Status};
use windlass_models::wires::Quirks;
use windlass_models::{HttpModel, HttpModelConfig};
use windlass_runtime::{Agent, DriveOptions};
use windlass_testing::FnTool;

/// The bytes of the image that the server cannot read, in base64.
const BROKEN: &str = "QlJPS0VO";

/// A server that answers each request by its body, and keeps what it was sent.
struct Server {
    url: String,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// It goes on until the test's process ends.
    fn start(answer: impl Fn(usize, &Value) -> (u16, Value) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let seen = bodies.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let body = body(&mut BufReader::new(&stream));
                let number = seen.lock().unwrap().len();
                let (status, reply) = answer(number, &serde_json::from_str(&body).unwrap());
                seen.lock().unwrap().push(body);
                let reply = reply.to_string();
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                    reply.len()
                );
                stream.write_all((head + &reply).as_bytes()).unwrap();
            }
        });
        Self { url, bodies }
    }

    fn bodies(&self) -> Vec<String> {
        self.bodies.lock().unwrap().clone()
    }

    fn model(&self, provider: &str) -> HttpModel {
        let quirks = Quirks { return_reasoning: true, ..Quirks::NONE };
        let config = HttpModelConfig::openai_chat(provider, self.url.clone());
        HttpModel::new(HttpModelConfig { allow_proxy: false, key: Some("k".into()), quirks, ..config })
            .unwrap()
    }
}

fn body(stream: &mut impl BufRead) -> String {
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

fn reply(message: &Value, end: &str) -> (u16, Value) {
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 2 });
    (200, json!({ "choices": [{ "message": message, "finish_reason": end }], "usage": usage }))
}

fn said(text: &str) -> (u16, Value) {
    reply(&json!({ "role": "assistant", "content": text }), "stop")
}

fn fails(status: u16, words: &str) -> (u16, Value) {
    (status, json!({ "error": { "message": words } }))
}

fn image(data: &str) -> Part {
    let source = MediaSource::Base64(data.into());
    Part::Image(Media { media_type: "image/png".into(), name: None, source })
}

#[tokio::test]
async fn e58_a_run_goes_on_without_the_one_image_that_its_provider_refuses() {
    let server = Server::start(|_, body| {
        if body.to_string().contains(BROKEN) {
            fails(400, "Could not process image")
        } else {
            said("I see them.")
        }
    });
    let agent = Agent::builder("seer").model(("p/m", Arc::new(server.model("p")))).build().unwrap();
    let images = ["QQ==", "Qg==", BROKEN, "Qw=="].map(image);
    let parts = [Part::Text { text: "What do you see?".into() }].into_iter().chain(images).collect();
    let input = vec![Message::User { content: Content::Parts(parts), pinned: false }];
    let options = || DriveOptions { session: Some("s".into()), ..DriveOptions::default() };
    let run = agent.prepare(input, options()).await.unwrap().drive().await.unwrap();
    assert_eq!((run.status(), run.text()), (Some(Status::Answered), Some("I see them.")));
    let bodies = server.bodies();
    // As it is, without all, the first two, the first three; then without the broken one alone.
    assert_eq!(bodies.len(), 5, "{bodies:#?}");
    let last = bodies.last().unwrap();
    assert!(["QQ==", "Qg==", "Qw=="].iter().all(|data| last.contains(data)) && !last.contains(BROKEN));
    assert!(last.contains("[image left out: the provider refused it]"), "{last}");
    let batches = agent.log().read(run.id(), 1, usize::MAX).await.unwrap();
    let mut events = batches.iter().flat_map(|batch| batch.events.iter());
    let refused = events.find_map(|event| match &event.fact {
        Fact::Context(ContextFact::HistoryEdited(edited)) => edited.refused.clone(),
        _ => None,
    });
    let refused = refused.expect("a visible event");
    assert_eq!((refused.items.len(), &*refused.message), (1, "Could not process image (400)"));
    assert_eq!(run.usage().input, 30, "three replies, of which one is used");

    // The session goes on with one request a turn, which begins with the last one but for what follows.
    let run = agent.prepare("And now?", options()).await.unwrap().drive().await.unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    let bodies = server.bodies();
    assert_eq!(bodies.len(), 6);
    let messages =
        |body: &str| serde_json::from_str::<Value>(body).unwrap()["messages"].as_array().unwrap().clone();
    assert!(messages(&bodies[5]).starts_with(&messages(&bodies[4])), "the prefix stays (E57)");
}

/// A turn that thinks and calls a tool.
fn thinks(number: usize) -> (u16, Value) {
    let call = json!({
        "id": format!("c{number}"), "type": "function", "function": { "name": "look", "arguments": "{}" }
    });
    let thought = format!("Thought {number}.");
    let message = json!({
        "role": "assistant", "content": null, "reasoning_content": thought, "tool_calls": [call]
    });
    reply(&message, "tool_calls")
}

#[tokio::test]
async fn e43_e44_reasoning_goes_along_to_a_fallback_of_the_same_provider_and_to_no_other() {
    // By the number of the request: m1 thinks; m1 fails, m2 of the same provider thinks; both fail; m1 answers.
    let own = Server::start(|number, _| match number {
        0 => thinks(0),
        2 => thinks(2),
        5 => said("Done."),
        _ => fails(401, "no key"),
    });
    let other = Server::start(|_, _| thinks(7));
    let model = own.model("own");
    let agent = Agent::builder("thinker")
        .model(("own/m1", Arc::new(model.clone())))
        .model(("own/m2", Arc::new(model)))
        .model(("other/m3", Arc::new(other.model("other"))))
        .tool(FnTool::new("look", |_, _| async { Ok("far".into()) }))
        .build()
        .unwrap();
    let run = agent.run("Look").await.unwrap();
    assert_eq!((run.status(), run.text()), (Some(Status::Answered), Some("Done.")));
    let (own, other) = (own.bodies(), other.bodies());
    assert_eq!((own.len(), other.len()), (6, 1));
    let names: Vec<String> = own
        .iter()
        .map(|body| serde_json::from_str::<Value>(body).unwrap()["model"].as_str().unwrap().into())
        .collect();
    assert_eq!(names, ["m1", "m1", "m2", "m1", "m2", "m1"]);
    assert!(own[2].contains("\"reasoning_content\":\"Thought 0.\""), "it goes along: {}", own[2]);
    assert!(!other[0].contains("Thought"), "no other provider gets it: {}", other[0]);
    let last = &own[5];
    assert!(last.contains("Thought 0.") && last.contains("Thought 2."), "it is there again: {last}");
    assert!(!last.contains("Thought 7."), "that of another provider is left out: {last}");
}
