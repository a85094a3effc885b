use super::{EventTooLong, LineReader};

fn read(pieces: &[&[u8]]) -> Vec<String> {
    let mut reader = LineReader::bounded(1024);
    let mut lines = Vec::new();
    for piece in pieces.iter().map(Some).chain([None]) {
        match piece {
            Some(piece) => reader.push(piece).expect("small"),
            None => reader.end(),
        }
        while let Some(line) = reader.next_line() {
            lines.push(String::from_utf8_lossy(line).into_owned());
        }
    }
    lines
}

#[test]
fn e13_lines_cut_at_every_byte_are_the_same() {
    let text = b"{\"a\":1}\r\n\n  \n{\"b\":\"\xc3\xbc\"}\n{\"last\":true}";
    let whole = read(&[text]);
    assert_eq!(whole, ["{\"a\":1}", "{\"b\":\"ü\"}", "{\"last\":true}"]);
    for cut in 0..=text.len() {
        assert_eq!(read(&[&text[..cut], &text[cut..]]), whole, "cut at {cut}");
    }
    let single: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(read(&single), whole);
}

#[test]
fn a_line_beyond_its_bound_is_refused() {
    let mut reader = LineReader::bounded(8);
    reader.push(b"1234\n567").expect("it fits");
    assert_eq!(reader.next_line(), Some(&b"1234"[..]));
    reader.push(b"89").expect("what was taken does not count");
    assert_eq!(reader.push(b"0123"), Err(EventTooLong));
}

#[test]
fn the_time_is_linear_in_the_bytes() {
    windlass_core::text::doubling(|lines| {
        let mut reader = LineReader::bounded(1 << 20);
        windlass_core::text::steps::taken(|| {
            for byte in "{\"a\":1}\n".repeat(lines).bytes() {
                reader.push(&[byte]).expect("small");
                while reader.next_line().is_some() {}
            }
        })
    })
    .expect("linear");
}
