//! The OpenAI Chat wire.

use std::sync::Arc;
use std::time::Instant;

use windlass_core::Message;
use windlass_core::model::{FailureKind, ModelChoice, ModelFailure, Purpose, Reply, ToolChoice};
use windlass_models::{HttpModel, HttpModelConfig, Model, ModelRequest, PrefixCell, Timeouts, assemble};

use super::{SECRET, hold, hold_of_the_process, name, note_panics, soon};
use crate::servers::{Attack, HostileServer, Sample};

/// Limits that end every wait of these tests.
const TIMEOUTS: Timeouts =
    Timeouts { connect_ms: 1_000, first_token_ms: 300, idle_ms: 300, thinking_ms: 300, total_ms: 1_000 };

/// The most bytes that a client may take of one reply, with what the system buffers: those of endless streams.
const MOST_TAKEN: u64 = 600 * 1024 * 1024;

async fn ask(url: &str, stream: bool) -> Result<Reply, ModelFailure> {
    let config = HttpModelConfig {
        key: Some(SECRET.into()),
        headers: vec![("x-secret".into(), SECRET.into())],
        timeouts: TIMEOUTS,
        allow_proxy: false,
        ..HttpModelConfig::openai_chat("hostile", url)
    };
    let request = ModelRequest {
        model: ModelChoice { name: "hostile/m".into(), ..ModelChoice::default() },
        purpose: Purpose::Act,
        prompt: Arc::default(),
        messages: [Arc::new(Message::user("Hi"))].into_iter().collect(),
        tools: Arc::default(),
        choice: ToolChoice::Auto,
        response_schema: None,
        cache: Vec::new(),
        stream,
        prefix: PrefixCell::default(),
    };
    let model = HttpModel::new(config).unwrap();
    assemble(model.call(request), "hostile/m").await
}

/// Asks the server, and holds what must hold of the end.
#[expect(clippy::print_stdout, reason = "the figures are read after a run with --nocapture")]
async fn meet(attack: &str, server: &HostileServer, stream: bool) -> Result<Reply, ModelFailure> {
    let begun = Instant::now();
    let ended = soon(attack, ask(&server.url(), stream)).await;
    if let Err(failure) = &ended {
        hold(attack, &failure.message);
        hold(attack, &format!("{failure:?}"));
    }
    assert!(server.sent() < MOST_TAKEN, "{attack}: {} bytes taken", server.sent());
    assert_eq!(server.leaked(), 0, "{attack}: the key went to another origin");
    println!(
        "{attack} ({stream}): {} ms, {:?}",
        begun.elapsed().as_millis(),
        ended.as_ref().err().map(|e| &e.kind)
    );
    ended
}

#[tokio::test]
async fn every_attack_on_the_chat_wire_ends_with_a_reply_or_a_clear_error() {
    let _alone = note_panics().await;
    let sample = Sample::chat();
    for attack in Attack::all(&sample) {
        let server = HostileServer::start(attack.clone(), sample.clone()).unwrap();
        for stream in [true, false] {
            let ended = meet(&name(&attack), &server, stream).await;
            let never = matches!(
                attack,
                Attack::Silence
                    | Attack::Close
                    | Attack::NoHttp(_)
                    | Attack::Noise(_)
                    | Attack::RedirectAway(_)
                    | Attack::RedirectLoop
                    | Attack::RedirectToFile
                    | Attack::DeepJson(_)
                    | Attack::EndlessLine
                    | Attack::EndlessComments
                    | Attack::GiantEvent(_)
                    | Attack::EndlessRetryAfter
            );
            assert!(!(never && ended.is_ok()), "{attack:?}: {ended:?}");
            assert!(attack != Attack::Plain || ended.is_ok(), "{ended:?}");
        }
    }
    for (what, sample) in Sample::hostile_chats() {
        let server = HostileServer::start(Attack::Plain, sample).unwrap();
        if let Err(failure) = meet(what, &server, true).await {
            assert_ne!(failure.kind, FailureKind::Connect, "{what}: {failure:?}");
        }
    }
    hold_of_the_process();
}
