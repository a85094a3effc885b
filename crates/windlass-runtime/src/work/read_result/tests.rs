use futures_util::FutureExt;
use serde_json::json;
use windlass_store::MemoryLog;

use super::*;

fn read(text: &str, args: &Value) -> Result<String, String> {
    let log = Arc::new(MemoryLog::new());
    let sha256 = log.put(Arc::from(text.as_bytes())).now_or_never().unwrap().unwrap();
    let tool = ReadResult::new(log, Arc::new(State::new(windlass_core::RunId::from_number(1))));
    let result = tool.range(&Ref::to_text(sha256, text, 100), args).now_or_never().unwrap();
    result.map(|content| content.text().into_owned()).map_err(|error| error.message.to_string())
}

#[test]
fn e35_ranges_put_together_are_the_whole_text() {
    for text in ["plain text of no great length".to_owned(), "aä€🧭".repeat(50), "x".repeat(100_000)] {
        for length in [1, 2, 3, 7, 64, 40_000] {
            let (mut offset, mut whole) = (0, String::new());
            while offset < text.len() {
                let part =
                    read(&text, &json!({ "handle": "h", "offset": offset, "length": length })).unwrap();
                let (head, part) = part.split_once('\n').unwrap();
                assert!(head.starts_with(&format!("[bytes {offset} to ")), "{head}");
                assert!(!part.is_empty() && part.len() <= READ_MOST as usize);
                whole.push_str(part);
                offset += part.len();
                let end = if offset < text.len() {
                    format!("go on with offset {offset}]")
                } else {
                    "the end]".into()
                };
                assert!(head.ends_with(&end), "{head}");
                if text.len() == 100_000 && length < 64 {
                    break;
                }
            }
            assert!(text.starts_with(&whole));
        }
    }
}

#[test]
fn e35_a_range_beyond_the_end_says_what_there_is() {
    assert_eq!(read("ten bytes.", &json!({ "offset": 10 })).unwrap_err(), "`offset` is 10, expected 0 to 9");
}

#[test]
fn e35_a_range_that_begins_within_a_character_begins_with_it() {
    assert_eq!(read("ä€", &json!({ "offset": 3, "length": 2 })).unwrap(), "[bytes 2 to 5 of 5; the end]\n€");
}
