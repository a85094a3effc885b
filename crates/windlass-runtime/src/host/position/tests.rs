use std::sync::Arc;

use proptest::prelude::*;
use windlass_core::event::{Purpose, TurnCompleted};
use windlass_core::message::{CallTarget, Reasoning, ToolCall};
use windlass_core::model::{StopReason, Usage};
use windlass_core::{ActionId, RunId};

use super::{AttemptPosition, PIECE_BYTES, Position, begins_with, next_piece};
use crate::driver::updates::Update;

fn call(id: &str, name: &str, args: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.into(),
        args: args.into(),
        place: None,
        provider_id: None,
        target: CallTarget::Tool,
        fault: None,
    }
}

fn reply() -> TurnCompleted {
    TurnCompleted {
        turn: 1,
        purpose: Purpose::Act,
        about: None,
        text: Some("Grüße an alle".into()),
        reasoning: Some(Reasoning { text: "erst denken".into(), provider_metadata: None }),
        media: Box::default(),
        calls: vec![call("c1", "add", "{\"a\":1}"), call("c2", "now", "")],
        annotations: None,
        stop: StopReason::Stop,
        usage: Usage::default(),
        model: "m".into(),
        objection: None,
        answer_form: None,
    }
}

fn action() -> ActionId {
    ActionId { run: RunId::from_number(1), seq: 2 }
}

/// All pieces of a reply behind what was read of it; `None`: it does not begin with that.
fn rest_of(reply: &TurnCompleted, action: ActionId, read: &AttemptPosition) -> Option<Vec<Update>> {
    begins_with(reply, read).then(|| {
        let mut read = *read;
        let pieces = std::iter::from_fn(|| {
            let piece = next_piece(reply, action, &read)?;
            read.add(&piece);
            Some(piece)
        });
        pieces.collect()
    })
}

/// E69: a reader of a long reply holds a piece of it.
#[test]
fn e69_a_long_reply_comes_in_pieces_of_a_bounded_size() {
    let long = "ä".repeat(PIECE_BYTES * 2);
    let calls = vec![call("c1", "add", &long)];
    let reply = TurnCompleted { text: Some(long.as_str().into()), calls, ..reply() };
    let pieces = rest_of(&reply, action(), &AttemptPosition::default()).unwrap();
    let bytes = |piece: &Update| match piece {
        Update::Reasoning { text, .. } | Update::Text { text, .. } => text.len(),
        Update::Call { args, .. } => args.len(),
        other => panic!("no piece: {other:?}"),
    };
    assert!(pieces.len() > 8 && pieces.iter().all(|piece| bytes(piece) <= PIECE_BYTES));
    let (_, text, calls, _) = read(&pieces);
    assert_eq!((text, calls), (long.clone(), format!("add{long}")));
}

/// The texts and the position of a reader that reads these pieces.
fn read(pieces: &[Update]) -> (String, String, String, AttemptPosition) {
    let (mut reasoning, mut text, mut calls) = (String::new(), String::new(), String::new());
    let mut position = AttemptPosition::start(2, 0);
    for piece in pieces {
        position.add(piece);
        match piece {
            Update::Reasoning { text: more, .. } => reasoning.push_str(more),
            Update::Text { text: more, .. } => text.push_str(more),
            Update::Call { name, args, .. } => {
                calls.push_str(name.as_deref().unwrap_or_default());
                calls.push_str(args);
            }
            other => panic!("no piece: {other:?}"),
        }
    }
    (reasoning, text, calls, position)
}

#[test]
fn the_rest_of_a_reply_joins_what_was_read_of_it_at_every_byte() {
    let whole = rest_of(&reply(), action(), &AttemptPosition::default()).unwrap();
    let (reasoning, text, calls, end) = read(&whole);
    assert_eq!((&*reasoning, &*text, &*calls), ("erst denken", "Grüße an alle", "add{\"a\":1}now"));
    assert_eq!(rest_of(&reply(), action(), &end), Some(Vec::new()), "who has read all gets nothing more");
    for bytes in 0..=text.len() {
        let position = AttemptPosition { text: bytes as u64, ..AttemptPosition::default() };
        let rest = rest_of(&reply(), action(), &position);
        // Within a character nobody can have stopped.
        assert_eq!(rest.is_some(), text.is_char_boundary(bytes));
        let Some(rest) = rest else { continue };
        assert_eq!(format!("{}{}", &text[..bytes], read(&rest).1), text);
    }
    for bytes in [0, 3, 4, 9, 10, 13] {
        let position = AttemptPosition { calls: bytes as u64, ..AttemptPosition::default() };
        let rest = rest_of(&reply(), action(), &position).unwrap();
        assert_eq!(format!("{}{}", &calls[..bytes], read(&rest).2), calls);
    }
}

#[test]
fn who_has_read_more_than_the_stored_reply_has_no_rest() {
    for (reasoning, text, calls) in [(100, 0, 0), (0, 100, 0), (0, 0, 100), (0, 0, 2)] {
        let read = AttemptPosition { reasoning, text, calls, ..AttemptPosition::default() };
        assert_eq!(rest_of(&reply(), action(), &read), None);
    }
}

#[test]
fn a_position_is_one_text() {
    let within =
        Position { version: 41, attempt: Some(AttemptPosition { text: 7, ..AttemptPosition::start(40, 1) }) };
    for position in [Position::default(), Position::after(41), within] {
        assert_eq!(position.to_string().parse(), Ok(position));
    }
    for text in ["", "x", "1.2", "-1", "1.2.3.4.5.6.7", "1.2.99999999999.4.5.6"] {
        assert!(text.parse::<Position>().is_err(), "{text:?}");
    }
    assert!(Position::after(41) < within && within < Position::after(42));
}

proptest! {
    #[test]
    fn no_text_makes_reading_a_position_fail_otherwise(text in ".{0,40}") {
        let _position = text.parse::<Position>();
    }

    #[test]
    fn no_position_makes_cutting_a_reply_fail(reasoning: u64, text: u64, calls: u64) {
        let read = AttemptPosition { action: 2, round: 0, reasoning, text, calls };
        let _rest = rest_of(&reply(), action(), &read);
        let small = AttemptPosition { reasoning: reasoning % 20, text: text % 20, calls: calls % 20, ..read };
        let _rest = rest_of(&reply(), action(), &small);
    }
}

#[test]
fn pieces_are_counted_in_bytes() {
    let mut position = AttemptPosition::start(2, 0);
    assert!(!position.has_any());
    position.add(&Update::Text { action: action(), text: Arc::from("Grüße") });
    assert_eq!(position.text, 7);
    assert!(position.has_any());
}
