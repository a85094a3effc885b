//! Requests that are made anew from the log, beside the bytes that a server received, on each wire.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use windlass_core::secret::Secret;
use windlass_models::wires::{Wire, wire};
use windlass_models::{HttpModel, HttpModelConfig};
use windlass_runtime::{Agent, DriveOptions};
use windlass_store::{MemoryLog, Store};
use windlass_testing::FnTool;

const KEY: &str = "sk-0123456789-secret";

/// Each wire with a reply that calls a tool and one that answers.
const WIRES: &[(&str, &str, &str)] = &[
    (
        "openai_chat",
        r#"{"choices":[{"message":{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"c1","type":"function","function":{"name":"echo","arguments":"{\"text\": \"h\u00e9\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":3}}"#,
        r#"{"choices":[{"message":{"role":"assistant","content":"Done."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#,
    ),
    (
        "openai_responses",
        r#"{"id":"r1","status":"completed","output":[{"type":"reasoning","id":"rs1","summary":[],"encrypted_content":"x"},{"type":"function_call","id":"f1","call_id":"c1","name":"echo","arguments":"{\"text\": \"h\u00e9\"}"}],"usage":{"input_tokens":5,"output_tokens":3}}"#,
        r#"{"id":"r2","status":"completed","output":[{"type":"message","id":"m1","role":"assistant","content":[{"type":"output_text","text":"Done."}]}],"usage":{"input_tokens":9,"output_tokens":2}}"#,
    ),
    (
        "anthropic_messages",
        r#"{"content":[{"type":"thinking","thinking":"Hm.","signature":"s"},{"type":"tool_use","id":"c1","name":"echo","input":{"text":"h\u00e9"}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":3}}"#,
        r#"{"content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":2}}"#,
    ),
    (
        "gemini",
        r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"echo","args":{"text":"h\u00e9"}},"thoughtSignature":"s"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3}}"#,
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Done."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2}}"#,
    ),
    (
        "ollama",
        r#"{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"echo","arguments":{"text":"h\u00e9"}}}]},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":3}"#,
        r#"{"message":{"role":"assistant","content":"Done."},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":2}"#,
    ),
];

/// A request as a server received it.
struct Received {
    path: String,
    head: String,
    body: Vec<u8>,
}

/// A server that gives these replies, one a request.
fn serve(replies: Vec<&'static str>) -> (String, Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (seen, requests) = channel();
    std::thread::spawn(move || {
        for reply in replies {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut first, mut head, mut length) = (String::new(), String::new(), 0);
            reader.read_line(&mut first).unwrap();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if line.trim().is_empty() {
                    break;
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let path = first.split(' ').nth(1).unwrap().to_owned();
            seen.send(Received { path, head, body }).unwrap();
            let length = reply.len();
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n";
            write!(stream, "{head}content-length: {length}\r\n\r\n{reply}").unwrap();
        }
    });
    (url, requests)
}

fn agent(wire: &'static dyn Wire, url: &str, log: &Arc<MemoryLog>) -> Agent {
    let key = Some(Secret::from(KEY));
    let config = HttpModelConfig {
        key,
        key_source: Some("MY_KEY".to_owned()),
        allow_proxy: false,
        ..HttpModelConfig::new(wire, "p", url)
    };
    let model = HttpModel::new(config).unwrap();
    let echo = FnTool::new("echo", |_, _| async { Ok("h\u{e9} \u{202e}\u{1f600} \"quoted\"".into()) });
    let log: Arc<dyn Store> = log.clone();
    Agent::builder("x")
        .model(("p/m1", Arc::new(model)))
        .instructions("Be brief, it's late.")
        .tool(echo)
        .log(log)
        .build()
        .unwrap()
}

#[tokio::test]
async fn recorded_requests_are_made_anew_byte_for_byte_on_each_wire() {
    for (name, calls, answers) in WIRES {
        for followed in [false, true] {
            let wire = wire(name).unwrap();
            let (url, requests) = serve(vec![calls, answers]);
            let log = Arc::new(MemoryLog::new());
            let agent = agent(wire, &url, &log);
            let prepared = agent.prepare("Say h\u{e9}.", DriveOptions::default()).await.unwrap();
            let _updates = followed.then(|| prepared.updates());
            let run = prepared.drive().await.unwrap();
            assert_eq!(run.text(), Some("Done."), "{name}: {:?}", run.error());
            for number in [1, 2] {
                let sent = requests.recv().unwrap();
                // Another process: nothing is kept of the run but its log.
                let again = self::agent(wire, &url, &log);
                let made = again.recorded_request(run.id(), number, followed).await.unwrap().unwrap();
                let made = made.written.unwrap();
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                assert_eq!(text(&made.body), text(&sent.body), "{name}, request {number}, {followed}");
                assert_eq!(made.url, format!("{url}{}", sent.path), "{name}");
                assert!(sent.head.contains(KEY), "{name}: {}", sent.head);
                let curl = made.to_curl();
                assert!(curl.contains("$MY_KEY") && !curl.contains(KEY), "{name}: {curl}");
                for (header, value) in made.headers.iter().filter(|(_, value)| !value.contains('$')) {
                    let line = format!("{header}: {value}").to_lowercase();
                    assert!(sent.head.to_lowercase().contains(&line), "{name}: {line} in {}", sent.head);
                }
            }
            assert_eq!(agent.recorded_request(run.id(), 3, followed).await.unwrap(), None, "{name}");
        }
    }
}
