use proptest::prelude::*;

use super::*;
use crate::rows::row_width;

fn look(columns: usize) -> Look {
    Look { columns, unicode: true, colours: true }
}

fn texts(rows: &[Line<'_>]) -> Vec<String> {
    rows.iter().map(|row| row.spans.iter().map(|span| &*span.content).collect::<String>()).collect()
}

/// Everything that is given out of a text that comes in pieces of so many bytes.
fn streamed(text: &str, size: usize, columns: usize) -> Vec<Line<'static>> {
    let mut stream = Stream::default();
    let (mut rows, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let at = (size..rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        stream.push(&rest[..at]);
        rest = &rest[at..];
        rows.extend(stream.closed(look(columns)));
    }
    rows.extend(stream.finish(look(columns)));
    rows
}

const TEXT: &str = "# Plan\n\nFirst **one** thing,\nthen `another`.\n\n- one\n- two\n  with more\n- three\n\n1. a\n1. b\n2. c\n\n\
    ```rust\n/* over\n   lines */\nfn main() {}\n```\n\n| a | b |\n|---|--:|\n| x | 1 |\n\n> said\n> twice\n\n---\n\nEnd.\n";

#[test]
fn a_text_in_pieces_becomes_the_rows_of_the_whole() {
    let whole = super::super::rendered(TEXT, look(40));
    for size in [1, 2, 3, 7, 50, 1_000] {
        assert_eq!(streamed(TEXT, size, 40), whole, "in pieces of {size} bytes");
    }
}

#[test]
fn closed_blocks_are_given_out_once_and_the_open_one_is_shown_as_it_grows() {
    let mut stream = Stream::default();
    stream.push("One paragraph.\n\nAnd ano");
    assert_eq!(texts(&stream.closed(look(40))), ["One paragraph."]);
    assert_eq!(texts(&stream.open(look(40))), ["", "And ano"]);
    stream.push("ther.\n#");
    // It could still be the paragraph's next line.
    assert!(stream.closed(look(40)).is_empty());
    assert_eq!(texts(&stream.finish(look(40))), ["", "And another."]);
}

#[test]
fn lines_of_code_are_given_out_as_they_come() {
    let mut stream = Stream::default();
    stream.push("```sh\n# a\nls");
    assert_eq!(texts(&stream.closed(look(40))), ["  # a"]);
    assert_eq!(texts(&stream.open(look(40))), ["  ls"]);
    stream.push(" -l\n```\nAfter.");
    assert_eq!(texts(&stream.closed(look(40))), ["  ls -l"]);
    assert_eq!(texts(&stream.finish(look(40))), ["", "After."]);
}

#[test]
fn memory_does_not_grow_with_the_text() {
    for unit in [
        "word ",
        "x",
        "\n",
        "- item\n",
        "| a | b |\n",
        "> q\n",
        "[a]: b\n",
        "```\ncode\n",
        "<b>\n",
        "* \n  * ",
    ] {
        let mut stream = Stream::default();
        for _ in 0..8 {
            stream.push(&unit.repeat(8_000 / unit.len()));
            drop(stream.closed(look(80)));
            assert!(
                stream.open.len() <= MOST_WHOLE + 8_000,
                "{unit:?}: {} bytes are open",
                stream.open.len()
            );
        }
    }
}

#[test]
fn ten_megabytes_leave_nothing_behind() {
    let mut stream = Stream::default();
    let piece = format!("{}\n\n- item\n\n", "word ".repeat(197));
    let mut items = 0;
    for _ in 0..10_000 {
        stream.push(&piece);
        let rows = stream.closed(look(80));
        items += texts(&rows).iter().filter(|row| *row == "• item").count();
        assert!(stream.open.len() <= MOST_OPEN + piece.len(), "{} bytes are open", stream.open.len());
    }
    items += texts(&stream.finish(look(80))).iter().filter(|row| *row == "• item").count();
    assert_eq!(items, 10_000, "each is given out once");
}

#[test]
fn code_of_one_endless_line_is_given_out_in_parts() {
    let mut stream = Stream::default();
    stream.push("```\n");
    for _ in 0..20 {
        stream.push(&"x".repeat(4_000));
        drop(stream.closed(look(80)));
        assert!(stream.open.len() <= MOST_OPEN + 4_000);
    }
    stream.push("\n```\n\nAfter.");
    assert_eq!(texts(&stream.finish(look(80))).last().map(String::as_str), Some("After."));
}

#[test]
fn a_fence_within_an_item_does_not_make_the_rest_code() {
    let text = "1. ```sh\n   ls\n   ```\n2. next\n3. **last**\n\nAfter **it**.\n";
    assert_eq!(streamed(text, 3, 40), super::super::rendered(text, look(40)));
    assert_eq!(texts(&streamed(text, 3, 40)), ["1.   ls", "2. next", "3. last", "", "After it."]);
}

#[test]
fn addresses_of_references_are_not_lost() {
    let shown = texts(&streamed("See [docs][1].\n\n[1]: https://a.b/c\n", 4, 60));
    assert!(shown.iter().any(|row| row.contains("https://a.b/c")), "{shown:?}");
}

proptest! {
    #[test]
    fn any_text_in_any_pieces_stays_within_its_columns(
        text in r"([a-z*_`#>|~\[\]()<>!-]{1,6}|[ \n]{1,3}|- |1\. |```\n|\| |東京|\t){0,40}",
        size in 1_usize..9,
        columns in 10_usize..60,
    ) {
        for row in streamed(&text, size, columns) {
            prop_assert!(row_width(&row) <= columns, "{row:?}");
        }
    }
}
