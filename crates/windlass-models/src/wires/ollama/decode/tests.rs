use std::collections::VecDeque;

use windlass_core::model::FailureKind;
use windlass_core::text::steps::taken;

use super::{Decoder, decode};
use crate::Delta;
use crate::http::lines::LineReader;
use crate::wires::Decode;

#[test]
fn ten_megabytes_are_read_once() {
    let line = format!("{{\"message\":{{\"content\":\"{}\"}},\"done\":false}}\n", "x".repeat(200));
    let count = 10 * 1024 * 1024 / line.len();
    let mut reader = LineReader::bounded(1 << 20);
    let mut decoder = Decoder::new(None);
    let (mut out, mut texts, mut most) = (VecDeque::new(), 0, 0);
    let steps = taken(|| {
        for bytes in line.repeat(count).as_bytes().chunks(1_000) {
            reader.push(bytes).expect("small lines");
            while let Some(line) = reader.next_line() {
                decoder.event(line, &mut out).expect("good");
            }
            most = most.max(out.len());
            texts += out.drain(..).filter(|delta| matches!(delta, Delta::Text(_))).count();
        }
    });
    assert_eq!(texts, count);
    // Each byte is taken in, searched, and moved at most once.
    assert!(steps <= 3 * (line.len() * count) as u64, "{steps} steps");
    assert!(most <= 5, "{most} pieces wait");
    assert_eq!(decoder.usage(0).output, (count * 200) as u64 / 4);
}

#[test]
fn a_reply_s_calls_and_images_have_a_bound() {
    for field in ["tool_calls", "images"] {
        let item = if field == "images" { "\"\"" } else { "{}" };
        let body = format!("{{\"message\":{{\"{field}\":[{}{item}]}}}}", format!("{item},").repeat(4_096));
        let error = decode(body.as_bytes(), &"m".into(), None, 0).expect_err("too many");
        assert_eq!(error.kind, FailureKind::Protocol);
        assert!(error.message.contains("more than 4096 items"), "{}", error.message);
    }
}

#[test]
fn calls_of_all_lines_together_have_a_bound() {
    let line = "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"f\"}}]}}\n";
    let body = format!("{}{{\"done\":true}}", line.repeat(4_097));
    let error = decode(body.as_bytes(), &"m".into(), None, 0).expect_err("too many");
    assert!(error.message.contains("more than 4096 tool calls"), "{}", error.message);
}

#[test]
fn a_stream_in_place_of_a_whole_reply_is_one_reply() {
    let body = "{\"message\":{\"content\":\"Hel\"},\"done\":false}\n{\"message\":{\"content\":\"lo\"},\"done\":true}\n<html>";
    assert_eq!(decode(body.as_bytes(), &"m".into(), None, 0).expect("good").text.as_deref(), Some("Hello"));
    let cut = decode(b"{\"message\":{\"content\":\"Hel\"},\"done\":false}", &"m".into(), None, 0);
    assert!(cut.expect_err("no end").message.contains("no end"));
}

#[test]
fn of_a_long_error_the_beginning_is_read() {
    let body = format!("{{\"error\":\"{}\"}}", "é".repeat(100_000));
    let error = decode(body.as_bytes(), &"m".into(), None, 0).expect_err("an error");
    assert!(error.message.contains("ééé") && error.message.len() < 5_000, "{}", error.message.len());
}
