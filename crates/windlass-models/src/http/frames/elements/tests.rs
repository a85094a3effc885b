use windlass_core::text::doubling;

use super::ElementReader;

const LIST: &str = "[{\"a\":\"} ]{\\\"\"},\r\n{\"b\":[{},{\"c\":1}]}\r\n,\n{}]\n";

fn elements(pieces: &[&[u8]]) -> Vec<String> {
    let mut reader = ElementReader::bounded(1000);
    let mut all = Vec::new();
    for piece in pieces {
        reader.push(piece).expect("small");
        while let Some(element) = reader.next_element() {
            all.push(String::from_utf8(element.to_vec()).expect("UTF-8"));
        }
    }
    all
}

#[test]
fn e13_a_list_cut_at_every_byte_gives_the_same_objects() {
    let bytes = LIST.as_bytes();
    let whole = elements(&[bytes]);
    assert_eq!(whole, ["{\"a\":\"} ]{\\\"\"}", "{\"b\":[{},{\"c\":1}]}", "{}"]);
    for cut in 0..=bytes.len() {
        assert_eq!(elements(&[&bytes[..cut], &bytes[cut..]]), whole, "cut at {cut}");
    }
    assert_eq!(elements(&bytes.chunks(1).collect::<Vec<_>>()), whole);
}

#[test]
fn an_object_alone_is_an_element_and_an_open_one_is_none() {
    assert_eq!(elements(&[b" {\"error\":{}} "]), ["{\"error\":{}}"]);
    assert_eq!(elements(&[b"[{\"a\":1},{\"b\":"]), ["{\"a\":1}"]);
}

#[test]
fn an_object_beyond_the_bound_is_refused_and_many_small_ones_are_not() {
    let mut reader = ElementReader::bounded(20);
    assert!(reader.push(b"[{\"a\":\"0123456789").is_ok());
    assert!(reader.push(b"0123456789").is_err());
    let mut reader = ElementReader::bounded(20);
    for _ in 0..100 {
        reader.push(b"{\"a\":\"0123\"},").expect("it fits");
        assert!(reader.next_element().is_some());
    }
}

#[test]
fn reading_is_linear() {
    let cost = |bytes: usize| {
        let mut reader = ElementReader::bounded(usize::MAX);
        reader.push(b"[{\"a\":\"").expect("bounded by nothing");
        for _ in 0..bytes {
            reader.push(b"x").expect("bounded by nothing");
            assert!(reader.find().is_none());
        }
        reader.steps()
    };
    doubling(cost).expect("linear");
}
