use windlass_core::event::TurnFailed;
use windlass_core::model::{FailureKind, ModelFailure};
use windlass_core::{ActionId, Fact, RunId};
use windlass_store::MemoryLog;

use super::*;
use crate::platform::environment::SystemEnvironment;

/// So many characters of base64.
fn data(chars: usize) -> String {
    "aB3/".chars().cycle().take(chars).collect()
}

async fn spilt(most: u64, content: Content) -> (MemoryLog, Content) {
    let log = MemoryLog::new();
    let mut content = content;
    spill_content(To { log: &log, most, environment: &SystemEnvironment }, &mut content).await.unwrap();
    (log, content)
}

#[tokio::test]
async fn e35_base64_in_a_result_becomes_a_note_with_a_handle() {
    let data = data(8_192);
    let text = format!("{{\"name\":\"a.png\",\"data\":\"{data}\"}}");
    let (log, content) = spilt(65_536, Content::Text(text.into())).await;
    let Content::Parts(parts) = &content else { panic!("{content:?}") };
    let [Part::Text { text: before }, Part::Stored(stored), Part::Text { text: after }] = parts.as_slice()
    else {
        panic!("{parts:?}");
    };
    assert_eq!((before.as_ref(), after.as_ref()), ("{\"name\":\"a.png\",\"data\":\"", "\"}"));
    assert!(
        stored.placeholder().contains("8192 of 8192 bytes are left out here"),
        "{}",
        stored.placeholder()
    );
    assert_eq!(log.get(&stored.sha256, 0, usize::MAX).await.unwrap(), data.as_bytes());
}

#[tokio::test]
async fn e35_what_is_left_beside_base64_is_cut_where_it_is_long() {
    let text = format!("{} {}", "word ".repeat(100), data(4_096));
    let parts = vec![
        Part::Text { text: "first".into() },
        Part::Text { text: text.into() },
        Part::Text { text: "last".into() },
    ];
    let (_log, content) = spilt(100, Content::Parts(parts)).await;
    let Content::Parts(parts) = &content else { panic!("{content:?}") };
    let [Part::Text { .. }, Part::Stored(words), Part::Stored(data), Part::Text { .. }] = parts.as_slice()
    else {
        panic!("{parts:?}");
    };
    assert_eq!((words.bytes, data.bytes), (501, 4_096));
}

#[tokio::test]
async fn e35_what_a_model_reads_of_a_stored_result_stays_as_it_is() {
    let read = Content::Text(data(8_192).into());
    assert_eq!(spilt(u64::MAX, read.clone()).await.1, read);
    let short = Content::Text(data(4_095).into());
    assert_eq!(spilt(65_536, short.clone()).await.1, short);
}

#[tokio::test]
async fn e35_base64_in_an_error_is_left_out() {
    let message = format!("the file ü {}== is no image", data(8_192));
    let mut outcome = CallOutcome::Error { kind: None, message: message.into() };
    let log = MemoryLog::new();
    spill_outcome(To { log: &log, most: 65_536, environment: &SystemEnvironment }, &mut outcome)
        .await
        .unwrap();
    let CallOutcome::Error { message, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(&*message, "the file ü [8194 characters of base64 are left out here] is no image");
}

#[tokio::test]
async fn e35_a_long_reply_of_a_failed_call_is_stored_as_it_came_and_named_by_its_event() {
    let body = format!("{{\"image\":\"{}\"}}", data(8_192));
    for (most, refs) in [(body.len() as u64, 0), (body.len() as u64 - 1, 1)] {
        let log = MemoryLog::new();
        let mut failure = ModelFailure::new(FailureKind::Server, "no", "m");
        let reply = Some(Content::Text(body.as_str().into()));
        failure.detail = Some(Box::new(FailureDetail { reply, ..FailureDetail::default() }));
        let action = ActionId { run: RunId::from_number(1), seq: 1 };
        let mut what = InputKind::ModelFailed { action, failure: Box::new(failure), jitter: 0 };
        spill(To { log: &log, most, environment: &SystemEnvironment }, &mut what).await.unwrap();
        let InputKind::ModelFailed { failure, .. } = what else { panic!("{what:?}") };
        let failed = serde_json::json!({ "turn": 1, "failure": failure });
        let fact = Fact::from(serde_json::from_value::<TurnFailed>(failed).unwrap());
        assert_eq!(fact.refs().len(), refs, "spill_bytes is {most}");
        for stored in fact.refs() {
            assert_eq!(log.get(&stored.sha256, 0, usize::MAX).await.unwrap(), body.as_bytes());
        }
    }
}
