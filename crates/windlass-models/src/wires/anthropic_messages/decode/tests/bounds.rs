//! Long and hostile streams: what is passed on, and what is kept.

use std::collections::VecDeque;

use serde_json::{Value, json};
use windlass_core::model::{FailureKind, MAX_REPLY_BYTES};
use windlass_core::text::steps::taken;

use super::{Decoder, dialect};
use crate::wires::{Decode, DecodeError};
use crate::{Assembler, Delta};

fn event(decoder: &mut Decoder, out: &mut VecDeque<Delta>, event: &Value) -> Result<(), DecodeError> {
    decoder.event(event.to_string().as_bytes(), out)
}

#[test]
fn a_long_stream_is_passed_on_and_not_kept() {
    let mut decoder = Decoder::new(&dialect(""));
    let (mut out, mut assembler, mut said, mut steps) = (VecDeque::new(), Assembler::new("m"), 0, 0);
    let begin = |index: usize, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let piece =
        |index: usize, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let mut take = |decoder: &mut Decoder, json: &Value| {
        event(decoder, &mut out, json).expect("a good event");
        for delta in out.drain(..) {
            said += delta.text_bytes();
            steps += taken(|| assembler.push(delta).expect("within the bound"));
        }
        assert_eq!(decoder.blocks.load().1, 0, "nothing is held back");
    };
    take(&mut decoder, &begin(0, json!({"type": "text", "text": ""})));
    let (text, args) = ("x".repeat(1000), format!("\"{}\",", "y".repeat(997)));
    for _ in 0..5000 {
        take(&mut decoder, &piece(0, json!({"type": "text_delta", "text": text})));
    }
    take(&mut decoder, &json!({"type": "content_block_stop", "index": 0}));
    take(&mut decoder, &begin(1, json!({"type": "tool_use", "id": "a", "name": "f", "input": {}})));
    take(&mut decoder, &piece(1, json!({"type": "input_json_delta", "partial_json": "[1111"})));
    for _ in 0..5000 {
        take(&mut decoder, &piece(1, json!({"type": "input_json_delta", "partial_json": args})));
    }
    assert!(said > 9_999_000, "{said}");
    assert!(decoder.blocks.load().2 < 1000, "what is kept does not grow");
    assert!((1..=2 * said).contains(&steps), "each byte of the arguments is looked at once or twice");
}

#[test]
fn blocks_that_must_be_kept_are_bounded() {
    let mut decoder = Decoder::new(&dialect(""));
    let mut out = VecDeque::new();
    let block = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "x", "data": "z".repeat(1 << 20)}});
    let most = MAX_REPLY_BYTES >> 20;
    let failed =
        (0..=most).find_map(|count| event(&mut decoder, &mut out, &block).err().map(|error| (count, error)));
    let (count, error) = failed.expect("it is too much");
    assert_eq!((count, error.kind), (most - 1, FailureKind::TooLarge));
}

#[test]
fn a_new_index_for_each_piece_costs_no_search() {
    let mut decoder = Decoder::new(&dialect(""));
    let mut out = VecDeque::new();
    for index in 0..1000 {
        let piece = json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": "a"}});
        event(&mut decoder, &mut out, &piece).expect("tolerated");
        assert!(decoder.blocks.load().0 <= 64);
    }
    event(&mut decoder, &mut out, &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}))
        .expect("good");
    assert_eq!(out.iter().filter(|delta| matches!(delta, Delta::Text(_))).count(), 1000);
}
