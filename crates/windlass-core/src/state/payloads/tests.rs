use super::*;
use crate::policy::own_tools::read_result::read_result;
use crate::vocabulary::message::Part;

#[test]
fn e35_what_stands_for_a_text_is_its_whole_characters_at_both_ends() {
    for text in ["ä".repeat(10_000), "x".repeat(20_000), "🧭".repeat(5_000)] {
        for spill in [0, 1, 7, 100, 8_191, 65_536] {
            let stored = Ref::to_text("0123456789abcdef0123".into(), &text, spill);
            assert!(text.starts_with(&*stored.head) && text.ends_with(&*stored.tail));
            let most = (spill / 2).min(4_096) as usize;
            assert!(stored.head.len() <= most && stored.tail.len() <= most, "{spill}");
            assert!(stored.head.len() + 4 > most && stored.tail.len() + 4 > most, "{spill}");
            assert_eq!(stored.bytes, text.len() as u64);
        }
    }
}

#[test]
fn e35_the_shown_text_says_how_much_there_is_and_how_to_read_it() {
    let stored = Ref::to_text("0123456789abcdef0123".into(), &"x".repeat(50_000), 1_000);
    let shown = stored.placeholder();
    assert!(shown.contains("49000 of 50000 bytes are left out"), "{shown}");
    assert!(shown.contains(r#"{"handle": "0123456789abcdef", "offset": 500}"#), "{shown}");
    assert!(shown.len() < 1_300, "{}", shown.len());
}

#[test]
fn a_stored_part_is_written_like_any_other_and_read_back() {
    let content = Content::Parts(vec![Part::Stored(Ref::to_text("ab".into(), "hello", 2))]);
    let text = serde_json::to_string(&content).unwrap();
    assert_eq!(text, r#"[{"type":"stored","sha256":"ab","bytes":5,"head":"h","tail":"o"}]"#);
    assert_eq!(serde_json::from_str::<Content>(&text).unwrap(), content);
}

#[test]
fn the_reading_tool_is_sound() {
    assert!(read_result().checker().is_ok());
}
