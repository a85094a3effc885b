//! A program that was built without the reader of PDFs.
#![cfg(not(feature = "pdf"))]

use std::sync::Arc;

use windlass_core::Message;
use windlass_core::message::{Content, Media, MediaSource, Part};
use windlass_error::{Diagnostic as _, Kind};
use windlass_runtime::Agent;
use windlass_store::MemoryLog;
use windlass_testing::FnModel;

#[tokio::test]
async fn a_pdf_that_the_model_takes_as_text_only_is_refused_with_the_feature_that_reads_it() {
    let model = FnModel::script([]).taking(|part| matches!(part, Part::Text { .. }));
    let agent = Agent::builder("tested")
        .model(("m", Arc::new(model)))
        .log(Arc::new(MemoryLog::new()))
        .build()
        .unwrap();
    let source = MediaSource::Base64("JVBERi0xLjcK".into());
    let part = Part::File(Media { media_type: "application/pdf".into(), name: None, source });
    let error = agent
        .run(vec![Message::User { content: Content::Parts(vec![part]), pinned: false }])
        .await
        .unwrap_err();
    assert_eq!((error.code(), error.kind()), ("pdf.not_built", Kind::Invalid), "{error:?}");
    assert!(error.help().unwrap().contains("build with the feature `pdf`"));
}
