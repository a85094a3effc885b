use windlass_core::text::steps::{doubling, taken};

use super::{EventTooLong, MAX_EVENT_BYTES, SseParser};

/// All events of a stream that comes in these pieces.
fn events(pieces: &[&[u8]]) -> Vec<String> {
    let mut parser = SseParser::default();
    let mut found = Vec::new();
    let mut drain = |parser: &mut SseParser| {
        while let Some(data) = parser.next_data() {
            found.push(String::from_utf8_lossy(data).into_owned());
        }
    };
    for piece in pieces {
        parser.push(piece).expect("small");
        drain(&mut parser);
    }
    parser.end();
    drain(&mut parser);
    found
}

/// The events of the whole, after checking that every cut into two and byte-by-byte feeding give the same.
fn everywhere(stream: &str) -> Vec<String> {
    let bytes = stream.as_bytes();
    let whole = events(&[bytes]);
    for cut in 0..=bytes.len() {
        assert_eq!(events(&[&bytes[..cut], &bytes[cut..]]), whole, "cut at {cut} of {stream:?}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(events(&single), whole, "byte by byte: {stream:?}");
    whole
}

#[test]
fn e13_lines_may_end_in_lf_crlf_or_cr() {
    assert_eq!(everywhere("data: a\n\ndata: b\n\n"), ["a", "b"]);
    assert_eq!(everywhere("data: a\r\n\r\ndata: b\r\n\r\n"), ["a", "b"]);
    assert_eq!(everywhere("data: a\r\rdata: b\r\r"), ["a", "b"]);
    assert_eq!(everywhere("data: a\r\n\ndata: b\n\r\n\r\rdata: c\r\r\n"), ["a", "b", "c"]);
}

#[test]
fn e13_comments_other_fields_and_blank_events_are_passed_over() {
    let stream = ": keep-alive\n\n\n\nevent: ping\n\nid: 1\nretry: 10\nevent: message\ndata: a\nnonsense\n\n:\ndatabase: x\n\ndata: b\n\n";
    assert_eq!(everywhere(stream), ["a", "b"]);
}

#[test]
fn e13_several_data_lines_are_one_event() {
    assert_eq!(everywhere("data: a\ndata:b\n: between\ndata\ndata:  c\n\ndata: d\n\n"), ["a\nb\n\n c", "d"]);
    assert_eq!(everywhere("data:\n\n"), [""]);
    assert_eq!(everywhere("data\n\n"), [""]);
}

#[test]
fn e13_a_byte_order_mark_and_many_bytes_a_character() {
    assert_eq!(everywhere("\u{feff}data: größer 🦀 漢字\r\n\r\n"), ["größer 🦀 漢字"]);
    assert_eq!(everywhere("data: \u{feff}x\n\n"), ["\u{feff}x"]);
}

#[test]
fn e13_the_last_event_may_lack_its_end() {
    assert_eq!(everywhere("data: a\n\ndata: [DONE]"), ["a", "[DONE]"]);
    assert_eq!(everywhere("data: a\n\ndata: b\n"), ["a", "b"]);
    assert_eq!(everywhere("data: a\r\n\r\ndata: b\r"), ["a", "b"]);
    assert_eq!(everywhere(""), [""; 0]);
    assert_eq!(everywhere("\u{feff}"), [""; 0]);
}

#[test]
fn the_buffer_holds_no_more_than_the_event_being_read() {
    let mut parser = SseParser::default();
    for _ in 0..10_000 {
        parser.push(b"data: 0123456789\n\ndata: 01234").expect("small");
        while parser.next_data().is_some() {}
        parser.push(b"56789\n\n").expect("small");
        while parser.next_data().is_some() {}
    }
    assert!(parser.buffer.capacity() < 1024, "{}", parser.buffer.capacity());
}

#[test]
fn an_event_without_end_is_refused_at_the_bound() {
    let mut parser = SseParser::default();
    let piece = vec![b'x'; 1024 * 1024];
    parser.push(b"data: ").expect("small");
    let mut pushed = 0;
    let refused = loop {
        match parser.push(&piece) {
            Ok(()) => pushed += piece.len(),
            Err(refused) => break refused,
        }
        assert!(parser.next_data().is_none());
        assert!(pushed <= MAX_EVENT_BYTES);
    };
    assert_eq!(refused, EventTooLong);
    assert!(pushed + piece.len() >= MAX_EVENT_BYTES);
}

#[test]
fn many_data_lines_are_bounded_too() {
    let mut parser = SseParser::default();
    let line = [b"data: ".to_vec(), vec![b'x'; 1024 * 1024], b"\n".to_vec()].concat();
    let pushed = (0..32).take_while(|_| parser.push(&line).is_ok() && parser.next_data().is_none()).count();
    assert!((14..=16).contains(&pushed), "{pushed} MiB");
}

#[test]
fn reading_a_stream_costs_its_length() {
    let shapes: [(&str, &str); 6] = [
        ("one long line", "x"),
        ("comments", ":\n"),
        ("data lines without an end", "data: x\n"),
        ("events", "data: x\n\n"),
        ("carriage returns", "data: x\r\r"),
        ("blank lines", "\n"),
    ];
    for (what, piece) in shapes {
        for chunk in [1, 7, 64] {
            let cost = |n: usize| {
                let mut parser = SseParser::default();
                let text = format!("data: {}", piece.repeat(n));
                taken(|| {
                    for bytes in text.as_bytes().chunks(chunk) {
                        parser.push(bytes).expect("within the bound");
                        while parser.next_data().is_some() {}
                    }
                })
            };
            doubling(cost).unwrap_or_else(|fault| panic!("{what} in chunks of {chunk}: {fault}"));
        }
    }
}
