//! Hosted steps, sources and media of replies from Rust: in the conversation, as JSON, as artifacts, and in a replay.

use std::sync::Arc;

use serde_json::json;
use windlass_core::message::{
    Annotations, Citation, HostedStep, HostedTool, Media, MediaSource, Source, Span,
};
use windlass_core::{Message, Status};
use windlass_models::{Annotation, Cited, Delta};
use windlass_read::json as forms;
use windlass_read::reports::{ResultFrom, artifact_bytes, artifacts, receipts, replay_run};
use windlass_runtime::Agent;
use windlass_testing::{FnModel, called, text_reply};

/// `GIF89a` in base64.
const GIF: &str = "R0lGODlh";

fn annotations(spans: [Option<Span>; 2]) -> Annotations {
    let source = Source { title: Some("Zürich".into()), url: Some("https://a".into()), file: None };
    let step =
        HostedStep { tool: HostedTool::WebSearch, input: Some("Zürich".into()), ..HostedStep::default() };
    let citation = |span| Citation { span, source: source.clone(), ..Citation::default() };
    let citations = spans.map(citation).into();
    Annotations { steps: vec![step], citations, ..Annotations::default() }
}

fn media(source: MediaSource) -> Media {
    Media { media_type: "image/gif".into(), name: None, source }
}

#[tokio::test]
async fn sources_and_what_a_model_made_are_read_from_the_run() {
    let Annotations { steps, citations, .. } = annotations([Some(Span(0, 7)), Some(Span(8, 90))]);
    let sources = [
        MediaSource::Base64(GIF.into()),
        MediaSource::Base64(GIF.into()),
        MediaSource::ProviderFile("file_1".into()),
    ];
    let mut last = text_reply("Zürich is big.");
    let steps = steps.into_iter().map(Annotation::Step);
    let cited = |citation| Annotation::Citation(Cited { citation, ..Cited::default() });
    let notes = steps.chain(citations.into_iter().map(cited)).map(|one| Delta::Annotation(Box::new(one)));
    last.splice(1..1, sources.map(media).map(Delta::Media).into_iter().chain(notes));
    let model = FnModel::script([called(&[("calculate", r#"{"expression": "2 + 2"}"#)]), last]);
    let agent = Agent::builder("guide").model(("m1", Arc::new(model)));
    let agent = agent.tool(windlass_tools::builtin::Calculate::default()).build().unwrap();
    let run = agent.run("What of it?").await.unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    let Some(Message::Assistant(reply)) = run.messages().last().map(|message| &**message) else {
        panic!("no reply at the end");
    };
    let kept = annotations([Some(Span(0, 7)), None]);
    assert_eq!(reply.annotations.as_deref(), Some(&kept), "a place behind the end is none");
    let sources = &forms::run(run.state())["sources"];
    assert_eq!(*sources, json!([{ "title": "Zürich", "url": "https://a" }]), "a source stands there once");

    let log = &**agent.log();
    let all = artifacts(log, run.id()).await.unwrap();
    let listed: Vec<_> = all
        .iter()
        .filter(|artifact| artifact.is_made)
        .map(|artifact| (artifact.bytes, artifact.sha256.is_some(), artifact.address.as_deref()))
        .collect();
    assert_eq!(listed, [(6, true, None), (0, false, Some("file_1"))]);
    let digest =
        all.iter().find_map(|artifact| artifact.sha256.clone().filter(|_| artifact.is_made)).unwrap();
    assert_eq!(digest, "610f5ae4d76e332636a17bd357fd6ce99029316a99d320280d4d77a746bf29e8");
    assert_eq!(artifact_bytes(log, run.id(), &digest).await.unwrap().as_deref(), Some(&b"GIF89a"[..]));
    assert_eq!(artifact_bytes(log, run.id(), &"0".repeat(64)).await.unwrap(), None);

    let all = receipts(log, run.id()).await.unwrap();
    let (of_provider, others): (Vec<_>, Vec<_>) =
        all.iter().partition(|receipt| receipt.result_from == ResultFrom::Provider);
    assert!(others.is_empty(), "`calculate` only reads");
    let told: Vec<_> = of_provider
        .iter()
        .map(|receipt| (&*receipt.tool, receipt.shown.as_deref(), receipt.result_sha256.as_ref()))
        .collect();
    let gif = ("image/gif", None, Some(&digest));
    assert_eq!(
        told,
        [("web_search", Some("Zürich"), None), gif, gif, ("image/gif", Some("file_1"), None)],
        "each use and each file, in order"
    );
    let made = of_provider[1].artifact.as_ref().unwrap();
    assert_eq!((made.bytes, made.media_type.as_deref()), (6, Some("image/gif")));
    assert!(windlass_read::words::receipts::line(&all).is_none(), "nothing has changed outside");
    let replayed = replay_run(log, run.id(), None).await.unwrap();
    assert!(replayed.difference.is_none(), "{replayed:?}");
}
