//! The conformance suite: our own models pass it, and it finds what is broken.

use futures_util::stream;
use windlass_core::model::{Reply, Usage};
use windlass_models::{Delta, Deltas, Model, ModelRequest, Tour, conformance};

use crate::server::*;

#[tokio::test]
async fn the_tour_conforms() {
    conformance::scripted(&Tour, &conformance::request("tour", "Hello")).await.expect("it conforms");
}

#[tokio::test]
async fn the_openai_adapter_conforms() {
    let streaming = Server::start(events(&HELLO)).await;
    conformance::live(&adapter(&streaming.url), &conformance::request("test/m", "Hi"))
        .await
        .expect("it conforms");
    let blocking = Server::start(json(HELLO_WHOLE)).await;
    conformance::scripted(&adapter(&blocking.url), &conformance::request("test/m", "Hi"))
        .await
        .expect("it conforms");
}

/// A model that streams these pieces, or says this whole reply.
#[derive(Debug)]
struct Scripted(Vec<Delta>, Reply);

impl Model for Scripted {
    fn provider(&self) -> &'static str {
        "scripted"
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        let whole = || vec![Delta::Whole(Box::new(self.1.clone()))];
        let deltas = if request.stream { self.0.clone() } else { whole() };
        Box::pin(stream::iter(deltas.into_iter().map(Ok)))
    }
}

#[tokio::test]
async fn broken_models_are_found() {
    let usage = Usage { input: 1, output: 1, ..Usage::default() };
    let reply = Reply { text: Some("a".into()), usage, model: "m".into(), ..Reply::default() };
    let whole = Delta::Whole(Box::new(reply.clone()));
    let (text, count) = (Delta::Text("a".into()), Delta::Usage(usage));
    let request = conformance::request("m", "Hi");
    for (pieces, promise) in [
        (vec![text.clone(), count.clone()], None),
        (vec![text.clone()], Some("a reply has a usage, estimated if need be")),
        (vec![whole.clone(), text.clone()], Some("a whole reply is the only piece")),
        (vec![Delta::Text("b".into()), count], Some("streaming and blocking give the same reply")),
        (
            vec![Delta::Whole(Box::new(Reply { model: "other".into(), ..reply.clone() }))],
            Some("a reply names the model that was asked for"),
        ),
    ] {
        let found = conformance::scripted(&Scripted(pieces, reply.clone()), &request).await;
        assert_eq!(found.err().map(|broken| broken.promise), promise);
    }
}
