use std::convert::Infallible;

use windlass_core::message::{Citation, HostedStep, Source, Span, TokenLogprob};
use windlass_core::model::{FailureDetail, FailureKind, ModelFailure, StopReason};
use windlass_core::secret::Secret;
use windlass_core::{ActionId, RunId};
use windlass_models::Cited;

use super::*;

const KEY: &str = "sk-masking-0123456789";

fn call_ended(outcome: CallOutcome) -> InputKind {
    InputKind::CallEnded { action: ActionId { run: RunId::from_number(1), seq: 1 }, outcome }
}

#[test]
fn e53_all_that_a_tool_gives_is_masked() {
    drop(Secret::new(KEY));
    let inner = data_encoding(KEY);
    let media = |name: &str, source| Media {
        media_type: format!("image/png; x={KEY}").into(),
        name: Some(name.into()),
        source,
    };
    let parts = vec![
        Part::Text { text: format!("a {KEY}").into() },
        Part::Image(media(KEY, MediaSource::Base64("aGVsbG8=".into()))),
        Part::File(media("plain", MediaSource::Url(format!("https://x/{KEY}").into()))),
        Part::Image(media("meta", MediaSource::Base64(format!("iVBORw0K{inner}").into()))),
    ];
    let mut what = call_ended(CallOutcome::Ok { content: Content::Parts(parts) });
    mask_input(&mut what);
    let json = serde_json::to_string(&what).unwrap();
    assert!(!json.contains("masking-0123") && !json.contains(&inner[4..20]), "{json}");
    assert!(json.contains(LEFT_OUT) && json.contains("aGVsbG8="), "{json}");

    for outcome in [
        CallOutcome::Error { kind: Some(KEY.into()), message: format!("401: {KEY}").into() },
        CallOutcome::Malformed { message: KEY.into() },
        CallOutcome::Skipped { reason: KEY.into() },
    ] {
        let mut what = call_ended(outcome);
        mask_input(&mut what);
        assert!(!format!("{what:?}").contains(KEY), "{what:?}");
    }
}

/// The characters of the base64 form that encode only the key.
fn data_encoding(key: &str) -> String {
    let mut out = String::new();
    let table: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    for chunk in key.as_bytes().chunks(3) {
        let word =
            chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            out.push(table[(word >> (18 - 6 * place) & 63) as usize]);
        }
    }
    out
}

fn through(pieces: Vec<Delta>) -> Vec<Delta> {
    let mut masks = Masks::of_process().unwrap();
    let mut seen = Vec::new();
    let mut see = |delta| {
        seen.push(delta);
        Ok::<_, Infallible>(())
    };
    for piece in pieces {
        let Ok(()) = masks.pass(piece, &mut see);
    }
    let Ok(()) = masks.end(see);
    seen
}

fn call(index: u32, name: Option<&str>, args: &str) -> Delta {
    Delta::Call { index: Some(index), id: None, name: name.map(str::to_owned), args: args.to_owned() }
}

#[test]
fn e53_a_secret_split_over_pieces_is_never_shown() {
    drop(Secret::new(KEY));
    let (one, two) = KEY.split_at(9);
    let text = |text: &str| Delta::Text(text.to_owned());
    let seen = through(vec![
        Delta::Reasoning(format!("think {one}")),
        Delta::Reasoning(format!("{two} on")),
        text("say "),
        text(one),
        text(two),
        text(" end sk-m"),
        call(0, Some("a"), "{\"x\": \"sk-mask"),
        call(1, Some("b"), "{\"y\": \"sk-masking"),
        call(0, None, "ing-0123456789\"}"),
        call(1, None, "-0123456789\"}"),
        Delta::Stop(StopReason::ToolCalls),
    ]);
    let all = format!("{seen:?}");
    assert!(!all.contains("0123456789"), "{all}");
    let of = |index: u32| -> String {
        seen.iter()
            .filter_map(|delta| {
                if let Delta::Call { index: Some(at), args, .. } = delta
                    && *at == index
                {
                    Some(args.as_str())
                } else {
                    None
                }
            })
            .collect()
    };
    assert_eq!((of(0), of(1)), ("{\"x\": \"***\"}".to_owned(), "{\"y\": \"***\"}".to_owned()));
    let said: String = seen
        .iter()
        .filter_map(|delta| if let Delta::Text(text) = delta { Some(text.as_str()) } else { None })
        .collect();
    assert_eq!(said, "say *** end sk-m");
    assert_eq!(seen.last(), Some(&Delta::Stop(StopReason::ToolCalls)));
}

#[test]
fn e53_the_reply_of_a_failed_model_call_is_masked() {
    drop(Secret::new(KEY));
    let mut failure = ModelFailure::new(FailureKind::Server, KEY, "m");
    let reply = Some(Content::Text(format!("{{\"key\":\"{KEY}\"}}").into()));
    failure.detail = Some(Box::new(FailureDetail { reply, ..FailureDetail::default() }));
    let action = ActionId { run: RunId::from_number(1), seq: 1 };
    let mut what = InputKind::ModelFailed { action, failure: Box::new(failure), jitter: 0 };
    mask_input(&mut what);
    let json = serde_json::to_string(&what).unwrap();
    assert!(!json.contains("masking-0123") && json.contains(r#"{\"key\":\"***\"}"#), "{json}");
}

fn annotated(text: &str) -> Reply {
    let source = Source { title: Some(KEY.into()), url: Some(format!("https://x/{KEY}").into()), file: None };
    let step = HostedStep {
        input: Some(KEY.into()),
        output: Some(format!("key {KEY}").into()),
        sources: vec![source.clone()],
        ..HostedStep::default()
    };
    let citation = Citation { span: Some(Span(0, 2)), quote: Some(KEY.into()), source, passage: None };
    let (head, tail) = KEY.split_at(6);
    let token = |text: &str| TokenLogprob { text: text.into(), logprob: -0.5, top: Vec::new() };
    let logprobs = vec![token("So "), token(head), token(tail)];
    let annotations =
        Annotations { steps: vec![step], citations: vec![citation], logprobs, ..Annotations::default() };
    Reply { text: Some(text.into()), annotations: Some(Box::new(annotations)), ..Reply::default() }
}

#[test]
fn e53_annotations_are_masked_and_lose_places_that_fit_no_more() {
    drop(Secret::new(KEY));
    for (text, span) in [("So it is.", Some(Span(0, 2))), (&*format!("So {KEY}."), None)] {
        let mut reply = annotated(text);
        mask_reply(&mut reply);
        let json = serde_json::to_string(&reply).unwrap();
        assert!(!json.contains("masking-0123") && !json.contains("sk-mas"), "{json}");
        let annotations = reply.annotations.unwrap();
        assert_eq!(annotations.citations[0].span, span, "{text}");
        assert_eq!((annotations.logprobs.len(), annotations.omitted.logprobs), (0, 3));
    }
}

#[test]
fn e53_places_in_a_streamed_text_that_was_masked_are_dropped() {
    drop(Secret::new(KEY));
    let whole = |text: &str| {
        let citation = annotated("").annotations.unwrap().citations.remove(0);
        let cited = Cited { citation, words: Some(KEY.to_owned()), in_chars: false };
        let (head, tail) = text.split_at(5);
        let pieces = vec![
            Delta::Text(head.to_owned()),
            Delta::Text(tail.to_owned()),
            Delta::Annotation(Box::new(Annotation::Citation(cited))),
            Delta::Stop(StopReason::Stop),
        ];
        let masked = through(pieces);
        assert!(!format!("{masked:?}").contains(KEY), "{masked:?}");
        let mut assembler = windlass_models::Assembler::new("m");
        for delta in masked {
            assembler.push(delta).unwrap();
        }
        assembler.finish().annotations.unwrap().citations[0].span
    };
    assert_eq!(whole(&format!("So {KEY} is it.")), None);
}
